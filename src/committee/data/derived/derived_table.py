"""Schema of tables whose dates and texts become several columns of the matrix."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, Self, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from committee.data.columns import CategoricalFeatures, Column, open_frame
from committee.data.dates import kind_of_format
from committee.data.derived.date_parts import PERIODS, DatePart, part_columns, part_names, varying_parts
from committee.data.number_types import F64
from committee.data.table_schema import TableSchema

DerivedColumns: TypeAlias = Literal["auto", "dates"] | None


@dataclass(frozen=True)
class DateColumns:
    """Parts of the dates of one column, with their sines and cosines."""

    column: int  # of the table
    parts: tuple[DatePart, ...]

    def names(self, column: str) -> list[str]:
        return part_names(column, self.parts, cyclic=True)

    def groups(self, column: str) -> list[str]:
        """Return the name under which each derived column is explained: that of its part."""
        return [f"{column} ({part})" for part in self.parts for _ in range(3)]

    def matrix(self, seconds: F64) -> F64:
        return part_columns(seconds, self.parts, cyclic=True)

    def to_json(self) -> dict[str, Any]:
        return {"column": self.column, "parts": list(self.parts)}

    @classmethod
    def from_json(cls, stored: Any, table: TableSchema) -> Self:
        if not isinstance(stored, dict) or set(stored) != {"column", "parts"}:
            raise ValueError("derived dates must be objects with 'column' and 'parts', and nothing else")
        column, parts = stored["column"], stored["parts"]
        if type(column) is not int or not 0 <= column < table.n_features or not _holds_dates(table, column):
            raise ValueError(f"derived dates are of column {column!r}, which holds no dates")
        if not isinstance(parts, list) or not parts or [part for part in PERIODS if part in parts] != parts:
            raise ValueError(f"derived dates have the parts {parts!r}; they must be some of {', '.join(PERIODS)}")
        return cls(column, tuple(parts))


@dataclass(frozen=True)
class DerivedTable(TableSchema):
    """Schema whose matrix has further columns, computed from those of the table.

    Names, categories and formats are those of the matrix: the columns of the table, and then the derived ones. `given`
    is the schema of the table itself.
    """

    given: TableSchema = field(kw_only=True)
    dates: tuple[DateColumns, ...] = field(default=(), kw_only=True)

    @classmethod
    def of(cls, given: TableSchema, dates: tuple[DateColumns, ...]) -> Self:
        """Return the schema of a table with derived columns."""
        names = _matrix_names(given, dates)
        more = (None,) * (len(names) - given.n_features)
        own = {each.name: getattr(given, each.name) for each in fields(TableSchema)}
        own |= {"names": names, "categories": given.categories + more}
        own |= {key: own[key] + more for key in ("values", "written") if own[key]}
        return cls(**own, given=given, dates=dates)

    @property
    def source(self) -> TableSchema:
        return self.given

    def matrix_columns(self, j: int) -> list[int]:
        place = {name: k for k, name in enumerate(self.names or ())}
        groups = [name for one in self.dates if one.column == j for name in one.groups(self.given.column(j))]
        return [j, *(place[name] for name in dict.fromkeys(groups))]

    def by_source(self, shares: F64, axis: int = 0) -> F64:
        more = [one.column for one in self.dates for _ in one.names("")]
        return _added(shares, [*range(self.given.n_features), *more], axis)

    @property
    def explained(self) -> tuple[str, ...]:
        groups = [name for one in self.dates for name in one.groups(self.given.column(one.column))]
        return (*self.given.explained, *dict.fromkeys(groups))

    def by_part(self, shares: F64, axis: int = 0) -> F64:
        place = {name: k for k, name in enumerate(self.explained)}
        groups = [place[name] for one in self.dates for name in one.groups(self.given.column(one.column))]
        return _added(shares, [*range(self.given.n_features), *groups], axis)

    def encode(self, X: Any, n_threads: int = 1, all_known: bool = False) -> F64:
        given = self.given.encode(X, n_threads, all_known)
        derived = [one.matrix(given[:, one.column]) for one in self.dates]
        return np.concatenate([given, *derived], axis=1)

    def with_forms(self, forms: Mapping[str, str]) -> TableSchema:
        changed = cast("DerivedTable", super().with_forms(forms))
        return replace(changed, given=self.given.with_forms(forms))

    def with_missing(self, marks: Sequence[str]) -> TableSchema:
        changed = cast("DerivedTable", super().with_missing(marks))
        return replace(changed, given=self.given.with_missing(marks))

    def of_matrix(self, schema: TableSchema) -> TableSchema:
        own = {each.name: getattr(schema, each.name) for each in fields(TableSchema)}
        return DerivedTable(**own, given=self.given, dates=self.dates)

    def to_json(self) -> dict[str, Any]:
        derived = {"table": self.given.to_json(), "dates": [one.to_json() for one in self.dates]}
        return {**super().to_json(), "derived": derived}


def learn_table(
    X: Any, categorical_features: CategoricalFeatures, derived: DerivedColumns, keep: NDArray[np.bool_] | None = None
) -> TableSchema:
    """Learn the schema of a training table, with the parts of its dates that vary among the rows `keep`."""
    given = TableSchema.learn(X, categorical_features)
    if derived is None or not given.typed:
        return given
    frame = open_frame(X)
    names = {given.column(j) for j in range(given.n_features)}
    dates = []
    for j, name in enumerate(frame.columns):
        if not _holds_dates(given, j):
            continue
        cells = Column.read(frame[name], given.column(j)).numbers()
        one = DateColumns(j, varying_parts(cells if keep is None else cells[keep]))
        if one.parts and names.isdisjoint(one.names(given.column(j))):
            dates.append(one)
    return DerivedTable.of(given, tuple(dates)) if dates else given


def _added(numbers: F64, places: Sequence[int], axis: int) -> F64:
    """Add up the first numbers along an axis by place, and keep those behind them."""
    moved, n = np.moveaxis(numbers, axis, 0), max(places) + 1
    added = np.zeros((n + len(moved) - len(places), *moved.shape[1:]))
    np.add.at(added, np.asarray(places), moved[: len(places)])
    added[n:] = moved[len(places) :]
    return np.moveaxis(added, 0, axis)


def _holds_dates(table: TableSchema, column: int) -> bool:
    form = table.time_format(column)
    return form is not None and kind_of_format(form) == "date"


def _matrix_names(given: TableSchema, dates: Iterable[DateColumns]) -> tuple[str, ...]:
    derived = [name for one in dates for name in one.names(given.column(one.column))]
    return (*(given.column(j) for j in range(given.n_features)), *derived)


def read_schema(stored: Any) -> TableSchema:
    """Read a schema that `to_json` has written, with derived columns or without; raise ``ValueError`` if invalid."""
    if not isinstance(stored, dict) or "derived" not in stored:
        return TableSchema.from_json(stored)
    matrix = TableSchema.from_json({key: value for key, value in stored.items() if key != "derived"})
    derived = stored["derived"]
    if not isinstance(derived, dict) or set(derived) != {"table", "dates"} or not isinstance(derived["dates"], list):
        raise ValueError("derived columns must be an object with 'table' and the list 'dates', and nothing else")
    given = TableSchema.from_json(derived["table"])
    made = DerivedTable.of(given, tuple(DateColumns.from_json(each, given) for each in derived["dates"]))
    if matrix.names != made.names:
        raise ValueError("the names of a table schema are not those of its columns and derived columns")
    return made.of_matrix(matrix)
