"""Number of different trees that a learner can choose from: ln|B| of the voting bound."""

from __future__ import annotations

from math import lgamma, log

import numpy as np
from numpy.typing import NDArray

from committee.bounds.arguments import count
from committee.data.bins import Bins


def ln_tree_class(n_splits: int, n_leaves: int, n_outputs: int) -> float:
    """ln|B| of the trees of at most L leaves, each leaf with one of O outputs and each split one of S.

    Two leaves: |B| = S O (O - 1) + O, the stumps that tell something apart and the constants; exact if no two splits
    are alike. More: |B| <= Catalan(L - 1) S^(L - 1) O^L, the shapes, times what is at their nodes and leaves; a
    smaller tree is counted as one whose extra splits have equal leaves.

    Parameters
    ----------
    n_splits : int
        Splits S that a node can choose from: over all columns the thresholds, or ways to part the categories.
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
    S, L, K = count("n_splits", n_splits, 0), count("n_leaves", n_leaves), count("n_outputs", n_outputs, 2)
    if L == 1 or S == 0:
        return log(K)
    if L == 2:
        return log(S * K * (K - 1) + K)
    ln_catalan = lgamma(2 * L - 1) - lgamma(L) - lgamma(L + 1)
    return ln_catalan + (L - 1) * log(S) + L * log(K)


def splits_of_bins(bins: Bins, missing: NDArray[np.bool_]) -> int:
    """Splits of a binned table, as if its edges had been fixed before the rows were seen.

    Missing values, of columns that have such ``(p,)``, may go either way, or have a side of their own.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.bounds.base_class import splits_of_bins
    >>> from committee.data.bins import Bins
    >>> bins = Bins.learn(np.array([[1.0], [2.0], [4.0]]), None, np.zeros(1, np.int32), 255)
    >>> splits_of_bins(bins, np.array([False])), splits_of_bins(bins, np.array([True]))
    (2, 5)
    """
    total = 0
    for edges, k, gaps in zip(np.diff(bins.offset).tolist(), bins.n_categories.tolist(), missing.tolist(), strict=True):
        total += _partitions(k + gaps) if k else edges * (1 + gaps) + gaps
    return total


def splits_of_rows(n_rows: int, n_categories: NDArray[np.int32]) -> int:
    """Descriptions of a split by the two of n training rows that its threshold lies between.

    Missing values may go either way in each, or have a side of their own. Categories need no rows; a numeric column
    has 0 of them.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.bounds.base_class import splits_of_rows
    >>> splits_of_rows(10, np.zeros(1, np.int32))  # 45 pairs of rows
    91
    """
    n = count("n_rows", n_rows)
    return sum(_partitions(k + 1) if k else n * (n - 1) + 1 for k in n_categories.tolist())


def _partitions(k: int) -> int:
    """Ways to part k things in two."""
    return int(2 ** (k - 1) - 1)
