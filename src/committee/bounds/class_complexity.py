"""Size and Rademacher complexity of a class of voters, and of their weighted votes."""

from __future__ import annotations

from math import inf, lgamma, log, sqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from committee.bounds.result import check_count, check_delta, check_number

if TYPE_CHECKING:
    from committee.data.bins import Bins


def ln_tree_class(n_splits: int, n_leaves: int, n_outputs: int) -> float:
    """Logarithm of the number |B| of trees with at most L leaves, O outputs of a leaf and S splits of a node.

    Two leaves: |B| = S O (O - 1) + O, stumps and constants; exact if no two splits are alike. More:
    |B| <= Catalan(L - 1) S^(L - 1) O^L; a smaller tree is counted as one whose extra splits have equal leaves.

    Parameters
    ----------
    n_splits : int
        Splits S of a node: the thresholds, or ways to partition the categories, of all columns.
    n_leaves : int
        Most leaves L.
    n_outputs : int
        Outputs O of a leaf: the classes, and one more if it may abstain.

    Examples
    --------
    >>> from math import exp
    >>> from committee.bounds import ln_tree_class
    >>> round(exp(ln_tree_class(100, n_leaves=2, n_outputs=2)))  # 2 x 100 stumps and two constants
    202
    """
    S, L = check_count("n_splits", n_splits, 0), check_count("n_leaves", n_leaves)
    K = check_count("n_outputs", n_outputs, 2)
    if L == 1 or S == 0:
        return log(K)
    if L == 2:
        return log(S * K * (K - 1) + K)
    ln_catalan = lgamma(2 * L - 1) - lgamma(L) - lgamma(L + 1)
    return ln_catalan + (L - 1) * log(S) + L * log(K)


def splits_of_bins(bins: Bins, missing: NDArray[np.bool_]) -> int:
    """Number of possible splits of a binned table, if its bin edges are fixed independently of the rows.

    In the columns marked by `missing` ``(p,)``, missing values may go to either side or be a side of their own.
    """
    total = 0
    for edges, k, gaps in zip(np.diff(bins.offset).tolist(), bins.n_categories.tolist(), missing.tolist(), strict=True):
        total += _partitions(k + gaps) if k else edges * (1 + gaps) + gaps
    return total


def splits_of_rows(n_rows: int, n_categories: NDArray[np.int32]) -> int:
    """Number of possible splits of a table whose thresholds lie between the values of any two of n training rows.

    Missing values may go to either side of each split, or be a side of their own. A numeric column has 0 categories.
    """
    n = check_count("n_rows", n_rows)
    return sum(_partitions(k + 1) if k else n * (n - 1) + 1 for k in n_categories.tolist())


def _partitions(k: int) -> int:
    return int(2 ** (k - 1) - 1)


def massart(ln_size: float, n_rows: int) -> float:
    """Massart's bound sqrt(2 ln|B| / n) on the Rademacher complexity of a finite class of voters within [-1, 1].

    It holds for the complexity on every sample, and so for the expected one too.

    Equation: massart (docs/theory.md). Source: P. Massart (2000), Lemma 5.2.

    Parameters
    ----------
    ln_size : float
        ln|B|, a voter and its opposite counted as two: ln(2 N) for N stumps of either sign.
    n_rows : int
        Rows n.

    Examples
    --------
    >>> from math import log
    >>> from committee.bounds import massart
    >>> round(massart(log(2 * 300), 500), 4)
    0.16
    """
    return sqrt(2.0 * check_number("ln_size", ln_size, 0.0, inf) / check_count("n_rows", n_rows))


def ensemble_complexity(complexity: float, n_voters: int, p: float = 1.0) -> float:
    """Rademacher complexity T^(1 - 1/p) R of the votes sum_t alpha_t h_t of T voters with ||alpha||_p <= 1 (Lemma 1).

    The supremum over the weights is the q-norm of the voters' correlations with the signs, 1/p + 1/q = 1, largest if
    all T voters are the best one; so it is an equality if a voter may be taken more than once.

    Source: L. Fortier-Dubois et al., Efficient learning of ensembles with QuadBoost, Lemma 1.

    Parameters
    ----------
    complexity : float
        Rademacher complexity R of the voters, a symmetric class.
    n_voters : int
        Number of voters T.
    p : float, default=1.0
        Norm of the weights; 1 <= p <= inf.

    Examples
    --------
    >>> from committee.bounds import ensemble_complexity
    >>> [ensemble_complexity(0.05, 100, p) for p in (1, 2, float("inf"))]
    [0.05, 0.5, 5.0]
    """
    R, p = check_number("complexity", complexity, 0.0, inf), check_number("p", p, 1.0, inf)
    return float(R * float(check_count("n_voters", n_voters)) ** (1.0 - 1.0 / p))


def expected_complexity(empirical: float, n_rows: int, delta: float = 0.05) -> float:
    """Upper bound on the expected Rademacher complexity R_n by that of one sample, R_S.

    With probability 1 - delta, and L = ln(1 / delta) / (2 n),

        R_n <= min((sqrt(L) + sqrt(L + R_S))^2, R_S + sqrt(L)).

    One row more raises n R_S by a number between 0 and 1, and these numbers sum to at most n R_S: it is self-bounding,
    which gives the first term. The bounded differences give the second.

    Source: S. Boucheron, G. Lugosi, P. Massart (2000).

    Parameters
    ----------
    empirical : float
        R_S, or an upper limit of it, of a symmetric class of voters within [-1, 1].
    n_rows : int
        Rows n.
    delta : float, default=0.05
        The bound fails with at most this probability.

    Examples
    --------
    >>> from committee.bounds import expected_complexity
    >>> round(expected_complexity(0.05, 500), 4), round(expected_complexity(0.05, 50_000), 4)
    (0.0812, 0.0525)
    """
    R, n = check_number("empirical", empirical, 0.0, inf), check_count("n_rows", n_rows)
    L = log(1.0 / check_delta(delta)) / (2.0 * n)
    return min((sqrt(L) + sqrt(L + R)) ** 2, R + sqrt(L))
