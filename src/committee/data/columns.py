"""Data frames and their columns: names, kinds (numbers, text, dates, ...), values and codes, identifiers of rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, get_args

import numpy as np
from numpy.typing import NDArray

from committee.data.categories import Category, distinct_numbers, encode_numbers
from committee.data.dates import (
    DATE_FORMAT,
    DATETIME_FORMAT,
    SECONDS_PER_DAY,
    Seconds,
    TimeKind,
    intervals_as_text,
    kind_of_format,
    kind_of_moment,
    read_object_seconds,
    read_seconds,
)
from committee.data.matrices import is_out_of_core, overflow_message, overflows_float
from committee.data.text import check_names, quoted, warn_user

if TYPE_CHECKING:
    import narwhals as nw


Kind: TypeAlias = Literal["number", "boolean", "text"] | TimeKind
Backend: TypeAlias = Literal["pandas", "polars", "pyarrow"]

PLURALS: dict[str, str] = {
    "number": "numbers",
    "boolean": "booleans",
    "text": "text",
    "date": "dates",
    "time of day": "times of the day",
    "duration": "durations",
}


_REMEDIES = {
    "List": "spread it over columns of numbers or text, or drop it",
    "Array": "spread it over columns of numbers or text, or drop it",
    "Struct": "spread its fields over columns, or drop it",
    "Binary": "decode it to text, or drop it",
}


@dataclass(frozen=True)
class Column:
    name: str  # in errors
    kind: Kind  # of the present values
    declared: bool  # whether its type is categorical (Categorical, Enum, dictionary)
    order: tuple[Any, ...] | None
    series: nw.Series[Any]
    seconds: Seconds | None = None  # cells of a column of dates, times or durations

    @classmethod
    def read(cls, series: nw.Series[Any], name: str) -> Column:
        import narwhals as nw

        if series.dtype.is_numeric():  # the most, so that wide frames are read in less time
            return cls(name, "number", False, None, series)
        pandas_like = series.implementation.is_pandas_like()
        if pandas_like and str(series.to_native().dtype).startswith("Sparse["):
            series = nw.from_native(series.to_native().sparse.to_dense(), series_only=True)
        if pandas_like:
            series = intervals_as_text(series)
        dtype = series.dtype
        if isinstance(dtype, nw.Enum):
            return cls(name, _kind_of_categories(series, name), True, tuple(dtype.categories), series)
        if isinstance(dtype, nw.Categorical):
            order = None
            if series.implementation.is_pyarrow() and (cells := series.to_native()).type.ordered:
                # narwhals does not expose the order, and chunks may have dictionaries of their own
                chunks = cells.unify_dictionaries().chunks
                order = tuple(chunks[0].dictionary.to_pylist()) if chunks else ()
            return cls(name, _kind_of_categories(series, name), True, order, series)
        if pandas_like and str(series.to_native().dtype) == "object":
            kind, series, seconds = _read_objects(series, name)
            return cls(name, kind, False, None, series, seconds)
        if (seconds := read_seconds(series)) is not None:
            return cls(name, kind_of_format(seconds.form), False, None, series, seconds)
        if isinstance(dtype, nw.String):
            # Arrow's large_string and string_view lack some kernels that string has
            native = series.cast(nw.String) if series.implementation.is_pyarrow() else series
            return cls(name, "text", False, None, native)
        if isinstance(dtype, nw.Boolean):
            return cls(name, "boolean", False, None, series)
        if dtype.is_numeric() or (isinstance(dtype, nw.Unknown) and series.null_count() == len(series)):
            return cls(name, "number", False, None, series)
        own_type = getattr(series.to_native(), "dtype", dtype)
        if str(own_type).startswith("complex"):
            remedy = "give its parts as two columns"
            raise ValueError(f"Complex data not supported: column {name!r} holds {own_type}; {remedy}")
        remedy = _REMEDIES.get(type(dtype).__name__, "make it numbers or text, or drop it")
        shown = own_type if type(dtype).__name__ in ("Unknown", "Object") else dtype
        raise ValueError(f"column {name!r} holds {shown}, which is neither numbers nor text nor dates; {remedy}")

    def is_categorical(self, chosen: bool | None) -> bool:
        if self.seconds is not None:
            if chosen:
                raise ValueError(
                    f"categorical_features names {self.name!r}, which holds {PLURALS[self.kind]}; leave it out there, "
                    "or make it text"
                )
            return False
        categorical = (self.declared or self.kind != "number") if chosen is None else chosen
        if not categorical and self.kind == "text" and self.series.null_count() < len(self.series):
            raise ValueError(
                f"column {self.name!r} holds text but is not among categorical_features; "
                "name it there, or make it numeric, or drop it"
            )
        return categorical

    def numbers(self) -> NDArray[Any]:
        import narwhals as nw

        if self.seconds is not None:
            return self.seconds.values
        if self.kind == "text":
            if self.series.null_count() == len(self.series):
                return np.full(len(self.series), np.nan)
            cells = self.series.drop_nulls().cast(nw.String).to_list()
            value = next((cell for cell in cells if not _is_number(cell)), cells[0])
            raise ValueError(
                f"column {self.name!r} must hold numbers but holds text ({value!r}); "
                "make it numeric (missing cells empty), as by pandas.to_numeric, or name it in categorical_features "
                "when fitting"
            )
        dtype = self.series.dtype
        if isinstance(dtype, nw.Unknown):
            return np.full(len(self.series), np.nan)
        if dtype.is_numeric() and not isinstance(dtype, nw.Decimal | nw.Int128 | nw.UInt128):
            values = self.series.to_numpy()
            if values.dtype != object:
                return values
        return self.series.cast(nw.Float64).to_numpy()

    @property
    def form(self) -> str | None:
        if self.seconds is None:
            return None
        whole_days = self.seconds.form == DATETIME_FORMAT and not (self.seconds.values % SECONDS_PER_DAY > 0.0).any()
        return DATE_FORMAT if whole_days else self.seconds.form

    def check_kind(self, form: str | None, categories: Sequence[Category] | None, typed: bool) -> None:
        wanted = None if form is None else kind_of_format(form)
        if self.kind == wanted or (wanted is None and self.seconds is None):
            return
        if wanted is not None and self.kind in ("number", "boolean") and not typed:
            return
        present = self.series.filter(~self.missing())
        if not len(present):
            return
        if wanted is None:
            learned = "numbers" if categories is None else "categories"
            remedy = "pass the column as in training"
        else:
            learned = PLURALS[wanted]
            convert = {"date": "pandas.to_datetime", "duration": "pandas.to_timedelta"}.get(wanted, "datetime.time")
            remedy = f"convert it, e.g. by {convert}" if self.seconds is None else "pass the column as in training"
        value = present.to_list()[0]
        shown = str(value) if self.seconds is not None else repr(value)
        raise ValueError(
            f"column {self.name!r} must hold {learned}, as in training, but holds {PLURALS[self.kind]} ({shown}); "
            f"{remedy}"
        )

    def distinct(self) -> tuple[Category, ...]:
        found: tuple[Category, ...]
        if self.kind == "text":
            found = tuple(sorted(str(text) for text in self.series.drop_nulls().unique().to_list()))
        else:
            found = distinct_numbers(self.numbers(), self.name)
            if self.kind == "boolean":
                found = tuple(bool(value) for value in found)
        return in_declared_order(found, self.order)

    def missing(self) -> NDArray[np.bool_]:
        if self.seconds is not None:
            return np.isnan(self.seconds.values)
        missing: NDArray[np.bool_] = self.series.is_null().to_numpy()
        return missing if self.kind == "text" else missing | np.isnan(self.numbers())

    def codes(self, categories: Sequence[Category]) -> NDArray[np.float64]:
        import narwhals as nw

        if not categories:
            return np.full(len(self.series), np.nan)
        if not isinstance(categories[0], str):
            if self.kind == "text" and self.series.null_count() < len(self.series):
                known = [
                    int(value) if isinstance(value, float) and value.is_integer() else value for value in categories
                ]
                raise ValueError(
                    f"column {self.name!r} must hold {quoted(known, 3)}, as in training, but holds text; pass the "
                    "column as in training"
                )
            return encode_numbers(self.numbers(), categories, self.name)
        if self.kind != "text":
            if self.series.null_count() == len(self.series) or bool(np.isnan(self.numbers()).all()):
                return np.full(len(self.series), np.nan)
            raise ValueError(
                f"column {self.name!r} must hold text categories ({quoted(categories, 3)}) "
                f"but holds {PLURALS[self.kind]}; make it text"
            )
        # pandas maps a Categorical by its few categories; elsewhere text is what can be matched
        plain = not self.declared or self.series.implementation.is_pandas_like()
        texts = self.series if plain else self.series.cast(nw.String)
        places = [float(place) for place in range(len(categories))]
        coded = texts.replace_strict(list(categories), places, default=None, return_dtype=nw.Float64)
        return cast("NDArray[np.float64]", coded.to_numpy())


def in_declared_order(found: tuple[Category, ...], order: tuple[Any, ...] | None) -> tuple[Category, ...]:
    if order is None:
        return found
    occurring = {category: category for category in found}
    return tuple(occurring[category] for category in order if category in occurring)


def _kind_of_categories(series: nw.Series[Any], name: str) -> Kind:
    kinds = {_kind_of_cell(value) for value in series.drop_nulls().unique().to_list()}
    if not kinds:
        return "text"
    if len(kinds) > 1 or not kinds <= {"text", "number", "boolean"}:
        raise ValueError(
            f"column {name!r} has categories of type {' and '.join(sorted(kinds))}; "
            "make all of them text, or all of them numbers"
        )
    return cast("Kind", kinds.pop())


def _kind_of_cell(value: object) -> str:
    if isinstance(value, str):
        return "text"
    if isinstance(value, bool | np.bool_):
        return "boolean"
    if isinstance(value, int | float | np.integer | np.floating):
        return "number"
    return kind_of_moment(value) or type(value).__name__


def _read_objects(series: nw.Series[Any], name: str) -> tuple[Kind, nw.Series[Any], Seconds | None]:
    # narwhals infers the kind of Python objects from the first 100 cells
    import narwhals as nw
    import pandas as pd

    cells = series.to_pandas()
    absent = cells.isna()
    if absent.any():
        # a missing time among numbers or text would count as a kind of its own
        values = cells.to_numpy(dtype=object, copy=True)
        values[absent.to_numpy()] = None
        cells = pd.Series(values, name=cells.name, index=cells.index, dtype=object)
    found = pd.api.types.infer_dtype(cells, skipna=True)
    if found in ("string", "empty"):
        return "text", nw.from_native(cells, series_only=True), None
    if found == "boolean":
        return "boolean", nw.from_native(cells.astype("boolean"), series_only=True), None
    if found in ("integer", "floating", "mixed-integer-float"):
        beyond = next((row for row, value in enumerate(cells) if overflows_float(value)), None)
        if beyond is not None:
            raise ValueError(overflow_message(name, beyond))
        return "number", nw.from_native(cells.astype("Float64"), series_only=True), None
    if (seconds := read_object_seconds(cells, found)) is not None:
        return kind_of_format(seconds.form), nw.from_native(cells, series_only=True), seconds
    first = None
    for row, (value, missing) in enumerate(zip(cells, absent, strict=True)):
        kind = _kind_of_cell(value)
        if missing or kind == first:
            continue
        if first is None and kind in PLURALS:
            first = kind
            continue
        mixed = f"mixes {PLURALS[first]} with " if first else "holds "
        raise ValueError(
            f"column {name!r} {mixed}{value!r} of type {type(value).__name__} (row {row}); "
            "make all its cells text, or all of them numbers"
        )
    raise ValueError(f"column {name!r} holds Python objects ({found}); make its cells text or numbers")


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


CategoricalFeatures: TypeAlias = (
    Literal["from_dtype"] | Sequence[str] | Sequence[int] | Sequence[bool] | NDArray[Any] | None
)


DerivedColumns: TypeAlias = Literal["auto", "dates", "text"] | None  # kinds of columns whose derived columns are added


def is_frame(X: Any) -> bool:
    if isinstance(X, np.ndarray | list | tuple):
        return False
    if type(X).__module__.partition(".")[0] in ("builtins", "numpy", "scipy", "sklearn"):
        return False
    from narwhals.dependencies import is_into_dataframe, is_into_lazyframe

    return bool(is_into_dataframe(X) or is_into_lazyframe(X))


def check_frame(X: Any) -> None:
    from narwhals.dependencies import is_into_lazyframe

    if is_into_lazyframe(X):
        raise TypeError(
            "X is a lazy frame; pass its rows as a data frame: X.collect() (Dask: X.compute(), DuckDB: X.pl())"
        )
    # narwhals refuses duplicates too, but without a remedy; Arrow's `columns` are not names
    names: Any = X.column_names if hasattr(X, "column_names") else X.columns
    reject_duplicates(name for name in names if isinstance(name, str))


def open_frame(X: Any) -> nw.DataFrame[Any]:
    import narwhals as nw

    check_frame(X)
    return nw.from_native(X, eager_only=True)


def data_frame(columns: Mapping[str, Sequence[Any]], backend: Backend) -> Any:
    import narwhals as nw

    if backend not in get_args(Backend):
        raise ValueError(f"backend={backend!r} is not one of {quoted(get_args(Backend))}")
    return nw.from_dict(columns, backend=backend).to_native()


def take_named(X: Any, **vectors: Any) -> tuple[Any, ...]:
    names = {key: name for key, name in vectors.items() if isinstance(name, str)}
    if not names or is_out_of_core(X):
        return X, *vectors.values()
    if not is_frame(X):
        key, name = next(iter(names.items()))
        raise ValueError(
            f"{key}={name!r} names a column, but X is a {type(X).__name__}, whose columns have no names; give {key} as "
            "an array, or X as a data frame."
        )
    frame = open_frame(X)
    for key, name in names.items():
        check_names([name], frame.columns, key)
    taken = {key: frame[name].to_native() for key, name in names.items()}
    return frame.drop(*set(names.values())).to_native(), *(vectors | taken).values()


def without_named(X: Any, named: Mapping[str, str], learned: Iterable[str]) -> Any:
    frame = open_frame(X)
    extra = [name for name in dict.fromkeys(named.values()) if name in frame.columns and name not in learned]
    return frame.drop(extra).to_native() if extra else X


def warn_of_other_order(X: Any, table: str = "X", **vectors: Any) -> None:
    index: Any = getattr(X, "index", None)
    if not hasattr(index, "equals"):
        return
    for name, vector in vectors.items():
        other: Any = getattr(vector, "index", None)
        if not hasattr(other, "equals") or len(other) != len(index) or index.equals(other):
            continue
        if index.difference(other, sort=False).empty and index.is_unique:
            warn_user(
                f"{name} has the index of {table} in another order, and rows are matched by position. To match them "
                f"by index, pass {name}.loc[{table}.index]; else pass {name}.to_numpy()."
            )


def column_names(columns: Sequence[Any]) -> tuple[str, ...] | None:
    named = [isinstance(name, str) for name in columns]
    if not any(named):
        return None
    if not all(named):
        odd = next(name for name in columns if not isinstance(name, str))
        raise TypeError(
            "Feature names are only supported if all input features have string names, but "
            f"{odd!r} is of type {type(odd).__name__}; convert them, e.g. X.columns = X.columns.astype(str)"
        )
    return tuple(str(name) for name in columns)


def read_columns(frame: nw.DataFrame[Any], names: Sequence[str] | None) -> list[Column]:
    return [
        Column.read(series, f"x{j}" if names is None else names[j]) for j, series in enumerate(frame.iter_columns())
    ]


def check_column_names(learned: Sequence[str], given: Sequence[str]) -> None:
    if tuple(learned) == tuple(given):
        return
    learned_set, given_set = set(learned), set(given)
    missing = [name for name in learned if name not in given_set]
    unexpected = [name for name in given if name not in learned_set]
    if not missing and not unexpected:
        j = next(j for j, name in enumerate(learned) if name != given[j])
        raise ValueError(
            f"the columns are in another order than the learned ones: column {j} must be {learned[j]!r}, "
            f"got {given[j]!r}; select them in the learned order"
        )
    faults = [f"{quoted(missing)} missing"] if missing else []
    faults += [f"{quoted(unexpected)} unexpected"] if unexpected else []
    raise ValueError(f"the columns are not the learned ones: {', '.join(faults)}; add or drop these")


def categorical_mask(
    categorical_features: Any, names: Sequence[str] | None, n_columns: int
) -> NDArray[np.bool_] | None:
    mask = np.zeros(n_columns, dtype=bool)
    if categorical_features is None:
        return mask
    if isinstance(categorical_features, str) and categorical_features == "from_dtype":
        return None
    if isinstance(categorical_features, str) or not isinstance(categorical_features, Iterable):
        raise ValueError(f"categorical_features must be 'from_dtype', None or a list, got {categorical_features!r}")
    wanted = list(categorical_features)
    if all(isinstance(item, bool | np.bool_) for item in wanted) and wanted:
        if len(wanted) != n_columns:
            raise ValueError(f"categorical_features is a mask of {len(wanted)}, but X has {n_columns} columns")
        return np.array(wanted, dtype=bool)
    if all(isinstance(item, str) for item in wanted) and wanted:
        if names is None:
            raise ValueError("categorical_features gives names, but the columns of X have none; give indices")
        places = {name: j for j, name in enumerate(names)}
        wanted = [places[name] for name in check_names(wanted, names, "categorical_features")]
    for item in wanted:
        if isinstance(item, bool | np.bool_) or not isinstance(item, int | np.integer):
            raise ValueError(f"categorical_features must be all names, all indices or a mask, got {item!r} among them")
        if not 0 <= item < n_columns:
            raise ValueError(f"categorical_features gives column {item}, but X has columns 0 to {n_columns - 1}")
        mask[item] = True
    return mask


def refuse_ambiguous(columns: Iterable[Any], X: Any, parameter: str) -> None:
    if not any(isinstance(column, Integral) for column in columns) or not is_frame(X):
        return
    names = list(X.columns)
    if any(isinstance(name, Integral) for name in names) and names != list(range(len(names))):
        raise ValueError(
            f"{parameter} gives columns by number, and the columns of X have other numbers for names, "
            f"{quoted(names, 5)}: a number may mean a position or a name. Make the names text, X.columns = "
            "X.columns.astype(str), and give names."
        )


def reject_duplicates(names: Iterable[str]) -> None:
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise ValueError(f"column name {twice!r} occurs more than once; rename or drop one")


LEAST_ROWS = 20  # in smaller tables few measurements may all differ, and be sorted
DISTINCT_TEXT = 0.95  # text with a larger share of distinct values identifies the rows
PRESENT = 0.9  # smallest share of present cells by which whole numbers are judged

_LARGEST_WHOLE = 2.0**53  # below, each whole number has a float of its own

_IDENTIFIER = re.compile(  # in names of columns
    r"(^|[^a-z])(id|ids|uuid|guid|pk)([^a-z]|$)"
    r"|(^|[^a-z])(no|nr|number|key)[^a-z]*$"  # a number of something is a count
    r"|^(row.?)?(index|idx)$"
)


def text_reason(n_distinct: int, n: float) -> str | None:
    if n < LEAST_ROWS or n_distinct <= DISTINCT_TEXT * n:
        return None
    return f"is text with {n_distinct:,} different values in {n:,.0f} rows"


def whole_number_reason(name: str, cells: NDArray[Any], present: NDArray[np.bool_]) -> str | None:
    """Return why a column of rows `present`, with these `cells`, identifies the rows; None: it does not."""
    n, n_rows = len(cells), len(present)
    if n < max(LEAST_ROWS, PRESENT * n_rows):
        return None
    if cells.dtype.kind == "f":
        # whole numbers beside missing cells are floats in pandas
        if n == n_rows or (np.abs(cells) > _LARGEST_WHOLE).any() or (cells != np.floor(cells)).any():
            return None
        cells = cells.astype(np.int64)
    if len(np.unique(cells)) < n:
        return None
    rows = np.flatnonzero(present)
    step, rest = divmod(int(cells[1]) - int(cells[0]), int(rows[1] - rows[0]))
    # differences wrap around, and may exceed 64 bits
    differences, steps = np.diff(cells.astype(np.uint64)), np.diff(rows).astype(np.uint64) * np.uint64(step % 2**64)
    if not rest and (differences == steps).all():
        return "counts the rows" if abs(step) == 1 else f"counts the rows in steps of {step:,}"
    if int(cells.max()) - int(cells.min()) <= n_rows - 1:
        if n < n_rows:
            return f"holds {n:,} of {n_rows:,} consecutive numbers, each once"
        return f"holds each of {n:,} consecutive numbers once"
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    named_so = not name or name.startswith("Unnamed: ") or _IDENTIFIER.search(words) is not None
    those = "" if n == n_rows else " that have one"
    return f"has another number in each of the {n:,} rows{those}" if named_so else None
