"""Redundant splits: those that send all rows to one side, and those between equal leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.data.categories import unpack_category_bits
from committee.data.number_types import Index, Mask
from committee.voters.forest import Forest

UNDECIDED, LEFT, RIGHT = 0, 1, 2


def decided_splits(forest: Forest) -> NDArray[np.int8]:
    """Side to which each node sends all rows that can reach it, ``(N,)``: `UNDECIDED`, `LEFT` or `RIGHT`."""
    parent, is_left = parents(forest)
    words = np.diff(forest.category_offset)
    side = np.zeros(len(forest.feature), dtype=np.int8)
    numeric = np.flatnonzero((forest.feature >= 0) & (words == 0))
    side[numeric] = _of_numbers(forest, numeric, parent, is_left, words)
    goes = category_sides(forest)
    for node in goes:
        comes = np.ones(len(goes[node]), dtype=bool)  # categories of the rows that can reach the node
        at = node
        while (above := int(parent[at])) >= 0:
            if above in goes and forest.feature[above] == forest.feature[node]:
                comes &= goes[above] == is_left[at]
            at = above
        sides = goes[node][comes]
        side[node] = LEFT if sides.all() else RIGHT if not sides.any() else UNDECIDED
    return side


def parents(forest: Forest) -> tuple[Index, Mask]:
    """Parent of each node among all nodes, -1 at roots, and whether it is the left child, ``(N,)`` each."""
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
    """Mask of the categories that go left at each categorical split, by node; its last entry is for other values."""
    words = np.diff(forest.category_offset)
    goes: dict[int, Mask] = {}
    for node in np.flatnonzero(words > 0).tolist():
        n_codes = 32 * int(words[forest.feature == forest.feature[node]].max())
        goes[node] = forest.categories_left(node, n_codes + 1)
    return goes


@dataclass(frozen=True, eq=False)
class MergedLeaves:
    """Nodes that remain if splits between equal leaves become leaves."""

    is_leaf: NDArray[np.bool_]  # (N,): leaves after merging, and all nodes below them
    representative: NDArray[np.int64]  # (N,): an original leaf with the same vote as each of these
    nodes: NDArray[np.int64]  # (M,): remaining nodes, ascending
    left: NDArray[np.int64]  # (N,): left child among all N nodes

    @classmethod
    def of(cls, forest: Forest, says: Sequence[NDArray[Any]]) -> MergedLeaves:
        roots = forest.offset[:-1]
        left = np.repeat(roots, forest.n_nodes) + forest.left
        split = forest.feature >= 0
        levels, level = [], roots
        while len(level):
            inner = level[split[level]]
            levels.append(inner)
            level = np.concatenate([left[inner], left[inner] + 1])
        single, stands = ~split, np.arange(len(split))
        for inner in reversed(levels):
            a, b = left[inner], left[inner] + 1
            equal = single[a] & single[b]
            for each in says:
                same = each[stands[a]] == each[stands[b]]
                equal &= same if same.ndim == 1 else same.all(axis=1)
            single[inner], stands[inner] = equal, stands[a]
        kept = [roots]
        while len(kept[-1]):
            inner = kept[-1][~single[kept[-1]]]
            kept.append(np.concatenate([left[inner], left[inner] + 1]))
        return cls(single, stands, np.sort(np.concatenate(kept)), left)


def categories_opposite_missing(forest: Forest, node: int, n_categories: int) -> NDArray[np.int64]:
    """Category codes on the side of a split that missing values do not go to."""
    words = forest.category_words(node)
    left: NDArray[np.int64] = unpack_category_bits(words).astype(np.int64)
    if not forest.missing_left[node]:
        return left
    most = min(32 * len(words), n_categories or 32 * len(words))
    return np.asarray(np.setdiff1d(np.arange(most), left), dtype=np.int64)
