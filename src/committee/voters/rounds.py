"""Boosted trees with one tree per score and round."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from committee.data.matrices import Matrix
from committee.data.number_types import F64, MAX_CLASSES
from committee.data.table_schema import TableSchema
from committee.data.typed_json import field
from committee.files.documents import Document, Tensors
from committee.voters.forest import Forest
from committee.voters.protocol import VoteKind, VoterIndex, tree_numbers, voter_weights
from committee.voters.shared_forest import read_forest


@dataclass(frozen=True, eq=False)
class Rounds:
    """T rounds of K trees. Tree ``t K + k`` belongs to round t, adds to score k, and has one number in each leaf."""

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
