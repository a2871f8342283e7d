"""Boosted trees of several scores: one tree per score and round, each round one voter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from committee.data.matrices import Matrix
from committee.data.number_types import F64, MAX_CLASSES
from committee.data.typed_json import field
from committee.voters.forest import Forest
from committee.voters.protocol import VoteKind, VoterIndex
from committee.voters.shared_forest import SharedForest

if TYPE_CHECKING:
    from committee.data.frames import TableSchema
    from committee.files.documents import Document, Tensors


@dataclass(frozen=True, eq=False)
class Rounds:
    """T rounds of K trees; voter t is the trees ``t K, ..., t K + K - 1``, and tree ``t K + k`` adds to score k.

    Boosting of K classes (or quantiles) grows a tree for each score in every round. Kept as one forest whose
    leaves hold a single number, such a round takes K times less memory than leaves of K numbers, all but one of
    them zero, would.

    Parameters
    ----------
    forest : Forest
        The T K trees; its leaves hold one number, and its ``n_classes`` is 1.
    n_outputs : int
        Number of scores K.

    Raises
    ------
    ValueError
        If the leaves hold anything else, or the trees are no multiple of `n_outputs`.

    Examples
    --------
    ``Rounds(forest, 3)[:10]`` are the first ten rounds of a booster of three classes, 30 trees.
    """

    kind: ClassVar[VoteKind] = "score"
    takes_sparse: ClassVar[bool] = True
    forest: Forest
    n_outputs: int

    def __post_init__(self) -> None:
        value = self.forest.value
        if value is None or value.shape[1] != 1 or self.forest.n_classes != 1:
            raise ValueError("Rounds need a forest whose leaves hold one number, for one class.")
        if self.n_outputs < 1 or len(self.forest) % self.n_outputs:
            raise ValueError(f"{len(self.forest)} trees are no whole rounds of n_outputs={self.n_outputs}.")

    def __len__(self) -> int:
        return len(self.forest) // self.n_outputs

    def __getitem__(self, index: VoterIndex) -> Rounds:
        chosen = np.atleast_1d(np.arange(len(self))[index])
        trees = chosen[:, None] * self.n_outputs + np.arange(self.n_outputs)
        return Rounds(self.forest[trees.ravel()], self.n_outputs)

    @property
    def n_classes(self) -> int:
        """Number of classes, one score each."""
        return self.n_outputs

    @property
    def n_features(self) -> int:
        """Width of the encoded matrix."""
        return self.forest.n_features

    @property
    def n_nodes(self) -> NDArray[np.int64]:
        """Tree nodes of each round, ``(T,)``."""
        sizes: NDArray[np.int64] = self.forest.n_nodes.reshape(len(self), self.n_outputs).sum(axis=1)
        return sizes

    @property
    def nbytes(self) -> int:
        """Bytes of all trees."""
        return self.forest.nbytes

    @property
    def spread(self) -> F64:
        """The most that each round can change a margin, ``(T,)``.

        The largest leaf of one score over the smallest of another, which no row need reach at once; for a single
        score the largest absolute leaf.
        """
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
        widest: F64 = np.maximum((high - rival).max(axis=1), 0.0)
        return widest

    def tally(self, X: Matrix, weights: F64 | None = None, n_threads: int = 1) -> F64:
        """Weighted sum of the rounds, ``(n, K)``; each round counts as `Forest.tally` counts a tree."""
        forest, checked = self.forest, self._checked(weights)
        assert forest.value is not None
        value, K = forest.value[:, 0], self.n_outputs
        return forest.walked(X, n_threads, lambda trees, rows: trees.sum_outputs(rows, value, checked, K, n_threads))

    def votes(self, X: Matrix, n_threads: int = 1) -> F64:
        """Scores that each round adds, ``(n, T, K)``."""
        each = self.forest.votes(X, n_threads).astype(np.float64, copy=False)
        return each.reshape(len(each), len(self), self.n_outputs)

    def feature_importances(self, weights: F64 | None = None) -> F64:
        """Share of the total split gain that each feature earned, ``(p,)``; as for `Forest`, by rounds."""
        return self.forest.feature_importances(np.repeat(self._checked(weights), self.n_outputs))

    def check(self) -> None:
        """Look at every value; after this, no walk can leave the arrays or fail to end."""
        if self.n_outputs > MAX_CLASSES:
            raise ValueError(f"n_outputs is {self.n_outputs}; it must be within 1 and {MAX_CLASSES}.")
        self.forest.check()

    def to_document(self, tensors: Tensors) -> Document:
        """Write the rounds into a model file."""
        trees = self.forest.to_document(tensors.part("trees"))
        return {"kind": "rounds", "n_outputs": int(self.n_outputs), "trees": trees}

    @classmethod
    def from_document(cls, document: Document, tensors: Tensors) -> Rounds:
        """Read what `to_document` wrote, trusting no value."""
        trees = field(document, "trees", dict)
        kinds: dict[str, type[Forest]] = {"forest": Forest, "shared_forest": SharedForest}
        kind = kinds.get(field(trees, "kind", str))
        if kind is None or field(trees, "vote", str) != "value":
            raise ValueError("the trees of rounds must be a forest of values")
        rounds = cls(kind.from_document(trees, tensors.part("trees")), field(document, "n_outputs", int))
        rounds.check()
        return rounds

    def check_columns(self, table: TableSchema | None) -> None:
        """Refuse splits that do not suit the columns; see `Forest.check_columns`."""
        self.forest.check_columns(table)

    def _checked(self, weights: F64 | None) -> F64:
        """A weight for each round."""
        if weights is None:
            return np.ones(len(self))
        if np.shape(weights) != (len(self),):
            raise ValueError(f"weights has shape {np.shape(weights)}; {len(self)} rounds need ({len(self)},).")
        return np.ascontiguousarray(weights, dtype=np.float64)
