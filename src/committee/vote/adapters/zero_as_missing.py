"""Splits that send zeros with the missing values, as splits that only know NaN."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from committee.vote.adapters.linked_trees import LinkedTrees

ZERO = float(np.float32(1e-35))
"""The largest magnitude that is a zero to LightGBM."""

MAX_GROWTH = 100
"""Nodes that a tree may have for each of its own."""

_ABSENT, _NEGATIVE, _POSITIVE = range(3)
"""Knowledge of a column's value from the splits above: a zero or missing, or on which side of the zeros it is."""
_BELOW = float(np.nextafter(-ZERO, -np.inf))


@dataclass(frozen=True)
class _To:
    """On to a child of the old node: 0 left, 1 right; with what is then known of the column."""

    side: int
    known: int | None


@dataclass(frozen=True)
class _Split:
    """A new node in place of an old one."""

    limit: float
    missing_left: bool
    left: _Split | _To
    right: _Split | _To


def part_zeros(trees: LinkedTrees, zero_is_missing: NDArray[np.bool_]) -> LinkedTrees:
    """Split off the zeros wherever they do not go the way of their neighbours.

    A split at t > 0 that sends zeros and missing values right sends left what is negative or between zero and t: two
    ranges, so that it becomes up to three splits, and what is below it may have to stand there twice. Splits on the
    same column further down know which range they are in. The new trees have no training record, as nobody counted the
    rows of the ranges; the gain of a split stays with the first that stands for it.

    Parameters
    ----------
    trees : LinkedTrees
        A node's ``missing_left`` is where zeros and missing values go.
    zero_is_missing : bool array (N,)
        The nodes that send zeros there, and not by their threshold.

    Returns
    -------
    LinkedTrees
        Every row comes to a leaf of the same value.

    Raises
    ------
    ValueError
        If a tree becomes more than 100 times as large.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.vote.adapters.linked_trees import LinkedTrees
    >>> from committee.vote.adapters.zero_as_missing import part_zeros
    >>> stump = LinkedTrees(
    ...     root=np.array([0]), feature=np.array([0, -1, -1]), threshold=np.array([0.5, 0.0, 0.0]),
    ...     left=np.array([1, -1, -1]), right=np.array([2, -1, -1]), missing_left=np.zeros(3, bool),
    ...     value=np.array([0.0, -1.0, 1.0]), gain=np.zeros(3), weight=np.ones(3), count=np.ones(3, np.int64), codes={})
    >>> parted = part_zeros(stump, np.array([True, False, False])).forest(n_classes=2, n_categories=np.array([0]))
    >>> parted.votes(np.array([[-1.0], [0.0], [np.nan], [0.2], [0.9]])).ravel().tolist()
    [-1.0, 1.0, 1.0, -1.0, 1.0]
    """
    grown = _Grown(trees, zero_is_missing.tolist())
    roots = [grown.tree(int(root)) for root in trees.root]
    of, sides = np.array(grown.of), np.array(grown.sides)
    return LinkedTrees(
        root=np.array(roots),
        feature=trees.feature[of],
        threshold=np.array(grown.limit),
        left=sides[:, 0],
        right=sides[:, 1],
        missing_left=np.array(grown.missing_left),
        value=trees.value[of],
        gain=np.where(grown.first, trees.gain[of], 0.0),
        weight=np.zeros(len(of)),
        count=np.zeros(len(of), dtype=np.int64),
        codes={new: trees.codes[node] for new, node in enumerate(grown.of) if node in trees.codes},
    )


def _parted(limit: float, missing_left: bool, known: int | None) -> _Split | _To:
    """Replace a split that sends zeros and missing values one way, whatever its limit."""
    if known == _ABSENT:
        return _To(0 if missing_left else 1, known)
    if known is not None:
        if (limit >= _BELOW) if known == _NEGATIVE else (limit <= ZERO):  # all on one side of the limit
            return _To(0 if known == _NEGATIVE else 1, known)
        return _Split(limit, False, _To(0, known), _To(1, known))
    if (limit >= ZERO) if missing_left else (limit < -ZERO):
        return _Split(limit, missing_left, _To(0, None), _To(1, None))
    if missing_left:
        low: _Split | _To = _To(0, None)
        if limit < -ZERO:
            low = _Split(_BELOW, False, _Split(limit, False, _To(0, _NEGATIVE), _To(1, _NEGATIVE)), _To(0, _ABSENT))
        return _Split(ZERO, True, low, _To(1, _POSITIVE))
    high: _Split | _To = _To(1, None)
    if limit > ZERO:
        high = _Split(ZERO, True, _To(1, _ABSENT), _Split(limit, False, _To(0, _POSITIVE), _To(1, _POSITIVE)))
    return _Split(_BELOW, False, _To(0, _NEGATIVE), high)


class _Grown:
    """New trees, from their roots down."""

    def __init__(self, trees: LinkedTrees, zero_is_missing: list[bool]) -> None:
        self._feature, self._threshold = trees.feature.tolist(), trees.threshold.tolist()
        self._zero_is_missing = zero_is_missing
        self._children = np.column_stack([trees.left, trees.right]).tolist()
        self._missing_left = trees.missing_left.tolist()
        self._most = MAX_GROWTH * (len(self._feature) // len(trees.root) + 1)
        self.of: list[int] = []
        """The old node that each new one stands for."""
        self.first: list[bool] = []
        """Whether it is the first of those that do."""
        self.limit: list[float] = []
        self.missing_left: list[bool] = []
        self.sides: list[list[int]] = []

    def tree(self, root: int) -> int:
        """Grow a tree from a root; the number of its new root."""
        start, top = len(self.of), [-1]
        waiting: list[tuple[int, dict[int, int], _Split | None, list[int], int]] = [(root, {}, None, top, 0)]
        while waiting:
            node, known, split, parent, side = waiting.pop()
            first = split is None
            if split is None:
                node, split = self._next(node, known)
            parent[side] = len(self.of)
            own = [-1, -1]
            self.of.append(node)
            self.first.append(first)
            self.sides.append(own)
            self.limit.append(self._threshold[node] if split is None else split.limit)
            self.missing_left.append(self._missing_left[node] if split is None else split.missing_left)
            if self._feature[node] >= 0:
                ways = (_To(0, None), _To(1, None)) if split is None else (split.left, split.right)
                waiting += [self._below(node, known, way, own, side) for side, way in enumerate(ways)]
            if len(self.of) - start > self._most:
                raise ValueError(
                    f"estimator has zero_as_missing=True and a tree that takes more than {MAX_GROWTH} times as many "
                    "nodes where only NaN is missing; train with NaN for what is missing, and zero_as_missing=False."
                )
        return top[0]

    def _next(self, node: int, known: dict[int, int]) -> tuple[int, _Split | None]:
        """The first node from here on whose split still parts rows, and its replacement."""
        while self._zero_is_missing[node]:
            split = _parted(self._threshold[node], self._missing_left[node], known.get(self._feature[node]))
            if isinstance(split, _Split):
                return node, split
            node = self._children[node][split.side]
        return node, None

    def _below(
        self, node: int, known: dict[int, int], way: _Split | _To, own: list[int], side: int
    ) -> tuple[int, dict[int, int], _Split | None, list[int], int]:
        if isinstance(way, _Split):
            return node, known, way, own, side
        now = known if way.known is None else {**known, self._feature[node]: way.known}
        return self._children[node][way.side], now, None, own, side
