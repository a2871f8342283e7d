"""A row on which two votes of the same trees elect different classes, or the proof that there is none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64, Index, Mask
from committee.learners.trained.vote_cells import VoteCells
from committee.learners.trained.vote_parts import VoteParts

ROUNDING = 1e-9
"""By how much sums of votes, whose widths sum to one, are taken to be wrong: far more than rounding can do."""

BLOCK = 1 << 12
"""Boxes that are looked at together."""


class OutOfTimeError(Exception):
    """The search has not ended in time."""


@dataclass(frozen=True, eq=False)
class Boxes:
    """Sets of cells: of each column some values, as bits, and where trees are decided already what their leaves say."""

    bits: NDArray[np.uint64]
    """``(n, words)``"""
    sums: F64
    """``(n, conditions)``: sums of the leaves that are decided."""


@dataclass(frozen=True, eq=False)
class Separation:
    """Branch and bound over the leaves at which a row can be at once, tree after tree.

    A box of cells is parted by the leaves of one more tree, and dropped where the trees that are left, each by the
    best leaf that still meets the box, cannot bring the vote to elect one class and the other vote to prefer another.
    Of what comes through all trees both votes are asked themselves. So the proof rests on no solver's tolerance.
    """

    cells: VoteCells
    order: Index
    """Trees, the widest votes first."""

    @classmethod
    def of(cls, parts: VoteParts) -> Separation:
        """The search for a vote."""
        forest = parts.cells.forest
        leaf = forest.feature < 0
        width = np.maximum.reduceat(np.where(leaf, np.ptp(parts.says, axis=1), 0.0), forest.offset[:-1])
        return cls(parts.cells, np.argsort(-width, kind="stable"))

    @cached_property
    def leaves(self) -> tuple[Index, ...]:
        """Leaves of each tree, in the order of the trees."""
        offset, leaf = self.cells.forest.offset, self.cells.forest.feature < 0
        return tuple(np.flatnonzero(leaf[offset[t] : offset[t + 1]]) + offset[t] for t in self.order.tolist())

    @cached_property
    def words(self) -> Index:
        """Where the words of each column's bits begin."""
        return np.cumsum([0, *(-(-len(column.values) // 64) for column in self.cells.columns)])

    @cached_property
    def meets(self) -> NDArray[np.uint64]:
        """Bits of each node, ``(N, words)``: values with which a row can come there."""
        N = len(self.cells.forest.feature)
        bits = np.zeros((N, self.words[-1]), dtype=np.uint64)
        for first, takes in zip(self.words.tolist(), self.cells.takes, strict=False):
            padded = np.zeros((N, -(-takes.shape[1] // 64) * 64), dtype=np.uint8)
            padded[:, : takes.shape[1]] = takes
            packed = np.packbits(padded, axis=1, bitorder="little").view("<u8").astype(np.uint64)
            bits[:, first : first + packed.shape[1]] = packed
        return bits

    @cached_property
    def touched(self) -> tuple[tuple[Index, Index], ...]:
        """For each column, its words, and the leaves (of all trees, in order) that do not take all of its values."""
        every = np.concatenate(self.leaves)
        found = []
        for j, takes in enumerate(self.cells.takes):
            found.append((np.arange(self.words[j], self.words[j + 1]), np.flatnonzero(~takes[every].all(axis=1))))
        return tuple(found)

    def search(
        self, conditions: F64, starts: F64, least: F64, differ: Callable[[F64], Mask], in_time: Callable[[], None]
    ) -> F64 | None:
        """Look for rows in which all conditions hold and on which the votes differ.

        Parameters
        ----------
        conditions : float64 array (N, m)
            Numbers of the leaves.
        starts, least : float64 arrays (m,)
            Where their sums start, and what they must reach.
        differ : callable
            Whether the two votes elect different classes, for rows of the encoded matrix.
        in_time : callable
            Raises an error when the search is to end.

        Returns
        -------
        float64 array (n, p) or None
            Some such rows; None if there are none.
        """
        ends = np.cumsum([0, *map(len, self.leaves)])
        every = np.concatenate(self.leaves)
        stack = [(0, Boxes(self.meets[:1], starts[None]))]  # every row is at the first root
        while stack:
            in_time()
            t, boxes = stack.pop()
            if t == len(self.leaves):
                X = self._rows(boxes.bits)
                different = differ(X)
                if different.any():
                    return X[different]
                continue
            children = self._parted(boxes, self.leaves[t], conditions)
            n = len(children.bits)
            if not n:
                continue
            hope = self._hope(children, every[ends[t + 1] :], ends[t + 1], np.diff(ends[t + 1 :]), conditions)
            stays = (hope >= least).all(axis=1)
            place = np.flatnonzero(stays)
            place = place[np.argsort(hope[place, -1], kind="stable")]  # the last are looked at first
            for first in range(0, len(place), BLOCK):
                some = place[first : first + BLOCK]
                stack.append((t + 1, Boxes(children.bits[some], children.sums[some])))
        return None

    def _parted(self, boxes: Boxes, leaves: Index, conditions: F64) -> Boxes:
        """Boxes parted by the leaves of a tree."""
        bits, sums = [], []
        for leaf in leaves.tolist():
            both = boxes.bits & self.meets[leaf]
            some = np.ones(len(both), dtype=bool)
            for j, takes in enumerate(self.cells.takes):
                if takes[leaf].all():
                    continue
                some &= (both[:, self.words[j] : self.words[j + 1]] != 0).any(axis=1)
            bits.append(both[some])
            sums.append(boxes.sums[some] + conditions[leaf])
        return Boxes(np.concatenate(bits), np.concatenate(sums))

    def _hope(self, boxes: Boxes, left: Index, done: int, sizes: Index, conditions: F64) -> F64:
        """The most that the sums of boxes can become by the trees that are left."""
        hope = boxes.sums.copy()
        if not len(left):
            return hope
        meets = np.ones((len(boxes.bits), len(left)), dtype=bool)
        for words, touched in self.touched:
            some = touched[touched >= done] - done
            if not len(some):
                continue
            here = np.zeros((len(meets), len(some)), dtype=bool)
            for word in words.tolist():
                here |= (boxes.bits[:, word, None] & self.meets[left[some], word]) != 0
            meets[:, some] &= here
        first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        for m in range(conditions.shape[1]):
            best = np.where(meets, conditions[left, m], -np.inf)
            hope[:, m] += np.maximum.reduceat(best, first, axis=1).sum(axis=1)
        return hope

    def _rows(self, bits: NDArray[np.uint64]) -> F64:
        """A row of each box."""
        X = np.zeros((len(bits), self.cells.forest.n_features))
        for column, first, last in zip(
            self.cells.columns, self.words[:-1].tolist(), self.words[1:].tolist(), strict=True
        ):
            chosen = np.ascontiguousarray(bits[:, first:last].astype("<u8")).view(np.uint8)
            value = np.argmax(np.unpackbits(chosen, axis=1, bitorder="little"), axis=1)
            X[:, column.feature] = column.values[value]
        return X
