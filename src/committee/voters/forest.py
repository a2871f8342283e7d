"""Flat trees in one set of arrays: the voters that the native kernels walk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.matrices import Matrix, SparseMatrix
from committee.data.typed_json import field
from committee.voters.flat_trees import DTYPES, NODE_DTYPES, FlatTrees, extents, positions
from committee.voters.protocol import VoteKind, VoterIndex

if TYPE_CHECKING:
    from committee.data.frames import TableSchema
    from committee.files.documents import Document, Tensors

S = TypeVar("S", bound=np.generic)
ImportanceKind: TypeAlias = Literal["gain", "count", "cover"]
"""By what splits are counted: what they gained, once each, the training weight of the rows that came to them."""

_STORED = (
    "offset",
    "feature",
    "threshold",
    "left",
    "missing_left",
    "category_offset",
    "category_bits",
    "gain",
    "weight",
    "count",
)
"""Arrays that a file always has."""


@dataclass(frozen=True, eq=False)
class Forest(FlatTrees):
    """T trees as voters; the parameters, which are their arrays, are those of `FlatTrees`.

    Examples
    --------
    One stump on the first of two columns, x <= 0.5 votes for class 0:

    >>> import numpy as np
    >>> from committee.voters.forest import Forest
    >>> stump = Forest(
    ...     n_features=2, n_classes=2, offset=np.array([0, 3]), feature=np.array([0, -1, -1], np.int32),
    ...     threshold=np.array([0.5, 0.0, 0.0]), left=np.array([1, -1, -1], np.int32),
    ...     missing_left=np.zeros(3, np.uint8), category_offset=np.zeros(4, np.int64),
    ...     category_bits=np.zeros(0, np.uint32), label=np.array([-1, 0, 1], np.int32), value=None,
    ...     gain=np.array([1.0, 0.0, 0.0]), weight=np.array([2.0, 1.0, 1.0]), count=np.array([2, 1, 1]))
    >>> stump.votes(np.array([[0.2, 9.0], [0.7, 9.0]])).tolist()
    [[0], [1]]
    """

    takes_sparse: ClassVar[bool] = True

    # -- size and selection -------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.offset) - 1

    def __getitem__(self, index: VoterIndex) -> Forest:
        chosen = np.atleast_1d(np.arange(len(self))[index])
        sizes = self.n_nodes[chosen]
        offset = extents(sizes)
        nodes: slice | NDArray[np.int64]
        words: slice | NDArray[np.int64]
        if len(chosen) and np.all(np.diff(chosen) == 1):
            # neighbours in order, as in staged predictions: views instead of copies
            nodes = slice(int(self.offset[chosen[0]]), int(self.offset[chosen[-1] + 1]))
            words = slice(int(self.category_offset[nodes.start]), int(self.category_offset[nodes.stop]))
        else:
            nodes = positions(self.offset[chosen], sizes)
            words = positions(self.category_offset[nodes], np.diff(self.category_offset)[nodes])
        per_node: dict[str, Any] = {
            name: None if (array := getattr(self, name)) is None else array[nodes] for name in NODE_DTYPES
        }
        return Forest(
            n_features=self.n_features,
            n_classes=self.n_classes,
            offset=offset,
            category_offset=extents(np.diff(self.category_offset)[nodes]),
            category_bits=self.category_bits[words],
            **per_node,
        )

    @classmethod
    def concatenate(cls, forests: Sequence[Forest]) -> Self:
        """One forest of all trees of several, in order.

        Parameters
        ----------
        forests : sequence of Forest
            At least one; all with the same `n_features`, `n_classes` and kind of vote.

        Raises
        ------
        ValueError
            If there is none, or if they differ in columns, classes or kind of vote.

        Examples
        --------
        ``Forest.concatenate([forest[:3], forest[3:]])`` has the trees of ``forest``.
        """
        if not forests:
            raise ValueError("Forest.concatenate needs at least one forest.")
        first = forests[0]
        for number, forest in enumerate(forests):
            for name in ("n_features", "n_classes", "kind", "n_outputs"):
                if getattr(forest, name) != getattr(first, name):
                    raise ValueError(
                        f"Forests cannot be joined: forest {number} has {name} = {getattr(forest, name)!r}, "
                        f"the first has {getattr(first, name)!r}."
                    )
        per_node: dict[str, Any] = {
            name: np.concatenate([getattr(f, name) for f in forests])
            for name in NODE_DTYPES
            if getattr(first, name) is not None
        }
        return cls(
            n_features=first.n_features,
            n_classes=first.n_classes,
            offset=extents(np.concatenate([f.n_nodes for f in forests])),
            category_offset=extents(np.concatenate([np.diff(f.category_offset) for f in forests])),
            category_bits=np.concatenate([f.category_bits for f in forests]),
            **({"label": None, "value": None} | per_node),
        )

    @property
    def kind(self) -> VoteKind:
        """``"label"`` when the leaves name classes, ``"score"`` when they hold numbers."""
        return "score" if self.label is None else "label"

    @property
    def n_outputs(self) -> int:
        """Columns of a tally: the number of classes for labels, D for scores."""
        return self.n_classes if self.value is None else self.value.shape[1]

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays, the training record included."""
        return sum(array.nbytes for name in DTYPES if (array := getattr(self, name)) is not None)

    @property
    def spread(self) -> NDArray[np.float64]:
        """The most that each tree can change a margin, ``(T,)``.

        1 for labels. For scores the largest over the leaves of |value| (D = 1) or of max_k - min_k (D = K).
        """
        if self.value is None or not len(self):
            return np.ones(len(self))
        width = np.abs(self.value[:, 0]) if self.value.shape[1] == 1 else np.ptp(self.value, axis=1)
        return np.maximum.reduceat(np.where(self.feature < 0, width, 0.0), self.offset[:-1])

    # -- voting -------------------------------------------------------------------------------------------

    def apply(self, X: Matrix, n_threads: int = 1) -> NDArray[np.int32]:
        """Leaf that each row reaches in each tree.

        Parameters
        ----------
        X : float64 array (n, p)
            The encoded matrix.
        n_threads : int, default=1
            Ceiling on the number of threads; the result does not depend on it.

        Returns
        -------
        int32 array (n, T)
            Node numbers within each tree.

        Raises
        ------
        ValueError
            If `X` is not a matrix of `n_features` columns.

        Examples
        --------
        ``forest.label[forest.apply(X) + forest.offset[:-1]]`` is ``forest.votes(X)``.
        """
        return self.walked(X, n_threads, lambda trees, rows: trees.apply(rows, n_threads))

    def tally(self, X: Matrix, weights: NDArray[np.float64] | None = None, n_threads: int = 1) -> NDArray[np.float64]:
        """Weighted sum of the votes, F(x) = sum_t w_t h_t(x); see `Voters.tally`.

        Weights are float64 ``(T,)``; None counts every tree once. The bits of the result do not depend on `n_threads`.

        Raises
        ------
        ValueError
            If `X` is not a matrix of `n_features` columns, or there is not one weight per tree.

        Examples
        --------
        ``forest.tally(X).argmax(axis=1)`` is the plain majority vote.
        """
        w = np.ones(len(self)) if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
        if w.shape != (len(self),):
            raise ValueError(f"weights has shape {w.shape}; a forest of {len(self)} trees needs ({len(self)},).")
        label, value = self.label, self.value
        if value is not None:
            return self.walked(X, n_threads, lambda trees, rows: trees.sum_values(rows, value, w, n_threads))
        assert label is not None
        K = self.n_classes
        return self.walked(X, n_threads, lambda trees, rows: trees.tally_labels(rows, label, w, K, n_threads))

    def votes(self, X: Matrix, n_threads: int = 1) -> NDArray[np.int16] | NDArray[np.float64]:
        """Vote of every tree on every row; parameters and errors are those of `apply`.

        Returns
        -------
        int16 array (n, T) or float64 array (n, T, D)
            Class indices, -1 where a tree abstains, for labels; the leaves' values for scores.

        Examples
        --------
        ``(forest.votes(X) == -1).mean(axis=0)`` is how often each tree abstains.
        """
        leaves = self.apply(X, n_threads) + self.offset[:-1]
        if self.value is not None:
            scores: NDArray[np.float64] = self.value[leaves]
            return scores
        assert self.label is not None
        labels: NDArray[np.int16] = self.label.astype(np.int16)[leaves]
        return labels

    def feature_importances(
        self, weights: NDArray[np.float64] | None = None, kind: ImportanceKind = "gain"
    ) -> NDArray[np.float64]:
        """Share of each feature in all splits, ``(p,)``: in what they gained, their number or their rows' weight.

        A tree counts with the absolute value of its weight, of float64 ``(T,)``, or once if they are None. The shares
        sum to one; they are all zero when no tree has a split, or none that gained anything.

        Raises
        ------
        ValueError
            If there is not one weight per tree, `kind` is unknown, or the trees hold no weights of training rows.

        Examples
        --------
        ``np.argsort(forest.feature_importances())[::-1][:5]`` are the five most used features.
        """
        each = self._split_numbers(kind)
        # in units of a power of two, so that no sum of large numbers overflows and all bits stay
        each = np.ldexp(each, -np.frexp(each.max(initial=0.0))[1])
        if weights is not None:
            if len(weights) != len(self):
                raise ValueError(f"weights has {len(weights)} elements; the forest has {len(self)} trees.")
            each = each * np.repeat(np.abs(weights), self.n_nodes)
        split = self.feature >= 0
        earned = np.bincount(self.feature[split], weights=each[split], minlength=self.n_features)
        total = earned.sum()
        return earned / total if total > 0 else np.zeros(self.n_features)

    def _split_numbers(self, kind: ImportanceKind) -> NDArray[np.float64]:
        """What each node counts for an importance, ``(N,)``."""
        if kind == "gain":
            return self.gain
        if kind == "count":
            return np.ones(len(self.feature))
        if kind != "cover":
            raise ValueError(f"kind={kind!r} is no importance; the kinds are 'gain', 'count' and 'cover'.")
        if not self.weight[self.offset[:-1]].all():
            raise ValueError(
                "these trees hold no weights of their training rows, which kind='cover' counts; take 'gain' or "
                "'count', or fit anew."
            )
        return self.weight

    # -- the file -----------------------------------------------------------------------------------------

    def to_document(self, tensors: Tensors) -> Document:
        """Write the trees into a model file."""
        described = self._described("forest")
        tensors.put_fields(self, (*_STORED, described["vote"]))
        return described

    def _described(self, kind: str) -> Document:
        """What a document says of trees, beside their arrays."""
        vote = "label" if self.label is not None else "value"
        return {"kind": kind, "n_features": int(self.n_features), "n_classes": int(self.n_classes), "vote": vote}

    @classmethod
    def from_document(cls, document: Document, tensors: Tensors) -> Self:
        """Read what `to_document` wrote, trusting no value."""
        from committee.files.documents import read_count

        vote = read_vote(document)
        arrays = {"label": None, "value": None} | tensors.take_fields((*_STORED, vote))
        forest = cls(read_count(document, "n_features"), read_count(document, "n_classes"), **arrays)
        forest.check()
        if not len(forest):
            raise ValueError("there are no voters")
        return forest

    def check_columns(self, table: TableSchema | None) -> None:
        """Refuse splits of numbers by categories or the reverse, and of categories that the column does not have."""
        if table is None:
            return
        split = self.feature >= 0
        feature, words = self.feature[split], np.diff(self.category_offset)[split]
        bad = table.mismatched_splits(feature, words)
        if bad.any():
            column = table.column(int(feature[np.argmax(bad)]))
            raise ValueError(f"a split on {column} does not suit that column's type")

    # -- the native side ----------------------------------------------------------------------------------

    @cached_property
    def trees(self) -> _core.Trees:
        """The native handle."""
        return _core.Trees(*self.walk_arrays)

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def _narrow(self) -> tuple[_core.Trees, NDArray[np.intp]]:
        """The native handle of the same trees on the columns that they split on, and these columns."""
        used = np.unique(self.feature[self.feature >= 0]).astype(np.intp)
        used = used if len(used) else np.zeros(1, dtype=np.intp)
        place = np.where(self.feature >= 0, np.searchsorted(used, self.feature), -1).astype(np.int32)
        _, offset, _, threshold, left, missing_left, category_offset, bits = self.walk_arrays
        return _core.Trees(len(used), offset, place, threshold, left, missing_left, category_offset, bits), used

    def walked(
        self, X: Matrix, n_threads: int, walk: Callable[[_core.Trees, NDArray[np.float64]], NDArray[S]]
    ) -> NDArray[S]:
        """Results of a walk for each row: of a sparse matrix some rows at a time, in the columns of splits."""
        if not isinstance(X, SparseMatrix):
            return walk(self.trees, self.matrix(X))
        self._check_shape(X.shape)
        trees, columns = self._narrow
        return np.concatenate([walk(trees, rows) for rows in X.blocks(columns, n_threads)])

    def matrix(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """X as the kernels take it: C-contiguous float64 of `n_features` columns."""
        X = np.ascontiguousarray(X, dtype=np.float64)
        self._check_shape(X.shape)
        return X

    def _check_shape(self, shape: tuple[int, ...]) -> None:
        if len(shape) != 2 or shape[1] != self.n_features:
            raise ValueError(f"X has shape {shape}; the forest needs (n, {self.n_features}).")


def read_vote(document: Document) -> str:
    """The array that holds the votes of a document's leaves: "label" or "value"."""
    vote: str = field(document, "vote", str)
    if vote not in ("label", "value"):
        raise ValueError(f"vote is {vote!r}; it must be 'label' or 'value'")
    return vote
