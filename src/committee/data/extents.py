"""Extents of ranges laid end to end: range i is ``extents[i]:extents[i + 1]``."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def extents(sizes: ArrayLike) -> NDArray[np.int64]:
    """Where ranges of these sizes begin, and the last one ends.

    Examples
    --------
    >>> from committee.data.extents import extents
    >>> extents([2, 3]).tolist()
    [0, 2, 5]
    """
    return np.concatenate([[0], np.cumsum(np.asarray(sizes, dtype=np.int64))], dtype=np.int64)


def positions(starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Positions in several ranges, one range after the other.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.data.extents import positions
    >>> positions(np.array([7, 2]), np.array([2, 3])).tolist()
    [7, 8, 2, 3, 4]
    """
    return np.arange(sizes.sum()) + np.repeat(starts - extents(sizes)[:-1], sizes)
