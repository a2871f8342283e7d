"""Rows through a grown tree by their codes, one row and one node after the other."""

import numpy as np
from numpy.typing import NDArray

from committee._core import GrownTree


def walk_codes(
    codes: NDArray[np.integer], n_bins: NDArray[np.int32], tree: GrownTree, rows: NDArray[np.int32]
) -> NDArray[np.int32]:
    return np.array([_leaf(codes[row], n_bins, tree) for row in rows], dtype=np.int32)


def _leaf(codes: NDArray[np.integer], n_bins: NDArray[np.int32], tree: GrownTree) -> int:
    i = 0
    while tree.feature[i] >= 0:
        j = int(tree.feature[i])
        code = int(codes[j])
        words = tree.category_bits[tree.category_offset[i] : tree.category_offset[i + 1]]
        if code == n_bins[j]:
            left = bool(tree.missing_left[i])
        elif len(words):
            left = bool(int(words[code // 32]) >> (code % 32) & 1)
        else:
            left = code <= tree.bin[i]
        i = int(tree.left[i]) + (not left)
    return i
