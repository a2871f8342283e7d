"""Numbers of rows that depend on what a row holds and on nothing else.

Equal rows have the same number, wherever they stand, stored sparse or not. So draws, folds and parts that go by these
numbers treat a row of weight k as k equal rows, in any order of the rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.pieces.pieced_matrix import PiecedMatrix
from committee.data.sparse import Matrix, SparseMatrix

U64 = NDArray[np.uint64]


def row_digests(X: Matrix | PiecedMatrix, n_threads: int) -> U64:
    """Numbers ``(n,)`` of rows whose columns are told apart by their place.

    They are others if columns change places. That is enough for learners that draw columns by their place as well.

    Examples
    --------
    >>> import numpy as np
    >>> a, b, c = row_digests(np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]]), 1).tolist()
    >>> a == c, a == b
    (True, False)
    """
    return _of_rows(X, np.arange(1, X.shape[1] + 1, dtype=np.uint64), n_threads)


def cell_sums(X: Matrix | PiecedMatrix, n_threads: int) -> U64:
    """Numbers ``(n,)`` of rows whose columns are not told apart: the same in any order, and among other rows.

    Examples
    --------
    >>> import numpy as np
    >>> a, b, c = cell_sums(np.array([[1.0, 2.0], [2.0, 1.0], [2.0, 2.0]]), 1).tolist()
    >>> a == b, a == c
    (True, False)
    """
    return _of_rows(X, np.zeros(X.shape[1], dtype=np.uint64), n_threads)


def unordered_digests(X: Matrix | PiecedMatrix, n_threads: int, classes: NDArray[np.uint16] | None = None) -> U64:
    """Numbers ``(n,)`` of rows whose columns are told apart by what they hold: the same for columns in any order.

    Folds go by them where a learner gives the same model for columns in another order, as all do that draw none. Sums
    of cells whatever their column are not enough: rows of ones and zeros would be parted by how many ones they have.
    So a column counts by its cells, each with the sum of its row. The rows must all differ, or copies of rows would
    count in the columns; columns of equal content, such as those of a whole grid, are alike unless the rows' classes
    tell them apart.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 2.0]])
    >>> bool((unordered_digests(X, 1) == unordered_digests(np.ascontiguousarray(X[:, ::-1]), 1)).all())
    True
    """
    sums = cell_sums(X, n_threads)
    if classes is not None:
        sums += classes
    return _of_rows(X, _of_columns(X, sums), n_threads)


def column_digests(X: Matrix | PiecedMatrix, n_threads: int) -> U64:
    """Numbers ``(p,)`` of columns that depend on what they hold, each cell with its row, whatever order either is in.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 2.0, 1.0], [2.0, 1.0, 5.0]])
    >>> bool((column_digests(X[::-1].copy(), 1) == column_digests(X, 1)).all())
    True
    """
    return _of_columns(X, cell_sums(X, n_threads))


def _of_rows(X: Matrix | PiecedMatrix, columns: U64, n_threads: int) -> U64:
    if isinstance(X, PiecedMatrix):
        return X.row_digests(columns, n_threads)
    if isinstance(X, SparseMatrix):
        return _core.stored_row_digests(X.start, X.column, X.value, columns, n_threads)
    return _core.row_digests(X, columns, n_threads)


def _of_columns(X: Matrix | PiecedMatrix, rows: U64) -> U64:
    if isinstance(X, PiecedMatrix):
        X = X.dense
    if isinstance(X, SparseMatrix):
        return _core.stored_column_digests(X.start, X.column, X.value, rows, X.shape[1])
    return _core.column_digests(X, rows)
