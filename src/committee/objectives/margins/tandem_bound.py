"""Weights of the least second-order (tandem) bound on the error, and the losses of pairs of voters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import log
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64, Mask
from committee.objectives.margins.objective import Objective, Reweighting
from committee.objectives.pac_bayes import PacBayesKl, mean_over
from committee.objectives.programs.margin_matrix import MarginMatrix

MAX_ROUNDS = 50  # most tangents; a few suffice


@dataclass(frozen=True)
class Tandem(Objective):
    """Minimise the tandem bound on the error on new rows,

        4 sup{p : kl(e(w), p) <= (2 KL(w || 1/T) + ln(2 sqrt n / delta)) / n},    e(w) = sum_{t,u} w_t w_u E^[l_t l_u],

    with l the losses of voters on n rows that they were not trained on (`committee.bounds.tandem`).
    """

    name: ClassVar[str] = "tandem"
    maximises: ClassVar[bool] = False
    on_unseen_rows: ClassVar[bool] = True
    delta: float = 0.05  # the bound fails with at most this probability

    def __post_init__(self) -> None:
        if not 0.0 < self.delta < 1.0:
            raise ValueError(f"delta={self.delta!r} is not in (0, 1); it is the probability that the bound fails.")

    def value(self, lines: MarginMatrix, weights: F64) -> float:
        return tandem_bound(self._pairs(lines), weights, _ln_prior(lines), self.delta)

    def solve(self, lines: MarginMatrix) -> Reweighting:
        pairs, prior = self._pairs(lines), _ln_prior(lines)
        weights, rounds = least_tandem_bound(pairs, prior, lines.own, delta=self.delta)
        value, before = (tandem_bound(pairs, w, prior, self.delta) for w in (weights, lines.own))
        status = "Stationary" if rounds < MAX_ROUNDS else "Iteration limit"
        return Reweighting(weights, value, before, status, len(lines), rounds)

    def _pairs(self, lines: MarginMatrix) -> PairLosses:
        weight = lines.row_weight
        if weight.max() > weight.min() * (1.0 + 1e-9):
            raise ValueError(
                "objective='tandem' is for rows of equal weight, but sample_weight differs among the "
                "rows; give each the same weight, or 0 to leave it out."
            )
        return PairLosses.of_lines(lines)


def tandem_bound(pairs: PairLosses, rho: F64, ln_prior: float, delta: float) -> float:
    return 4.0 * tandem_complexity(pairs, rho, ln_prior, delta).above(tandem_loss(pairs, rho))


def tandem_loss(pairs: PairLosses, rho: F64) -> float:
    return mean_over(np.outer(rho, rho), pairs.rows, pairs.tandem)


def tandem_complexity(pairs: PairLosses, rho: F64, ln_prior: float, delta: float) -> PacBayesKl:
    return PacBayesKl.of(np.outer(rho, rho), pairs.rows, 2.0 * ln_prior, delta)


def least_tandem_bound(
    pairs: PairLosses,
    ln_prior: float,
    own: F64,
    *,
    delta: float = 0.05,
    max_rounds: int = MAX_ROUNDS,
    max_steps: int = 500,
    tol: float = 1e-7,
) -> tuple[F64, int]:
    """Return the weights that minimise the tandem bound over the simplex, and the number of tangents."""
    T = len(own)
    both = np.where(pairs.rows > 0.0, pairs.tandem, 1.0)  # pairs without rows count as the worst
    rho = np.full(T, 1.0 / T)
    n = tandem_complexity(pairs, rho, ln_prior, delta).rows
    best, least, rounds = rho, tandem_bound(pairs, rho, ln_prior, delta), 0
    lowest = least
    while n > 0.0 and rounds < max_rounds:
        rounds += 1
        # the largest p with kl(e, p) <= c is concave in (e, c): lower its tangent
        e = min(max(tandem_loss(pairs, rho), 1e-12), 1.0 - 1e-12)  # at 0 and 1 the slope is infinite
        p = min(tandem_complexity(pairs, rho, ln_prior, delta).above(e), 1.0 - 1e-12)
        rho = exponentiated_gradient(both, rho, 2.0 / (n * log(p * (1.0 - e) / (e * (1.0 - p)))), max_steps)
        value = tandem_bound(pairs, rho, ln_prior, delta)
        if value < lowest:
            best, lowest = rho, value
        if not value < least - tol:
            break
        least = value
    return (own if tandem_bound(pairs, own, ln_prior, delta) < lowest else best), rounds


def _ln_prior(lines: MarginMatrix) -> float:
    return log(2 * lines.n_voters if (lines.sign < 0.0).any() else lines.n_voters)


def exponentiated_gradient(both: F64, rho: F64, strength: float, max_steps: int) -> F64:
    """Lower rho' E rho + strength sum rho ln rho, E = `both`, by exponentiated-gradient steps that never raise it."""
    least = np.finfo(np.float64).tiny
    theta, step = np.log(rho), 1.0 / max(float(np.abs(both).max()), strength)
    value = float(rho @ both @ rho) + strength * float(rho @ theta)
    for _ in range(max_steps):
        slope = 2.0 * both @ rho + strength * theta
        slope = slope - rho @ slope
        gained = 0.0
        while step > 1e-12:
            tried = theta - step * slope
            tried = tried - tried.max()
            tried = np.log(np.maximum(np.exp(tried) / np.exp(tried).sum(), least))
            weights = np.exp(tried)
            weights /= weights.sum()
            new = float(weights @ both @ weights) + strength * float(weights @ tried)
            gained = value - new
            if gained >= 0.0:
                break
            step *= 0.5
        if not gained > 1e-13 * abs(value):
            break
        theta, rho, value, step = tried, weights, new, 2.0 * step
    return rho


_BLOCK = 1 << 22  # losses converted to float64 at a time


@dataclass(frozen=True, eq=False)
class PairLosses:
    risk: F64  # (T,) Mean loss of each voter; NaN if no row counts for it
    tandem: F64  # (T, T) Mean of l_t l_u; NaN without rows
    disagreement: F64  # (T, T) Mean of l_t (1 - l_u) + l_u (1 - l_t): how often labels differ
    rows: F64  # (T, T) Number of rows that count for both

    @classmethod
    def of(cls, least: NDArray[np.int8] | F64, counted: Mask | None) -> PairLosses:
        T = least.shape[1]
        both, own, rows = np.zeros((T, T)), np.zeros((T, T)), np.zeros((T, T))
        for loss, counts in loss_blocks(least, counted):
            both += loss.T @ loss
            if counts is None:
                own += loss.sum(axis=0)[:, None]
                rows += len(loss)
            else:
                own += loss.T @ counts
                rows += counts.T @ counts
        with np.errstate(invalid="ignore"):
            disagreement = (own + own.T - 2.0 * both) / rows
            return cls(np.diagonal(own) / np.diagonal(rows), both / rows, disagreement, rows)

    @classmethod
    def of_lines(cls, lines: MarginMatrix) -> PairLosses:
        S = lines.matrix
        least = S if lines.lines_of_row == 1 else S.reshape(lines.n_rows, -1, lines.n_voters).min(axis=1)
        return cls.of(least, lines.unseen)


def loss_blocks(least: NDArray[np.int8] | F64, counted: Mask | None) -> Iterator[tuple[F64, F64 | None]]:
    step = max(1, _BLOCK // least.shape[1])
    for at in range(0, len(least), step):
        loss: F64 = 0.5 * (1.0 - least[at : at + step].astype(np.float64))
        if counted is None:
            yield loss, None
        else:
            counts = counted[at : at + step].astype(np.float64)
            yield loss * counts, counts
