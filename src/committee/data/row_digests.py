"""Digests of rows, and a sketch of a table's rows by which other rows are recognised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.matrices import Matrix, SparseMatrix
from committee.data.number_types import Mask
from committee.data.out_of_core.out_of_core_matrix import OutOfCoreMatrix
from committee.data.out_of_core.out_of_core_matrix import digests_of_kinds as _dense

U64 = NDArray[np.uint64]


def row_digests(X: Matrix | OutOfCoreMatrix, n_threads: int) -> U64:
    return _of_rows(X, np.arange(1, X.shape[1] + 1, dtype=np.uint64), n_threads)


def digests_of_kinds(X: Matrix | OutOfCoreMatrix, categorical: Mask | None, n_threads: int) -> tuple[U64, U64 | None]:
    """Return digests of rows by the numeric columns, and by all columns, None if there are no others."""
    if isinstance(X, SparseMatrix):
        return row_digests(X, n_threads), None
    found = X.digests_of_kinds(n_threads) if isinstance(X, OutOfCoreMatrix) else _dense(X, categorical, n_threads)
    every = np.ascontiguousarray(found[:, 0])
    return (every, None) if found.shape[1] == 1 else (np.ascontiguousarray(found[:, 1]), every)


def cell_sums(X: Matrix | OutOfCoreMatrix, n_threads: int) -> U64:
    return _of_rows(X, np.zeros(X.shape[1], dtype=np.uint64), n_threads)


def unordered_digests(X: Matrix | OutOfCoreMatrix, n_threads: int, classes: NDArray[np.uint16] | None = None) -> U64:
    """Return digests of rows that do not depend on the order of the columns.

    Sums of cells alone would tell rows of zeros and ones apart only by the number of ones.
    """
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
