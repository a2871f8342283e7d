"""Sparse tables in: scipy's CSR and CSC become stored cells by row, checked before any kernel sees them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, issparse

from committee import _core
from committee.data.number_types import F64, MAX_FEATURES

I32: TypeAlias = NDArray[np.int32]
I64: TypeAlias = NDArray[np.int64]

_BLOCK = 2**21
"""Cells that are made dense at a time."""

REMEDY = (
    "make it dense: X.toarray(), or in a pipeline OneHotEncoder(sparse_output=False), or the step "
    "FunctionTransformer(operator.methodcaller('toarray'), accept_sparse=True)"
)


@dataclass(frozen=True, eq=False)
class SparseMatrix:
    """The encoded matrix of a sparse table; cells that are not stored are 0, and a stored NaN is missing.

    Parameters
    ----------
    start : int64 array (n + 1,)
        Row i has the stored cells ``start[i]:start[i + 1]``.
    column : int32 array
        Their columns, which rise within a row.
    value : float64 array
        Their values.
    n_columns : int
        Number of columns p.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> X = SparseMatrix.read(csr_array([[0.0, 2.0], [0.0, 0.0]]))
    >>> X.shape, X.column.tolist(), X.value.tolist()
    ((2, 2), [1], [2.0])
    """

    start: I64
    column: I32
    value: F64
    n_columns: int

    @classmethod
    def read(cls, X: Any) -> Self:
        """Read a sparse array or matrix of scipy's: several cells of one place are summed, as ``toarray`` does.

        Nothing is taken for granted that scipy leaves to its user: a matrix whose parts contradict each other is
        refused.

        Raises
        ------
        TypeError
            For other formats than CSR and CSC.
        ValueError
            If `X` is not two-dimensional, holds no real numbers, or its parts contradict each other.
        """
        kind = type(X).__name__
        if X.ndim != 2:
            raise ValueError(f"Expected 2D array, got a sparse {X.ndim}D array instead: X is a {kind}.")
        if X.format not in ("csr", "csc"):
            raise TypeError(f"X is a sparse {kind}; of the sparse formats CSR and CSC are taken, so pass X.tocsr()")
        (n, p), by_row = X.shape, X.format == "csr"
        if not n:
            raise ValueError(f"Found array with 0 sample(s) (shape={X.shape}) while a minimum of 1 is required.")
        if not p:
            raise ValueError(f"Found array with 0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
        if n >= 2**31 or p > MAX_FEATURES:
            raise ValueError(f"X is of shape {X.shape}; at most 2^31 - 1 rows and 2^29 - 1 columns are possible.")
        start, places, value = _parts(X, *((n, p) if by_row else (p, n)))
        if by_row and _rises(start, places):
            return cls(start, places, value.astype(np.float64, copy=False), p)
        # sorted by counting, which keeps cells of one place in the order in which they are stored
        rows: Any = csr_array((value, places, start), shape=(n, p)).tocsc() if by_row else None
        rows = (csc_array((value, places, start), shape=(n, p)) if rows is None else rows).tocsr()
        if not _rises(rows.indptr, rows.indices):
            rows.sum_duplicates()
        columns = rows.indices.astype(np.int32, copy=False)
        return cls(rows.indptr.astype(np.int64), columns, rows.data.astype(np.float64, copy=False), p)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return len(self.start) - 1, self.n_columns

    @property
    def ndim(self) -> int:
        """Two."""
        return 2

    def __len__(self) -> int:
        return len(self.start) - 1

    def __getitem__(self, index: Any) -> SparseMatrix:
        """Some of the rows."""
        rows = np.arange(len(self))[index]
        size = np.diff(self.start)[rows]
        start = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
        at = np.arange(start[-1]) + np.repeat(self.start[rows] - start[:-1], size)
        return SparseMatrix(start, self.column[at], self.value[at], self.n_columns)

    def columns(self) -> Iterator[F64]:
        """Values of each column in turn: those that are stored, and one 0 if any cell is not."""
        order = np.argsort(self.column, kind="stable")
        ends = np.searchsorted(self.column[order], np.arange(self.n_columns + 1))
        for j in range(self.n_columns):
            stored = self.value[order[ends[j] : ends[j + 1]]]
            yield stored if len(stored) == len(self) else np.append(stored, 0.0)

    def blocks(self, columns: NDArray[np.integer], n_threads: int = 1) -> Iterator[F64]:
        """All rows in the given columns, which rise, made dense some at a time."""
        place = np.full(self.n_columns, -1, dtype=np.int32)
        place[columns] = np.arange(len(columns))
        step = max(1, _BLOCK // max(1, len(columns)))
        for first in range(0, max(1, len(self)), step):
            last = min(first + step, len(self))
            yield _core.dense_rows(self.start, self.column, self.value, place, len(columns), first, last, n_threads)

    def infinite(self) -> tuple[int, int] | None:
        """Row and column of the first infinity; None if there is none."""
        at = np.flatnonzero(np.isinf(self.value))
        if not at.size:
            return None
        return int(np.searchsorted(self.start, at[0], side="right")) - 1, int(self.column[at[0]])


Matrix: TypeAlias = NDArray[np.float64] | SparseMatrix
"""An encoded matrix, with all its cells or sparse."""


def is_sparse(X: Any) -> bool:
    """Say whether X is a sparse array or matrix of scipy's, or already read.

    Examples
    --------
    >>> is_sparse(np.zeros((1, 1)))
    False
    """
    return isinstance(X, SparseMatrix) or bool(issparse(X))


def read_sparse(X: Any) -> SparseMatrix:
    """Read what `is_sparse`; see `SparseMatrix.read`."""
    return X if isinstance(X, SparseMatrix) else SparseMatrix.read(X)


def refuse_sparse(X: Any, who: str) -> None:
    """Raise for a sparse table, which `who` does not take; with what to do about it.

    Raises
    ------
    TypeError
        If it is one.
    """
    if is_sparse(X):
        kind = "table" if isinstance(X, SparseMatrix) else type(X).__name__
        raise TypeError(f"X is a sparse {kind}, which {who} does not take; {REMEDY}")


def _parts(X: Any, n_lines: int, n_places: int) -> tuple[I64, I32, NDArray[Any]]:
    """Ends of the lines, places within a line and values of a CSR or CSC matrix, checked as what they are copied to."""
    given = {"indptr": np.asarray(X.indptr), "indices": np.asarray(X.indices), "data": np.asarray(X.data)}
    for name, array in given.items():
        if array.ndim != 1 or (name != "data" and array.dtype.kind not in "iu"):
            raise ValueError(f"X is sparse, and its {name} is no vector of whole numbers; build it anew.")
    start, value = given["indptr"].astype(np.int64), given["data"]
    if value.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: X is a sparse array of {value.dtype}")
    if value.dtype.kind not in "biuf":
        raise ValueError(f"X is a sparse array of {value.dtype}; make it one of numbers, X.astype(float)")
    if len(start) != n_lines + 1 or start[0] != 0 or (np.diff(start) < 0).any():
        raise ValueError(
            f"X is sparse, and its indptr does not rise from 0 in {n_lines} steps, one for each "
            f"{'row' if X.format == 'csr' else 'column'}; build it anew."
        )
    n_stored = int(start[-1])
    if n_stored > min(len(given["indices"]), len(value)):
        raise ValueError(
            f"X is sparse, and its indptr ends at {n_stored}, beyond its {len(given['indices'])} indices or "
            f"{len(value)} values; build it anew."
        )
    wide = given["indices"][:n_stored]
    if wide.dtype.itemsize > 4 and n_stored and (wide.min() < 0 or wide.max() >= n_places):
        raise ValueError(f"X is sparse, and its indices are not all within 0 and {n_places - 1}; build it anew.")
    places = wide.astype(np.int32)
    if n_stored and (places.min() < 0 or places.max() >= n_places):
        raise ValueError(f"X is sparse, and its indices are not all within 0 and {n_places - 1}; build it anew.")
    return start, places, value[:n_stored]


def _rises(start: NDArray[np.integer], places: NDArray[np.integer]) -> bool:
    """Say whether the places of each line rise."""
    rising = np.empty(len(places), dtype=bool)
    rising[:1] = True
    np.greater(places[1:], places[:-1], out=rising[1:])
    firsts = start[:-1]
    rising[firsts[firsts < len(places)]] = True
    return bool(rising.all())
