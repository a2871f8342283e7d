"""Bins of cells, to grow trees, and digests of rows, to recognise rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.matrices import Matrix, SparseMatrix
from committee.data.number_types import Mask
from committee.data.out_of_core.table_summary import MAX_SAMPLE, concatenate_edges
from committee.data.out_of_core.training_pieces import OutOfCoreMatrix
from committee.data.out_of_core.training_pieces import digests_of_kinds as _dense
from committee.data.table_schema import TableSchema

LEAST_AUTO_BINS, MOST_AUTO_BINS = 40, 255

Codes: TypeAlias = NDArray[np.uint8] | NDArray[np.uint16] | _core.SparseCodes  # bin numbers (n, p)


@dataclass(frozen=True, eq=False)
class Bins:
    """Bin edges: a number x has bin ``sum(edges < x)``, a category its code, a missing value the bin after the last."""

    edges: NDArray[np.float64]  # column j has edges[offset[j]:offset[j + 1]], none if it is categorical
    offset: NDArray[np.int64]
    n_categories: NDArray[np.int32]  # (p,); 0 for a numeric column

    @classmethod
    def learn(
        cls,
        X: Matrix | OutOfCoreMatrix,
        weights: NDArray[np.float64] | None,
        n_categories: NDArray[np.int32],
        max_bins: int,
        n_threads: int = 1,
    ) -> Bins:
        if isinstance(X, OutOfCoreMatrix):
            return cls(*X.edges(weights, max_bins, MAX_SAMPLE, n_threads), n_categories)
        if isinstance(X, SparseMatrix):
            stored = X.start, X.column, X.value, X.n_columns
            return cls(*_core.sparse_bin_edges(*stored, weights, max_bins, MAX_SAMPLE, n_threads), n_categories)
        return cls(*_core.bin_edges(X, weights, n_categories, max_bins, MAX_SAMPLE, n_threads), n_categories)

    @classmethod
    def even(cls, X: Matrix, n_categories: NDArray[np.int32], n_edges: int) -> Bins:
        edges = []
        for j, cells in enumerate(X.columns() if isinstance(X, SparseMatrix) else X.T):
            column = cells[~np.isnan(cells)]
            if n_categories[j] > 0 or not len(column) or column.min() == column.max():
                edges.append(np.empty(0))
                continue
            inner = np.linspace(0.0, 1.0, n_edges + 2)[1:-1]
            # the difference of two numbers may overflow, their weighted mean does not
            between = np.unique((1.0 - inner) * column.min() + inner * column.max())
            edges.append(between[between < column.max()])
        return cls(*concatenate_edges(edges), n_categories)

    @cached_property
    def n_bins(self) -> NDArray[np.int32]:
        """Bins of each column ``(p,)``, without that of missing values."""
        return np.where(self.n_categories > 0, self.n_categories, np.diff(self.offset) + 1).astype(np.int32)

    @cached_property
    def categorical(self) -> NDArray[np.uint8]:
        return (self.n_categories > 0).astype(np.uint8)

    def encode(self, X: Matrix | OutOfCoreMatrix, n_threads: int = 1) -> Codes:
        if isinstance(X, SparseMatrix):
            return _core.SparseCodes(X.start, X.column, X.value, self.edges, self.offset, n_threads)
        wide = bool(self.n_bins.max(initial=1) > 255)
        if isinstance(X, OutOfCoreMatrix):
            return X.codes(self.edges, self.offset, self.n_categories, wide, n_threads)
        return _core.bin_codes(X, self.edges, self.offset, self.n_categories, wide, n_threads)

    def threshold(self, feature: NDArray[np.int32], bin: NDArray[np.int32]) -> NDArray[np.float64]:
        split = bin >= 0
        at = self.offset[np.where(split, feature, 0)] + bin
        has_edge = split & (at < self.offset[np.where(split, feature, 0) + 1])
        edge = np.append(self.edges, np.inf)[np.where(has_edge, at, -1)]
        return np.where(split, edge, 0.0)


@dataclass(frozen=True, eq=False)
class Binned:
    bins: Bins
    codes: Codes

    @property
    def dense(self) -> NDArray[np.uint8] | NDArray[np.uint16]:
        assert not isinstance(self.codes, _core.SparseCodes)  # learners for dense tables have rejected sparse ones
        return self.codes

    @classmethod
    def of(
        cls,
        X: Matrix | OutOfCoreMatrix,
        weights: NDArray[np.float64] | None,
        table: TableSchema,
        max_bins: int,
        n_threads: int = 1,
    ) -> Binned:
        check_category_counts(table, max_bins)
        bins = Bins.learn(X, weights, table.n_categories, max_bins, n_threads)
        return cls(bins, bins.encode(X, n_threads))


def most_bins(max_bins: int | Literal["auto"], n_rows: float = inf, n_columns: int = 0) -> int:
    if max_bins != "auto":
        return max_bins
    return MOST_AUTO_BINS if n_columns < n_rows else int(min(MOST_AUTO_BINS, max(LEAST_AUTO_BINS, n_rows // 3)))


def column_codes(codes: Codes, j: int) -> NDArray[np.uint8] | NDArray[np.uint16]:
    return codes.column(j) if isinstance(codes, _core.SparseCodes) else codes[:, j]


def check_category_counts(table: TableSchema, max_bins: int) -> None:
    for j in np.flatnonzero(table.n_categories > max_bins).tolist():
        raise ValueError(
            f"column {table.column(j)!r} has {table.n_categories[j]} categories, more than max_bins={max_bins}; "
            "raise max_bins, join rare categories, or drop the column if it is an identifier."
        )


U64 = NDArray[np.uint64]


def row_digests(X: Matrix | OutOfCoreMatrix, n_threads: int) -> U64:
    return _of_rows(X, np.arange(1, X.shape[1] + 1, dtype=np.uint64), n_threads)


def digests_of_kinds(X: Matrix | OutOfCoreMatrix, categorical: Mask | None, n_threads: int) -> tuple[U64, U64 | None]:
    """Return digests of rows ``(n,)`` by the numeric columns, and by all columns."""
    if isinstance(X, SparseMatrix):
        return row_digests(X, n_threads), None
    found = X.digests_of_kinds(n_threads) if isinstance(X, OutOfCoreMatrix) else _dense(X, categorical, n_threads)
    every = np.ascontiguousarray(found[:, 0])
    return (every, None) if found.shape[1] == 1 else (np.ascontiguousarray(found[:, 1]), every)


def cell_sums(X: Matrix | OutOfCoreMatrix, n_threads: int) -> U64:
    return _of_rows(X, np.zeros(X.shape[1], dtype=np.uint64), n_threads)


def unordered_digests(X: Matrix | OutOfCoreMatrix, n_threads: int, classes: NDArray[np.uint16] | None = None) -> U64:
    """Return digests of rows ``(n,)`` that do not depend on the order of the columns."""
    sums = cell_sums(X, n_threads)
    if classes is not None:
        sums += classes
    return _of_rows(X, _of_columns(X, sums), n_threads)


def column_digests(X: Matrix | OutOfCoreMatrix, n_threads: int) -> U64:
    return _of_columns(X, cell_sums(X, n_threads))


def _of_rows(X: Matrix | OutOfCoreMatrix, columns: U64, n_threads: int) -> U64:
    if isinstance(X, OutOfCoreMatrix):
        return X.row_digests(columns, n_threads)
    if isinstance(X, SparseMatrix):
        return _core.stored_row_digests(X.start, X.column, X.value, columns, n_threads)
    return _core.row_digests(X, columns, n_threads)


def _of_columns(X: Matrix | OutOfCoreMatrix, rows: U64) -> U64:
    if isinstance(X, OutOfCoreMatrix):
        X = X.dense
    if isinstance(X, SparseMatrix):
        return _core.stored_column_digests(X.start, X.column, X.value, rows, X.shape[1])
    return _core.column_digests(X, rows)


MOST_DIGESTS = 4096  # digests in a sketch: 32 kB
AT_ONCE = 2**20  # rows that are sorted at a time


@dataclass(frozen=True)
class RowOverlap:
    n_rows: int
    n_judged: int  # rows that can be compared: all, or those whose digests are within the range of the sketch
    n_known: int

    @property
    def share(self) -> float:
        return self.n_known / self.n_judged if self.n_judged else float("nan")

    @property
    def exact(self) -> bool:
        return self.n_judged == self.n_rows


@dataclass(frozen=True, eq=False)
class RowSketch:
    """The smallest digests of a table's rows, a random sample of its distinct rows (bottom-k sampling, [1]_).

    .. [1] E. Cohen, H. Kaplan (2007). Summarizing data using bottom-k sketches. PODC.
    """

    digests: U64  # ascending
    complete: bool  # whether these are the digests of all rows
    n_rows: int  # rows that have these digests
    n_repeated: int  # those of `n_rows` that equal another row

    def __post_init__(self) -> None:
        kept, m = self.digests, len(self.digests)
        if kept.dtype != np.uint64 or kept.ndim != 1 or not m or not np.all(kept[:-1] < kept[1:]):
            raise ValueError("digests of rows must be ascending uint64 numbers, at least one")
        if m > MOST_DIGESTS or not (self.complete or m == MOST_DIGESTS):
            which, most = ("all", "at most ") if self.complete else ("some", "")
            raise ValueError(f"a sketch of {which} rows has {m} digests; it must have {most}{MOST_DIGESTS}")
        once = self.n_rows - self.n_repeated
        several = m - once
        if not 0 <= once <= m or self.n_repeated < 2 * several or (several == 0 and self.n_repeated):
            raise ValueError(f"{m} digests are not those of {self.n_rows} rows, {self.n_repeated} of them repeated")

    @classmethod
    def of(cls, digests: U64) -> Self:
        kept, counts, complete = np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64), True
        for start in range(0, len(digests), AT_ONCE):
            new, times = np.unique(digests[start : start + AT_ONCE], return_counts=True)
            every, place = np.unique(np.concatenate([kept, new]), return_inverse=True)
            total = np.zeros(len(every), dtype=np.int64)
            np.add.at(total, place, np.concatenate([counts, times]))
            # digests above all that are kept never return, so their counts are not needed
            kept, counts, complete = every[:MOST_DIGESTS], total[:MOST_DIGESTS], complete and len(every) <= MOST_DIGESTS
        return cls(kept.copy(), complete, int(counts.sum()), int(counts[counts > 1].sum()))

    def known(self, digests: U64) -> RowOverlap:
        judged = digests if self.complete else digests[digests <= self.digests[-1]]
        return RowOverlap(len(digests), len(judged), int(np.isin(judged, self.digests).sum()))
