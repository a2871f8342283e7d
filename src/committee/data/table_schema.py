"""Schema of a table: it converts frames and arrays to a float64 matrix, and finds columns that parameters name."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.categories import (
    Category,
    CategoryValues,
    check_categories,
    distinct_numbers,
    encode_numbers,
    infinity_message,
    reject_unknown,
)
from committee.data.columns import (
    CategoricalFeatures,
    Column,
    categorical_mask,
    check_column_names,
    column_names,
    is_frame,
    open_frame,
    read_columns,
    reject_duplicates,
)
from committee.data.dates import KNOWN_TIME_FORMATS, format_seconds
from committee.data.matrices import SparseMatrix, numeric_matrix
from committee.data.number_types import F64, is_number
from committee.data.text import byte_text, is_unicode, suggest_names

if TYPE_CHECKING:
    import narwhals as nw

Rounding: TypeAlias = Literal["floor", "trunc"]

_COLUMNS = 32  # columns that are copied at a time, which bounds the second copies in memory

LARGEST_WEIGHT = 2**32 - 1  # integer of the largest weight: integers make draws the same on every machine

MOST_TEXT = 1_000_000
LONG_TEXT = 200

_OPTIONAL = {
    "refuses_unknown": "",
    "values": "objects or null",
    "written": "text or null",
    "missing": "text",
    "typed": "",
    "rounding": "",
}


@dataclass(frozen=True)
class TableSchema:
    """Names and categories of the columns of a table, and their encoding as a float64 matrix.

    Dates and times become seconds, categories codes 0, 1, ..., and missing values NaN, as do unseen categories. Columns
    with `values` have numbers for categories, also for unseen ones.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"age": [31, None], "city": ["Oslo", "Bern"]})
    >>> schema = TableSchema.learn(table)
    >>> schema.categories
    (None, ('Bern', 'Oslo'))
    >>> schema.encode(table)
    array([[31.,  1.],
           [nan,  0.]])
    """

    names: tuple[str, ...] | None  # None for arrays, and for pandas frames whose names are not text
    categories: tuple[tuple[Category, ...] | None, ...]  # in the order of the codes; None: numeric
    refuses_unknown: bool = False
    values: tuple[CategoryValues | None, ...] = ()  # numbers that replace categories
    written: tuple[str | None, ...] = field(default=(), compare=False)  # formats in files; None: plain numbers
    missing: tuple[str, ...] = field(default=(), compare=False)  # further cells of files that mean missing
    typed: bool = field(default=False, compare=False)  # formats are those of typed dates, times and durations
    rounding: Rounding | None = None  # of cells of numeric categories, such as 2.5 to 2

    def __post_init__(self) -> None:
        if not self.categories:
            raise ValueError("a table must have at least one column, got 0 feature(s)")
        if self.names is not None:
            if len(self.names) != len(self.categories):
                raise ValueError(f"a table schema has {len(self.names)} names for {len(self.categories)} columns")
            for name in self.names:
                if not isinstance(name, str) or not is_unicode(name):
                    raise ValueError(f"a column name must be Unicode text, got {name!r}")
            reject_duplicates(self.names)
        for j, categories in enumerate(self.categories):
            if categories is not None:
                check_categories(categories, self.column(j))
        if len(self.values) not in (0, len(self.categories)):
            raise ValueError(f"a table schema has values for {len(self.values)} of {len(self.categories)} columns")
        if len(self.written) not in (0, len(self.categories)):
            raise ValueError(
                f"a table schema has formats of {len(self.written)} of {len(self.categories)} columns; give all"
            )
        if self.written:
            from committee.data.readers.cell_forms import KNOWN_FORMATS  # few models have any

            if unknown := {form for form in self.written if form is not None} - KNOWN_FORMATS:
                raise ValueError(f"a table schema has the unknown number format {min(unknown)!r}")
        if self.typed and not KNOWN_TIME_FORMATS.issuperset(set(self.written) - {None}):
            raise ValueError("a typed table schema must have formats of dates, times and durations alone")
        for j, values in enumerate(self.values):
            if values is not None and len(values.values) != len(self.categories[j] or ()):
                raise ValueError(f"column {self.column(j)!r} has a different number of values than categories")

    @property
    def n_features(self) -> int:
        return len(self.categories)

    @property
    def n_categories(self) -> NDArray[np.int32]:
        """Numbers of categories ``(p,)`` that are codes in the matrix."""
        return np.where([each is not None for each in self._values], 0, self.n_levels).astype(np.int32)

    @property
    def n_levels(self) -> NDArray[np.int32]:
        """Numbers of categories ``(p,)``, also of those that `values` replace."""
        return np.array([len(found or ()) for found in self.categories], dtype=np.int32)

    @property
    def with_levels(self) -> NDArray[np.bool_] | None:
        found = self.n_levels > 0
        return found if found.any() else None

    @property
    def categorical(self) -> NDArray[np.bool_]:
        return self.n_categories > 0

    @property
    def _values(self) -> tuple[CategoryValues | None, ...]:
        return self.values or (None,) * len(self.categories)

    def covers(self, other: TableSchema) -> bool:
        if self.names != other.names or self.n_features != other.n_features:
            return False
        pairs = zip(self.categories, other.categories, strict=True)
        return all((a is None) == (b is None) and set(b or ()) <= set(a or ()) for a, b in pairs)

    def with_values(self, values: Mapping[int, CategoryValues]) -> TableSchema:
        return replace(self, values=tuple(values.get(j) for j in range(self.n_features)))

    @property
    def forms(self) -> dict[str, str]:
        return {self.column(j): form for j, form in enumerate(self.written) if form is not None}

    def with_forms(self, forms: Mapping[str, str], missing: Sequence[str] | None = None) -> TableSchema:
        written = tuple(forms.get(self.column(j)) for j in range(self.n_features))
        typed = self.typed and written == self.written
        marks = self.missing if missing is None else tuple(missing)
        return replace(self, written=written if any(written) else (), missing=marks, typed=typed)

    def coded(self, j: int) -> tuple[Category, ...] | None:
        return self.categories[j] if self._values[j] is None else None

    def decode_categories(self, outer: TableSchema) -> TableSchema:
        """Return this schema, learned from the matrix that `outer` encodes, as a schema of the tables of `outer`."""
        categories = tuple(
            levels if levels is None or codes is None else tuple(levels[int(code)] for code in codes)
            for levels, codes in zip(outer.categories, self.categories, strict=True)
        )
        kept: dict[str, Any] = {name: getattr(outer, name) for name in ("names", "written", "missing", "typed")}
        return outer.of_matrix(replace(self, categories=categories, **kept))

    def of_matrix(self, schema: TableSchema) -> TableSchema:
        """Return `schema`, learned from the matrix, as one of the table."""
        return schema

    @property
    def source(self) -> TableSchema:  # without derived columns
        return self

    @property
    def n_derived(self) -> int:
        return 0

    def matrix_columns(self, j: int) -> list[int]:
        """Return the indices of the matrix columns made from table column ``j``, one per part of a date."""
        return [j]

    def by_source(self, shares: F64, axis: int = 0) -> F64:
        """Add up numbers of matrix columns by the table columns from which they are made."""
        return shares

    @property
    def explained(self) -> tuple[str, ...]:  # columns of `by_part`
        return tuple(self.column(j) for j in range(self.n_features))

    @property
    def texts(self) -> tuple[str, ...]:  # columns with `TextColumns`
        return ()

    def by_part(self, shares: F64, axis: int = 0) -> F64:
        """Add up numbers of matrix columns by the table columns and parts of dates from which they are made."""
        return shares

    def quantity(self, j: int) -> str:
        values = self._values[j]
        return self.column(j) if values is None else f"{values.of} by {self.column(j)}"

    def time_format(self, j: int) -> str | None:
        form = self.written[j] if self.written else None
        return form if form in KNOWN_TIME_FORMATS else None

    def date_part(self, j: int) -> str | None:
        """Return the part of a date, such as ``"month"``, that matrix column ``j`` is."""
        return None

    def format_number(self, j: int, number: float, digits: int = 6) -> str:
        form = self.time_format(j)
        return f"{number:.{digits}g}" if form is None else format_seconds(number, form)

    def mismatched_splits(self, feature: NDArray[np.integer], n_words: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return a mask of splits whose numbers of words of category bits do not fit their columns."""
        most = -(-self.n_categories.astype(np.int64) // 32)
        bad: NDArray[np.bool_] = ((n_words > 0) != self.categorical[feature]) | (n_words > most[feature])
        return bad

    def column(self, j: int) -> str:
        return f"x{j}" if self.names is None else self.names[j]

    @classmethod
    def learn(cls, X: Any, categorical_features: CategoricalFeatures = "from_dtype") -> TableSchema:
        if not is_frame(X):
            matrix = numeric_matrix(X, None)
            if isinstance(categorical_features, str) and categorical_features == "from_dtype":
                return cls(None, (None,) * matrix.shape[1])
            chosen = categorical_mask(categorical_features, None, matrix.shape[1])
            found = tuple(
                distinct_numbers(matrix[:, j], f"x{j}") if chosen is not None and chosen[j] else None
                for j in range(matrix.shape[1])
            )
            return cls(None, found)
        frame = open_frame(X)
        names = column_names(frame.columns)
        chosen = categorical_mask(categorical_features, names, len(frame.columns))
        columns = read_columns(frame, names)
        learned = [
            column.distinct() if column.is_categorical(None if chosen is None else bool(chosen[j])) else None
            for j, column in enumerate(columns)
        ]
        if chosen is None:
            pairs = zip(columns, learned, strict=True)
            if texts := {c.name: found or () for c, found in pairs if c.kind == "text" and not c.declared}:
                from committee.data.readers.cell_forms import check_text_categories  # with parsers of numbers and dates

                check_text_categories(texts)
        return cls.of_columns(names, learned, [column.form for column in columns])

    def check_texts(self) -> None:
        for j, categories in enumerate(self.categories):
            lengths = [len(each) for each in categories or () if isinstance(each, str)]
            if sum(lengths) > max(MOST_TEXT, LONG_TEXT * len(lengths)):
                raise ValueError(
                    f"column {self.column(j)!r} holds {len(lengths):,} different texts of up to {max(lengths):,} "
                    f"characters, {byte_text(sum(lengths))} in all, which are no categories and would all be part of "
                    "the model. Leave the column out, or make numbers of it, as by committee.TextEncoder."
                )

    @classmethod
    def of_columns(
        cls,
        names: tuple[str, ...] | None,
        categories: Iterable[tuple[Category, ...] | None],
        time_formats: Sequence[str | None],
    ) -> TableSchema:
        dated = any(time_formats)
        return cls(names, tuple(categories), written=tuple(time_formats) if dated else (), typed=dated)

    def encode(self, X: Any, n_threads: int = 1, all_known: bool = False) -> F64:
        """Return a matrix ``(n, p)``, which may be `X` itself."""
        if is_frame(X):
            return self._encode_frame(open_frame(X), n_threads, all_known)
        matrix = numeric_matrix(X, self.names)
        self._check_width(matrix.shape[1])
        self._reject_infinity(matrix)
        if self.categories.count(None) == len(self.categories):
            return matrix
        encoded = matrix.copy()
        for j, categories in enumerate(self.categories):
            if categories is not None:
                encoded[:, j] = self.encode_column(matrix[:, j], j, all_known)
        return encoded

    def encode_column(self, cells: F64, j: int, all_known: bool = False) -> F64:
        categories, values, name = self.categories[j], self._values[j], self.column(j)
        if categories is None:
            return cells
        cells = self._rounded(cells)
        codes, missing = encode_numbers(cells, categories, name), np.isnan(cells)
        if all_known or (self.refuses_unknown and categories):
            reject_unknown(cells, missing, codes, name)
        return codes if values is None else values.numbers(codes, missing)

    @classmethod
    def of_sparse(cls, X: SparseMatrix, categorical_features: CategoricalFeatures = "from_dtype") -> TableSchema:
        chosen = categorical_mask(categorical_features, None, X.n_columns)
        if chosen is not None and chosen.any():
            raise ValueError(
                f"categorical_features names column {int(chosen.argmax())} of a sparse table, which has no categories; "
                "one-hot encode it, or pass X.toarray()"
            )
        return cls(None, (None,) * X.n_columns)

    def encode_sparse(self, X: SparseMatrix) -> SparseMatrix:
        self._check_width(X.n_columns)
        if (categorical := self.n_levels > 0).any():
            name = self.column(int(categorical.argmax()))
            raise ValueError(f"X is sparse, but column {name!r} has categories; pass a dense table, as in training")
        infinite = np.flatnonzero(np.isinf(X.value))
        if infinite.size:
            row = int(np.searchsorted(X.start, infinite[0], side="right")) - 1
            raise ValueError(infinity_message(self.column(X.column[infinite[0]]), row))
        return X

    def to_json(self) -> dict[str, Any]:
        return {
            "names": None if self.names is None else list(self.names),
            "categories": [None if found is None else list(found) for found in self.categories],
            **({"refuses_unknown": True} if self.refuses_unknown else {}),
            **({"values": [each and each.to_json() for each in self.values]} if self.values else {}),
            **({"written": list(self.written)} if self.written else {}),
            **({"missing": list(self.missing)} if self.missing else {}),
            **({"typed": True} if self.typed else {}),
            **({"rounding": self.rounding} if self.rounding else {}),
        }

    @classmethod
    def from_json(cls, stored: Any) -> TableSchema:
        known = {"names", "categories"}
        if not isinstance(stored, dict) or not known <= set(stored) <= known | set(_OPTIONAL):
            raise ValueError("a table schema must be an object with 'names' and 'categories', and no unknown keys")
        for key in ("refuses_unknown", "typed"):
            if stored.get(key, True) is not True:
                raise ValueError(f"{key!r} of a table schema must be true where it is there")
        if stored.get("rounding", "trunc") not in ("floor", "trunc"):
            raise ValueError("'rounding' of a table schema must be 'floor' or 'trunc' where it is there")
        names, categories = stored["names"], stored["categories"]
        if names is not None and not isinstance(names, list):
            raise ValueError(f"'names' of a table schema must be null or a list, got {type(names).__name__}")
        if not isinstance(categories, list) or not all(isinstance(found, list | None) for found in categories):
            raise ValueError("'categories' of a table schema must be a list holding null or a list per column")
        for key, kinds in (("values", object), ("written", str | None), ("missing", str)):
            found = stored.get(key, [""])
            if not isinstance(found, list) or not all(isinstance(each, kinds) for each in found):
                raise ValueError(f"{key!r} of a table schema must be a list of {_OPTIONAL[key]} where it is there")
            if all(each is None for each in found):
                raise ValueError(f"{key!r} of a table schema must be neither empty nor all null where it is there")
        return cls(
            None if names is None else tuple(names),
            tuple(None if found is None else tuple(found) for found in categories),
            "refuses_unknown" in stored,
            tuple(None if each is None else CategoryValues.from_json(each) for each in stored.get("values", ())),
            tuple(stored.get("written", ())),
            tuple(stored.get("missing", ())),
            "typed" in stored,
            stored.get("rounding"),
        )

    def _encode_frame(self, frame: nw.DataFrame[Any], n_threads: int, all_known: bool) -> F64:
        names = column_names(frame.columns)
        if names is not None and self.names is not None:
            check_column_names(self.names, names)
        self._check_width(len(frame.columns))
        columns = read_columns(frame, self.names or names)
        encoded, infinite = np.empty((len(frame), self.n_features)), False
        for start in range(0, self.n_features, _COLUMNS):
            group = columns[start : start + _COLUMNS]
            given = [self._cells(column, j, all_known) for j, column in enumerate(group, start)]
            cells = [each if each.dtype in (np.float64, np.float32) else each.astype(np.float64) for each in given]
            infinite |= _core.put_together(cells, encoded, start, n_threads)
        if infinite:
            self._reject_infinity(encoded)
        return encoded

    def _cells(self, column: Column, j: int, all_known: bool) -> NDArray[Any]:
        categories, values = self.categories[j], self._values[j]
        column.check_kind(self.time_format(j), categories, self.typed)
        if categories is None:
            return column.numbers()
        if self.rounding is not None and categories and not isinstance(categories[0], str):
            codes = encode_numbers(self._rounded(column.numbers()), categories, column.name)
        else:
            codes = column.codes(categories)
        if all_known or (self.refuses_unknown and categories):
            reject_unknown(column.series, column.missing(), codes, column.name)
        return codes if values is None else values.numbers(codes, column.missing())

    def _rounded(self, cells: NDArray[Any]) -> NDArray[Any]:
        rounded: NDArray[Any] = cells if self.rounding is None else getattr(np, self.rounding)(cells)
        return rounded

    def _check_width(self, n_columns: int) -> None:
        if n_columns != len(self.categories):
            raise ValueError(f"X has {n_columns} features, but {len(self.categories)} features were learned")

    def _reject_infinity(self, matrix: F64) -> None:
        # by blocks of rows: the mask of a whole matrix would be an eighth of its size
        step = max(1, 65_536 // max(1, matrix.shape[1]))
        for start in range(0, len(matrix), step):
            infinite = np.isinf(matrix[start : start + step])
            if np.count_nonzero(infinite):
                row, j = np.argwhere(infinite)[0]
                raise ValueError(infinity_message(self.column(j), start + row))


def column_number(column: Any, table: TableSchema, parameter: str) -> int:
    if isinstance(column, str):
        names = table.names or ()
        if column not in names:
            known = suggest_names(column, names) if names else "the columns of X have no names, give numbers"
            raise ValueError(f"{parameter} names {column!r}, which is not a column of X; {known}")
        return names.index(column)
    if not isinstance(column, Integral) or isinstance(column, bool):
        raise TypeError(
            f"{parameter} has {column!r} of type {type(column).__name__} for a column; use names or whole numbers."
        )
    number = int(column)
    if not 0 <= number < table.n_features:
        raise ValueError(f"{parameter} has column {number}; X has columns 0 to {table.n_features - 1}.")
    return number


def feature_weights(given: Any, table: TableSchema) -> NDArray[np.uint32]:
    p = table.n_features
    if isinstance(given, Mapping):
        listed: list[Any] = [1.0] * p
        for column, weight in given.items():
            listed[column_number(column, table, "feature_weights")] = weight
    else:
        listed = list(given)
    if len(listed) != p:
        raise ValueError(f"feature_weights has {len(listed)} weights; it needs one for each of the {p} columns.")
    for j, weight in enumerate(listed):
        if not is_number(weight) or not 0.0 <= weight <= sys.float_info.max:
            raise ValueError(
                f"feature_weights has {weight!r} for column {table.column(j)!r}; weights are finite numbers from 0 on."
            )
    weights = np.array(listed, dtype=np.float64)
    if not weights.any():
        raise ValueError("feature_weights is 0 for every column; at least one must be drawn.")
    whole = np.rint(weights / weights.max() * LARGEST_WEIGHT)
    return np.where(weights > 0.0, np.maximum(whole, 1.0), 0.0).astype(np.uint32)


def check_draws(weights: NDArray[np.uint32] | None, of_tree: int, of_node: int) -> None:
    if weights is not None and not of_node and of_tree in (0, len(weights)):  # 0: no draw
        raise ValueError(
            "feature_weights weigh draws of columns, but here every node has all columns; set max_features, or "
            "max_features_tree where the learner has it, to fewer."
        )
