"""The least second-order bound on the error: weights for which two voters are seldom wrong together."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import ClassVar

import numpy as np

from committee.data.number_types import F64
from committee.objectives.margins.objective import Objective, Reweighting
from committee.objectives.margins.pair_losses import PairLosses
from committee.objectives.pac_bayes import PacBayesKl, mean_over
from committee.objectives.programs.margin_matrix import MarginMatrix

MAX_ROUNDS = 50
"""Most tangents; a few are enough."""


@dataclass(frozen=True)
class Tandem(Objective):
    """Minimise the tandem bound on the error on new rows [1]_,

        4 sup{p : kl(e(w), p) <= (2 KL(w || 1/T) + ln(2 sqrt n / delta)) / n},    e(w) = sum_{t,u} w_t w_u E^[l_t l_u],

    l the losses of two voters on a row that neither has seen, n the number of such rows, or its harmonic mean over
    pairs (`committee.bounds.tandem` says more). It holds for all weights at once, and so for those that it finds.
    Training rows have no such losses. All voters keep some weight: the divergence requires it.

    Parameters
    ----------
    delta : float, default=0.05
        The bound fails with at most this probability.

    References
    ----------
    .. [1] A. Masegosa, S. S. Lorenzen, C. Igel, Y. Seldin (2020). Second order PAC-Bayesian bounds for the weighted
       majority vote. NeurIPS 33.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.objectives.programs.margin_matrix import MarginMatrix
    >>> from committee.objectives.margins.tandem_bound import Tandem
    >>> error = np.linspace(0.05, 0.45, 20)
    >>> S = np.where(np.random.default_rng(0).random((1000, 20)) < error, -1, 1).astype(np.int8)
    >>> solved = Tandem().solve(MarginMatrix.of_matrix(S))
    >>> solved.value < 0.7 * solved.before, bool(solved.weights[0] > solved.weights[-1])
    (True, True)
    """

    name: ClassVar[str] = "tandem"
    maximises: ClassVar[bool] = False
    on_unseen_rows: ClassVar[bool] = True
    delta: float = 0.05

    def __post_init__(self) -> None:
        if not 0.0 < self.delta < 1.0:
            raise ValueError(f"delta={self.delta!r} is not in (0, 1); it is the probability that the bound fails.")

    def value(self, lines: MarginMatrix, weights: F64) -> float:
        """The bound at any weights of the simplex."""
        return tandem_bound(self._pairs(lines), weights, _ln_prior(lines), self.delta)

    def solve(self, lines: MarginMatrix) -> Reweighting:
        """The best weights.

        Raises
        ------
        ValueError
            If rows have different weights: the bound is about rows that are drawn alike.
        """
        pairs, prior = self._pairs(lines), _ln_prior(lines)
        weights, rounds = least_tandem_bound(pairs, prior, lines.own, delta=self.delta)
        value, before = (tandem_bound(pairs, w, prior, self.delta) for w in (weights, lines.own))
        status = "Stationary" if rounds < MAX_ROUNDS else "Iteration limit"
        return Reweighting(weights, value, before, status, len(lines), rounds)

    def _pairs(self, lines: MarginMatrix) -> PairLosses:
        weight = lines.row_weight
        if weight.max() > weight.min() * (1.0 + 1e-9):
            raise ValueError(
                "objective='tandem' bounds the error on rows that are drawn alike, but sample_weight differs among the "
                "rows; give each the same weight, or 0 to leave it out."
            )
        return PairLosses.of_lines(lines)


def tandem_bound(pairs: PairLosses, rho: F64, ln_prior: float, delta: float) -> float:
    """The bound: four times the most that the tandem loss of rho can be."""
    return 4.0 * tandem_complexity(pairs, rho, ln_prior, delta).above(tandem_loss(pairs, rho))


def tandem_loss(pairs: PairLosses, rho: F64) -> float:
    """e = sum_{t,u} rho_t rho_u E^[l_t l_u], over the pairs of which there is a row."""
    return mean_over(np.outer(rho, rho), pairs.rows, pairs.tandem)


def tandem_complexity(pairs: PairLosses, rho: F64, ln_prior: float, delta: float) -> PacBayesKl:
    """PAC-Bayes-kl bound on the distance of e from its expectation."""
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
    """Weights that minimise the tandem bound over the simplex, and the tangents that were taken.

    The set of (e, c, p) with kl(e, p) <= c is convex, and so p(e, c), the largest p, is concave: nowhere above its
    tangent. Each round takes the tangent at the weights as they are and lowers it, which lowers the bound; with
    kl(e, p) = c its slopes are in the proportion

        dp/dc : dp/de = 1 : ln(p (1 - e) / (e (1 - p))),

    so that e(rho) + 2 KL(rho || pi) / (n ln(p (1 - e) / (e (1 - p)))) is to be made small: convex on held-out rows, by
    steps of the exponentiated gradient. It starts at uniform weights, and of these, the own and all after a round,
    those of the least bound are returned. Out of bag, where n moves with rho and e is not convex, no more is promised.

    Parameters
    ----------
    pairs : PairLosses
        Of rows that the voters have not seen.
    ln_prior : float
        Minus the logarithm of the prior of each voter.
    own : float64 array (T,)
        The ensemble's own weights.
    delta : float, default=0.05
        Of the bound that is minimised.
    max_rounds : int, default=50
        Most tangents; rounds end when one lowers the bound by less than `tol`.
    max_steps : int, default=500
        Most gradient steps between them.
    tol : float, default=1e-7
        Least decrease of the bound that a round is made for.

    References
    ----------
    A. Masegosa, S. S. Lorenzen, C. Igel, Y. Seldin (2020). Second order PAC-Bayesian bounds for the weighted majority
    vote. NeurIPS 33. There a looser bound with a parameter lambda is lowered in turn with it; the tangents are those of
    the bound itself.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.objectives.margins.pair_losses import PairLosses
    >>> from committee.objectives.margins.tandem_bound import least_tandem_bound
    >>> S = np.where(np.arange(90)[:, None] < [9, 9, 30], -1, 1).astype(np.int8)
    >>> w, _ = least_tandem_bound(PairLosses.of(S, None), np.log(3), np.full(3, 1 / 3))
    >>> bool(w[2] < w[0]), bool(np.isclose(w[0], w[1]))
    (True, True)
    """
    T = len(own)
    both = np.where(pairs.rows > 0.0, pairs.tandem, 1.0)  # what no row tells is taken for the worst
    rho = np.full(T, 1.0 / T)
    n = tandem_complexity(pairs, rho, ln_prior, delta).rows
    best, least, rounds = rho, tandem_bound(pairs, rho, ln_prior, delta), 0
    lowest = least
    while n > 0.0 and rounds < max_rounds:
        rounds += 1
        e = min(max(tandem_loss(pairs, rho), 1e-12), 1.0 - 1e-12)  # at 0 and 1 the slope has no end
        p = min(tandem_complexity(pairs, rho, ln_prior, delta).above(e), 1.0 - 1e-12)
        rho = descended(both, rho, 2.0 / (n * log(p * (1.0 - e) / (e * (1.0 - p)))), max_steps)
        value = tandem_bound(pairs, rho, ln_prior, delta)
        if value < lowest:
            best, lowest = rho, value
        if not value < least - tol:
            break
        least = value
    return (own if tandem_bound(pairs, own, ln_prior, delta) < lowest else best), rounds


def _ln_prior(lines: MarginMatrix) -> float:
    """A prior of equal weights; of each voter and its opposite, if some are turned round."""
    return log(2 * lines.n_voters if (lines.sign < 0.0).any() else lines.n_voters)


def descended(both: F64, rho: F64, strength: float, max_steps: int) -> F64:
    """rho' E rho + strength sum rho ln rho made smaller by steps of the exponentiated gradient, each halved until it
    does; the objective never rises."""
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
