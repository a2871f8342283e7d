"""One column of a frame: what it holds (numbers, booleans or text), and its values as numbers or codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from committee.data.arrays import beyond_float, is_beyond_float
from committee.data.names import listing

if TYPE_CHECKING:
    import narwhals as nw

Category: TypeAlias = str | int | float | bool
Kind: TypeAlias = Literal["number", "boolean", "text"]

EXACT = 2.0**53  # below it every whole number has a float64 of its own
MAX_CATEGORIES = 2**31 - 1
"""The most categories a column may have: codes fit 32 bits."""
MOST_LEVELS = 16
"""Categories of a column that trees part into subsets; in a column of more each becomes a number."""

_REMEDIES = {
    "Date": "make numbers of it first (days since a date, year, month, ...) or drop it",
    "Datetime": "make numbers of it first (seconds since a date, hour, weekday, ...) or drop it",
    "Time": "make numbers of it first (seconds since midnight) or drop it",
    "Duration": "make numbers of it first (total seconds) or drop it",
    "List": "spread it over columns of numbers or text, or drop it",
    "Array": "spread it over columns of numbers or text, or drop it",
    "Struct": "spread its fields over columns, or drop it",
    "Binary": "decode it to text, or drop it",
}


@dataclass(frozen=True)
class Column:
    """One column of a frame, looked at once.

    Attributes
    ----------
    name : str
        What errors call it.
    kind : {"number", "boolean", "text"}
        What its present values are.
    declared : bool
        Whether its type says that it is categorical (Categorical, Enum, dictionary).
    order : tuple or None
        The categories in the order the type declares (Enum, ordered pandas Categorical, ordered dictionary of Arrow),
        else None.
    series : narwhals.Series
        The values.
    """

    name: str
    kind: Kind
    declared: bool
    order: tuple[Any, ...] | None
    series: nw.Series[Any]

    @classmethod
    def read(cls, series: nw.Series[Any], name: str) -> Column:
        """Find out what a column holds.

        Raises
        ------
        ValueError
            If the column holds dates, times, nested or complex values, or mixes text with other things.

        Examples
        --------
        >>> import narwhals as nw, polars as pl
        >>> Column.read(nw.from_native(pl.Series(["a", None]), series_only=True), "letter").kind
        'text'
        """
        import narwhals as nw

        dtype = series.dtype
        if isinstance(dtype, nw.Enum):
            return cls(name, _kind_of_categories(series, name), True, tuple(dtype.categories), series)
        if isinstance(dtype, nw.Categorical):
            return cls(name, _kind_of_categories(series, name), True, _order_of_arrow(series), series)
        if _holds_python_objects(series):
            kind, series = _read_objects(series, name)
            return cls(name, kind, False, None, series)
        if isinstance(dtype, nw.String):
            # Arrow's large_string and string_view lack some kernels that string has
            native = series.cast(nw.String) if series.implementation.is_pyarrow() else series
            return cls(name, "text", False, None, native)
        if isinstance(dtype, nw.Boolean):
            return cls(name, "boolean", False, None, series)
        if dtype.is_numeric() or (isinstance(dtype, nw.Unknown) and series.null_count() == len(series)):
            return cls(name, "number", False, None, series)
        raise ValueError(_refusal(series, name))

    def numbers(self) -> NDArray[Any]:
        """Return the values as a real 1-D array, NaN where missing; a view of the frame where possible.

        Raises
        ------
        ValueError
            If the column holds text, be it one cell.
        """
        import narwhals as nw

        if self.kind == "text":
            if self.series.null_count() == len(self.series):
                return np.full(len(self.series), np.nan)
            cells = self.series.drop_nulls().cast(nw.String).to_list()
            value = next((cell for cell in cells if not _is_number(cell)), cells[0])
            raise ValueError(
                f"column {self.name!r} must hold numbers but holds text ({value!r}); "
                "make it numeric (missing cells empty), or name it in categorical_features when fitting"
            )
        if isinstance(self.series.dtype, nw.Unknown):
            return np.full(len(self.series), np.nan)
        if self.series.dtype in _plain_dtypes():
            values = self.series.to_numpy()
            if values.dtype != object:
                return values
        return self.series.cast(nw.Float64).to_numpy()

    def distinct(self) -> tuple[Category, ...]:
        """Return the categories that occur: in declared order if the type has one, else sorted.

        Raises
        ------
        ValueError
            If one is infinite.
        """
        found: tuple[Category, ...]
        if self.kind == "text":
            found = tuple(sorted(str(text) for text in self.series.drop_nulls().unique().to_list()))
        else:
            found = distinct_numbers(self.numbers(), self.name)
            if self.kind == "boolean":
                found = tuple(bool(value) for value in found)
        if self.order is not None:
            occurring = {category: category for category in found}
            found = tuple(occurring[category] for category in self.order if category in occurring)
        return found

    def refuse_unknown(self, codes: NDArray[np.float64]) -> None:
        """Raise if a cell that is not missing has no code among `codes`."""
        refuse_unknown(self.series, self.missing(), codes, self.name)

    def missing(self) -> NDArray[np.bool_]:
        """Say which cells are missing."""
        missing: NDArray[np.bool_] = self.series.is_null().to_numpy()
        return missing if self.kind == "text" else missing | np.isnan(self.numbers())

    def codes(self, categories: Sequence[Category]) -> NDArray[np.float64]:
        """Return the place of each value in ``categories`` as float64, NaN where missing or not among them.

        Raises
        ------
        ValueError
            If the column holds numbers and the categories are text or the other way about.
        """
        import narwhals as nw

        if not categories:
            return np.full(len(self.series), np.nan)
        if not isinstance(categories[0], str):
            return number_codes(self.numbers(), categories, self.name)
        if self.kind != "text":
            if self.series.null_count() == len(self.series) or bool(np.isnan(self.numbers()).all()):
                return np.full(len(self.series), np.nan)
            raise ValueError(
                f"column {self.name!r} must hold text categories ({listing(categories, 3)}) "
                f"but holds {self.series.dtype}; make it text"
            )
        # pandas maps a Categorical by its few categories; elsewhere text is what can be matched
        plain = not self.declared or self.series.implementation.is_pandas_like()
        texts = self.series if plain else self.series.cast(nw.String)
        places = [float(place) for place in range(len(categories))]
        coded = texts.replace_strict(list(categories), places, default=None, return_dtype=nw.Float64)
        return cast("NDArray[np.float64]", coded.to_numpy())


class UnknownCategoryError(ValueError):
    """A cell holds a category that a schema which refuses such does not know.

    Parameters
    ----------
    found : str
        Column, category and row, as the beginning of a sentence.
    """

    def __init__(self, found: str) -> None:
        self.found = found
        super().__init__(
            f"{found}, which the model does not know and, made of another library's, refuses; leave such rows out, or "
            "make the cell missing"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.found,)


def refuse_unknown(values: Any, missing: NDArray[np.bool_], codes: NDArray[np.float64], name: str) -> None:
    """Raise if a value that is not missing has no code, naming column, row and value.

    Examples
    --------
    >>> refuse_unknown(["a", None], np.array([False, True]), np.array([0.0, np.nan]), "x0")
    """
    unknown = np.flatnonzero(np.isnan(codes) & ~missing)
    if unknown.size:
        row = int(unknown[0])
        value = values[row].item() if isinstance(values[row], np.generic) else values[row]
        raise UnknownCategoryError(f"column {name!r} holds the category {value!r} at row {row}")


def distinct_numbers(values: NDArray[Any], name: str) -> tuple[int | float, ...]:
    """Return the sorted distinct values of a column ``(n,)`` of numbers or booleans, without NaN.

    Refused are an infinite value, and numbers of 2**53 and more: two of them may be one float64, and would become one
    category. `name` is what errors call the column.

    Examples
    --------
    >>> distinct_numbers(np.array([2.5, np.nan, 1.0, 2.5]), "x0")
    (1.0, 2.5)
    """
    wide = values.astype(np.float64)
    refuse_infinity(wide, name)
    found = np.unique(wide[~np.isnan(wide)])
    if len(found) and max(-found[0], found[-1]) >= EXACT:
        raise ValueError(
            f"column {name!r} has the category {found[np.abs(found).argmax()]:.0f}; whole numbers of 2**53 and more "
            "cannot be told apart as float64. Make the column text, or number its categories."
        )
    if values.dtype.kind in "iu":
        return tuple(int(value) for value in found)
    return tuple(float(value) for value in found)


def number_codes(values: NDArray[Any], categories: Sequence[Category], name: str) -> NDArray[np.float64]:
    """Return the place of each number in ``categories`` as float64 ``(n,)``, NaN where missing or not among them.

    Categories are distinct, in any order; text among them is refused, and so is an infinite value.

    Examples
    --------
    >>> number_codes(np.array([3.0, 1.0, 7.0]), (1, 3), "x0")
    array([ 1.,  0., nan])
    """
    if not categories:
        return np.full(len(values), np.nan)
    if isinstance(categories[0], str):
        raise ValueError(
            f"column {name!r} must hold text categories ({listing(categories, 3)}) but X is an array of "
            "numbers; pass a frame (pandas, polars, Arrow) with that column as text"
        )
    wide = values.astype(np.float64)
    refuse_infinity(wide, name)
    keys = np.array([float(category) for category in categories])
    order = np.argsort(keys)
    keys = keys[order]
    place = np.minimum(np.searchsorted(keys, wide), len(keys) - 1)
    return np.where(keys[place] == wide, order[place], np.nan)


def refuse_infinity(values: NDArray[np.float64], name: str) -> None:
    """Raise if a column holds an infinity, naming the column and the first such row.

    Examples
    --------
    >>> refuse_infinity(np.array([1.0, np.nan]), "age")
    """
    rows = np.flatnonzero(np.isinf(values))
    if rows.size:
        raise ValueError(f"column {name!r} holds infinity at row {rows[0]}; replace it or mark it missing (NaN)")


def _plain_dtypes() -> tuple[Any, ...]:
    """Return the narwhals types that become NumPy numbers directly (128-bit integers and decimals do not)."""
    import narwhals as nw

    signed = (nw.Int8, nw.Int16, nw.Int32, nw.Int64)
    unsigned = (nw.UInt8, nw.UInt16, nw.UInt32, nw.UInt64)
    return (*signed, *unsigned, nw.Float32, nw.Float64)


def _order_of_arrow(series: nw.Series[Any]) -> tuple[Any, ...] | None:
    """Return the categories of an ordered dictionary of Arrow, of whose order narwhals says nothing; else None."""
    if not series.implementation.is_pyarrow():
        return None
    cells = series.to_native()
    if not cells.type.ordered:
        return None
    chunks = cells.unify_dictionaries().chunks  # chunks may have dictionaries of their own
    return tuple(chunks[0].dictionary.to_pylist()) if chunks else ()


def _holds_python_objects(series: nw.Series[Any]) -> bool:
    return series.implementation.is_pandas_like() and str(series.to_native().dtype) == "object"


def _kind_of_categories(series: nw.Series[Any], name: str) -> Kind:
    """Say what the categories of a Categorical are; pandas takes anything for a category."""
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
    return type(value).__name__


def _read_objects(series: nw.Series[Any], name: str) -> tuple[Kind, nw.Series[Any]]:
    """Read a pandas column of Python objects: only text, only booleans or only numbers, beside missing cells.

    narwhals judges such a column by its first 100 cells, so the whole of it is looked at here.
    """
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
        return "text", nw.from_native(cells, series_only=True)
    if found == "boolean":
        return "boolean", nw.from_native(cells.astype("boolean"), series_only=True)
    if found in ("integer", "floating", "mixed-integer-float"):
        beyond = next((row for row, value in enumerate(cells) if is_beyond_float(value)), None)
        if beyond is not None:
            raise ValueError(beyond_float(name, beyond))
        return "number", nw.from_native(cells.astype("Float64"), series_only=True)
    first = None
    for row, (value, missing) in enumerate(zip(cells, absent, strict=True)):
        kind = _kind_of_cell(value)
        if missing or kind == first:
            continue
        if first is None and kind in ("text", "number", "boolean"):
            first = kind
            continue
        mixed = f"mixes {first} with " if first else "holds "
        raise ValueError(
            f"column {name!r} {mixed}{value!r} of type {type(value).__name__} (row {row}); "
            "make all its cells text, or all of them numbers"
        )
    raise ValueError(f"column {name!r} holds Python objects ({found}); make its cells text or numbers")


def _refusal(series: nw.Series[Any], name: str) -> str:
    dtype = series.dtype
    native = getattr(series.to_native(), "dtype", dtype)
    if str(native).startswith("complex"):
        return f"Complex data not supported: column {name!r} holds {native}; give its parts as two columns"
    remedy = _REMEDIES.get(type(dtype).__name__, "make it numbers or text, or drop it")
    shown = native if type(dtype).__name__ in ("Unknown", "Object") else dtype
    return f"column {name!r} holds {shown}, which is neither numbers nor text; {remedy}"


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
