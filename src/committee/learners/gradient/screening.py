"""Screening of columns: of tables with many more columns than rows, the columns whose first split gains most.

After J. Fan, J. Lv (2008): Sure independence screening for ultrahigh dimensional feature space. Journal of the Royal
Statistical Society B 70(5).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.data.bins import Binned
from committee.data.matrices import SparseMatrix
from committee.data.number_types import F64
from committee.data.rows import Rows, TargetRows

LEAST_SCREENED = 1000
"""Least number of columns that screening leaves; else half the number of rows."""
_BLOCK_CELLS = 1 << 20
_LEAST_HESSIAN = 1e-150  # of a side, as a loss may have none


def n_screened(learner: Any, rows: Rows | TargetRows) -> int | None:
    """Return how many columns ``max_features_tree="auto"`` leaves the trees; None: all."""
    if learner.max_features_tree != "auto" or learner.feature_weights is not None:
        return None
    most = max(LEAST_SCREENED, int(rows.count) // 2)
    return most if most < rows.X.shape[1] and not (isinstance(rows.X, SparseMatrix) or rows.is_remote) else None


def screened_columns(
    binned: Binned, gradient: F64, hessian: F64, w: F64 | None, most: int, least: int, l2: float
) -> NDArray[np.int32]:
    """Return, ascending, the `most` columns whose best split of the rows gains most; of equals the first.

    A split leaves `least` rows of a weight `w` above 0 on both sides. With the sums G and H of gradients and hessians
    ``(D, n)`` of each side, weights included, it gains sum_d [G_d^2 / (H_d + l2)], left plus right. Of a categorical
    column it separates one category; a missing number counts as the largest. Numbers are rounded to 2^-30 of the
    largest before they are summed, so that the order of the rows has no effect.
    """
    codes, categorical = binned.dense, binned.bins.categorical > 0
    n, p = codes.shape
    present = np.ones(n) if w is None else (w > 0.0).astype(np.float64)
    g, h = (_rounded(each.reshape(-1, n)) for each in (gradient, hessian))
    width, block = int(binned.bins.n_bins.max()) + 1, max(1, _BLOCK_CELLS // n)
    gain = np.empty(p)
    for first in range(0, p, block):
        columns = slice(first, first + block)
        cells = codes[:, columns] + width * np.arange(len(categorical[columns]))
        count = _left_sums(cells, present, width, categorical[columns])
        of_splits = np.zeros_like(count)
        for g_d, h_d in zip(g, h, strict=True):
            G, H = (_left_sums(cells, each, width, categorical[columns]) for each in (g_d, h_d))
            sides = (G, H), (g_d.sum() - G, h_d.sum() - H)
            of_splits += sum(a**2 / np.maximum(b + l2, _LEAST_HESSIAN) for a, b in sides)
        of_splits[(count < least) | (present.sum() - count < least)] = -np.inf
        gain[columns] = of_splits.max(axis=1)
    return np.sort(np.argsort(-gain, kind="stable")[:most]).astype(np.int32)


def _rounded(numbers: F64) -> F64:
    unit = np.abs(numbers).max(initial=0.0) * 2.0**-30
    return np.asarray(np.rint(numbers / unit) * unit if unit > 0.0 else numbers)


def _left_sums(cells: NDArray[np.intp], of_rows: F64, width: int, categorical: NDArray[np.bool_]) -> F64:
    # sums over the rows up to each bin of each column, or in it if the column is categorical
    n_columns = cells.shape[1]
    sums = np.bincount(cells.ravel(), np.repeat(of_rows, n_columns), n_columns * width).reshape(n_columns, width)
    return np.asarray(np.where(categorical[:, None], sums, sums.cumsum(axis=1)))
