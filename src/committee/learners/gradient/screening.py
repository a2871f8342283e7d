"""Screening of columns: of tables with many more columns than rows, the columns whose first split gains most.

After J. Fan, J. Lv (2008): Sure independence screening for ultrahigh dimensional feature space. Journal of the Royal
Statistical Society B 70(5).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.bins import Binned
from committee.data.number_types import F64
from committee.data.rows import Rows, TargetRows

LEAST_SCREENED = 1000
"""Least number of columns that screening leaves; else half the number of rows."""


def n_screened(learner: Any, rows: Rows | TargetRows) -> int | None:
    if learner.max_features_tree != "auto" or learner.feature_weights is not None:
        return None
    if learner.monotonic_constraints is not None:  # the best split may have a direction that trees may not
        return None
    most = max(LEAST_SCREENED, int(rows.count) // 2)
    return most if most < rows.X.shape[1] and not rows.is_remote else None


def screened_columns(
    binned: Binned, gradient: F64, hessian: F64, w: F64 | None, most: int, least: int, l2: float, n_threads: int
) -> NDArray[np.int32]:
    """Return, ascending, the `most` columns whose best split of the rows gains most; of equals the first.

    Gradients and hessians, ``(n,)`` or ``(D, n)``, include the weights `w`; rows of weight 0 are absent. A split leaves
    `least` rows on both sides.
    """
    rows = None if w is None else np.flatnonzero(w > 0.0).astype(np.int32)
    codes, n_bins, categorical = binned.codes, binned.bins.n_bins, binned.bins.categorical
    gain = _core.first_split_gains(codes, n_bins, categorical, gradient, hessian, rows, least, l2, n_threads)
    return np.sort(np.argsort(-gain, kind="stable")[:most]).astype(np.int32)
