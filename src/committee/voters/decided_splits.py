"""Splits of trees that send all rows one way, as the splits above them have parted the rows already."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from committee.data.categories import unpack_category_bits
from committee.data.number_types import Index, Mask
from committee.voters.forest import Forest

UNDECIDED, LEFT, RIGHT = 0, 1, 2


def decided_splits(forest: Forest) -> NDArray[np.int8]:
    """Side to which each node sends every row that can come to it, ``(N,)``: `UNDECIDED`, `LEFT` or `RIGHT`.

    A row comes to a node by its way through the ancestors. Those that split the same column leave an interval of
    numbers, or a set of categories, and missing values or none; where all of that goes to one side, so do all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.voters.decided_splits import decided_splits
    >>> from committee.voters.forest import Forest
    >>> below_2_then_below_5 = Forest(
    ...     n_features=1, n_classes=2, offset=np.array([0, 5]), feature=np.array([0, 0, -1, -1, -1], np.int32),
    ...     threshold=np.array([2.0, 5.0, 0.0, 0.0, 0.0]), left=np.array([1, 3, -1, -1, -1], np.int32),
    ...     missing_left=np.zeros(5, np.uint8), category_offset=np.zeros(6, np.int64),
    ...     category_bits=np.zeros(0, np.uint32), label=np.array([-1, -1, 0, 0, 1], np.int32), value=None,
    ...     gain=np.zeros(5), weight=np.ones(5), count=np.ones(5, np.int64))
    >>> decided_splits(below_2_then_below_5).tolist()
    [0, 1, 0, 0, 0]
    """
    parent, is_left = _parents(forest)
    words = np.diff(forest.category_offset)
    side = np.zeros(len(forest.feature), dtype=np.int8)
    numeric = np.flatnonzero((forest.feature >= 0) & (words == 0))
    side[numeric] = _of_numbers(forest, numeric, parent, is_left, words)
    categorical = np.flatnonzero(words > 0)
    if len(categorical):
        goes = category_sides(forest)
        for node in categorical.tolist():
            side[node] = _of_categories(forest, node, parent, is_left, goes)
    return side


def _parents(forest: Forest) -> tuple[Index, Mask]:
    """Parent of each node, -1 of a root, and whether the node is its left child."""
    start = np.repeat(forest.offset[:-1], forest.n_nodes)
    inner = np.flatnonzero(forest.left >= 0)
    child = forest.left[inner] + start[inner]
    parent = np.full(len(forest.left), -1, dtype=np.intp)
    parent[child] = parent[child + 1] = inner
    is_left = np.zeros(len(parent), dtype=bool)
    is_left[child] = True
    return parent, is_left


def _of_numbers(
    forest: Forest, nodes: Index, parent: Index, is_left: Mask, words: NDArray[np.int64]
) -> NDArray[np.int8]:
    low, high = np.full(len(nodes), -np.inf), np.full(len(nodes), np.inf)
    missing = np.ones(len(nodes), dtype=bool)
    feature, at = forest.feature[nodes], nodes
    while (climbs := parent[at] >= 0).any():
        above, went_left = parent[at], is_left[at]
        same = climbs & (forest.feature[above] == feature) & (words[above] == 0)
        cut = forest.threshold[above]
        high = np.where(same & went_left, np.minimum(high, cut), high)
        low = np.where(same & ~went_left, np.maximum(low, cut), low)
        missing &= ~same | ((forest.missing_left[above] == 1) == went_left)
        at = np.where(climbs, above, at)
    threshold, missing_left = forest.threshold[nodes], forest.missing_left[nodes] == 1
    empty = low >= high
    left = (empty | (high <= threshold)) & (~missing | missing_left)
    right = (empty | (low >= threshold)) & (~missing | ~missing_left)
    return np.where(left, LEFT, np.where(right, RIGHT, UNDECIDED)).astype(np.int8)


def category_sides(forest: Forest) -> dict[int, Mask]:
    """Whether each category goes left at each split on categories; the last entry is for every value that is none."""
    words = np.diff(forest.category_offset)
    goes: dict[int, Mask] = {}
    for node in np.flatnonzero(words > 0).tolist():
        n_codes = 32 * int(words[forest.feature == forest.feature[node]].max())
        sides = np.full(n_codes + 1, forest.missing_left[node] == 1)
        sides[: 32 * words[node]] = False
        bits = forest.category_bits[forest.category_offset[node] : forest.category_offset[node + 1]]
        sides[unpack_category_bits(bits)] = True
        goes[node] = sides
    return goes


def _of_categories(forest: Forest, node: int, parent: Index, is_left: Mask, goes: dict[int, Mask]) -> int:
    comes = np.ones(len(goes[node]), dtype=bool)
    at = node
    while (above := int(parent[at])) >= 0:
        if above in goes and forest.feature[above] == forest.feature[node]:
            comes &= goes[above] == is_left[at]
        at = above
    sides = goes[node][comes]
    return LEFT if sides.all() else RIGHT if not sides.any() else UNDECIDED
