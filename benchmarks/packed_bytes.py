"""The fewest bytes that trees can be kept in without loss, as ToaD counts them: a measure of `bench_pruning`.

Trees on a diet (arXiv 2510.15938) keeps every threshold and every leaf's value once, in tables common to all trees, and
a tree as a string of bits: of each node whether it is a leaf, then the numbers in the tables of its column and
threshold, or of its value, each in as many bits as the table needs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from committee.voters.forest import Forest

NUMBER = 32
"""Bits of a threshold and of a number of a leaf's value, in the tables."""
COLUMN = 16
"""Bits of a column's number, and of the number of its thresholds."""


def packed_bytes(forest: Forest) -> float:
    """Bytes of the trees that split; those of one leaf are a constant."""
    trees = forest[np.flatnonzero(forest.n_nodes > 1)]
    inner = trees.left >= 0
    if not inner.any():
        return 0.0
    columns, column = np.unique(trees.feature[inner], return_inverse=True)
    pairs = np.unique(np.column_stack([column, trees.threshold[inner].astype(np.float32)]), axis=0)
    thresholds = np.bincount(pairs[:, 0].astype(np.intp), minlength=len(columns))
    assert trees.value is not None
    values = np.unique(trees.value[~inner].astype(np.float32), axis=0)
    bits = len(inner) + inner.sum() * _bits(np.array(len(columns))) + _bits(thresholds)[column].sum()
    bits += (~inner).sum() * _bits(np.array(len(values)))
    bits += len(columns) * 2 * COLUMN + len(pairs) * NUMBER + values.size * NUMBER
    return float(bits) / 8.0


def _bits(n: NDArray[np.intp]) -> NDArray[np.float64]:
    """Bits that tell n things apart."""
    found: NDArray[np.float64] = np.ceil(np.log2(np.maximum(n, 1)))
    return found
