"""Numbers of rows that follow from what they hold, for whatever an estimator takes as rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse

from committee.data.arrays import numeric_matrix
from committee.data.frame_columns import is_frame, open_frame
from committee.data.in_pieces import is_in_pieces
from committee.data.row_digests import U64, row_digests
from committee.data.sparse import SparseMatrix, is_sparse, read_sparse

if TYPE_CHECKING:
    from committee.data.frames import TableSchema


def by_row(X: Any) -> Any:
    """Return X, a sparse table of scipy's as CSR: other formats, such as COO, may have no rows to take."""
    sparse = bool(issparse(X))
    return X.tocsr() if sparse else X


def content_numbers(X: Any, table: TableSchema | None) -> U64:
    """Numbers ``(n,)``: equal rows have the same one, in any order and whichever rows come with them.

    Parameters
    ----------
    X : table, array-like or sequence (n, ...)
    table : TableSchema or None
        By which cells are read; None where an estimator reads them in its own way: then numbers count by their value,
        and all else by its text.

    Examples
    --------
    >>> a, b, c = content_numbers([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]], None).tolist()
    >>> a == c, a == b
    (True, False)
    >>> a, b, c = content_numbers(["good day", "bad day", "good day"], None).tolist()
    >>> a == c, a == b
    (True, False)
    """
    if is_in_pieces(X):
        from committee.learners.base.pieced_rows import predict_pieces

        names = None if table is None or table.names is None else np.asarray(table.names, dtype=object)
        return predict_pieces(X, lambda rows: content_numbers(rows, table), names)
    if isinstance(X, SparseMatrix) or is_sparse(X):
        rows = X if isinstance(X, SparseMatrix) else read_sparse(X)
        return row_digests(rows if table is None else table.encode_sparse(rows), 1)
    if table is not None:
        return row_digests(np.ascontiguousarray(table.encode(X)), 1)
    if is_frame(X):
        frame = open_frame(X)
        return _of_cells(zip(*(frame[name].to_list() for name in frame.columns), strict=True))
    try:
        return row_digests(np.ascontiguousarray(numeric_matrix(X, None)), 1)
    except (TypeError, ValueError):
        return _of_cells(row.tolist() if isinstance(row, np.ndarray) else row for row in X)


def _of_cells(rows: Iterable[Any]) -> U64:
    texts = ("\x1f".join(map(_text, row)) if isinstance(row, list | tuple) else _text(row) for row in rows)
    found = [hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest() for text in texts]
    return np.frombuffer(b"".join(found), dtype="<u8").astype(np.uint64)


def _text(cell: Any) -> str:
    return repr(float(cell)) if isinstance(cell, Real) else str(cell)
