"""Voters of boosted trees: rounds of one tree per score, and trees with lines in their leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.matrices import Matrix
from committee.data.number_types import F64, MAX_CLASSES, check_array, check_finite, check_range, checked_length
from committee.data.table_schema import TableSchema
from committee.data.typed_json import field
from committee.files.documents import Document, Tensors
from committee.voters.flat_trees import check_extents, extents, positions
from committee.voters.forest import Forest
from committee.voters.protocol import VoteKind, VoterIndex, tree_numbers, voter_weights
from committee.voters.shared_forest import read_forest


@dataclass(frozen=True, eq=False)
class Rounds:
    """T rounds of K trees with one number per leaf: tree ``t K + k`` belongs to round t and adds to score k."""

    kind: ClassVar[VoteKind] = "score"
    takes_sparse: ClassVar[bool] = True
    forest: Forest
    n_outputs: int

    def __post_init__(self) -> None:
        value = self.forest.value
        if value is None or value.shape[1] != 1 or self.forest.n_classes != 1:
            raise ValueError("Rounds need a forest whose leaves hold one number, for one class.")
        if self.n_outputs < 1 or len(self.forest) % self.n_outputs:
            raise ValueError(f"{len(self.forest)} trees do not form whole rounds of n_outputs={self.n_outputs}.")

    def __len__(self) -> int:
        return len(self.forest) // self.n_outputs

    def __getitem__(self, index: VoterIndex) -> Rounds:
        return Rounds(self.forest[tree_numbers(index, len(self), self.n_outputs)], self.n_outputs)

    n_classes = property(attrgetter("n_outputs"))
    n_features = property(attrgetter("forest.n_features"))

    @property
    def n_nodes(self) -> NDArray[np.int64]:
        return np.asarray(self.forest.n_nodes.reshape(len(self), self.n_outputs).sum(axis=1))

    nbytes = property(attrgetter("forest.nbytes"))

    @property
    def spread(self) -> F64:
        if self.n_outputs == 1 or not len(self):
            return self.forest.spread
        assert self.forest.value is not None
        leaf, value, first = self.forest.feature < 0, self.forest.value[:, 0], self.forest.offset[:-1]
        shape = (len(self), self.n_outputs)
        high = np.maximum.reduceat(np.where(leaf, value, -np.inf), first).reshape(shape)
        low = np.minimum.reduceat(np.where(leaf, value, np.inf), first).reshape(shape)
        # each score's least rival: the lowest of all, or the second lowest where it is the lowest itself
        least, second = np.partition(low, 1, axis=1)[:, :2].T
        is_least = np.arange(self.n_outputs) == low.argmin(axis=1)[:, None]
        rival = np.where(is_least, second[:, None], least[:, None])
        return np.asarray(np.maximum((high - rival).max(axis=1), 0.0))

    def tally(self, X: Matrix, weights: F64 | None = None, n_threads: int = 1) -> F64:
        forest, checked = self.forest, voter_weights(weights, len(self))
        assert forest.value is not None
        value, K = forest.value[:, 0], self.n_outputs
        return forest.walk(X, n_threads, lambda trees, rows: trees.sum_outputs(rows, value, checked, K, n_threads))

    def votes(self, X: Matrix, n_threads: int = 1) -> F64:
        each = self.forest.votes(X, n_threads).astype(np.float64, copy=False)
        return each.reshape(len(each), len(self), self.n_outputs)

    def feature_importances(self, weights: F64 | None = None) -> F64:
        return self.forest.feature_importances(np.repeat(voter_weights(weights, len(self)), self.n_outputs))

    def check(self) -> None:
        if self.n_outputs > MAX_CLASSES:
            raise ValueError(f"n_outputs is {self.n_outputs}; it must be between 1 and {MAX_CLASSES}.")
        self.forest.check()

    def to_document(self, tensors: Tensors) -> Document:
        trees = self.forest.to_document(tensors.part("trees"))
        return {"kind": "rounds", "n_outputs": int(self.n_outputs), "trees": trees}

    @classmethod
    def from_document(cls, document: Document, tensors: Tensors) -> Rounds:
        trees = read_forest(field(document, "trees", dict), tensors.part("trees"), "value", "rounds")
        rounds = cls(trees, field(document, "n_outputs", int))
        rounds.check()
        return rounds

    def check_columns(self, table: TableSchema | None) -> None:
        self.forest.check_columns(table)


ARRAYS = ("start", "column", "slope", "centre", "low", "high")


@dataclass(frozen=True, eq=False)
class LeafLines:
    """Lines of N nodes: line m adds ``slope[m] (min(max(x, low[m]), high[m]) - centre[m])``, or 0 if x is missing."""

    start: NDArray[np.int64]  # (N + 1,): node i has the lines start[i]:start[i + 1]
    column: NDArray[np.int32]  # (M,): numeric column of the encoded matrix
    slope: F64  # (M, D)
    centre: F64  # (M, D): value at which the line adds 0
    low: F64  # (M,): the line is constant below
    high: F64  # (M,): and above

    @property
    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int32], F64, F64, F64, F64]:
        return self.start, self.column, self.slope, self.centre, self.low, self.high

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.arrays)

    def scaled(self, unit: F64) -> LeafLines:
        return replace(self, slope=self.slope * unit)

    def take(self, nodes: NDArray[np.int64]) -> LeafLines:
        sizes = np.diff(self.start)[nodes]
        lines = positions(self.start[nodes], sizes)
        return LeafLines(extents(sizes), *(getattr(self, name)[lines] for name in ARRAYS[1:]))

    @classmethod
    def concatenate(cls, parts: Sequence[LeafLines]) -> LeafLines:
        sizes = np.concatenate([np.diff(part.start) for part in parts])
        return cls(extents(sizes), *(np.concatenate([getattr(part, name) for part in parts]) for name in ARRAYS[1:]))

    def of_nodes(self, mask: NDArray[np.bool_]) -> LeafLines:
        sizes = np.diff(self.start)
        lines = np.repeat(mask, sizes)
        parts = (getattr(self, name)[lines] for name in ARRAYS[1:])
        return LeafLines(extents(np.where(mask, sizes, 0)), *parts)

    def merged(self, other: LeafLines) -> LeafLines:
        n = len(self.start) - 1
        node = np.concatenate([np.repeat(np.arange(n), np.diff(each.start)) for each in (self, other)])
        order = np.argsort(node, kind="stable")
        parts = (np.concatenate([getattr(self, name), getattr(other, name)])[order] for name in ARRAYS[1:])
        return LeafLines(extents(np.bincount(node, minlength=n)), *parts)

    def extremes(self) -> tuple[F64, F64]:
        """Lower and upper bounds of the sum of the lines of each node, ``(N, D)``."""
        ends = (self.slope * (self.low[:, None] - self.centre), self.slope * (self.high[:, None] - self.centre))
        least, most = (np.zeros((len(self.start) - 1, self.slope.shape[1])) for _ in range(2))
        node = np.repeat(np.arange(len(least)), np.diff(self.start))
        # a missing value adds 0
        np.add.at(least, node, np.minimum(np.minimum(*ends), 0.0))
        np.add.at(most, node, np.maximum(np.maximum(*ends), 0.0))
        return least, most

    def check(self, feature: NDArray[np.int32], n_features: int, n_outputs: int) -> None:
        M = checked_length("column", self.column)
        check_array("start", self.start, np.int64, (len(feature) + 1,))
        check_extents("start", self.start, M, least=0)
        if np.diff(self.start)[feature >= 0].any():
            raise ValueError("start assigns linear terms to an inner node; only leaves may have them.")
        check_array("column", self.column, np.int32, (M,))
        check_range("column", self.column, 0, n_features - 1)
        for name in ("slope", "centre"):
            check_finite(name, getattr(self, name), (M, n_outputs))
        for name in ("low", "high"):
            check_finite(name, getattr(self, name), (M,))
        if (self.low > self.high).any():
            raise ValueError("low is above high in a line of a leaf.")


@dataclass(frozen=True, eq=False)
class LinearLeaves:
    """T voters of trees with lines in their leaves."""

    kind: ClassVar[VoteKind] = "score"
    forest: Forest
    lines: LeafLines
    trees_per_voter: int = 1  # K if tree t K + k adds to score k, as in `Rounds`

    def __post_init__(self) -> None:
        value, K = self.forest.value, self.trees_per_voter
        if value is None or (K > 1 and (value.shape[1] != 1 or self.forest.n_classes != 1)):
            raise ValueError(
                "Linear leaves need a forest of numbers, for voters of several trees with one per leaf, for one class."
            )
        if K < 1 or len(self.forest) % K:
            raise ValueError(f"{len(self.forest)} trees do not form whole voters of {K} trees.")

    def __len__(self) -> int:
        return len(self.forest) // self.trees_per_voter

    def __getitem__(self, index: VoterIndex) -> LinearLeaves:
        trees = tree_numbers(index, len(self), self.trees_per_voter)
        forest = self.forest[trees]
        lines = self.lines.take(positions(self.forest.offset[trees], forest.n_nodes))
        return LinearLeaves(forest, lines, self.trees_per_voter)

    @classmethod
    def concatenate(cls, parts: Sequence[LinearLeaves]) -> LinearLeaves:
        forest = Forest.concatenate([part.forest for part in parts])
        return cls(forest, LeafLines.concatenate([part.lines for part in parts]), parts[0].trees_per_voter)

    @property
    def n_classes(self) -> int:
        return self.forest.n_classes if self.trees_per_voter == 1 else self.trees_per_voter

    @property
    def n_outputs(self) -> int:
        assert self.forest.value is not None
        return max(self.trees_per_voter, int(self.forest.value.shape[1]))

    n_features = property(attrgetter("forest.n_features"))

    @property
    def n_nodes(self) -> Any:
        return self.forest.n_nodes.reshape(len(self), -1).sum(axis=1)

    @property
    def nbytes(self) -> int:
        return self.forest.nbytes + self.lines.nbytes

    @property
    def spread(self) -> F64:
        assert self.forest.value is not None
        leaf, first = (self.forest.feature < 0)[:, None], self.forest.offset[:-1]
        least, most = self.lines.extremes()
        shape = (len(self), self.n_outputs)
        high = np.maximum.reduceat(np.where(leaf, self.forest.value + most, -np.inf), first).reshape(shape)
        low = np.minimum.reduceat(np.where(leaf, self.forest.value + least, np.inf), first).reshape(shape)
        if self.n_outputs == 1:
            return np.asarray(np.maximum(np.abs(high), np.abs(low))[:, 0])
        return np.asarray(high.max(axis=1) - low.min(axis=1))

    @cached_property
    def trees(self) -> _core.LineTrees:
        assert self.forest.value is not None
        return _core.LineTrees(*self.forest.walk_arrays, self.forest.value, *self.lines.arrays, self.trees_per_voter)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "trees"}

    def tally(self, X: Any, weights: F64 | None = None, n_threads: int = 1) -> F64:
        return self.trees.tally(self.forest.matrix(X), voter_weights(weights, len(self)), n_threads)

    def line_shares(self, X: F64, weights: F64 | None = None, n_threads: int = 1) -> F64:
        """Weighted sum of the lines along each column over all voters, ``(n, p, D)``."""
        return self.trees.shares(self.forest.matrix(X), voter_weights(weights, len(self)), n_threads)

    def votes(self, X: F64, n_threads: int = 1) -> F64:
        return np.stack([self[t].tally(X, n_threads=n_threads) for t in range(len(self))], axis=1)

    def feature_importances(self, weights: F64 | None = None) -> F64:
        return self.forest.feature_importances(np.repeat(voter_weights(weights, len(self)), self.trees_per_voter))

    def to_document(self, tensors: Tensors) -> Document:
        part = tensors.part("lines")
        part.put_fields(self.lines, ARRAYS[:2])
        part.put_reals(**{name: getattr(self.lines, name) for name in ARRAYS[2:]})
        trees = self.forest.to_document(tensors.part("trees"))
        return {"kind": "linear_leaves", "trees_per_voter": int(self.trees_per_voter), "trees": trees}

    @classmethod
    def from_document(cls, document: Document, tensors: Tensors) -> LinearLeaves:
        forest = read_forest(field(document, "trees", dict), tensors.part("trees"), "value", "linear leaves")
        part = tensors.part("lines")
        reals: dict[str, Any] = {name: part.take_reals(name) for name in ARRAYS[2:]}
        lines = LeafLines(**part.take_fields(ARRAYS[:2]), **reals)
        voters = cls(forest, lines, field(document, "trees_per_voter", int))
        voters.check()
        return voters

    def check(self) -> None:
        if self.trees_per_voter > MAX_CLASSES:
            raise ValueError(f"trees_per_voter is {self.trees_per_voter}; it must be between 1 and {MAX_CLASSES}.")
        self.forest.check()
        assert self.forest.value is not None
        self.lines.check(self.forest.feature, self.n_features, self.forest.value.shape[1])

    def check_columns(self, table: TableSchema | None) -> None:
        self.forest.check_columns(table)
        if table is not None and (bad := table.n_categories[self.lines.column] > 0).any():
            column = table.column(int(self.lines.column[np.argmax(bad)]))
            raise ValueError(f"a leaf has a line along {column}, which is categorical")
