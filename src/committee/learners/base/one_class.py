"""The committee of a table whose rows are all of one class."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.data.frames import TableSchema
from committee.data.rows import Rows
from committee.vote.committee import Committee
from committee.vote.links.probability import Share
from committee.voters.forest import Forest


def constant_committee(rows: Rows, classes: NDArray[Any], table: TableSchema) -> Committee:
    """Return a committee of one leaf, which always names the only class; with a warning.

    Folds without a rare class come to this. A score of such a fold says more than an error in its place.
    """
    warnings.warn(
        f"y holds one class only, {classes.tolist()[0]!r} (rows of zero weight do not count): the model always says "
        "so, and has none of the attributes that tell of a training.",
        stacklevel=5,
    )
    leaf, none = np.zeros(1, dtype=np.int32), np.full(1, -1, dtype=np.int32)
    voter = Forest(
        n_features=rows.X.shape[1],
        n_classes=1,
        offset=np.array([0, 1]),
        feature=none,
        threshold=np.zeros(1),
        left=none,
        missing_left=np.zeros(1, dtype=np.uint8),
        category_offset=np.zeros(2, dtype=np.int64),
        category_bits=np.zeros(0, dtype=np.uint32),
        label=leaf,
        value=None,
        gain=np.zeros(1),
        weight=np.array([rows.weights.sum()]),
        count=np.array([len(rows)]),
    )
    return Committee(voter, np.ones(1), classes, Share(), table)
