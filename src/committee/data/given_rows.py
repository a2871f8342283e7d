"""Rows of a table as the user gives them, beside their encoded matrix, for voters that read tables themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils import _safe_indexing

from committee.data.columns import is_frame
from committee.data.matrices import Matrix, as_sparse_matrix, is_sparse, numeric_matrix


def given_table(X: Any, left_out: Sequence[int] = ()) -> Any:
    if is_sparse(X):
        cells = as_sparse_matrix(X)
        index = np.int32 if len(cells.value) < 2**31 else np.int64  # few estimators take 64-bit indices
        return csr_array((cells.value, cells.column.astype(index), cells.start.astype(index)), shape=cells.shape)
    if not is_frame(X):
        return numeric_matrix(X, None)
    if not left_out:
        return X
    return _safe_indexing(X, np.setdiff1d(np.arange(X.shape[1]), left_out), axis=1)


@dataclass(frozen=True, eq=False)
class GivenRows:
    table: Any
    cells: Matrix

    @classmethod
    def of(cls, X: Any, cells: Matrix, left_out: Sequence[int] = ()) -> GivenRows:
        return cls(given_table(X, left_out), cells)

    def __len__(self) -> int:
        return len(self.cells)

    def __getitem__(self, index: NDArray[np.integer[Any]]) -> GivenRows:
        return GivenRows(_safe_indexing(self.table, index), self.cells[index])


def encoded_cells(rows: Matrix | GivenRows) -> Matrix:
    return rows.cells if isinstance(rows, GivenRows) else rows
