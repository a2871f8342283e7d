"""Boosted committees of model trees as voters."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64, check_array, check_finite, checked_length
from committee.data.table_schema import TableSchema
from committee.data.typed_json import field
from committee.files.documents import Document, Tensors
from committee.voters.flat_trees import check_extents, extents, positions
from committee.voters.model_forest import ModelForest
from committee.voters.protocol import UnitSpread, VoteKind, VoterIndex, class_indicators, voter_numbers, voter_weights


@dataclass(frozen=True, eq=False)
class BoostedCommittees(UnitSpread):
    """M committees of model trees, whose members have weights."""

    members: ModelForest  # all trees of all committees
    alpha: F64  # (T,): positive weight of each tree in its committee
    start: NDArray[np.int64]  # (M + 1,): committee m has the trees start[m]:start[m + 1]
    soft: bool = False

    def __len__(self) -> int:
        return len(self.start) - 1

    def __getitem__(self, index: VoterIndex) -> BoostedCommittees:
        chosen = voter_numbers(index, len(self))
        sizes = np.diff(self.start)[chosen]
        trees = positions(self.start[chosen], sizes)
        return BoostedCommittees(self.members[trees], self.alpha[trees], extents(sizes), self.soft)

    @property
    def kind(self) -> VoteKind:
        return "score" if self.soft else "label"

    n_classes = property(attrgetter("members.n_classes"))
    n_outputs = property(attrgetter("members.n_classes"))
    n_features = property(attrgetter("members.n_features"))

    @property
    def n_nodes(self) -> NDArray[np.int64]:
        return np.add.reduceat(self.members.n_nodes, self.start[:-1])

    @property
    def nbytes(self) -> int:
        return self.members.nbytes + self.alpha.nbytes + self.start.nbytes

    def tree_weights(self, weights: F64) -> F64:
        within = self.alpha / np.repeat(np.add.reduceat(self.alpha, self.start[:-1]), np.diff(self.start))
        return np.asarray(np.repeat(weights, np.diff(self.start)) * within)

    def tree_shares(self, weights: F64) -> F64:
        return self.tree_weights(weights / weights.sum())

    def _class_weights(self, X: F64, n_threads: int) -> F64:
        votes = self.members.votes(X, n_threads)
        P = np.zeros((len(votes), len(self), self.n_classes))
        rows = np.arange(len(votes))
        for m in range(len(self)):
            for t in range(self.start[m], self.start[m + 1]):
                if self.members.soft:
                    P[:, m] += self.alpha[t] * votes[:, t]
                else:
                    P[rows, m, votes[:, t]] += self.alpha[t]
        return P

    def shares(self, X: F64, n_threads: int = 1) -> F64:
        weights = self._class_weights(X, n_threads)
        return np.asarray(weights / np.add.reduceat(self.alpha, self.start[:-1])[:, None])

    def votes(self, X: F64, n_threads: int = 1) -> NDArray[np.int16] | F64:
        if self.soft:
            return self.shares(X, n_threads)
        # not by the shares: division can round different weights to the same share
        return np.asarray(self._class_weights(X, n_threads).argmax(axis=2).astype(np.int16))

    def tally(self, X: F64, weights: F64 | None = None, n_threads: int = 1) -> F64:
        members = self.members
        plain = weights is None or bool((np.asarray(weights) == 1.0).all())
        # if trees weigh alike, or their probabilities add up, the kernels need no array of votes
        if members.trees_per_voter == 1 and (plain or members.soft):
            X = np.ascontiguousarray(X, dtype=np.float64)
            D = np.ascontiguousarray(members.design.matrix(X))
            if members.soft:
                share = self.tree_weights(np.ones(len(self)) if weights is None else np.asarray(weights))
                return members.trees.tally_probabilities(X, D, share, members.link, n_threads)
            return members.trees.tally_committees(
                X, D, self.alpha, self.start, self.n_classes, not self.soft, n_threads
            )
        P = self.votes(X, n_threads)
        if not self.soft:
            P = class_indicators(P, self.n_classes)
        return np.asarray(np.einsum("nmk,m->nk", P, voter_weights(weights, len(self))))

    def to_document(self, tensors: Tensors) -> Document:
        tensors.put(alpha=self.alpha, start=self.start)
        members = self.members.to_document(tensors.part("members"))
        return {"kind": "committees", "soft": bool(self.soft), "members": members}

    @classmethod
    def from_document(cls, document: Document, tensors: Tensors) -> BoostedCommittees:
        described = field(document, "members", dict)
        if field(described, "kind", str) != "model_trees":
            raise ValueError(f"members are of kind {described['kind']!r}; committees have 'model_trees'")
        members = ModelForest.from_document(described, tensors.part("members"))
        voters = cls(members, tensors.take("alpha"), tensors.take("start"), field(document, "soft", bool))
        voters.check()
        return voters

    def check(self) -> None:
        self.members.check()
        if self.members.kind != "label" and not self.soft:
            raise ValueError("members give scores; a committee that votes hard counts the classes that they name.")
        T, M = len(self.members), checked_length("start", self.start) - 1
        check_array("start", self.start, np.int64, (M + 1,))
        if M < 1:
            raise ValueError(f"start has length {M + 1}; it must be at least 2, one more than the committees.")
        check_extents("start", self.start, T, least=1)
        check_finite("alpha", self.alpha, (T,))
        with np.errstate(over="ignore"):
            total = self.alpha.sum()
        if (self.alpha <= 0).any() or not np.isfinite(total):
            raise ValueError("alpha must be positive, with a finite sum.")

    def check_columns(self, table: TableSchema | None) -> None:
        self.members.check_columns(table)
