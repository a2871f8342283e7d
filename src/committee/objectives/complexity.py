"""Rademacher complexity of a class of voters, estimated from random signs, and penalty strengths by the risk bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log, sqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from committee import _core
from committee.data.number_types import F64
from committee.objectives.programs.penalties import PENALTIES

if TYPE_CHECKING:
    from committee.voters.stump_dictionary import StumpDictionary

SIGNS = 2_000_000  # default number of random signs, with which the confidence term is about 0.003

FEWEST, MOST = 32, 1000  # limits of the default number of draws

_BLOCK = 1 << 22  # signs drawn at a time


@dataclass(frozen=True)
class Complexity:
    """Empirical Rademacher complexity of a class of voters, estimated from random signs."""

    estimate: float  # mean over the draws of the best voter's correlation with the signs
    standard_error: float  # of `estimate`
    upper: float  # upper bound on the complexity, which fails with probability `delta` over the signs
    delta: float
    draws: int  # draws of signs for all rows
    n_rows: int

    def __str__(self) -> str:
        return f"{self.estimate:.4f} +- {self.standard_error:.4f}, at most {self.upper:.4f}"


def rademacher(
    votes: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    constant: bool = False,  # add the constant voter, as with an intercept
    draws: int | None = None,
    delta: float = 0.001,
    random_state: int | np.random.RandomState | None = None,
) -> Complexity:
    """Estimate the empirical Rademacher complexity of the voters of a vote matrix ``(n, N)``, and of their opposites.

    R_S = E_sigma max_j |sum_i w_i sigma_i h_j(x_i)| is estimated by the mean of B draws of signs, and bounded by
    McDiarmid's inequality (P. Bartlett, S. Mendelson 2002, JMLR 3, Theorem 11).
    """
    H = np.asarray(votes)
    if H.ndim != 2 or 0 in H.shape:
        raise ValueError(f"votes has shape {H.shape}; give a matrix of at least one row and one voter.")
    bad = ~((H >= -1) & (H <= 1))  # NaN is bad too
    if bad.any():
        i, j = np.unravel_index(int(bad.argmax()), H.shape)
        raise ValueError(f"votes[{i}, {j}] is {H[i, j]}; it must be between -1 and 1.")
    H = H.astype(np.float64, copy=False)

    def strongest(values: F64) -> F64:
        return np.asarray(np.abs(values @ H).max(axis=1))

    return _monte_carlo(strongest, len(H), sample_weight, constant, draws, delta, random_state)


def rademacher_of_stumps(
    dictionary: StumpDictionary,
    cells: _core.Cells,
    n_rows: int,
    *,
    sample_weight: ArrayLike | None = None,
    constant: bool = False,
    draws: int | None = None,
    delta: float = 0.001,
    random_state: int | np.random.RandomState | None = None,
) -> Complexity:
    """Empirical Rademacher complexity of a dictionary of stumps on binned rows, by its exact search for the best stump.

    Equation: rademacher (docs/theory.md).
    """

    def strongest(values: F64) -> F64:
        return np.array([dictionary.max_correlation(cells.sums(v)) for v in values])

    return _monte_carlo(strongest, n_rows, sample_weight, constant, draws, delta, random_state)


def theory_alpha(penalty: str, complexity: float, n_voters: int = 1) -> float:
    """Return the penalty strength lambda that the risk bound of the quadratic loss suggests.

    With it 2 lambda ||alpha||_1, lambda ||alpha||_2 or lambda ||alpha||_inf equals the second term of the bound,
    8 T^(1 - 1/p) ||alpha||_p R for T voters of Rademacher complexity R. The learners' "l2" is lambda ||alpha||_2^2.
    """
    if penalty not in PENALTIES:
        known = [name for name, kind in PENALTIES.items() if "theory_strength" in vars(kind)]
        raise ValueError(f"penalty is {penalty!r}; it must be one of {', '.join(known)}.")
    if not 0.0 <= complexity < np.inf:
        raise ValueError(f"complexity is {complexity}; it must be a finite number of at least 0.")
    if n_voters % 1 != 0 or n_voters < 1:  # also NaN and infinity
        raise ValueError(f"n_voters is {n_voters}; it must be a whole number of at least 1.")
    return PENALTIES[penalty].theory_strength(float(complexity), int(n_voters))


def _monte_carlo(
    strongest: Callable[[F64], F64],
    n: int,
    sample_weight: ArrayLike | None,
    constant: bool,
    draws: int | None,
    delta: float,
    random_state: int | np.random.RandomState | None,
) -> Complexity:
    w = _shares(sample_weight, n)
    B = int(np.clip(-(-SIGNS // n), FEWEST, MOST)) if draws is None else draws
    if B % 1 != 0 or B < 2:
        raise ValueError(f"draws is {draws}; it must be a whole number of at least 2.")
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta is {delta}, the probability that the limit fails; it must be above 0 and below 1.")
    rng, step = check_random_state(random_state), max(1, _BLOCK // n)
    strengths = []
    for first in range(0, B, step):
        bits = rng.bytes(min(step, B - first) * -(-n // 8))
        table = np.frombuffer(bits, dtype=np.uint8).reshape(-1, -(-n // 8))
        values = (2.0 * np.unpackbits(table, axis=1, count=n) - 1.0) * w
        best = strongest(values)
        strengths.append(np.maximum(best, np.abs(values.sum(axis=1))) if constant else best)
    each = np.concatenate(strengths)
    estimate = float(each.mean())
    beyond = sqrt(2.0 * float(w @ w) * log(1.0 / delta) / B)
    return Complexity(
        estimate=estimate,
        standard_error=float(each.std(ddof=1) / sqrt(B)),
        upper=min(1.0, estimate + beyond),  # no draw exceeds the sum of the weights
        delta=delta,
        draws=int(B),
        n_rows=n,
    )


def _shares(sample_weight: ArrayLike | None, n: int) -> F64:
    if sample_weight is None:
        return np.full(n, 1.0 / n)
    w = np.asarray(sample_weight, dtype=np.float64)
    if w.shape != (n,):
        raise ValueError(f"sample_weight has shape {w.shape}; it must be one number for each of the {n} rows.")
    if not (np.isfinite(w) & (w >= 0.0)).all() or w.sum() == 0.0:
        raise ValueError("sample_weight must be finite numbers of at least 0, not all of them 0.")
    return np.asarray(w / w.sum())
