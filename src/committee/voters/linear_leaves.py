"""Boosted trees whose leaves are linear in the numbers that the paths to them split on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from committee import _core
from committee.data.number_types import F64, MAX_CLASSES
from committee.data.typed_json import field
from committee.files.documents import Document, Tensors
from committee.voters.flat_trees import positions
from committee.voters.forest import Forest
from committee.voters.leaf_lines import ARRAYS, LeafLines
from committee.voters.protocol import VoteKind, VoterIndex

if TYPE_CHECKING:
    from committee.data.frames import TableSchema


@dataclass(frozen=True, eq=False)
class LinearLeaves:
    """T voters of trees with lines in their leaves: a row's vote is its leaf's weight and what the lines add.

    Parameters
    ----------
    forest : Forest
        The trees; `value` is the leaves' weights. With `trees_per_voter` = K > 1 the leaves hold one number, and tree
        ``t K + k`` adds to score k, as in `Rounds`.
    lines : LeafLines
        Of all nodes.
    trees_per_voter : int
        1, or the number of scores.

    Raises
    ------
    ValueError
        If the leaves hold no numbers, or the trees are no whole voters.

    Examples
    --------
    ``GradientBoostingRegressor(leaf="linear").fit(X, y).committee_.voters`` are such voters.
    """

    kind: ClassVar[VoteKind] = "score"
    forest: Forest
    lines: LeafLines
    trees_per_voter: int = 1

    def __post_init__(self) -> None:
        value, K = self.forest.value, self.trees_per_voter
        if value is None or (K > 1 and (value.shape[1] != 1 or self.forest.n_classes != 1)):
            raise ValueError(
                "Linear leaves need a forest whose leaves hold numbers, one where a voter is several trees."
            )
        if K < 1 or len(self.forest) % K:
            raise ValueError(f"{len(self.forest)} trees are no whole voters of {K} trees.")

    def __len__(self) -> int:
        return len(self.forest) // self.trees_per_voter

    def __getitem__(self, index: VoterIndex) -> LinearLeaves:
        K, chosen = self.trees_per_voter, np.atleast_1d(np.arange(len(self))[index])
        trees = (chosen[:, None] * K + np.arange(K)).ravel()
        forest = self.forest[trees]
        return LinearLeaves(forest, self.lines.take(positions(self.forest.offset[trees], forest.n_nodes)), K)

    @classmethod
    def concatenate(cls, parts: Sequence[LinearLeaves]) -> LinearLeaves:
        """One collection of all voters of several, in order."""
        forest = Forest.concatenate([part.forest for part in parts])
        return cls(forest, LeafLines.concatenate([part.lines for part in parts]), parts[0].trees_per_voter)

    @property
    def n_classes(self) -> int:
        """Number of classes, or of numbers that are predicted."""
        return self.forest.n_classes if self.trees_per_voter == 1 else self.trees_per_voter

    @property
    def n_outputs(self) -> int:
        """Number of scores."""
        assert self.forest.value is not None
        return max(self.trees_per_voter, int(self.forest.value.shape[1]))

    @property
    def n_features(self) -> int:
        """Width of the encoded matrix."""
        return self.forest.n_features

    @property
    def n_nodes(self) -> Any:
        """Tree nodes of each voter, ``(T,)``."""
        return self.forest.n_nodes.reshape(len(self), -1).sum(axis=1)

    @property
    def nbytes(self) -> int:
        """Bytes of trees and lines."""
        return self.forest.nbytes + self.lines.nbytes

    @property
    def spread(self) -> F64:
        """The most that each voter can change a margin, ``(T,)``: lines are level beyond their leaf's training rows."""
        assert self.forest.value is not None
        leaf, first = (self.forest.feature < 0)[:, None], self.forest.offset[:-1]
        least, most = self.lines.extremes()
        shape = (len(self), self.n_outputs)
        high = np.maximum.reduceat(np.where(leaf, self.forest.value + most, -np.inf), first).reshape(shape)
        low = np.minimum.reduceat(np.where(leaf, self.forest.value + least, np.inf), first).reshape(shape)
        if self.n_outputs == 1:
            return np.asarray(np.maximum(np.abs(high), np.abs(low))[:, 0])
        widest: F64 = high.max(axis=1) - low.min(axis=1)
        return widest

    @cached_property
    def trees(self) -> _core.LineTrees:
        """The native handle."""
        assert self.forest.value is not None
        return _core.LineTrees(*self.forest.walk_arrays, self.forest.value, *self.lines.arrays, self.trees_per_voter)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "trees"}

    def tally(self, X: Any, weights: F64 | None = None, n_threads: int = 1) -> F64:
        """Weighted sum of the votes, ``(n, D)``."""
        return self.trees.tally(self.forest.matrix(X), self._checked(weights), n_threads)

    def line_shares(self, X: F64, weights: F64 | None = None, n_threads: int = 1) -> F64:
        """What the lines along each column add to the weighted sum of the votes, ``(n, p, D)``."""
        return self.trees.shares(self.forest.matrix(X), self._checked(weights), n_threads)

    def votes(self, X: F64, n_threads: int = 1) -> F64:
        """Scores that each voter adds, ``(n, T, D)``."""
        return np.stack([self[t].tally(X, n_threads=n_threads) for t in range(len(self))], axis=1)

    def feature_importances(self, weights: F64 | None = None) -> F64:
        """Share of the total split gain that each feature earned, ``(p,)``; what lines add is not counted."""
        return self.forest.feature_importances(np.repeat(self._checked(weights), self.trees_per_voter))

    # -- the file ---------------------------------------------------------------------------------------------

    def to_document(self, tensors: Tensors) -> Document:
        """Write trees and lines into a model file."""
        tensors.part("lines").put_fields(self.lines, ARRAYS)
        trees = self.forest.to_document(tensors.part("trees"))
        return {"kind": "linear_leaves", "trees_per_voter": int(self.trees_per_voter), "trees": trees}

    @classmethod
    def from_document(cls, document: Document, tensors: Tensors) -> LinearLeaves:
        """Read what `to_document` wrote, trusting no value."""
        trees = field(document, "trees", dict)
        if field(trees, "kind", str) != "forest" or field(trees, "vote", str) != "value":
            raise ValueError("the trees of linear leaves must be a forest of values")
        forest = Forest.from_document(trees, tensors.part("trees"))
        lines = LeafLines(**tensors.part("lines").take_fields(ARRAYS))
        voters = cls(forest, lines, field(document, "trees_per_voter", int))
        voters.check()
        return voters

    def check(self) -> None:
        """Look at every value; after this, no walk can leave the arrays or fail to end."""
        if self.trees_per_voter > MAX_CLASSES:
            raise ValueError(f"trees_per_voter is {self.trees_per_voter}; it must be within 1 and {MAX_CLASSES}.")
        self.forest.check()
        assert self.forest.value is not None
        self.lines.check(self.forest.feature, self.n_features, self.forest.value.shape[1])

    def check_columns(self, table: TableSchema | None) -> None:
        """Refuse splits that do not suit the columns, and lines along categories."""
        self.forest.check_columns(table)
        if table is not None and (bad := table.n_categories[self.lines.column] > 0).any():
            column = table.column(int(self.lines.column[np.argmax(bad)]))
            raise ValueError(f"a line is along {column}, which holds categories")

    def _checked(self, weights: F64 | None) -> F64:
        """A weight for each voter."""
        if weights is None:
            return np.ones(len(self))
        if np.shape(weights) != (len(self),):
            raise ValueError(f"weights has shape {np.shape(weights)}; {len(self)} voters need ({len(self)},).")
        return np.ascontiguousarray(weights, dtype=np.float64)
