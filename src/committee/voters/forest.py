"""Forests of decision trees, and their training record in files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.matrices import Matrix, SparseMatrix
from committee.data.number_types import F64, Index, check_range
from committee.data.table_schema import TableSchema
from committee.data.typed_json import field
from committee.files.documents import Document, Tensors, read_count, to_single
from committee.voters.flat_trees import (
    DTYPES,
    NODE_DTYPES,
    SHARE_DTYPES,
    ClassShares,
    FlatTrees,
    extents,
    inner_levels,
    positions,
)
from committee.voters.protocol import VoteKind, VoterIndex, class_indicators, voter_numbers, voter_weights

S = TypeVar("S", bound=np.generic)
ImportanceKind: TypeAlias = Literal["gain", "count", "cover"]
"""Measure of a split: its gain, 1, or the weight of the training rows that reached it."""

_STORED = tuple(name for name in DTYPES if name not in ("label", "value"))
VOTE_ARRAYS = {"label": ("label",), "value": ("value",), "shares": tuple(SHARE_DTYPES)}


@dataclass(frozen=True, eq=False)
class Forest(FlatTrees):
    takes_sparse: ClassVar[bool] = True

    def __len__(self) -> int:
        return len(self.offset) - 1

    def __getitem__(self, index: VoterIndex) -> Forest:
        chosen = voter_numbers(index, len(self))
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
            shares=None if self.shares is None else self.shares.take(nodes),
            **per_node,
        )

    @classmethod
    def concatenate(cls, forests: Sequence[Forest]) -> Self:
        return cls.joined(list(forests))

    @classmethod
    def joined(cls, forests: list[Forest]) -> Self:
        """Join forests and empty the list, so that arrays without other references are freed as they are copied."""
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
        if any(f.shares is not None for f in forests):  # those of older files may be dense
            forests[:] = [
                f if f.value is None else replace(f, value=None, shares=ClassShares.of_dense(f.value, f.feature < 0))
                for f in forests
            ]
            first, forest = forests[0], forests[-1]
        n_nodes = np.concatenate([f.n_nodes for f in forests])
        bits = np.concatenate([f.category_bits for f in forests])
        category_offset = extents(np.concatenate([np.diff(f.category_offset) for f in forests]))
        parts = {name: [getattr(f, name) for f in forests] for name in NODE_DTYPES if getattr(first, name) is not None}
        n_features, n_classes = first.n_features, first.n_classes
        shares = [f.shares for f in forests if f.shares is not None]
        del first, forest
        forests.clear()
        per_node: dict[str, Any] = {name: _joined(parts.pop(name)) for name in list(parts)}
        return cls(
            n_features=n_features,
            n_classes=n_classes,
            offset=extents(n_nodes),
            category_offset=category_offset,
            category_bits=bits,
            shares=ClassShares.joined(shares) if shares else None,
            **({"label": None, "value": None} | per_node),
        )

    @property
    def kind(self) -> VoteKind:
        return "score" if self.label is None else "label"

    @property
    def vote(self) -> str:
        return "label" if self.label is not None else "value" if self.value is not None else "shares"

    @property
    def n_outputs(self) -> int:
        return self.n_classes if self.value is None else self.value.shape[1]

    @property
    def nbytes(self) -> int:
        own: int = sum(array.nbytes for name in DTYPES if (array := getattr(self, name)) is not None)
        return own if self.shares is None else own + self.shares.nbytes

    @property
    def spread(self) -> NDArray[np.float64]:
        if self.label is not None or not len(self):
            return np.ones(len(self))
        if self.value is None:
            assert self.shares is not None
            width = self.shares.widths()
        else:
            width = np.abs(self.value[:, 0]) if self.value.shape[1] == 1 else np.ptp(self.value, axis=1)
        return np.maximum.reduceat(np.where(self.feature < 0, width, 0.0), self.offset[:-1])

    def apply(self, X: Matrix, n_threads: int = 1) -> NDArray[np.int32]:
        """Leaf of each row in each tree, ``(n, T)``, as node numbers within the tree."""
        return self.walk(X, n_threads, lambda trees, rows: trees.apply(rows, n_threads))

    def tally(self, X: Matrix, weights: NDArray[np.float64] | None = None, n_threads: int = 1) -> NDArray[np.float64]:
        w = voter_weights(weights, len(self))
        label, value = self.label, self.value
        if value is not None:
            return self.walk(X, n_threads, lambda trees, rows: trees.sum_values(rows, value, w, n_threads))
        K = self.n_classes
        if self.shares is not None:
            each = (self.shares.share_offset, self.shares.share_label, self.shares.share, w, K)
            return self.walk(X, n_threads, lambda trees, rows: trees.sum_shares(rows, *each, n_threads))
        assert label is not None
        return self.walk(X, n_threads, lambda trees, rows: trees.tally_labels(rows, label, w, K, n_threads))

    def votes(self, X: Matrix, n_threads: int = 1) -> NDArray[np.int16] | NDArray[np.float64]:
        leaves = self.apply(X, n_threads) + self.offset[:-1]
        if self.value is not None:
            return np.asarray(self.value[leaves])
        if self.shares is not None:
            return self.shares.take(leaves.ravel()).dense().reshape(*leaves.shape, self.n_classes)
        assert self.label is not None
        return np.asarray(self.label.astype(np.int16)[leaves])

    @property
    def node_votes(self) -> NDArray[np.float64]:
        """Votes of all nodes as numbers, ``(N, n_outputs)``."""
        if self.value is not None:
            return self.value
        if self.shares is not None:
            return self.shares.dense()
        assert self.label is not None
        return class_indicators(self.label, self.n_classes)

    def feature_importances(
        self, weights: NDArray[np.float64] | None = None, kind: ImportanceKind = "gain"
    ) -> NDArray[np.float64]:
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
        if kind == "gain":
            return self.gain
        if kind == "count":
            return np.ones(len(self.feature))
        if kind != "cover":
            raise ValueError(f"kind={kind!r} is unknown; choose 'gain', 'count' (of the splits) or 'cover'.")
        if not self.weight[self.offset[:-1]].all():
            raise ValueError(
                "these trees have no weights of their training rows, which kind='cover' sums; take 'gain' or "
                "'count', or trees as a learner of this library fits them."
            )
        return self.weight

    def to_document(self, tensors: Tensors) -> Document:
        described = self._described("forest")
        tensors.put_fields(self, _STORED)
        tensors.put_fields(self if self.shares is None else self.shares, VOTE_ARRAYS[self.vote])
        return described

    def _described(self, kind: str) -> Document:
        return {"kind": kind, "n_features": int(self.n_features), "n_classes": int(self.n_classes), "vote": self.vote}

    @classmethod
    def from_document(cls, document: Document, tensors: Tensors) -> Self:
        vote = read_vote(document)
        n_classes = read_count(document, "n_classes")
        votes: dict[str, Any] = tensors.take_fields(VOTE_ARRAYS[vote])
        if vote == "shares":
            votes = {"shares": ClassShares(n_classes, **votes)}
        arrays = {"label": None, "value": None} | tensors.take_fields(_STORED) | votes
        forest = cls(read_count(document, "n_features"), n_classes, **arrays)
        forest.check()
        if not len(forest):
            raise ValueError("there are no voters")
        return forest

    def check_columns(self, table: TableSchema | None) -> None:
        if table is None:
            return
        split = self.feature >= 0
        feature, words = self.feature[split], np.diff(self.category_offset)[split]
        bad = table.mismatched_splits(feature, words)
        if bad.any():
            column = table.column(int(feature[np.argmax(bad)]))
            raise ValueError(f"a split on {column} does not suit that column's type")

    @cached_property
    def trees(self) -> _core.Trees:
        return _core.Trees(*self.walk_arrays)

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def _narrow(self) -> tuple[_core.Trees, NDArray[np.intp]]:
        used = np.unique(self.feature[self.feature >= 0]).astype(np.intp)
        used = used if len(used) else np.zeros(1, dtype=np.intp)
        place = np.where(self.feature >= 0, np.searchsorted(used, self.feature), -1).astype(np.int32)
        _, offset, _, threshold, left, missing_left, category_offset, bits = self.walk_arrays
        return _core.Trees(len(used), offset, place, threshold, left, missing_left, category_offset, bits), used

    def walk(
        self, X: Matrix, n_threads: int, walk: Callable[[_core.Trees, NDArray[np.float64]], NDArray[S]]
    ) -> NDArray[S]:
        if not isinstance(X, SparseMatrix):
            return walk(self.trees, self.matrix(X))
        self._check_shape(X.shape)
        trees, columns = self._narrow
        return np.concatenate([walk(trees, rows) for rows in X.blocks(columns, n_threads)])

    def matrix(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        X = np.ascontiguousarray(X, dtype=np.float64)
        self._check_shape(X.shape)
        return X

    def _check_shape(self, shape: tuple[int, ...]) -> None:
        if len(shape) != 2 or shape[1] != self.n_features:
            raise ValueError(f"X has shape {shape}; the forest needs (n, {self.n_features}).")


def read_vote(document: Document) -> str:
    vote: str = field(document, "vote", str)
    if vote not in VOTE_ARRAYS:
        raise ValueError(f"vote is {vote!r}; it must be 'label', 'value' or 'shares'")
    return vote


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    whole = np.empty((sum(map(len, parts)), *parts[0].shape[1:]), dtype=parts[0].dtype)
    end = len(whole)
    while parts:
        part = parts.pop()
        whole[end - len(part) : end] = part
        end -= len(part)
    return whole


UNSIGNED = (np.uint8, np.uint16, np.uint32)
REAL = (np.float32, np.float64)
RECORD = ("gain", "weight", "count")
GAINS = "gain_value"
"""Array of the distinct gains, if `gain` holds indices."""


def to_smallest_unsigned(numbers: NDArray[Any]) -> NDArray[Any]:
    largest = int(numbers.max(initial=0))
    return numbers.astype(next(kind for kind in UNSIGNED if largest <= np.iinfo(kind).max))


def record_arrays(forest: Forest) -> dict[str, NDArray[Any]]:
    """Arrays of the training record in compressed form."""
    leaf = forest.left < 0
    if not has_record(forest) or forest.gain[leaf].any():
        return {}
    inner = np.flatnonzero(~leaf)
    child = forest.left[inner] + np.repeat(forest.offset[:-1], forest.n_nodes)[inner]
    found = _gains(forest.gain[inner])
    for name in ("weight", "count"):
        numbers = getattr(forest, name)
        # sums of children need not be stored
        sums = (numbers[inner] == numbers[child] + numbers[child + 1]).all()
        found[name] = _whole(numbers[leaf] if sums else numbers)
    return found


def has_record(forest: Forest) -> bool:
    return any(bool(getattr(forest, name).any()) for name in RECORD)


def read_record(arrays: dict[str, Any], left: NDArray[np.int32], offset: NDArray[np.int64]) -> dict[str, Any]:
    inner = np.flatnonzero(left >= 0)
    gain = np.zeros(len(left))
    gain[inner] = _read_gains(arrays, len(inner))
    levels = inner_levels(left, offset)
    found: dict[str, Any] = {"gain": gain}
    for name, kind in (("weight", np.float64), ("count", np.int64)):
        found[name] = _read_numbers(name, arrays[name], np.dtype(kind), left, levels)
    return found


def _gains(gain: F64) -> dict[str, NDArray[Any]]:
    values, number = np.unique(gain.view(np.int64), return_inverse=True)
    numbers = to_smallest_unsigned(number.reshape(-1))
    distinct, each = to_single(values.view(np.float64)), to_single(gain)
    if distinct.nbytes + numbers.nbytes >= each.nbytes:
        return {"gain": each}
    return {"gain": numbers, GAINS: distinct}


def _whole(numbers: NDArray[Any]) -> NDArray[Any]:
    are_small = len(numbers) > 0 and numbers.min() >= 0 and numbers.max() < 2**32
    if are_small and not np.signbit(numbers).any() and (numbers == np.floor(numbers)).all():
        return to_smallest_unsigned(numbers)
    return to_single(numbers) if numbers.dtype == np.float64 else numbers


def _read_gains(arrays: dict[str, Any], n_inner: int) -> F64:
    gain = arrays["gain"]
    if gain.shape != (n_inner,):
        raise ValueError(f"gain has the shape {gain.shape}; there are {n_inner} inner nodes")
    if GAINS not in arrays:
        if gain.dtype not in REAL:
            raise ValueError(f"gain is {gain.dtype}; without {GAINS} it must be float32 or float64")
        return np.asarray(gain, dtype=np.float64)
    values = arrays[GAINS]
    if values.dtype not in REAL or values.ndim != 1 or gain.dtype not in UNSIGNED:
        raise ValueError(
            f"gain is {gain.dtype} and {GAINS} {values.dtype} of {values.ndim} dimensions; they must be unsigned and a "
            "vector of float32 or float64"
        )
    check_range("gain", gain, 0, len(values) - 1)
    return np.asarray(values[gain], dtype=np.float64)


def _read_numbers(
    name: str, stored: NDArray[Any], dtype: np.dtype[Any], left: NDArray[np.int32], levels: list[tuple[Index, Index]]
) -> NDArray[Any]:
    leaf = left < 0
    n_leaves = int(leaf.sum())
    real = REAL if dtype == np.float64 else (dtype,)
    if stored.dtype not in (*UNSIGNED, *real) or stored.ndim != 1 or len(stored) not in (n_leaves, len(left)):
        raise ValueError(
            f"{name} is {stored.dtype} of shape {stored.shape}; it must be unsigned or {dtype}, of the {n_leaves} "
            f"leaves or all {len(left)} nodes"
        )
    if len(stored) == len(left):
        return stored.astype(dtype)
    numbers = np.zeros(len(left), dtype=dtype)
    numbers[leaf] = stored
    for level, child in reversed(levels):
        numbers[level] = numbers[child] + numbers[child + 1]
    return numbers


def record_names(document: Document) -> tuple[str, ...]:
    record = document.get("record")
    if record is None:
        return ()
    if record not in ("all", "values"):
        raise ValueError(f"record is {record!r}; it must be 'all' or 'values'")
    return (*RECORD, GAINS) if record == "values" else RECORD
