"""Columns whose splits single precision, in which scikit-learn's trees compare, does not keep apart."""

from __future__ import annotations

import numpy as np

from committee.voters.forest import Forest

WHOLE = 2.0**24
"""Whole numbers beyond it are not all of single precision."""
FEW = 0.01
"""Share of a column's thresholds that may fall together: of rows between them so few are sent another way."""


def blurred_column(forest: Forest) -> int | None:
    """The first column with splits that rows of single precision do not go by; None if there is none.

    That is one with a threshold beyond 2^24, or where more than one in a hundred thresholds falls together with
    another. Thresholds that stand where rounding changes, as those of scikit-learn's own trees do, are no such ones.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import TreeVoter
    >>> X, y = load_iris(return_X_y=True)
    >>> blurred_column(TreeVoter().fit(X, y).committee_.voters)
    >>> blurred_column(TreeVoter().fit(X + 1e9, y).committee_.voters)
    0
    """
    from committee.vote.adapters.sklearn_trees import float64_threshold

    asks = (forest.feature >= 0) & (np.diff(forest.category_offset) == 0)
    feature, threshold = forest.feature[asks], forest.threshold[asks]
    # a threshold beyond all numbers parts the missing values from the others
    moved = (float64_threshold(threshold) != threshold) & (np.abs(threshold) < np.finfo(np.float32).max)
    for j in np.unique(feature[moved]).tolist():
        own = np.unique(threshold[moved & (feature == j)])
        single = np.unique(own.astype(np.float32))
        if np.abs(own).max() > WHOLE or len(own) - len(single) > FEW * len(own):
            return int(j)
    return None
