"""Encoded matrices from arrays and from scipy's sparse matrices, checked before they reach the kernels."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, issparse

from committee import _core
from committee.data.number_types import F64, I32, I64, MAX_FEATURES

_BLOCK = 2**21  # cells that are converted to dense at a time

PARTS = "X.real and X.imag as columns side by side"
REMEDY = (
    "make it dense: X.toarray(), or in a pipeline OneHotEncoder(sparse_output=False), or the step "
    "FunctionTransformer(operator.methodcaller('toarray'), accept_sparse=True)"
)


@dataclass(frozen=True, eq=False)
class SparseMatrix:
    """Encoded matrix of a sparse table: absent cells are 0, a stored NaN is missing."""

    start: I64  # (n + 1,): row i has the stored cells start[i]:start[i + 1]
    column: I32  # ascending within a row
    value: F64
    n_columns: int

    @classmethod
    def read(cls, X: Any) -> Self:
        kind = type(X).__name__
        if X.ndim != 2:
            raise ValueError(f"Expected 2D array, got a sparse {X.ndim}D array instead: X is a {kind}; reshape it.")
        X = X if X.format in ("csr", "csc") else X.tocsr()
        (n, p), by_row = X.shape, X.format == "csr"
        if not n or not p:
            none = "feature(s)" if n else "sample(s)"
            raise ValueError(f"Found array with 0 {none} (shape={X.shape}) while a minimum of 1 is required.")
        if n >= 2**31 or p > MAX_FEATURES:
            raise ValueError(f"X is of shape {X.shape}; at most 2^31 - 1 rows and 2^29 - 1 columns are possible.")
        start, places, value = _parts(X, *((n, p) if by_row else (p, n)))
        if by_row and _rises(start, places):
            return cls(start, places, value.astype(np.float64, copy=False), p)
        # a counting sort, which keeps cells of one place in the order in which they are stored
        stored = (csr_array if by_row else csc_array)((value, places, start), shape=(n, p))
        rows: Any = (stored.tocsc() if by_row else stored).tocsr()
        if not _rises(rows.indptr, rows.indices):
            rows.sum_duplicates()
        columns = rows.indices.astype(np.int32, copy=False)
        return cls(rows.indptr.astype(np.int64), columns, rows.data.astype(np.float64, copy=False), p)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.start) - 1, self.n_columns

    @property
    def ndim(self) -> int:
        return 2

    def __len__(self) -> int:
        return len(self.start) - 1

    def __getitem__(self, index: Any) -> SparseMatrix:
        rows = np.arange(len(self))[index]
        size = np.diff(self.start)[rows]
        start = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
        at = np.arange(start[-1]) + np.repeat(self.start[rows] - start[:-1], size)
        return SparseMatrix(start, self.column[at], self.value[at], self.n_columns)

    def columns(self) -> Iterator[F64]:
        """Yield the stored values of each column, and one 0 for its absent cells."""
        order = np.argsort(self.column, kind="stable")
        ends = np.searchsorted(self.column[order], np.arange(self.n_columns + 1))
        for j in range(self.n_columns):
            stored = self.value[order[ends[j] : ends[j + 1]]]
            yield stored if len(stored) == len(self) else np.append(stored, 0.0)

    def blocks(self, columns: NDArray[np.integer], n_threads: int = 1) -> Iterator[F64]:
        place = np.full(self.n_columns, -1, dtype=np.int32)
        place[columns] = np.arange(len(columns))
        step = max(1, _BLOCK // max(1, len(columns)))
        for first in range(0, max(1, len(self)), step):
            last = min(first + step, len(self))
            yield _core.dense_rows(self.start, self.column, self.value, place, len(columns), first, last, n_threads)


Matrix: TypeAlias = F64 | SparseMatrix  # an encoded matrix, dense or sparse


class OutOfCoreTable: ...


def is_out_of_core(X: Any) -> bool:
    if isinstance(X, OutOfCoreTable):
        return True
    library = type(X).__module__.partition(".")[0]
    if library == "polars":
        return type(X).__name__ == "LazyFrame"
    return library.startswith("dask") and hasattr(X, "dask")


def is_sparse(X: Any) -> bool:
    return isinstance(X, SparseMatrix) or bool(issparse(X))


def as_sparse_matrix(X: Any) -> SparseMatrix:
    return X if isinstance(X, SparseMatrix) else SparseMatrix.read(X)


def reject_sparse(X: Any, who: str) -> None:
    if is_sparse(X):
        kind = "table" if isinstance(X, SparseMatrix) else type(X).__name__
        raise TypeError(f"X is a sparse {kind}, which {who} does not take; {REMEDY}")


def _parts(X: Any, n_lines: int, n_places: int) -> tuple[I64, I32, NDArray[Any]]:
    given = {"indptr": np.asarray(X.indptr), "indices": np.asarray(X.indices), "data": np.asarray(X.data)}
    for name, array in given.items():
        if array.ndim != 1 or (name != "data" and array.dtype.kind not in "iu"):
            raise ValueError(f"X is sparse, and its {name} is malformed; build it anew.")
    start, value = given["indptr"].astype(np.int64), given["data"]
    if value.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: X is a sparse array of {value.dtype}; give {PARTS}")
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
    fits = wide.dtype.itemsize <= 4 or not n_stored or (wide.min() >= 0 and wide.max() < n_places)
    places = wide.astype(np.int32)  # the copy is checked, as the user's array may change meanwhile
    if not fits or (n_stored and (places.min() < 0 or places.max() >= n_places)):
        raise ValueError(f"X is sparse, and its indices are not all between 0 and {n_places - 1}; build it anew.")
    return start, places, value[:n_stored]


def _rises(start: NDArray[np.integer], places: NDArray[np.integer]) -> bool:
    rising = np.empty(len(places), dtype=bool)
    rising[:1] = True
    np.greater(places[1:], places[:-1], out=rising[1:])
    firsts = start[:-1]
    rising[firsts[firsts < len(places)]] = True
    return bool(rising.all())


def is_matrix(X: Any) -> bool:
    return type(X) is np.ndarray and X.dtype == np.float64 and X.ndim == 2 and X.flags.c_contiguous


def numeric_matrix(X: Any, names: Sequence[str] | None) -> NDArray[np.float64]:
    if is_matrix(X):
        checked: NDArray[np.float64] = X
        return checked
    if is_sparse(X):
        raise TypeError(f"X is a sparse {type(X).__name__}, which is not supported here; pass X.toarray()")
    reject_no_table(X)
    if isinstance(X, OutOfCoreTable):
        raise TypeError(
            "X is read in chunks, which fit, predict and score of most learners accept, but not this call; give rows "
            "in memory here, such as one chunk at a time"
        )
    if isinstance(X, np.ma.MaskedArray):
        raise TypeError("X is a masked array, whose mask would be lost; pass X.astype(float).filled(numpy.nan)")
    values = np.asarray(X)
    if values.dtype.kind in "UT" and isinstance(X, list | tuple):
        values = np.asarray(X, dtype=object)  # as text, one string would turn every number into a string
    if values.ndim != 2:
        of_few = "X.reshape(-1, 1) for one column, X.reshape(1, -1) for one row"
        how = of_few if values.ndim < 2 else "X.reshape(len(X), -1)"
        raise ValueError(f"Expected 2D array, got {values.ndim}D array instead; Reshape your data: {how}")
    if values.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: X is an array of {values.dtype}; give {PARTS}")
    if values.dtype.kind in "mM":
        raise ValueError(f"X is an array of {values.dtype}; make numbers of the times (days since a date, ...)")
    if values.dtype.kind in "OSUTV":
        _reject_text(values, names)
    try:
        return np.ascontiguousarray(values, dtype=np.float64)
    except OverflowError:
        place = next(place for place, value in enumerate(values.flat) if overflows_float(value))
        row, j = divmod(place, values.shape[1])
        raise ValueError(overflow_message(_name_of(j, values, names), row)) from None


def reject_no_table(X: Any) -> None:
    if X is None:
        raise TypeError("X is None; give a table or array of rows")
    if isinstance(X, str | os.PathLike):
        path = os.fspath(X)
        raise TypeError(f"X is a path, not a table; pass committee.scan({path!r}), or a table of its rows")


def overflows_float(value: Any) -> bool:
    try:
        float(value)
    except OverflowError:
        return True
    except (TypeError, ValueError):
        pass
    return False


def overflow_message(name: str, row: int) -> str:
    return f"column {name!r} holds a number of more than 300 digits at row {row}; scale it or mark it missing (NaN)"


def _name_of(j: int, values: NDArray[Any], names: Sequence[str] | None) -> str:
    return f"x{j}" if names is None or len(names) != values.shape[1] else names[j]


def _reject_text(values: NDArray[Any], names: Sequence[str] | None) -> None:
    for place, value in enumerate(values.flat):
        if isinstance(value, str | bytes | np.void):
            row, j = divmod(place, values.shape[1])
            value = value.item() if isinstance(value, np.generic) else value
            how = " by X.astype(float)" if isinstance(value, str) and value.strip().replace(".", "").isdigit() else ""
            raise ValueError(
                f"column {_name_of(j, values, names)!r} holds {value!r} at row {row}, and X is an array; make it "
                f"numeric{how}, or pass a frame (pandas, polars, Arrow), where text columns are categories"
            )
