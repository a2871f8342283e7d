"""Sets of category codes as bits: code c is bit ``c % 32`` of word ``c // 32``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def packed(is_in: NDArray[np.bool_]) -> NDArray[np.uint32]:
    """Words of a set, of which every code says whether it is in.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.data.category_bits import packed
    >>> packed(np.array([True, False, True])).tolist()
    [5]
    """
    padded = np.zeros(-(-len(is_in) // 32) * 32, dtype=np.uint8)
    padded[: len(is_in)] = is_in
    return np.packbits(padded, bitorder="little").view("<u4").astype(np.uint32)


def codes_in(words: NDArray[np.uint32]) -> NDArray[np.intp]:
    """Codes of a set, ascending.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.data.category_bits import codes_in
    >>> codes_in(np.array([5], np.uint32)).tolist()
    [0, 2]
    """
    return np.flatnonzero(np.unpackbits(words.astype("<u4").view(np.uint8), bitorder="little"))
