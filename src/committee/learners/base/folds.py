"""Folds of training rows that follow from what the rows hold, not from where or how often they stand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64, Index, Mask
from committee.data.rows import Rows
from committee.data.sparse import Matrix, SparseMatrix

U64 = NDArray[np.uint64]

_STEP, _FIRST, _SECOND = (np.uint64(n) for n in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


@dataclass(frozen=True, eq=False)
class Folds:
    """Folds with the classes in the same shares; rows of one class that hold the same are in the same fold.

    A row's place follows from a number that its cells are mixed to. A cell counts by its value and its column, and a
    column by its values, not by its name or its place. So a row of weight k and k rows, rows in another order and
    columns in another order have the same folds, and nothing has to be drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.data.rows import Rows
    >>> X, labels = np.array([[1.0], [2.0], [2.0], [3.0], [4.0]]), np.array([0, 0, 0, 1, 1], dtype=np.uint16)
    >>> folds = Folds.of(Rows(X, labels, np.ones(5), True), 2)
    >>> bool(folds.number[1] == folds.number[2]), folds.n_different.tolist()
    (True, [2, 2])
    """

    number: Index
    """``(n,)``: fold of each row; -1 for the only row of a class, which is always one to train on."""
    n_different: NDArray[np.int64]
    """How many rows of each fold differ from each other."""

    @classmethod
    def of(cls, rows: Rows, n_folds: int) -> Folds:
        """Deal the different rows of each class out to the folds."""
        labels = _mixed(rows.labels.astype(np.uint64))
        places = np.arange(1, rows.X.shape[1] + 1, dtype=np.uint64) * _STEP
        _, first, alike = np.unique(labels + _row_sums(rows.X, places), return_index=True, return_inverse=True)
        X, labels, of_class = rows.X[first], labels[first], rows.labels[first]
        order = np.lexsort((labels + _row_sums(X, _column_sums(X, labels)), of_class))
        fold = np.empty(len(order), dtype=np.intp)
        fold[order] = np.arange(len(order)) % n_folds
        fold[np.bincount(of_class)[of_class] < 2] = -1
        return cls(fold[alike], np.bincount(fold[fold >= 0], minlength=n_folds))

    def __iter__(self) -> Iterator[tuple[Mask, int]]:
        """Yield the rows of each fold as a mask, and how many of them differ; no empty ones."""
        for k in np.flatnonzero(self.n_different).tolist():
            yield self.number == k, int(self.n_different[k])


def _row_sums(X: Matrix, columns: U64) -> U64:
    """Mix the cells of each row with the numbers of their columns; sums wrap around, and have no order."""
    if isinstance(X, SparseMatrix):
        ends = np.append(np.uint64(0), np.cumsum(_scrambled(X.value, columns[X.column])))
        return ends[X.start[1:]] - ends[X.start[:-1]]
    number = np.zeros(len(X), dtype=np.uint64)
    for cells, column in zip(X.T, columns, strict=True):
        number += _scrambled(cells, column)
    return number


def _column_sums(X: Matrix, labels: U64) -> U64:
    """Mix the cells of each column with the numbers of their rows' classes."""
    if not isinstance(X, SparseMatrix):
        return np.array([_scrambled(column, labels).sum() for column in X.T], dtype=np.uint64)
    number = np.zeros(X.shape[1], dtype=np.uint64)
    np.add.at(number, X.column, _scrambled(X.value, np.repeat(labels, np.diff(X.start))))
    return number


def _scrambled(cells: F64, others: U64 | np.uint64) -> U64:
    """Mix cells with other numbers; a zero counts nothing, stored or not, and there is one missing value.

    Cells count in single precision: a last bit that was rounded another way changes no fold.
    """
    with np.errstate(over="ignore"):
        single = cells.astype(np.float32)
    bits = np.where(np.isnan(single), np.float32(np.nan), single).view(np.uint32).astype(np.uint64)
    return np.where(single == 0.0, np.uint64(0), _mixed(bits ^ others))


def _mixed(number: U64) -> U64:
    """Scramble whole numbers, each by itself (splitmix64)."""
    z = number + _STEP
    z = (z ^ (z >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    return z ^ (z >> np.uint64(31))
