"""Voters that are committees themselves: boosted model trees, each group of them one voter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64, check_array, check_finite, checked_length
from committee.data.typed_json import field
from committee.files.documents import Document, Tensors
from committee.voters.flat_trees import check_extents, extents, positions
from committee.voters.model_forest import ModelForest
from committee.voters.protocol import VoteKind, VoterIndex

if TYPE_CHECKING:
    from committee.data.frames import TableSchema


@dataclass(frozen=True, eq=False)
class BoostedCommittees:
    """M committees of model trees; each elects a class by its members' weighted votes.

    Parameters
    ----------
    members : ModelForest
        All trees of all committees, end to end.
    alpha : float64 array (T,)
        Weight of each tree in its committee, positive.
    start : int64 array (M + 1,)
        Committee m has trees ``start[m]:start[m + 1]``.
    soft : bool
        False: a committee casts one vote for its winner. True: it gives the shares of its members' weight, or,
        where the members are soft themselves, the weighted mean of their probabilities.
    """

    members: ModelForest
    alpha: F64
    start: NDArray[np.int64]
    soft: bool = False

    def __len__(self) -> int:
        return len(self.start) - 1

    def __getitem__(self, index: VoterIndex) -> BoostedCommittees:
        chosen = np.atleast_1d(np.arange(len(self))[index])
        sizes = np.diff(self.start)[chosen]
        trees = positions(self.start[chosen], sizes)
        return BoostedCommittees(self.members[trees], self.alpha[trees], extents(sizes), self.soft)

    @property
    def kind(self) -> VoteKind:
        """``"label"`` for hard, ``"score"`` for soft votes."""
        return "score" if self.soft else "label"

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        return self.members.n_classes

    @property
    def n_outputs(self) -> int:
        """Columns of a tally: one per class, for labels and shares alike."""
        return self.n_classes

    @property
    def n_features(self) -> int:
        """Width of the encoded matrix."""
        return self.members.n_features

    @property
    def n_nodes(self) -> NDArray[np.int64]:
        """Tree nodes of each committee."""
        return np.add.reduceat(self.members.n_nodes, self.start[:-1])

    @property
    def nbytes(self) -> int:
        """Bytes of all members."""
        return self.members.nbytes + self.alpha.nbytes + self.start.nbytes

    @property
    def spread(self) -> F64:
        """The most that a committee can change a margin: one vote."""
        return np.ones(len(self))

    def tree_weights(self, weights: F64) -> F64:
        """Weight of each tree, ``(T,)``: the committee's, times the share of alpha within it."""
        within = self.alpha / np.repeat(np.add.reduceat(self.alpha, self.start[:-1]), np.diff(self.start))
        weight: F64 = np.repeat(weights, np.diff(self.start)) * within
        return weight

    def tree_shares(self, weights: F64) -> F64:
        """Weight of each tree in the mean over all, ``(T,)``: the committee's, times alpha within it; sums to 1."""
        return self.tree_weights(weights / weights.sum())

    def weight_for(self, X: F64, n_threads: int = 1) -> F64:
        """Weight of each committee's members that goes to each class, ``(n, M, K)``; soft members divide theirs."""
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
        """Share of each committee's weight that goes to each class, ``(n, M, K)``."""
        return self.weight_for(X, n_threads) / np.add.reduceat(self.alpha, self.start[:-1])[:, None]

    def votes(self, X: F64, n_threads: int = 1) -> NDArray[np.int16] | F64:
        """Class index of each committee ``(n, M)``, or its shares ``(n, M, K)`` when soft."""
        if self.soft:
            return self.shares(X, n_threads)
        # not by the shares: division can round different weights to the same share
        elected: NDArray[np.int16] = self.weight_for(X, n_threads).argmax(axis=2).astype(np.int16)
        return elected

    def tally(self, X: F64, weights: F64 | None = None, n_threads: int = 1) -> F64:
        """Weighted sum over the committees, ``(n, K)``."""
        members = self.members
        plain = weights is None or bool((np.asarray(weights) == 1.0).all())
        # the kernels count without the votes in between, where these weigh alike or add up
        if members.trees_per_voter == 1 and (plain or members.soft):
            X = np.ascontiguousarray(X, dtype=np.float64)
            D = np.ascontiguousarray(members.design.matrix(X))
            if members.soft:
                share = self.tree_weights(np.ones(len(self)) if weights is None else np.asarray(weights))
                return members.trees.tally_probabilities(X, D, share, members.link, n_threads)
            return members.trees.tally_committees(
                X, D, self.alpha, self.start, self.n_classes, not self.soft, n_threads
            )
        w = np.ones(len(self)) if weights is None else np.asarray(weights, dtype=np.float64)
        P = self.votes(X, n_threads)
        if not self.soft:
            P = (P[:, :, None] == np.arange(self.n_classes)).astype(np.float64)
        tally: F64 = np.einsum("nmk,m->nk", P, w)
        return tally

    # -- the file ---------------------------------------------------------------------------------------------

    def to_document(self, tensors: Tensors) -> Document:
        """Write the committees and their members into a model file."""
        tensors.put(alpha=self.alpha, start=self.start)
        members = self.members.to_document(tensors.part("members"))
        return {"kind": "committees", "soft": bool(self.soft), "members": members}

    @classmethod
    def from_document(cls, document: Document, tensors: Tensors) -> BoostedCommittees:
        """Read what `to_document` wrote, trusting no value."""
        described = field(document, "members", dict)
        if field(described, "kind", str) != "model_trees":
            raise ValueError(f"members are of kind {described['kind']!r}; committees have 'model_trees'")
        members = ModelForest.from_document(described, tensors.part("members"))
        voters = cls(members, tensors.take("alpha"), tensors.take("start"), field(document, "soft", bool))
        voters.check()
        return voters

    def check(self) -> None:
        """Look at every value, trusting none.

        Raises
        ------
        ValueError
            Naming what is wrong with the members, their weights or the extents of the committees.

        Examples
        --------
        ``voters.check()`` returns nothing for committees that training made.
        """
        self.members.check()
        if self.members.kind != "label" and not self.soft:
            raise ValueError("members give scores; a committee that votes hard counts the classes that they name.")
        T, M = len(self.members), checked_length("start", self.start) - 1
        check_array("start", self.start, np.int64, (M + 1,))
        if M < 1:
            raise ValueError("start is for no committee.")
        check_extents("start", self.start, T, least=1)
        check_finite("alpha", self.alpha, (T,))
        with np.errstate(over="ignore"):
            total = self.alpha.sum()
        if (self.alpha <= 0).any() or not np.isfinite(total):
            raise ValueError("alpha must be positive, with a finite sum.")

    def check_columns(self, table: TableSchema | None) -> None:
        """Refuse columns that the members cannot use; see `ModelForest.check_columns`."""
        self.members.check_columns(table)
