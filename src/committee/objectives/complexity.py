"""Rademacher complexity of a class of voters, its fit to random signs; the strength of a penalty by the risk bound."""

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
from committee.objectives.programs.named_penalties import PENALTIES

if TYPE_CHECKING:
    from committee.voters.stump_dictionary import StumpDictionary

SIGNS = 2_000_000
"""Random signs drawn where the number of draws is not given: they bring the confidence term to about 0.003."""

FEWEST, MOST = 32, 1000
"""Limits of that number of draws: a standard error needs some, and few rows do not need more."""

_BLOCK = 1 << 22
"""Signs held at a time."""


@dataclass(frozen=True)
class Complexity:
    """Empirical Rademacher complexity of a class of voters, estimated from random signs.

    Parameters
    ----------
    estimate : float
        Mean over the draws of the best voter's correlation with the signs.
    standard_error : float
        Of `estimate`.
    upper : float
        The complexity is at most this,
    delta : float
        but for this probability, over the signs.
    draws : int
        Draws B of signs for all rows.
    n_rows : int
        Rows n.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.objectives.complexity import rademacher
    >>> one_voter = rademacher(np.ones((100, 1)), random_state=0)  # E|mean of 100 signs| = 0.0796
    >>> print(one_voter)
    0.0799 +- 0.0019, at most 0.0917
    """

    estimate: float
    standard_error: float
    upper: float
    delta: float
    draws: int
    n_rows: int

    def __str__(self) -> str:
        return f"{self.estimate:.4f} +- {self.standard_error:.4f}, at most {self.upper:.4f}"


def rademacher(
    votes: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    constant: bool = False,
    draws: int | None = None,
    delta: float = 0.001,
    random_state: int | np.random.RandomState | None = None,
) -> Complexity:
    """Empirical Rademacher complexity of the voters of a vote matrix, and of their opposites.

    R_S = E_sigma max_j |sum_i w_i sigma_i h_j(x_i)|,

    the signs sigma_i independent and even, estimated by the mean of B draws. One sign changes one draw's maximum by
    at most 2 w_i and the mean by 2 w_i / B, so McDiarmid's inequality over all n B signs gives

        R_S <= mean + sqrt(2 sum_i w_i^2 ln(1 / delta) / B)

    with probability 1 - delta; with equal weights the root is sqrt(2 ln(1 / delta) / (n B)).

    Parameters
    ----------
    votes : array-like (n, N)
        h_j(x_i) in [-1, 1]. The class is taken for symmetric: with h_j the opposite -h_j belongs to it.
    sample_weight : array-like (n,), default=None
        Row weights, >= 0; scaled to sum to one. None: 1 / n each.
    constant : bool, default=False
        Whether the constant voter belongs to the class too, as with an intercept.
    draws : int, default=None
        Draws B. None: so many that 2,000,000 signs are drawn, but no fewer than 32 and no more than 1000 times n.
    delta : float, default=0.001
        Probability that `upper` is too small. It enters by its logarithm only, so it may be small.
    random_state : int, RandomState or None, default=None
        Seed of the signs.

    Raises
    ------
    ValueError
        If a vote is outside [-1, 1], or another argument out of its range.

    References
    ----------
    P. Bartlett, S. Mendelson (2002). Rademacher and Gaussian complexities: risk bounds and structural results.
    JMLR 3, Theorem 11 for the estimate from random signs.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.objectives.complexity import rademacher
    >>> x = np.arange(200.0)
    >>> stumps = np.where(x[:, None] > x[::20], 1, -1)
    >>> print(rademacher(stumps, random_state=0))
    0.1138 +- 0.0013, at most 0.1221
    """
    H = np.asarray(votes)
    if H.ndim != 2 or 0 in H.shape:
        raise ValueError(f"votes has shape {H.shape}; give a matrix of at least one row and one voter.")
    bad = ~((H >= -1) & (H <= 1))  # NaN is bad too
    if bad.any():
        i, j = np.unravel_index(int(bad.argmax()), H.shape)
        raise ValueError(f"votes[{i}, {j}] is {H[i, j]}; it must be within -1 and 1. Divide scores by their largest.")
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
    """Empirical Rademacher complexity of a dictionary of stumps, by its exact search for the best one.

    As `rademacher`, for voters that are too many to be written as a matrix: a draw of signs costs one pass over the
    rows and one over the cells. With subsets of categories the search leaves out those that have all categories on
    one side, so there it is exact if the constant voter belongs to the class, and may be a little low if not.

    Equation: rademacher (docs/theory.md).

    Parameters
    ----------
    dictionary : StumpDictionary
        The voters.
    cells : Cells
        The binned rows.
    n_rows : int
        Rows n.
    sample_weight, constant, draws, delta, random_state
        As for `rademacher`, which says what is raised.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import _core
    >>> from committee.objectives.complexity import rademacher_of_stumps
    >>> from committee.data.bins import Binned, Bins
    >>> from committee.voters.stump_dictionary import StumpDictionary
    >>> X = np.random.default_rng(0).normal(size=(500, 10))
    >>> bins = Bins.learn(X, None, np.zeros(10, np.int32), 255)
    >>> binned = Binned(bins, bins.encode(X))
    >>> dictionary = StumpDictionary.of(binned, np.ones(500))
    >>> cells = _core.Cells(binned.codes, bins.n_bins, 1)
    >>> print(rademacher_of_stumps(dictionary, cells, 500, random_state=0))
    0.1230 +- 0.0007, at most 0.1283
    """

    def strongest(values: F64) -> F64:
        return np.array([dictionary.max_correlation(cells.sums(v)) for v in values])

    return _monte_carlo(strongest, n_rows, sample_weight, constant, draws, delta, random_state)


def theory_alpha(penalty: str, complexity: float, n_voters: int = 1) -> float:
    """The strength lambda of the penalty that is the second term of the quadratic loss's risk bound.

    The bound's second term is 8 T^(1 - 1/p) ||alpha||_p R for T voters; written as the penalties of QuadBoost are,

        2 lambda ||alpha||_1: lambda = 4 R;    lambda ||alpha||_2: lambda = 8 sqrt(T) R;
        lambda ||alpha||_inf: lambda = 8 T R.

    For ``"l1"`` it is the penalty of the learner. For ``"l2"`` the learner's own is lambda ||alpha||_2^2, whose
    slope is that of the bound's term only if lambda is divided by 2 ||alpha||_2; the source passes over that, and
    so does this function. For ``"linf"`` the learner has a ceiling alpha_max and no lambda.

    Parameters
    ----------
    penalty : {"l1", "l2", "linf"}
        Which norm is held down.
    complexity : float
        Rademacher complexity R of the voters; see `rademacher`.
    n_voters : int, default=1
        Voters T that the committee has or may have; ``"l1"`` does not look at it.

    Raises
    ------
    ValueError
        If the penalty is unknown or a number out of its range.

    References
    ----------
    L. Fortier-Dubois, F. Laviolette, M. Marchand, L.-E. Robitaille, J.-F. Roy. Efficient learning of ensembles with
    QuadBoost, section 3.

    Examples
    --------
    >>> from committee.objectives.complexity import theory_alpha
    >>> theory_alpha("l1", 0.05), theory_alpha("l2", 0.05, n_voters=100)
    (0.2, 4.0)
    """
    if penalty not in PENALTIES:
        raise ValueError(f"penalty is {penalty!r}; it must be one of {', '.join(PENALTIES)}.")
    if not 0.0 <= complexity < np.inf:
        raise ValueError(f"complexity is {complexity}; it must be a number of at least 0.")
    if int(n_voters) != n_voters or n_voters < 1:
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
    """`strongest` takes signed weights ``(b, n)`` to the best voter's absolute sum for each of the b draws."""
    w = _shares(sample_weight, n)
    B = int(np.clip(-(-SIGNS // n), FEWEST, MOST)) if draws is None else draws
    if int(B) != B or B < 2:
        raise ValueError(f"draws is {draws}; it must be a whole number of at least 2.")
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta is {delta}, the probability that the limit fails; it must be between 0 and 1.")
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
    """Row weights that sum to one."""
    if sample_weight is None:
        return np.full(n, 1.0 / n)
    w = np.asarray(sample_weight, dtype=np.float64)
    if w.shape != (n,):
        raise ValueError(f"sample_weight has shape {w.shape}; it must be one number for each of the {n} rows.")
    if not (np.isfinite(w) & (w >= 0.0)).all() or w.sum() == 0.0:
        raise ValueError("sample_weight must be finite numbers of at least 0, not all of them 0.")
    return np.asarray(w / w.sum())
