"""Design matrix of linear leaf models: numbers, categories as 0/1 columns, and whether a value was missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from committee.data.array_checks import check_array, check_finite, check_range, checked_length
from committee.data.number_types import F64

if TYPE_CHECKING:
    from committee.data.frames import TableSchema


MAX_NUMBER = 1e150
"""Largest number in a linear score, whose square must be a number too."""

MAX_INDICATORS = 2**28
"""Cells of a design's 0/1 columns for categories: two GiB of them. A category per row would fill any memory."""


Room: TypeAlias = Callable[[tuple[int, ...]], F64]
"""Makes a matrix of a shape, in memory or in a file."""

_ROWS = 2**16
"""Rows that are looked at at a time."""


@dataclass(frozen=True, eq=False)
class Design:
    """The columns of a linear model, made from those of the encoded matrix.

    A numeric column stands as it is, its missing values filled with the training mean, and is followed by a
    0/1 column "was missing" if any was. A category of two values gives one 0/1 column (the second value), of
    k > 2 values k of them; a missing category is 0 in all, and has a "was missing" column if any was. A linear
    model can so give a missing value any effect of its own.

    Parameters
    ----------
    source : int32 array (q,)
        Column of the encoded matrix that each design column comes from.
    category : int32 array (q,)
        Category code that a 0/1 column stands for; -1 for the number itself, -2 for "was missing".
    fill : float64 array (p,)
        What a missing number becomes.
    """

    source: NDArray[np.int32]
    category: NDArray[np.int32]
    fill: F64

    @classmethod
    def of_table(cls, X: F64, weights: F64, table: TableSchema, room: Room = np.empty) -> Design:
        """Columns and fill values from training rows of a table, as `learn` has them.

        Raises
        ------
        ValueError
            If the 0/1 columns of the categories would have more than `MAX_INDICATORS` cells, or a number is beyond
            `MAX_NUMBER`.
        """
        largest = np.fmax(np.fmax.reduce(X, axis=0), -np.fmin.reduce(X, axis=0))
        if (largest > MAX_NUMBER).any():
            j = int((largest > MAX_NUMBER).argmax())
            raise ValueError(
                f"column {table.column(j)!r} holds a number of size {largest[j]:.3g}; linear scores take none above "
                f"{MAX_NUMBER:g}. Rescale the column, or leave such rows out."
            )
        columns = np.where(table.n_categories == 2, 1, table.n_categories).astype(np.int64)
        if len(X) * int(columns.sum()) > MAX_INDICATORS:
            j = int(columns.argmax())
            raise ValueError(
                f"linear scores of {len(X):,} rows with a 0/1 column for each of {columns.sum():,} categories, of which"
                f" column {table.column(j)!r} has {columns[j]:,}, need more than {MAX_INDICATORS:,} cells; drop that"
                " column or group its rare categories"
            )
        return cls.learn(X, weights, table.n_categories, room)

    @classmethod
    def learn(cls, X: F64, weights: F64, n_categories: NDArray[np.int32], room: Room = np.empty) -> Design:
        """Columns and fill values from training rows ``(n, p)``, encoded; their weights ``(n,)`` count in the means.

        What is as large as X on the way there is put where `room` says.

        Examples
        --------
        >>> import numpy as np
        >>> from committee.data.design import Design
        >>> X = np.array([[1.0, 0.0], [np.nan, 2.0], [3.0, 1.0]])
        >>> Design.learn(X, np.ones(3), np.array([0, 3], np.int32)).matrix(X)
        array([[1., 0., 1., 0., 0.],
               [2., 1., 0., 0., 1.],
               [3., 0., 0., 1., 0.]])
        """
        known, some_missing = room(X.shape), np.zeros(X.shape[1], dtype=bool)
        for rows in (slice(first, first + _ROWS) for first in range(0, len(X), _ROWS)):
            missing = np.isnan(X[rows])
            known[rows] = ~missing
            some_missing |= missing.any(axis=0)
        weights = weights / weights.sum()  # so that sums stay within the range of the values
        present = weights @ known
        if some_missing.any():
            for rows in (slice(first, first + _ROWS) for first in range(0, len(X), _ROWS)):
                known[rows] = np.where(known[rows] == 0.0, 0.0, X[rows])
            sums = weights @ known
        else:
            sums = weights @ X
        fill = np.divide(sums, present, out=np.zeros(X.shape[1]), where=present > 0)
        columns: list[tuple[int, int]] = []
        for j, k in enumerate(n_categories.tolist()):
            codes = [-1] if k == 0 else [1] if k == 2 else range(k)
            columns += [(j, code) for code in codes]
            if some_missing[j]:
                columns.append((j, -2))
        source, category = np.array(columns, dtype=np.int32).T
        return cls(np.ascontiguousarray(source), np.ascontiguousarray(category), fill)

    def __len__(self) -> int:
        return len(self.source)

    @property
    def is_table(self) -> bool:
        """Whether the design columns are those of the table, all of numbers and none of them missing in training."""
        return len(self) == len(self.fill) and bool((self.category == -1).all())

    def matrix(self, X: F64) -> F64:
        """Design matrix ``(n, q)`` of encoded rows."""
        if self.is_table:
            missing = np.isnan(X)
            return _within(np.where(missing, self.fill, X) if missing.any() else X)
        D = np.empty((len(X), len(self)))
        for c, (j, code) in enumerate(zip(self.source.tolist(), self.category.tolist(), strict=True)):
            column = X[:, j]
            if code == -1:
                D[:, c] = _within(np.where(np.isnan(column), self.fill[j], column))
            else:
                D[:, c] = np.isnan(column) if code == -2 else column == code
        return D

    def names(self, table: TableSchema) -> list[str]:
        """Each design column in words: ``age``, ``city = Oslo``, ``age missing``."""
        words = []
        for j, code in zip(self.source.tolist(), self.category.tolist(), strict=True):
            name, known = table.column(j), table.coded(j)
            if code == -2:
                words.append(f"{name} missing")
            else:
                words.append(table.quantity(j) if code == -1 or known is None else f"{name} = {known[code]}")
        return words

    def check(self, table: TableSchema) -> None:
        """Look at every value beside the table that the design is for, trusting none.

        Raises
        ------
        ValueError
            If an array has the wrong type or size, a fill value is not finite, or a design column is of no column of
            the table, of a kind that this column does not have, or there twice.
        """
        p, q = table.n_features, checked_length("design.source", self.source)
        check_array("design.source", self.source, np.int32, (q,))
        check_array("design.category", self.category, np.int32, (q,))
        check_finite("design.fill", self.fill, (p,))
        if not q:
            raise ValueError("design.source is empty; a linear model needs a column.")
        check_range("design.source", self.source, 0, p - 1)
        known = table.n_categories[self.source]
        number, code = self.category == -1, self.category >= 0
        bad = (self.category < -2) | (number & (known > 0)) | (code & (self.category >= known))
        if bad.any():
            c = int(np.argmax(bad))
            column = table.column(int(self.source[c]))
            raise ValueError(f"design.category is {self.category[c]} for column {column!r}, which has no such thing.")
        if len(set(zip(self.source.tolist(), self.category.tolist(), strict=True))) < q:
            raise ValueError("design.category has a column twice.")

    def to_json(self) -> dict[str, Any]:
        """Lists, as JSON can hold them."""
        return {"source": self.source.tolist(), "category": self.category.tolist(), "fill": self.fill.tolist()}


def _within(numbers: F64) -> F64:
    """The numbers, those of new rows beyond `MAX_NUMBER` being this: a difference of infinities were no score."""
    wild = numbers.size > 0 and (numbers.max() > MAX_NUMBER or numbers.min() < -MAX_NUMBER)
    return np.clip(numbers, -MAX_NUMBER, MAX_NUMBER) if wild else numbers
