"""A forest without the sub-trees that are cut off, and with new votes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from committee.voters.forest import Forest

F64 = NDArray[np.float64]
Index = NDArray[np.intp]


def cut_forest(forest: Forest, stands: Index, value: F64) -> Forest:
    """The trees as far as their nodes stand for themselves.

    Parameters
    ----------
    forest : Forest
        K trees of N nodes.
    stands : intp array (N,)
        Node that stands for each, counted through over all trees; from `TreeNodes.stand_ins`.
    value : float64 array (N, D)
        What the nodes say now.

    Returns
    -------
    Forest
        Score voters. Rows reach the leaf that stands for the one they reached.
    """
    itself = stands == np.arange(len(stands))
    stays = np.flatnonzero(itself)
    start = np.repeat(forest.offset[:-1], forest.n_nodes)
    place = np.full(len(stands), -1, dtype=np.int64)
    place[stays] = np.arange(len(stays))
    sizes = np.add.reduceat(itself.astype(np.int64), forest.offset[:-1])
    offset = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    first_child = np.where(forest.left >= 0, forest.left + start, 0)
    split = (forest.left >= 0) & (place[first_child] >= 0)
    left = np.where(split, place[first_child] - np.repeat(offset[:-1], forest.n_nodes), -1)
    words = np.where(split, np.diff(forest.category_offset), 0)[stays]
    begin = forest.category_offset[:-1][stays]
    ends = np.concatenate([[0], np.cumsum(words)]).astype(np.int64)
    bits = np.repeat(begin - ends[:-1], words) + np.arange(ends[-1])
    kept = split[stays]
    return Forest(
        n_features=forest.n_features,
        n_classes=forest.n_classes,
        offset=offset,
        feature=np.where(kept, forest.feature[stays], -1).astype(np.int32),
        threshold=np.where(kept, forest.threshold[stays], 0.0),
        left=left[stays].astype(np.int32),
        missing_left=np.where(kept, forest.missing_left[stays], 0).astype(np.uint8),
        category_offset=ends,
        category_bits=forest.category_bits[bits],
        label=None,
        value=np.ascontiguousarray(value[stays]),
        gain=np.where(kept, forest.gain[stays], 0.0),
        weight=forest.weight[stays].copy(),
        count=forest.count[stays].copy(),
    )
