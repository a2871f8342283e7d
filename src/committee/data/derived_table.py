"""Schema of tables whose dates and texts become several matrix columns, and identifiers none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Self, TypeAlias, cast

import numpy as np

from committee.data.columns import (
    CategoricalFeatures,
    Column,
    DerivedColumns,
    categorical_mask,
    is_frame,
    open_frame,
    text_reason,
    whole_number_reason,
)
from committee.data.dates import kind_of_format
from committee.data.derived_columns import (
    PERIODS,
    DatePart,
    TextTerms,
    column_texts,
    part_columns,
    part_names,
    part_text,
    varying_parts,
)
from committee.data.number_types import F64
from committee.data.rows import nonzero_weights
from committee.data.table_schema import TableSchema
from committee.data.text import check_names, warn_user

if TYPE_CHECKING:
    import narwhals as nw

FEWEST_TEXTS = 31  # different values of a column of text that is encoded as components (`TextTerms`)
LEAST_RESEMBLANCE = 0.2  # of the values of such a column: components of random codes are noise


@dataclass(frozen=True)
class DateColumns:
    column: int  # index in the table
    parts: tuple[DatePart, ...]

    def names(self, column: str) -> list[str]:
        return part_names(column, self.parts, cyclic=True)

    def groups(self, column: str) -> list[str]:
        return [f"{column} ({part})" for part in self.parts for _ in range(3)]

    def matrix(self, frame: nw.DataFrame[Any] | None, given: F64) -> F64:
        return part_columns(given[:, self.column], self.parts, cyclic=True)

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
            raise ValueError(f"derived dates have parts {parts!r}; in order, they must be some of {', '.join(PERIODS)}")
        return cls(column, tuple(parts))


@dataclass(frozen=True)
class TextColumns:
    column: int  # index in the table
    terms: TextTerms

    def names(self, column: str) -> list[str]:
        return self.terms.names(column)

    def groups(self, column: str) -> list[str]:
        return [column] * self.terms.n_components

    def matrix(self, frame: nw.DataFrame[Any] | None, given: F64) -> F64:
        assert frame is not None  # arrays are refused before
        name = frame.columns[self.column]
        return self.terms.matrix(column_texts(Column.read(frame[name], str(name))))

    def to_json(self) -> dict[str, Any]:
        return {"column": self.column, **self.terms.to_json()}

    @classmethod
    def from_json(cls, stored: Any, table: TableSchema) -> Self:
        if not isinstance(stored, dict) or type(column := stored.get("column")) is not int:
            raise ValueError("derived texts must be objects with the number of a 'column'")
        levels = table.categories[column] if 0 <= column < table.n_features else None
        if levels is None or not all(isinstance(level, str) for level in levels):
            raise ValueError(f"derived texts are of column {column}, which holds no text")
        return cls(column, TextTerms.from_json({key: value for key, value in stored.items() if key != "column"}))


Derived: TypeAlias = DateColumns | TextColumns

_KINDS: dict[str, type[DateColumns] | type[TextColumns]] = {"dates": DateColumns, "texts": TextColumns}


@dataclass(frozen=True)
class DerivedTable(TableSchema):
    """Schema of a matrix with `derived` columns and without those `left_out`; `given` is that of the table itself."""

    given: TableSchema = field(kw_only=True)
    derived: tuple[Derived, ...] = field(kw_only=True)
    left_out: tuple[int, ...] = field(default=(), kw_only=True)  # identifiers of rows: indices in the table

    @classmethod
    def of(cls, given: TableSchema, derived: Sequence[Derived], left_out: Sequence[int] = ()) -> Self:
        kept = [j for j in range(given.n_features) if j not in left_out]
        more_names = [name for one in derived for name in one.names(given.column(one.column))]
        own = {each.name: getattr(given, each.name) for each in fields(TableSchema)}
        own["names"] = (*(given.column(j) for j in kept), *more_names)
        more = (None,) * len(more_names)
        own |= {key: (*(own[key][j] for j in kept), *more) for key in ("categories", "values", "written") if own[key]}
        return cls(**own, given=given, derived=tuple(derived), left_out=tuple(left_out))

    @property
    def _kept(self) -> list[int]:
        return [j for j in range(self.given.n_features) if j not in self.left_out]

    @property
    def source(self) -> TableSchema:
        return self.given

    @property
    def n_derived(self) -> int:
        return self.n_features - len(self._kept)

    def date_part(self, j: int) -> str | None:
        parts: list[str | None] = [None] * len(self._kept)
        for one in self.derived:
            own = [None] * len(one.names("")) if isinstance(one, TextColumns) else list(one.parts)
            parts += own if isinstance(one, TextColumns) else [each for part in own for each in (part, None, None)]
        return parts[j]

    def format_number(self, j: int, number: float, digits: int = 6) -> str:
        part = self.date_part(j)
        words = None if part is None else part_text(number, part)
        return super().format_number(j, number, digits) if words is None else words

    def matrix_columns(self, j: int) -> list[int]:
        place = {name: k for k, name in enumerate(self.names or ())}
        parts = [each for one in self.derived if one.column == j for each in one.groups(self.given.column(j))]
        own = [] if j in self.left_out else [self.given.column(j)]
        return [place[name] for name in dict.fromkeys([*own, *parts])]

    def by_source(self, shares: F64, axis: int = 0) -> F64:
        more = [one.column for one in self.derived for _ in one.names("")]
        return _added(shares, [*self._kept, *more], self.given.n_features, axis)

    @property
    def explained(self) -> tuple[str, ...]:
        groups = [name for one in self.derived for name in one.groups(self.given.column(one.column))]
        return tuple(dict.fromkeys([*self.given.explained, *groups]))

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(self.given.column(one.column) for one in self.derived if isinstance(one, TextColumns))

    def by_part(self, shares: F64, axis: int = 0) -> F64:
        place = {name: k for k, name in enumerate(self.explained)}
        groups = [place[name] for one in self.derived for name in one.groups(self.given.column(one.column))]
        return _added(shares, [*self._kept, *groups], len(self.explained), axis)

    def encode(self, X: Any, n_threads: int = 1, all_known: bool = False) -> F64:
        given = self.given.encode(X, n_threads, all_known)
        frame = open_frame(X) if is_frame(X) else None
        if frame is None and self.texts:
            raise ValueError(
                f"column {self.texts[0]!r} must hold text, but X is an array; pass a frame (pandas, polars, Arrow)"
            )
        derived = [one.matrix(frame, given) for one in self.derived]
        kept = np.ascontiguousarray(given[:, self._kept]) if self.left_out else given
        return np.concatenate([kept, *derived], axis=1)

    def with_forms(self, forms: Mapping[str, str], missing: Sequence[str] | None = None) -> TableSchema:
        changed = cast("DerivedTable", super().with_forms(forms, missing))
        return replace(changed, given=self.given.with_forms(forms, missing))

    def of_matrix(self, schema: TableSchema) -> TableSchema:
        own = {each.name: getattr(schema, each.name) for each in fields(TableSchema)}
        return DerivedTable(**own, given=self.given, derived=self.derived, left_out=self.left_out)

    def to_json(self) -> dict[str, Any]:
        derived: dict[str, Any] = {"table": self.given.to_json()}
        if self.categories[: self.given.n_features] == self.given.categories:
            del derived["table"]["categories"]  # long texts would be in the file twice
        for key, kind in _KINDS.items():
            derived[key] = [one.to_json() for one in self.derived if isinstance(one, kind)]
        if self.left_out:
            derived["left_out"] = list(self.left_out)
        return {**super().to_json(), "derived": derived}


def learn_table(
    X: Any,
    categorical_features: CategoricalFeatures,
    derived: DerivedColumns,
    weights: F64 | None = None,
    keep: bool | Sequence[str] = True,
) -> TableSchema:
    """Learn the schema of a training table; `keep` names identifiers of rows that stay (True: all)."""
    given = TableSchema.learn(X, categorical_features)
    if not is_frame(X) or (derived is None and keep is True):
        return given
    frame = open_frame(X)
    chosen = categorical_mask(categorical_features, given.names, given.n_features)
    weights = np.ones(len(frame)) if weights is None else weights
    names, found, categories = set(given.explained), list[Derived](), list(given.categories)
    reasons: dict[int, str] = {}
    columns = [given.column(j) for j in range(given.n_features)]
    kept = set() if isinstance(keep, bool) else set(check_names(keep, columns, "keep_identifiers"))
    for j, series in enumerate(frame.iter_columns()):  # names may be numbers
        one: Derived | None = None
        own = chosen is not None and bool(chosen[j])
        if derived not in (None, "text") and _holds_dates(given, j):
            parts = varying_parts(Column.read(series, given.column(j)).numbers()[nonzero_weights(weights)])
            one = DateColumns(j, parts) if parts else None
        elif derived not in (None, "dates") and len(categories[j] or ()) >= FEWEST_TEXTS and not own:
            column = Column.read(series, given.column(j))
            if column.kind == "text" and not column.declared:
                one, often = _text_columns(j, column_texts(column), weights)
                categories[j] = categories[j] if often else ()
        if one is not None and names.isdisjoint(one.names(given.column(j))):
            found.append(one)
        elif keep is not True and not own and given.column(j) not in kept:
            reason = identifier_reason(Column.read(series, given.column(j)), weights)
            reasons |= {} if reason is None else {j: reason}
    reasons = reasons if len(reasons) < given.n_features else {}  # the only columns stay
    for j, reason in reasons.items():
        categories[j] = None if categories[j] is None else ()
        shown = given.column(j)
        warn_user(f"column {shown!r} is left out: it {reason}; keep_identifiers=[{shown!r}] learns from it.")
    given = replace(given, categories=tuple(categories))
    return DerivedTable.of(given, found, tuple(reasons)) if found or reasons else given


def identifier_reason(column: Column, weights: F64) -> str | None:
    rows = nonzero_weights(weights)
    n = float(weights[rows].sum())
    if column.declared or n > (1.0 + 1e-6) * np.count_nonzero(rows):  # weights count repeated rows
        return None
    if column.kind == "text":
        texts = [text for text, weighs in zip(column_texts(column), rows, strict=True) if weighs and text is not None]
        return text_reason(len(set(texts)), n)
    dtype = column.series.dtype
    if column.kind != "number" or not (dtype.is_integer() or dtype.is_float()):
        return None
    present = ~column.missing()
    if dtype.is_float() and present.all():  # measurements, which need no copy
        return None
    cells = column.series.fill_null(0).to_numpy() if dtype.is_integer() else column.numbers()
    return whole_number_reason(column.name, cells[rows & present], present[rows]) if cells.dtype.kind in "iuf" else None


def _text_columns(j: int, texts: Sequence[str | None], weights: F64) -> tuple[TextColumns | None, bool]:
    """Return a column's components, and whether its categories stay."""
    at = [row for row in np.flatnonzero(nonzero_weights(weights)).tolist() if texts[row] is not None]
    distinct = {str(texts[row]) for row in at}
    terms = TextTerms.learn(distinct) if len(distinct) >= FEWEST_TEXTS else None
    few_letters = 2 * sum(any(map(str.isalpha, text)) for text in distinct) <= len(distinct)
    if terms is None or few_letters or terms.resemblance(distinct) < LEAST_RESEMBLANCE:
        return None, True
    return TextColumns(j, terms), bool(2 * len(distinct) <= weights[at].sum())


def _added(numbers: F64, places: Sequence[int], n: int, axis: int) -> F64:
    moved = np.moveaxis(numbers, axis, 0)
    added = np.zeros((n + len(moved) - len(places), *moved.shape[1:]))
    np.add.at(added, np.asarray(places), moved[: len(places)])
    added[n:] = moved[len(places) :]  # such as an expectation
    return np.moveaxis(added, 0, axis)


def _holds_dates(table: TableSchema, column: int) -> bool:
    form = table.time_format(column)
    return form is not None and kind_of_format(form) == "date"


def read_schema(stored: Any) -> TableSchema:
    if not isinstance(stored, dict) or "derived" not in stored:
        return TableSchema.from_json(stored)
    matrix = TableSchema.from_json({key: value for key, value in stored.items() if key != "derived"})
    derived = stored["derived"]
    if not isinstance(derived, dict) or set(derived).difference({"left_out"}) != {"table", *_KINDS}:
        raise ValueError("derived columns must be an object with 'table', 'dates', 'texts' and at most 'left_out'")
    if not all(isinstance(derived[key], list) for key in _KINDS):
        raise ValueError("'dates' and 'texts' of derived columns must be lists")
    table = derived["table"]
    if isinstance(table, dict) and "categories" not in table and isinstance(stored.get("categories"), list):
        names = table.get("names")
        table = {**table, "categories": stored["categories"][: len(names) if isinstance(names, list) else 0]}
    given = TableSchema.from_json(table)
    found = [kind.from_json(each, given) for key, kind in _KINDS.items() for each in derived[key]]
    left_out = derived.get("left_out", [])
    places = [j for j in range(given.n_features) if isinstance(left_out, list) and j in left_out]
    if left_out != places or any(type(j) is not int for j in left_out) or len(places) == given.n_features:
        raise ValueError(f"'left_out' of derived columns is {left_out!r}; it must be ascending numbers of some columns")
    made = DerivedTable.of(given, sorted(found, key=lambda one: one.column), places)
    if matrix.names != made.names:
        raise ValueError("the names of a table schema are not those of its columns and derived columns")
    return made.of_matrix(matrix)
