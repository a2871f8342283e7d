"""Trees that share what is equal in them: sub-trees, splits and leaves, each stored once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64, Index, Mask
from committee.voters.decided_splits import LEFT, RIGHT, UNDECIDED, decided_splits
from committee.voters.flat_trees import extents, positions
from committee.voters.forest import Forest
from committee.voters.node_order import inner_levels

MOST_LEVELS = 2**15
"""Levels of a tree that is stored so."""


@dataclass(frozen=True, eq=False)
class SharedTrees:
    """T trees as a graph of M different inner nodes, S different splits and L different leaves.

    A place is the number of an inner node, or M plus that of a leaf. The children of an inner node come before it.

    Parameters
    ----------
    n_features, n_classes : int
        As of a `Forest`.
    root : int64 array (T,)
        Place of each tree's root.
    split, left, right : int64 arrays (M,)
        Split of each inner node, and places of its children.
    feature : int32 array (S,)
    threshold : float64 array (S,)
    missing_left : uint8 array (S,)
    category_offset : int64 array (S + 1,)
    category_bits : uint32 array (C,)
        Splits, as those of a `Forest`.
    label : int32 array (L,) or None
    value : float64 array (L, D) or None
        Leaves.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from committee import Committee
    >>> from committee.voters.shared_trees import SharedTrees
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = Committee.from_estimator(RandomForestClassifier(20, random_state=0).fit(X, y)).voters
    >>> shared = SharedTrees.of(forest)
    >>> len(forest.feature), len(shared.split), len(shared.value)
    (352, 154, 3)
    """

    n_features: int
    n_classes: int
    root: NDArray[np.int64]
    split: NDArray[np.int64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    feature: NDArray[np.int32]
    threshold: F64
    missing_left: NDArray[np.uint8]
    category_offset: NDArray[np.int64]
    category_bits: NDArray[np.uint32]
    label: NDArray[np.int32] | None
    value: F64 | None

    @classmethod
    def of(cls, forest: Forest, *, every_node: bool = False) -> SharedTrees:
        """The graph of a forest's trees, without splits that part no rows: decided ones, or of equal children.

        With `every_node` these stay, too.
        """
        inner = forest.feature >= 0
        first_leaf, leaf = _distinct(_bits(forest.value if forest.label is None else forest.label)[~inner])
        first_split, split = _distinct(_split_keys(forest, inner))
        split_of, place = np.zeros((2, len(inner)), dtype=np.int64)
        split_of[inner] = split
        place[~inner] = ~leaf  # negative until the number of inner nodes is known
        nodes = _number_nodes(forest, split_of, place, every_node)
        M, root = len(nodes), place[forest.offset[:-1]]
        # splits and leaves that are still in use, counted anew
        splits, split = np.unique(nodes[:, 0], return_inverse=True)
        places = np.concatenate([root, nodes[:, 1], nodes[:, 2]])
        leaves, leaf = np.unique(~places[places < 0], return_inverse=True)
        places[places < 0] = M + leaf.reshape(-1)
        root, left, right = np.split(places, [len(root), len(root) + M])
        at_split, at_leaf = np.flatnonzero(inner)[first_split[splits]], np.flatnonzero(~inner)[first_leaf[leaves]]
        words = np.diff(forest.category_offset)[at_split]
        return cls(
            n_features=forest.n_features,
            n_classes=forest.n_classes,
            root=root,
            split=split.reshape(-1).astype(np.int64),
            left=left,
            right=right,
            feature=forest.feature[at_split],
            threshold=forest.threshold[at_split],
            missing_left=forest.missing_left[at_split],
            category_offset=extents(words),
            category_bits=forest.category_bits[positions(forest.category_offset[at_split], words)],
            label=None if forest.label is None else forest.label[at_leaf],
            value=None if forest.value is None else np.ascontiguousarray(forest.value[at_leaf]),
        )

    def sizes(self, most: int) -> tuple[NDArray[np.int64], int]:
        """Nodes below and at each place if nothing were shared, ``(M + L,)``, and levels of the highest.

        Raises
        ------
        ValueError
            If the trees have more than `most` nodes or `MOST_LEVELS` levels.
        """
        votes = self.label if self.value is None else self.value
        assert votes is not None
        M, L = len(self.split), len(votes)
        size, level = [0] * M + [1] * L, [0] * (M + L)
        for node, (left, right) in enumerate(zip(self.left.tolist(), self.right.tolist(), strict=True)):
            size[node] = min(1 + size[left] + size[right], most + 1)
            level[node] = 1 + max(level[left], level[right])
        total, highest = sum(size[root] for root in self.root.tolist()), max(level, default=0)
        if total > most:
            raise ValueError(f"the trees that share parts have more than {most} nodes in all")
        if highest > MOST_LEVELS:
            raise ValueError(f"a tree has {highest} levels; at most {MOST_LEVELS} are stored with shared parts")
        return np.array(size, dtype=np.int64), highest

    def node_arrays(self, most: int) -> dict[str, Any]:
        """Arrays of a `Forest` of the same trees, each whole and breadth first, with an empty training record.

        Raises
        ------
        ValueError
            As `sizes`.
        """
        size, _ = self.sizes(most)
        M = len(self.split)
        offset = extents(size[self.root])
        place = np.zeros(offset[-1], dtype=np.int64)
        left = np.full(offset[-1], -1, dtype=np.int32)
        tree, at, free = np.arange(len(self.root)), offset[:-1], np.ones(len(self.root), dtype=np.int64)
        here = self.root
        while len(here):
            place[at] = here
            inner = here < M
            here, tree, at = here[inner], tree[inner], at[inner]
            rank = np.arange(len(tree)) - np.searchsorted(tree, tree)  # trees stay in order
            child = free[tree] + 2 * rank
            left[at] = child
            free += 2 * np.bincount(tree, minlength=len(free))
            here = np.column_stack([self.left[here], self.right[here]]).ravel()
            at = (np.column_stack([child, child + 1]) + offset[tree][:, None]).ravel()
            tree = np.repeat(tree, 2)
        return {"offset": offset, "left": left, **self._numbers(place), **_no_record(len(place))}

    def _numbers(self, place: NDArray[np.int64]) -> dict[str, Any]:
        """Splits and votes of nodes, by their places."""
        M, inner = len(self.split), place < len(self.split)
        split = self.split[place[inner]]
        words = np.zeros(len(place), dtype=np.int64)
        words[inner] = np.diff(self.category_offset)[split]

        def spread(numbers: NDArray[Any], otherwise: Any, who: Mask, which: Index) -> NDArray[Any]:
            out = np.full((len(place), *numbers.shape[1:]), otherwise, dtype=numbers.dtype)
            out[who] = numbers[which]
            return out

        leaf = place[~inner] - M
        return {
            "feature": spread(self.feature, -1, inner, split),
            "threshold": spread(self.threshold, 0.0, inner, split),
            "missing_left": spread(self.missing_left, 0, inner, split),
            "category_offset": extents(words),
            "category_bits": self.category_bits[positions(self.category_offset[split], words[inner])],
            "label": None if self.label is None else spread(self.label, -1, ~inner, leaf),
            "value": None if self.value is None else spread(self.value, 0.0, ~inner, leaf),
        }


def _no_record(n: int) -> dict[str, Any]:
    return {"gain": np.zeros(n), "weight": np.zeros(n), "count": np.zeros(n, dtype=np.int64)}


def _bits(numbers: Any) -> NDArray[np.int64]:
    """Numbers as whole ones that are equal where all bits are, ``(n, d)``."""
    whole = numbers.view(np.int64) if numbers.dtype == np.float64 else numbers.astype(np.int64)
    found: NDArray[np.int64] = whole if whole.ndim == 2 else whole[:, None]
    return found


def _distinct(keys: NDArray[np.int64]) -> tuple[Index, NDArray[np.int64]]:
    """Rows of which each different one is the first, and the number of each row's kind."""
    _, first, kind = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return first, kind.reshape(-1).astype(np.int64)


def _split_keys(forest: Forest, inner: Mask) -> NDArray[np.int64]:
    """What makes the splits of inner nodes equal, a row for each."""
    sets: dict[bytes, int] = {b"": 0}
    begin, end = forest.category_offset[:-1][inner].tolist(), forest.category_offset[1:][inner].tolist()
    if len(forest.category_bits):
        words = [
            sets.setdefault(forest.category_bits[a:b].tobytes(), len(sets)) for a, b in zip(begin, end, strict=True)
        ]
    else:
        words = [0] * len(begin)
    threshold = np.where(np.array(words, dtype=np.int64) > 0, 0.0, forest.threshold[inner])  # unused by categories
    return np.column_stack(
        [forest.feature[inner], _bits(threshold)[:, 0], forest.missing_left[inner], np.array(words, dtype=np.int64)]
    )


def _number_nodes(
    forest: Forest, split: NDArray[np.int64], place: NDArray[np.int64], every_node: bool
) -> NDArray[np.int64]:
    """Find the different inner nodes from the leaves up; return split and children of each, and fill in all places."""
    side = np.full(len(split), UNDECIDED) if every_node else decided_splits(forest)
    known: dict[tuple[int, int, int], int] = {}
    for level, child in reversed(inner_levels(forest.left, forest.offset)):
        left, right = place[child], place[child + 1]
        left, right = np.where(side[level] == RIGHT, right, left), np.where(side[level] == LEFT, left, right)
        place[level] = left
        parts = np.ones(len(level), dtype=bool) if every_node else left != right
        rows, kind = np.unique(np.column_stack([split[level], left, right])[parts], axis=0, return_inverse=True)
        numbers = [known.setdefault(tuple(row), len(known)) for row in rows.tolist()]
        place[level[parts]] = np.array(numbers, dtype=np.int64)[kind.reshape(-1)]
    return np.array(list(known), dtype=np.int64).reshape(-1, 3)
