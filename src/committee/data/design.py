"""Design matrix of linear models: numbers, indicator columns of categories and of missing values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64, check_array, check_finite, check_range, checked_length
from committee.data.table_schema import TableSchema

MAX_NUMBER = 1e150  # largest number in a linear score: its square must be finite

MAX_INDICATORS = 2**28  # cells of indicator columns (2 GiB)


Room: TypeAlias = Callable[[tuple[int, ...]], F64]  # allocates a matrix of a shape, in memory or in a file

_ROWS = 2**16  # rows that are processed at a time
_CELLS = 2**15  # cells of a design matrix that are computed at a time, within a processor's cache


@dataclass(frozen=True, eq=False)
class Design:
    """Columns of a linear model: numbers, and indicators of categories and of missing values."""

    source: NDArray[np.int32]  # (q,): column of the encoded matrix that each design column is made from
    category: NDArray[np.int32]  # (q,): code of an indicator of a category, -1: the number itself, -2: missing
    fill: F64  # (p,): weighted training means, which replace missing numbers

    @classmethod
    def of_table(cls, X: F64, weights: F64, table: TableSchema, room: Room = np.empty) -> Design:
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
                f"linear scores of {len(X):,} rows with {columns.sum():,} 0/1 columns for categories, {columns[j]:,} of"
                f" them for column {table.column(j)!r}, need more than {MAX_INDICATORS:,} cells; drop that column or"
                " group its rare categories"
            )
        return cls.learn(X, weights, table.n_categories, room)

    @classmethod
    def learn(cls, X: F64, weights: F64, n_categories: NDArray[np.int32], room: Room = np.empty) -> Design:
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
        return len(self) == len(self.fill) and bool((self.category == -1).all())

    def matrix(self, X: F64) -> F64:
        if self.is_table:
            missing = np.isnan(X)
            return _within(np.where(missing, self.fill, X) if missing.any() else X)
        D = np.empty((len(X), len(self)))
        step = max(1, _CELLS // len(self))
        category, fill = self.category.astype(np.float64), self.fill[self.source]
        number, code, gap = category == -1.0, category >= 0.0, category == -2.0
        for rows in (slice(first, first + step) for first in range(0, len(X), step)):
            part = D[rows]
            np.take(X[rows], self.source, axis=1, out=part, mode="clip")
            missing, is_code = np.isnan(part), part == category
            np.copyto(part, fill, where=missing & number)
            np.copyto(part, is_code, where=code)
            np.copyto(part, missing, where=gap)
            if (bounded := _within(part)) is not part:
                part[:] = bounded
        return D

    def names(self, table: TableSchema) -> list[str]:
        words = []
        for j, code in zip(self.source.tolist(), self.category.tolist(), strict=True):
            name, known = table.column(j), table.coded(j)
            if code == -2:
                words.append(f"{name} missing")
            else:
                words.append(table.quantity(j) if code == -1 or known is None else f"{name} = {known[code]}")
        return words

    def check(self, table: TableSchema) -> None:
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
            raise ValueError(f"design.category is {self.category[c]} for column {column!r}, which has no such code.")
        if len(set(zip(self.source.tolist(), self.category.tolist(), strict=True))) < q:
            raise ValueError("design.category has a column twice.")

    def to_json(self) -> dict[str, Any]:
        return {"source": self.source.tolist(), "category": self.category.tolist(), "fill": self.fill.tolist()}


def _within(numbers: F64) -> F64:
    # new rows may hold larger numbers: a difference of infinities would be no score
    wild = numbers.size > 0 and (numbers.max() > MAX_NUMBER or numbers.min() < -MAX_NUMBER)
    return np.clip(numbers, -MAX_NUMBER, MAX_NUMBER) if wild else numbers
