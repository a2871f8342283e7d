"""Summary of a table in pieces, from one pass: kinds, categories, distinct values and the row sample for bin edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.categories import Category, distinct_numbers
from committee.data.columns import (
    PLURALS,
    CategoricalFeatures,
    Column,
    Kind,
    categorical_mask,
    check_column_names,
    column_names,
    in_declared_order,
    is_frame,
    open_frame,
    read_columns,
)
from committee.data.matrices import numeric_matrix
from committee.data.number_types import F64
from committee.data.table_schema import TableSchema

MAX_SAMPLE = 200_000  # rows in the sample for bin edges


def category_hashes(categories: Sequence[Category]) -> F64:
    # codes are unknown before all rows are read
    return np.array([crc32(each.encode()) if isinstance(each, str) else each for each in categories], dtype=np.float64)


def hashed_categories(column: Column, rows: NDArray[np.intp]) -> F64:
    some = replace(column, series=column.series[rows])
    if column.kind != "text":
        return some.numbers().astype(np.float64)
    found = some.distinct()
    codes = some.codes(found)
    return np.append(category_hashes(found), np.nan)[np.where(np.isnan(codes), -1, codes).astype(np.intp)]


@dataclass(frozen=True, eq=False)
class ColumnSummary:
    name: str
    kind: Kind | None = None  # None if all cells are missing
    categorical: bool = False
    declared: bool = False
    order: tuple[Category, ...] | None = None
    categories: frozenset[Category] = frozenset()
    whole: bool = True
    values: F64 | None = None  # distinct numbers of a numeric column, ascending; None if there are too many
    form: str | None = None  # format of dates, times or durations

    @classmethod
    def of_series(cls, column: Column, chosen: bool | None) -> ColumnSummary:
        categorical = column.is_categorical(chosen)
        found = column.distinct() if categorical else ()
        kind = None if (not found if categorical else column.kind == "text") else column.kind
        whole = not categorical or column.kind != "number" or all(isinstance(each, int) for each in found)
        order = column.order if categorical else None
        return cls(
            column.name, kind, categorical, column.declared, order, frozenset(found), whole, np.empty(0), column.form
        )

    @classmethod
    def of_numbers(cls, values: NDArray[np.float64], name: str, categorical: bool) -> ColumnSummary:
        found = distinct_numbers(values, name) if categorical else ()
        return cls(name, "number", categorical, False, None, frozenset(found), False, np.empty(0))

    def with_numbers(self, cells: F64, values: F64, most: int) -> ColumnSummary:
        """Add distinct `values`; all rows' `cells`, also those without weight, decide the kind."""
        present = not cells.size or not np.isnan(cells[0]) or not np.isnan(cells).all()
        kind = self.kind if present or self.kind in ("boolean", "text") else None
        known = None if self.values is None else _core.distinct_values(self.values, values, most)
        return replace(self, kind=kind, values=known)

    def merged(self, other: ColumnSummary, most: int) -> ColumnSummary:
        if self.kind and other.kind:
            if self.kind != other.kind:
                raise ValueError(
                    f"column {self.name!r} holds {PLURALS[other.kind]} here and {PLURALS[self.kind]} in pieces before; "
                    "make all its cells text, or all of them numbers"
                )
            if self.categorical != other.categorical:
                raise ValueError(
                    f"column {self.name!r} is declared categorical in some pieces and not in others; declare it in "
                    "all, or name it in categorical_features"
                )
            if self.order != other.order:
                raise ValueError(
                    f"column {self.name!r} declares other categories, or in another order, than in pieces before; "
                    "declare the same in all pieces"
                )
        values = None
        if self.values is not None and other.values is not None:
            values = _core.distinct_values(self.values, other.values, most)
        one = self if self.kind or not other.kind else other  # the one with cells
        return ColumnSummary(
            self.name,
            one.kind,
            one.categorical or (not one.kind and other.categorical),
            self.declared or other.declared,
            one.order,
            self.categories | other.categories,
            self.whole and other.whole,
            values,
            max(self.form, other.form, key=len) if self.form and other.form else one.form,
        )

    @property
    def found(self) -> tuple[Category, ...] | None:
        if not self.categorical:
            return None
        if self.kind == "text":
            found: tuple[Category, ...] = tuple(sorted(str(each) for each in self.categories))
        else:
            number = bool if self.kind == "boolean" else int if self.whole else float
            found = tuple(number(each) for each in sorted(float(each) for each in self.categories))
        return in_declared_order(found, self.order)


def column_edges(column: F64, weights: F64 | None, max_bins: int, max_sample: int = MAX_SAMPLE) -> F64:
    return _core.bin_edges(column[:, None], weights, np.zeros(1, np.int32), max_bins, max_sample, 1)[0]


def concatenate_edges(edges: Sequence[F64]) -> tuple[F64, NDArray[np.int64]]:
    offset = np.concatenate([[0], np.cumsum([len(each) for each in edges])]).astype(np.int64)
    return np.concatenate(edges), offset


@dataclass(eq=False)
class RowSample:
    """Sample of at most `most` rows: those whose hashed row number ends in at least `level` zero bits."""

    n_columns: int
    most: int
    level: int = 0
    _rows: list[NDArray[np.int64]] = field(default_factory=list)
    _levels: list[NDArray[np.uint8]] = field(default_factory=list)
    _cells: list[F64] = field(default_factory=list)

    def chosen(self, first: int, n: int) -> NDArray[np.intp]:
        if self.level == 0:
            return np.arange(n)
        return np.flatnonzero(_core.sample_levels(first, n) >= self.level)

    def add(self, first: int, cells: F64, chosen: NDArray[np.intp]) -> None:
        if not len(chosen):
            return
        levels = _core.sample_levels(first, int(chosen[-1]) + 1)[chosen]
        self._rows.append(first + chosen.astype(np.int64))
        self._levels.append(levels)
        self._cells.append(cells)
        self._shrink()

    def merged(self, other: RowSample) -> RowSample:
        both = RowSample(
            self.n_columns,
            self.most,
            max(self.level, other.level),
            [*self._rows, *other._rows],
            [*self._levels, *other._levels],
            [*self._cells, *other._cells],
        )
        if self.level != other.level:
            both._keep()
        both._shrink()
        return both

    @property
    def rows(self) -> NDArray[np.int64]:
        self._sort()
        return self._rows[0]

    @property
    def cells(self) -> F64:
        self._sort()
        return self._cells[0]

    def _sort(self) -> None:
        # no second copy of cells that are in order
        if len(self._rows) == 1 and (np.diff(self._rows[0]) > 0).all():
            return
        rows = np.concatenate([np.empty(0, np.int64), *self._rows])
        order = np.argsort(rows)
        cells = np.empty((len(rows), self.n_columns))
        place, first = np.empty_like(order), 0
        place[order] = np.arange(len(order))
        for part in self._cells:
            cells[place[first : first + len(part)]] = part
            first += len(part)
        levels = np.concatenate([np.empty(0, np.uint8), *self._levels])
        self._rows, self._levels, self._cells = [rows[order]], [levels[order]], [cells]

    def _shrink(self) -> None:
        while sum(map(len, self._rows)) > self.most:
            self.level += 1
            self._keep()

    def _keep(self) -> None:
        kept = [levels >= self.level for levels in self._levels]
        self._rows = [part[keep] for part, keep in zip(self._rows, kept, strict=True)]
        self._levels = [part[keep] for part, keep in zip(self._levels, kept, strict=True)]
        self._cells = [part[keep] for part, keep in zip(self._cells, kept, strict=True)]


@dataclass(eq=False)
class TableSummary:
    categorical_features: CategoricalFeatures = "from_dtype"
    max_bins: int = 255
    most_sampled: int = field(default_factory=lambda: MAX_SAMPLE)
    n_rows: int = 0  # rows with weight
    names: tuple[str, ...] | None = None
    columns: tuple[ColumnSummary, ...] = ()
    sample: RowSample | None = None

    def add(self, X: Any, first_row: int = 0, keep: NDArray[np.bool_] | None = None) -> None:
        """Add a piece; `keep` masks its rows with weight, `first_row` counts those of earlier pieces."""
        names, columns, cells, n_rows = _read(X, self.categorical_features)
        if not columns:
            raise ValueError("a table must have at least one column, got 0 feature(s)")
        if not self.columns:
            self.names, self.sample = names, RowSample(len(columns), self.most_sampled)
        self._check_columns(names, len(columns))
        assert self.sample is not None
        n = n_rows if keep is None else int(np.count_nonzero(keep))
        chosen = self.sample.chosen(first_row, n)
        at = chosen if keep is None else np.flatnonzero(keep)[chosen]
        sampled = np.empty((len(at), len(columns)))
        summaries = []
        for j, (column, values) in enumerate(zip(columns, cells, strict=True)):
            sampled[:, j] = values[at] if isinstance(values, np.ndarray) else hashed_categories(values, at)
            if isinstance(values, np.ndarray) and column.kind is not None and not column.categorical:
                known = self.columns[j].values if self.columns else column.values
                # none if there are too many distinct ones already
                counted = values[:0] if known is None else values if keep is None else values[keep]
                column = column.with_numbers(values, np.ascontiguousarray(counted, dtype=np.float64), self.max_bins)
            summaries.append(self.columns[j].merged(column, self.max_bins) if self.columns else column)
        self.columns = tuple(summaries)
        self.sample.add(first_row, sampled, chosen)
        self.n_rows += n

    def merged(self, other: TableSummary) -> Self:
        if not self.columns or not other.columns:
            one = self if self.columns else other
            return replace(self, n_rows=one.n_rows, names=one.names, columns=one.columns, sample=one.sample)
        self._check_columns(other.names, len(other.columns))
        pairs = zip(self.columns, other.columns, strict=True)
        columns = tuple(one.merged(another, self.max_bins) for one, another in pairs)
        assert self.sample is not None and other.sample is not None
        sample = self.sample.merged(other.sample)
        return replace(self, n_rows=self.n_rows + other.n_rows, columns=columns, sample=sample)

    def _check_columns(self, names: tuple[str, ...] | None, n_columns: int) -> None:
        if not self.columns:
            return
        if self.names is not None and names is not None:
            check_column_names(self.names, names)
        if n_columns != len(self.columns):
            raise ValueError(f"it has {n_columns} columns, and the pieces before {len(self.columns)}; give the same")

    @property
    def schema(self) -> TableSchema:
        return TableSchema.of_columns(
            self.names, (column.found for column in self.columns), [column.form for column in self.columns]
        )

    def check_texts(self) -> None:
        texts = {c.name: c.found or () for c in self.columns if c.kind == "text" and c.categorical and not c.declared}
        if texts and isinstance(self.categorical_features, str):
            from committee.data.readers.cell_forms import check_text_categories  # with parsers of numbers and dates

            check_text_categories(texts, pieces=True)

    @property
    def sampled_rows(self) -> NDArray[np.int64]:
        assert self.sample is not None
        return self.sample.rows

    def edges(self, max_bins: int, weights: F64 | None, n_threads: int = 1) -> tuple[F64, NDArray[np.int64]]:
        """Return bin edges and their offsets ``(p + 1,)``; `weights` are of the `sampled_rows`."""
        assert self.sample is not None and max_bins <= self.max_bins
        cells = self.sample.cells
        n_categories = self.schema.n_categories
        sampled, offset = _core.bin_edges(cells, weights, n_categories, max_bins, max(1, len(cells)), n_threads)
        edges = [sampled[offset[j] : offset[j + 1]] for j in range(len(self.columns))]
        if self.n_rows > len(cells):  # the sample may lack rare values of a column with few values
            for j, column in enumerate(self.columns):
                few = column.values
                if n_categories[j] == 0 and few is not None and 0 < len(few) <= max_bins:
                    edges[j] = column_edges(few, None, max_bins)
        return concatenate_edges(edges)


def _read(
    X: Any, categorical_features: CategoricalFeatures
) -> tuple[tuple[str, ...] | None, list[ColumnSummary], list[NDArray[Any] | Column], int]:
    if not is_frame(X):
        matrix = numeric_matrix(X, None)
        chosen = categorical_mask(categorical_features, None, matrix.shape[1])
        of_user = np.zeros(matrix.shape[1], dtype=bool) if chosen is None else chosen
        looks = [ColumnSummary.of_numbers(matrix[:, j], f"x{j}", bool(of_user[j])) for j in range(matrix.shape[1])]
        return None, looks, list(matrix.T), len(matrix)
    frame = open_frame(X)
    names = column_names(frame.columns)
    chosen = categorical_mask(categorical_features, names, len(frame.columns))
    columns: list[Column] = read_columns(frame, names)
    looks = [
        ColumnSummary.of_series(column, None if chosen is None else bool(chosen[j])) for j, column in enumerate(columns)
    ]
    nothing = np.broadcast_to(np.nan, len(frame))
    cells = [
        nothing if look.kind is None else column if look.categorical else column.numbers()
        for look, column in zip(looks, columns, strict=True)
    ]
    return names, looks, cells, len(frame)
