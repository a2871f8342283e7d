"""What the pieces of a table say of one of its columns: its kind, and its values where they are few or categories."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.columns import Category, Column, Kind, distinct_numbers
from committee.data.number_types import F64

NONE = np.empty(0)


@dataclass(frozen=True, eq=False)
class ColumnLook:
    """What is known of a column; two of these can be merged, in any order.

    Parameters
    ----------
    name : str
        What errors call the column.
    kind : {"number", "boolean", "text"} or None
        What its cells are; None: no cell was there yet.
    categorical : bool
        It has categories, by its type or because the user says so.
    declared : bool
        Its type says so.
    order : tuple or None
        Categories in the order that the type declares.
    categories : frozenset
        Those seen.
    whole : bool
        Numbers are of a type of whole numbers.
    values : float64 array or None
        Distinct numbers of rows that count, rising, where they are no categories; None: there are too many.
    """

    name: str
    kind: Kind | None = None
    categorical: bool = False
    declared: bool = False
    order: tuple[Category, ...] | None = None
    categories: frozenset[Category] = frozenset()
    whole: bool = True
    values: F64 | None = None

    @classmethod
    def of_series(cls, column: Column, chosen: bool | None) -> ColumnLook:
        """Look at a column of a frame, without its distinct numbers; `chosen`: whether the user says it has categories.

        Raises
        ------
        ValueError
            If it holds text, and the user says that it has no categories.
        """
        categorical = (column.declared or column.kind != "number") if chosen is None else chosen
        found = column.distinct() if categorical else ()
        kind: Kind | None = column.kind
        if categorical:
            kind = column.kind if found else None
        elif column.kind == "text":
            if column.series.null_count() < len(column.series):
                raise ValueError(
                    f"column {column.name!r} holds text but is not among categorical_features; "
                    "name it there, or make it numeric, or drop it"
                )
            kind = None
        whole = not categorical or column.kind != "number" or all(isinstance(each, int) for each in found)
        order = column.order if categorical else None
        return cls(column.name, kind, categorical, column.declared, order, frozenset(found), whole, NONE)

    @classmethod
    def of_numbers(cls, values: NDArray[np.float64], name: str, categorical: bool) -> ColumnLook:
        """Look at a column of an array, without its distinct numbers."""
        found = distinct_numbers(values, name) if categorical else ()
        return cls(name, "number", categorical, False, None, frozenset(found), False, NONE)

    def with_numbers(self, values: F64, most: int) -> ColumnLook:
        """Add numbers of rows that count, as long as no more than `most` of them differ; NaN alone is of no kind."""
        present = not values.size or not np.isnan(values[0]) or not np.isnan(values).all()
        kind = self.kind if present or self.kind != "number" else None
        known = None if self.values is None else _core.distinct_values(self.values, values, most)
        return replace(self, kind=kind, values=known)

    def merged(self, other: ColumnLook, most: int) -> ColumnLook:
        """Return what both say.

        Raises
        ------
        ValueError
            If they contradict each other.
        """
        if self.kind and other.kind:
            if self.kind != other.kind:
                raise ValueError(
                    f"column {self.name!r} holds {_plural(other.kind)} here and {_plural(self.kind)} in pieces before; "
                    "make all its cells text, or all of them numbers"
                )
            if self.categorical != other.categorical:
                raise ValueError(
                    f"column {self.name!r} is declared categorical in some pieces and not in others; declare it in "
                    "all, or name it in categorical_features"
                )
            if self.order != other.order:
                raise ValueError(
                    f"column {self.name!r} declares its categories in another order than in pieces before; declare "
                    "the same categories in all pieces"
                )
        values = None
        if self.values is not None and other.values is not None:
            values = _core.distinct_values(self.values, other.values, most)
        if self.kind or other.kind:  # a piece without a cell says nothing
            categorical = self.categorical if self.kind else other.categorical
        else:
            categorical = self.categorical or other.categorical
        return ColumnLook(
            self.name,
            self.kind or other.kind,
            categorical,
            self.declared or other.declared,
            self.order if self.kind or not other.kind else other.order,
            self.categories | other.categories,
            self.whole and other.whole,
            values,
        )

    @property
    def found(self) -> tuple[Category, ...] | None:
        """The categories in the order of their codes; None of a column of numbers."""
        if not self.categorical:
            return None
        if self.kind == "text":
            found: tuple[Category, ...] = tuple(sorted(str(each) for each in self.categories))
        else:
            number = bool if self.kind == "boolean" else int if self.whole else float
            found = tuple(number(each) for each in sorted(float(each) for each in self.categories))
        if self.order is not None:
            occurring = {category: category for category in found}
            found = tuple(occurring[category] for category in self.order if category in occurring)
        return found


def _plural(kind: Kind) -> str:
    return {"number": "numbers", "boolean": "booleans", "text": "text"}[kind]
