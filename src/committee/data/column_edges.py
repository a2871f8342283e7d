"""Edges of bins, column by column."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.number_types import F64

MAX_SAMPLE = 200_000
"""Rows looked at for the quantiles of a column with many values; a column with few values is read whole."""


def edges_of(column: F64, weights: F64 | None, max_bins: int, max_sample: int = MAX_SAMPLE) -> F64:
    """Edges of one column of numbers ``(n,)``, as `Bins.learn` learns them.

    Examples
    --------
    >>> edges_of(np.array([1.0, 2.0, 4.0]), None, 255).tolist()
    [1.5, 3.0]
    """
    return _core.bin_edges(column[:, None], weights, np.zeros(1, np.int32), max_bins, max_sample, 1)[0]


def end_to_end(edges: Sequence[F64]) -> tuple[F64, NDArray[np.int64]]:
    """Edges of all columns in one array, and where those of each begin.

    Examples
    --------
    >>> end_to_end([np.array([1.5]), np.array([]), np.array([0.0, 1.0])])[1].tolist()
    [0, 1, 1, 3]
    """
    offset = np.concatenate([[0], np.cumsum([len(each) for each in edges])]).astype(np.int64)
    return np.concatenate(edges), offset
