"""Encoded matrix of training pieces, read when its rows are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.categories import UnknownCategoryError
from committee.data.number_types import F64
from committee.data.out_of_core.table_summary import category_hashes, column_edges, concatenate_edges
from committee.data.table_schema import TableSchema

if TYPE_CHECKING:
    from committee.data.out_of_core.training_pass import TrainingPieces

I64: TypeAlias = NDArray[np.int64]

_STEP = 2**16  # rows whose categories are copied at a time
_SAME = "the pieces must be the same, in the same order, whenever they are read"


@dataclass(eq=False)
class OutOfCoreMatrix:
    """Encoded rows of weight above 0; passes over the pieces give bins, `dense` writes all cells to a mapped file."""

    is_remote: ClassVar[bool] = False  # whether workers hold the codes, in shards

    training: TrainingPieces
    table: TableSchema
    digests: bool = False  # whether the pass for bin numbers also computes row digests
    numbers: dict[int, F64] = field(default_factory=dict)  # columns in memory that replace those of the table
    needs_cells: bool = False  # whether a fit needs the cells as well as their codes
    _digests: NDArray[np.uint64] | None = None  # (n, 1 or 2), as `digests_of_kinds` returns them
    _dense: F64 | None = None
    _writing: Lock = field(default_factory=Lock)

    @property
    def shape(self) -> tuple[int, int]:
        return self.training.summary.n_rows, self.table.n_features

    @property
    def ndim(self) -> int:
        return 2

    def __len__(self) -> int:
        return self.training.summary.n_rows

    def __getitem__(self, index: Any) -> F64:
        rows: F64 = np.ascontiguousarray(self.dense[index])
        return rows

    def with_columns(self, columns: Sequence[int], numbers: F64) -> OutOfCoreMatrix:
        own = {j: np.ascontiguousarray(numbers[:, c]) for c, j in enumerate(columns)}
        return replace(self, numbers=self.numbers | own, _digests=None, _dense=None)

    @property
    def dense(self) -> F64:
        with self._writing:  # members are trained in several threads
            if self._dense is None:
                dense = self.training.storage.mapped("cells", self.shape, np.float64)
                for first, rows in self.blocks():
                    dense[first : first + len(rows)] = rows
                self._dense = np.asarray(dense)
        return self._dense

    def transform_rows(self, n_columns: int, of_rows: Callable[[F64], F64]) -> F64:
        made, step = self.room((len(self), n_columns)), 2**16
        for first in range(0, len(self), step):
            made[first : first + step] = of_rows(self.dense[first : first + step])
        return made

    def room(self, shape: tuple[int, ...]) -> F64:
        return np.asarray(self.training.storage.mapped("rows", shape, np.float64))

    def __reduce__(self) -> tuple[Any, ...]:
        # another process has neither the pieces nor the scratch folder
        return np.asarray, (self.dense,)

    def blocks(self, n_threads: int = 1) -> Iterator[tuple[int, F64]]:
        """Yield the rows of each piece with the number of the first; raise if they are not those of the first pass."""
        training, sampled = self.training, _SampledCells(self.training)
        training.files.check_unchanged()
        table = self.table
        first = row = 0
        for piece in training.pieces.feature_pieces():
            with piece.named_in_errors():
                rows = _encoded(table, piece.X, n_threads) if len(piece) else np.empty((0, table.n_features))
            row += len(rows)
            if row > training.n_rows:
                break
            if training.counted is not None:
                rows = rows[training.counted[row - len(rows) : row]]
            sampled.check(first, rows, piece.name)
            if self.numbers:
                rows = rows.copy()
                for j, numbers in self.numbers.items():
                    rows[:, j] = numbers[first : first + len(rows)]
            if len(rows):
                yield first, rows
            first += len(rows)
        training.check_row_count(row)

    @property
    def sampled_cells(self) -> dict[str, NDArray[Any]]:
        """Sampled cells in memory, which identify the table in a checkpoint."""
        sample = self.training.summary.sample
        assert sample is not None
        return {"sampled rows": sample.rows, "sampled cells": sample.cells}

    def edges(self, weights: F64 | None, max_bins: int, max_sample: int, n_threads: int) -> tuple[F64, I64]:
        if max_bins > self.training.summary.max_bins:
            self.training = self.training.rescan(self.training.counted, max_bins)
        summary = self.training.summary
        of_sample = None if weights is None else weights[summary.sampled_rows]
        edges, offset = summary.edges(max_bins, of_sample, n_threads)
        if not self.numbers:
            return edges, offset
        each = [edges[offset[j] : offset[j + 1]] for j in range(self.table.n_features)]
        for j, numbers in self.numbers.items():
            each[j] = column_edges(numbers, weights, max_bins, max_sample)
        return concatenate_edges(each)

    def codes(
        self, edges: F64, offset: NDArray[np.int64], n_categories: NDArray[np.int32], wide: bool, n_threads: int
    ) -> NDArray[np.uint8] | NDArray[np.uint16]:
        codes = self.training.storage.codes(self.shape, np.uint16 if wide else np.uint8)
        digests = np.empty((len(self), self._n_digests), np.uint64) if self.digests else None
        for first, rows in self.blocks(n_threads):
            last = first + len(rows)
            codes[first:last] = _core.bin_codes(rows, edges, offset, n_categories, wide, n_threads)
            if digests is not None:
                digests[first:last] = digests_of_kinds(rows, self.categorical, n_threads)
        self._digests, self.digests = digests, False
        return codes

    def row_digests(self, columns: NDArray[np.uint64], n_threads: int) -> NDArray[np.uint64]:
        known, self._digests = self._digests, None
        if known is not None and np.array_equal(columns, _places(self.table.n_features)):
            return np.ascontiguousarray(known[:, 0])
        digests = np.empty(len(self), np.uint64)
        for first, rows in self.blocks(n_threads):
            digests[first : first + len(rows)] = _core.row_digests(rows, columns, n_threads)
        return digests

    def digests_of_kinds(self, n_threads: int) -> NDArray[np.uint64]:
        known, self._digests = self._digests, None
        if known is None:
            known = np.empty((len(self), self._n_digests), np.uint64)
            for first, rows in self.blocks(n_threads):
                known[first : first + len(rows)] = digests_of_kinds(rows, self.categorical, n_threads)
        return known

    @property
    def categorical(self) -> NDArray[np.bool_] | None:
        return self.table.with_levels

    @property
    def _n_digests(self) -> int:
        return 1 if self.categorical is None else 2


def digests_of_kinds(X: F64, categorical: NDArray[np.bool_] | None, n_threads: int) -> NDArray[np.uint64]:
    """Return digests of rows by all columns and by those of numbers, ``(n, 2)``; ``(n, 1)`` without categories."""
    places = _places(X.shape[1])
    every = _core.row_digests(X, places, n_threads)
    if categorical is None:
        return every[:, None]
    numbers = every.copy()
    for first in range(0, len(X), _STEP):  # a digest is a sum over the columns
        part = np.ascontiguousarray(X[first : first + _STEP, categorical])
        numbers[first : first + _STEP] -= _core.row_digests(part, places[categorical], n_threads)
    return np.column_stack([every, numbers])


def _places(n_columns: int) -> NDArray[np.uint64]:
    return np.arange(1, n_columns + 1, dtype=np.uint64)


def _encoded(table: TableSchema, X: Any, n_threads: int) -> F64:
    try:
        return table.encode(X, n_threads, all_known=True)
    except UnknownCategoryError as error:
        raise ValueError(f"{error.found}, which was not there in the first pass; {_SAME}") from error


class _SampledCells:
    # sampled cells of the first pass, which must be the same in later ones
    def __init__(self, training: TrainingPieces) -> None:
        sample = training.summary.sample
        assert sample is not None
        self.rows, self.cells = sample.rows, sample.cells
        categories = training.summary.schema.categories
        self.hashes = {j: np.append(category_hashes(found), np.nan) for j, found in enumerate(categories) if found}

    def check(self, first: int, rows: F64, name: str) -> None:
        begin, end = np.searchsorted(self.rows, [first, first + len(rows)])
        now = rows[self.rows[begin:end] - first]
        for j, hashes in self.hashes.items():
            now[:, j] = hashes[np.where(np.isnan(now[:, j]), -1, now[:, j]).astype(np.intp)]
        if not np.array_equal(self.cells[begin:end], now, equal_nan=True):
            raise ValueError(f"{name} holds other rows than in the first pass; {_SAME}")


def replace_columns(X: F64 | OutOfCoreMatrix, columns: Sequence[int], numbers: F64) -> F64 | OutOfCoreMatrix:
    if isinstance(X, OutOfCoreMatrix):
        return X.with_columns(columns, numbers)
    changed = X.copy()
    changed[:, list(columns)] = numbers
    return changed
