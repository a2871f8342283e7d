"""The door for tables: frames and arrays become one float64 matrix, by a schema that is learned once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.arrays import numeric_matrix
from committee.data.columns import (
    MAX_CATEGORIES,
    Category,
    Column,
    distinct_numbers,
    number_codes,
    refuse_unknown,
)
from committee.data.frame_columns import (
    CategoricalFeatures,
    chosen_columns,
    columns_of,
    is_frame,
    match_names,
    names_of,
    open_frame,
    refuse_duplicates,
)
from committee.data.names import is_unicode
from committee.data.number_types import F64
from committee.data.sparse import SparseMatrix

if TYPE_CHECKING:
    import narwhals as nw

    from committee.data.level_values import LevelValues

# columns that are put together at a time: no more of them are held a second time
_COLUMNS = 32

_OPTIONAL = {"refuses_unknown", "values", "written", "missing"}


@dataclass(frozen=True)
class TableSchema:
    """The columns of a table: their names, and the categories of those that are categorical.

    A schema turns every table with these columns into the same matrix: numeric columns as they are (integers
    beyond 2**53 are rounded to float64), categories as their codes 0, 1, ..., and NaN for what is missing -
    None, null, NaN - or for a category that the schema has not seen.

    Parameters
    ----------
    names : tuple of str or None
        Column names; None for arrays, and for pandas frames whose names are not text.
    categories : tuple of (tuple or None)
        For each column the categories in the order of their codes, all text, all numbers or all booleans;
        None for a numeric column, ``()`` for a categorical one that had no value.
    refuses_unknown : bool, default=False
        A category that is none of these is an error, as with XGBoost's declared categories, and not missing.
    values : tuple of (LevelValues or None), default=()
        For each column the numbers that stand for its categories; None where their codes do, and ``()`` where they
        do in all columns.
    written : tuple of (str or None), default=()
        For each column how its numbers are written in files, such as with decimal commas or as dates, out of
        `committee.data.reading.cell_forms`; None and ``()``: as numbers are. Frames have them as numbers. Schemas are
        equal whatever this is.
    missing : tuple of str, default=()
        Cells of files that stood for missing ones, besides those that do always. Schemas are equal whatever this is.

    Raises
    ------
    ValueError
        If the parts contradict each other: duplicate or missing names, categories that are not distinct, not
        finite or not of one kind, or not as many values as categories.

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

    names: tuple[str, ...] | None
    categories: tuple[tuple[Category, ...] | None, ...]
    refuses_unknown: bool = False
    values: tuple[LevelValues | None, ...] = ()
    written: tuple[str | None, ...] = field(default=(), compare=False)
    missing: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        if not self.categories:
            raise ValueError("a table must have at least one column, got 0 feature(s)")
        if self.names is not None:
            _check_names(self.names, len(self.categories))
        for j, categories in enumerate(self.categories):
            if categories is not None:
                _check_categories(categories, self.column(j))
        if len(self.values) not in (0, len(self.categories)):
            raise ValueError(f"a table schema has values for {len(self.values)} of {len(self.categories)} columns")
        if len(self.written) not in (0, len(self.categories)):
            raise ValueError(
                f"a table schema says of {len(self.written)} of {len(self.categories)} columns how they are"
            )
        if self.written:
            _check_forms(self.written)
        for j, values in enumerate(self.values):
            if values is not None and len(values.values) != len(self.categories[j] or ()):
                raise ValueError(f"column {self.column(j)!r} has not as many values as categories")

    @property
    def n_features(self) -> int:
        """Number of columns p."""
        return len(self.categories)

    @property
    def n_categories(self) -> NDArray[np.int32]:
        """Categories of each column whose codes are in the matrix, shape (p,); 0 where numbers are, or no values."""
        return np.where([each is not None for each in self._values], 0, self.n_levels).astype(np.int32)

    @property
    def n_levels(self) -> NDArray[np.int32]:
        """Categories of each column, shape (p,); 0 for a numeric one, and for one that had no value."""
        return np.array([len(found or ()) for found in self.categories], dtype=np.int32)

    @property
    def categorical(self) -> NDArray[np.bool_]:
        """Whether a column has categories, shape (p,); always ``n_categories > 0``."""
        return self.n_categories > 0

    @property
    def _values(self) -> tuple[LevelValues | None, ...]:
        return self.values or (None,) * len(self.categories)

    def with_values(self, values: Mapping[int, LevelValues]) -> TableSchema:
        """Return this schema with numbers in the place of the categories of some columns, by their number."""
        return replace(self, values=tuple(values.get(j) for j in range(self.n_features)))

    @property
    def forms(self) -> dict[str, str]:
        """How numbers are written in files of the columns for which `written` says it, by name."""
        return {self.column(j): form for j, form in enumerate(self.written) if form is not None}

    def with_forms(self, forms: Mapping[str, str]) -> TableSchema:
        """Return this schema with how numbers of some columns are written in files, by name.

        Examples
        --------
        >>> TableSchema(("day", "x"), (None, None)).with_forms({"day": "%d.%m.%Y"}).written
        ('%d.%m.%Y', None)
        """
        written = tuple(forms.get(self.column(j)) for j in range(self.n_features))
        return replace(self, written=written if any(written) else ())

    def with_missing(self, marks: Sequence[str]) -> TableSchema:
        """Return this schema with the cells of files that stood for missing ones."""
        return replace(self, missing=tuple(marks))

    def coded(self, j: int) -> tuple[Category, ...] | None:
        """Return the categories whose codes column ``j`` of the matrix has; None if it has numbers."""
        return self.categories[j] if self._values[j] is None else None

    def on_codes_of(self, outer: TableSchema) -> TableSchema:
        """Return this schema, learned from the matrix that another one gives, as one of the other's tables.

        It has the other's names, and for each code the category that has it.

        Examples
        --------
        >>> outer = TableSchema(("age", "city"), (None, ("Bern", "Oslo")))
        >>> TableSchema(None, (None, (1.0,))).on_codes_of(outer).categories
        (None, ('Oslo',))
        """
        categories = tuple(
            levels if levels is None or codes is None else tuple(levels[int(code)] for code in codes)
            for levels, codes in zip(outer.categories, self.categories, strict=True)
        )
        return replace(self, names=outer.names, categories=categories)

    def quantity(self, j: int) -> str:
        """Return what the numbers of column ``j`` are: its name, or ``"rate of yes by city"``."""
        values = self._values[j]
        return self.column(j) if values is None else f"{values.of} by {self.column(j)}"

    def form_of_times(self, j: int) -> str | None:
        """Return how dates or times of column ``j`` are written in files; None if its numbers are no seconds."""
        form = self.written[j] if self.written else None
        if form is None:
            return None
        from committee.data.reading.time_words import TIMES  # few models have any

        return form if form in TIMES else None

    def number_words(self, j: int, number: float, digits: int = 6) -> str:
        """Return a number of column ``j`` as it is read: in so many digits, or the date or time that it stands for.

        Examples
        --------
        >>> schema = TableSchema(("day", "x"), (None, None)).with_forms({"day": "%d.%m.%Y"})
        >>> schema.number_words(0, 86400.0), schema.number_words(1, 86400.0)
        ('1970-01-02', '86400')
        """
        form = self.form_of_times(j)
        if form is None:
            return f"{number:.{digits}g}"
        from committee.data.reading.time_words import time_words

        return time_words(number, form)

    def unsuited(self, feature: NDArray[np.integer], n_words: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Splits that no table of this schema can have grown, ``(N,)``, by their columns and words of category bits.

        These are a threshold, which has 0 words, on categories, categories of numbers, and more categories than the
        column has.
        """
        most = -(-self.n_categories.astype(np.int64) // 32)
        bad: NDArray[np.bool_] = ((n_words > 0) != self.categorical[feature]) | (n_words > most[feature])
        return bad

    def column(self, j: int) -> str:
        """Return the name of column ``j``; ``"x3"`` when the table has no names."""
        return f"x{j}" if self.names is None else self.names[j]

    @classmethod
    def learn(cls, X: Any, categorical_features: CategoricalFeatures = "from_dtype") -> TableSchema:
        """Learn names and categories from a training table.

        Parameters
        ----------
        X : frame or array-like of shape (n, p)
            A pandas, polars, Arrow or other eager frame that narwhals takes, or numbers in a 2-D array.
        categorical_features : "from_dtype", None, names, indices or boolean mask, default="from_dtype"
            "from_dtype": the columns of a frame that hold text or booleans or are declared categorical (an
            array has none) - the types already say it in most tables. None: no column; booleans are then
            0 and 1. Otherwise those columns, whatever their type.

        Returns
        -------
        TableSchema
            Categories are those that occur, in the declared order for an Enum, an ordered pandas Categorical or an
            ordered dictionary of Arrow, and sorted otherwise.

        Raises
        ------
        TypeError
            For a lazy frame, a sparse matrix, a masked array, or column names partly text.
        ValueError
            If a column holds what can be no feature (dates, nested or complex values, text mixed with
            numbers, infinite categories), a text column is not categorical, or ``categorical_features`` names
            a column that is not there.

        Examples
        --------
        >>> TableSchema.learn(np.array([[0.5, 7.0], [1.5, 3.0]]), categorical_features=[1]).categories
        (None, (3.0, 7.0))
        """
        if not is_frame(X):
            matrix = numeric_matrix(X, None)
            if isinstance(categorical_features, str) and categorical_features == "from_dtype":
                return cls(None, (None,) * matrix.shape[1])  # the one type of an array declares no categories
            chosen = chosen_columns(categorical_features, None, matrix.shape[1])
            found = tuple(
                distinct_numbers(matrix[:, j], f"x{j}") if chosen is not None and chosen[j] else None
                for j in range(matrix.shape[1])
            )
            return cls(None, found)
        frame = open_frame(X)
        names = names_of(frame.columns)
        chosen = chosen_columns(categorical_features, names, len(frame.columns))
        learned = []
        for j, column in enumerate(columns_of(frame, names)):
            from_dtype = column.declared or column.kind != "number"
            categorical = from_dtype if chosen is None else bool(chosen[j])
            if not categorical and column.kind == "text" and column.series.null_count() < len(column.series):
                raise ValueError(
                    f"column {column.name!r} holds text but is not among categorical_features; "
                    "name it there, or make it numeric, or drop it"
                )
            learned.append(column.distinct() if categorical else None)
        return cls(names, tuple(learned))

    def encode(self, X: Any, n_threads: int = 1, all_known: bool = False) -> F64:
        """Turn a table with these columns into numbers and codes.

        Parameters
        ----------
        X : frame or array-like of shape (n, p)
            The columns of the schema, by name and in its order when both have names, else by place.
        n_threads : int, default=1
            Ceiling on the number of threads.
        all_known : bool, default=False
            Whether every category was seen when the schema was made, so that another one is refused in any column,
            be it one without categories, which `refuses_unknown` does not look at.

        Returns
        -------
        ndarray of shape (n, p), float64, C-contiguous
            ``X`` itself where it is that already and no column is categorical: do not write to it.

        Raises
        ------
        TypeError
            For a lazy frame, a sparse matrix or a masked array.
        ValueError
            If columns are missing, unexpected or in another order, hold infinity, or are numbers where the
            schema has text or the other way about.

        Examples
        --------
        >>> schema = TableSchema(("size",), (("S", "M", "L"),))
        >>> import polars as pl
        >>> schema.encode(pl.DataFrame({"size": ["L", "S", "XXL", None]})).ravel()
        array([ 2.,  0., nan, nan])
        """
        if is_frame(X):
            return self._encode_frame(open_frame(X), n_threads, all_known)
        matrix = numeric_matrix(X, self.names)
        self._check_width(matrix.shape[1])
        self._refuse_infinity(matrix)
        if self.categories.count(None) == len(self.categories):
            return matrix
        encoded = matrix.copy()
        for j, (categories, values) in enumerate(zip(self.categories, self._values, strict=True)):
            if categories is not None:
                codes = number_codes(matrix[:, j], categories, self.column(j))
                if all_known or (self.refuses_unknown and categories):
                    refuse_unknown(matrix[:, j], np.isnan(matrix[:, j]), codes, self.column(j))
                encoded[:, j] = codes if values is None else values.numbers(codes, np.isnan(matrix[:, j]))
        return encoded

    @classmethod
    def of_sparse(cls, X: SparseMatrix, categorical_features: CategoricalFeatures = "from_dtype") -> TableSchema:
        """Return the schema of a sparse table, all of whose columns are numbers.

        Raises
        ------
        ValueError
            If `categorical_features` names any.
        """
        chosen = chosen_columns(categorical_features, None, X.n_columns)
        if chosen is not None and chosen.any():
            raise ValueError(
                f"categorical_features names column {int(chosen.argmax())} of a sparse table, which has no categories; "
                "one-hot encode it, or pass X.toarray()"
            )
        return cls(None, (None,) * X.n_columns)

    def encode_sparse(self, X: SparseMatrix) -> SparseMatrix:
        """Return a sparse table as it is, once its width and values are found right.

        Raises
        ------
        ValueError
            If it has another number of columns, holds infinity, or the schema has categories.
        """
        self._check_width(X.n_columns)
        if (categorical := self.n_levels > 0).any():
            name = self.column(int(categorical.argmax()))
            raise ValueError(f"X is sparse, but column {name!r} has categories; pass the table as the model was fitted")
        if (place := X.infinite()) is not None:
            raise ValueError(_infinite(self.column(place[1]), place[0]))
        return X

    def to_json(self) -> dict[str, Any]:
        """Return the schema as values that JSON has.

        Examples
        --------
        >>> TableSchema(("size",), (("S", "M"),)).to_json()
        {'names': ['size'], 'categories': [['S', 'M']]}
        """
        return {
            "names": None if self.names is None else list(self.names),
            "categories": [None if found is None else list(found) for found in self.categories],
            **({"refuses_unknown": True} if self.refuses_unknown else {}),
            **({"values": [each and each.to_json() for each in self.values]} if self.values else {}),
            **({"written": list(self.written)} if self.written else {}),
            **({"missing": list(self.missing)} if self.missing else {}),
        }

    @classmethod
    def from_json(cls, stored: Any) -> TableSchema:
        """Rebuild a schema from what ``json.loads`` gave of :meth:`to_json`, trusting nothing in it.

        Raises
        ------
        ValueError
            If anything is not as :meth:`to_json` writes it.

        Examples
        --------
        >>> TableSchema.from_json({"names": ["size"], "categories": [["S", "M"]]}).n_categories
        array([2], dtype=int32)
        """
        known = {"names", "categories"}
        if not isinstance(stored, dict) or not known <= set(stored) <= known | _OPTIONAL:
            raise ValueError("a table schema must be an object with 'names' and 'categories', and nothing else")
        values = _read_values(stored["values"]) if "values" in stored else ()
        if stored.get("refuses_unknown", True) is not True:
            raise ValueError("'refuses_unknown' of a table schema must be true where it is there")
        names, categories = stored["names"], stored["categories"]
        if names is not None and not isinstance(names, list):
            raise ValueError(f"'names' of a table schema must be null or a list, got {type(names).__name__}")
        if not isinstance(categories, list) or not all(
            found is None or isinstance(found, list) for found in categories
        ):
            raise ValueError("'categories' of a table schema must be a list holding null or a list per column")
        return cls(
            None if names is None else tuple(names),
            tuple(None if found is None else tuple(found) for found in categories),
            "refuses_unknown" in stored,
            values,
            _read_forms(stored["written"]) if "written" in stored else (),
            _read_marks(stored["missing"]) if "missing" in stored else (),
        )

    def _encode_frame(self, frame: nw.DataFrame[Any], n_threads: int, all_known: bool) -> F64:
        names = names_of(frame.columns)
        if names is not None and self.names is not None:
            match_names(self.names, names)
        self._check_width(len(frame.columns))
        columns = columns_of(frame, self.names or names)
        encoded, infinite = np.empty((len(frame), self.n_features)), False
        for start in range(0, self.n_features, _COLUMNS):
            group = columns[start : start + _COLUMNS]
            cells = [_doubles_or_floats(self._cells(column, j, all_known)) for j, column in enumerate(group, start)]
            infinite |= _core.put_together(cells, encoded, start, n_threads)
        if infinite:
            self._refuse_infinity(encoded)
        return encoded

    def _cells(self, column: Column, j: int, all_known: bool) -> NDArray[Any]:
        """Numbers of a column, the codes of its categories, or the numbers that stand for these."""
        categories, values = self.categories[j], self._values[j]
        if categories is None:
            return column.numbers()
        codes = column.codes(categories)
        if all_known or (self.refuses_unknown and categories):  # a model does not look at a column without any
            column.refuse_unknown(codes)
        return codes if values is None else values.numbers(codes, column.missing())

    def _check_width(self, n_columns: int) -> None:
        if n_columns != len(self.categories):
            raise ValueError(f"X has {n_columns} features, but {len(self.categories)} features were learned")

    def _refuse_infinity(self, matrix: F64) -> None:
        # by blocks of rows: the mask of a whole matrix would be an eighth of its size
        step = max(1, 65_536 // max(1, matrix.shape[1]))
        for start in range(0, len(matrix), step):
            infinite = np.isinf(matrix[start : start + step])
            if np.count_nonzero(infinite):
                row, j = np.argwhere(infinite)[0]
                raise ValueError(_infinite(self.column(j), start + row))


def _doubles_or_floats(cells: NDArray[Any]) -> NDArray[np.float64] | NDArray[np.float32]:
    return cells if cells.dtype in (np.float64, np.float32) else cells.astype(np.float64)


def _infinite(name: str, row: int) -> str:
    return f"column {name!r} holds infinity at row {row}; replace it or mark it missing (NaN)"


def _check_names(names: tuple[Any, ...], n_columns: int) -> None:
    if len(names) != n_columns:
        raise ValueError(f"a table schema has {len(names)} names for {n_columns} columns")
    for name in names:
        if not isinstance(name, str) or not is_unicode(name):
            raise ValueError(f"a column name must be text, got {name!r}")
    refuse_duplicates(names)


def _check_categories(categories: tuple[Any, ...], name: str) -> None:
    """Raise unless the categories of a column are distinct, finite and of one kind."""
    if len(categories) > MAX_CATEGORIES:
        raise ValueError(f"column {name!r} has {len(categories)} categories, at most {MAX_CATEGORIES} are possible")
    kinds = {_kind_of_category(category) for category in categories}
    if None in kinds or len(kinds) > 1:
        raise ValueError(f"the categories of column {name!r} must be all text, all finite numbers or all booleans")
    keys = categories if kinds == {"text"} else [float(category) for category in categories]
    if len(set(keys)) != len(keys):
        raise ValueError(f"the categories of column {name!r} must be distinct")


def _check_forms(written: tuple[str | None, ...]) -> None:
    from committee.data.reading.cell_forms import KNOWN  # few models have any

    for form in written:
        if form is not None and form not in KNOWN:
            raise ValueError(f"a table schema knows no way to write numbers {form!r}")


def _read_values(stored: Any) -> tuple[LevelValues | None, ...]:
    from committee.data.level_values import LevelValues  # few models have them

    if not isinstance(stored, list) or all(each is None for each in stored):
        raise ValueError("'values' of a table schema must be a list, not all of it null, where it is there")
    return tuple(None if each is None else LevelValues.from_json(each) for each in stored)


def _read_forms(stored: Any) -> tuple[str | None, ...]:
    if not isinstance(stored, list) or not all(each is None or isinstance(each, str) for each in stored):
        raise ValueError("'written' of a table schema must be a list of text or null where it is there")
    if not any(stored):
        raise ValueError("'written' of a table schema must not be all null")
    return tuple(stored)


def _read_marks(stored: Any) -> tuple[str, ...]:
    if not isinstance(stored, list) or not stored or not all(isinstance(each, str) for each in stored):
        raise ValueError("'missing' of a table schema must be a list of text, not empty, where it is there")
    return tuple(stored)


def _kind_of_category(category: Any) -> str | None:
    if isinstance(category, str):
        return "text" if is_unicode(category) else None
    if isinstance(category, bool):
        return "boolean"
    if isinstance(category, int):
        # 2**1023 and above may have no float64
        return "number" if category.bit_length() < 1024 else None
    if isinstance(category, float):
        return "number" if math.isfinite(category) else None
    return None
