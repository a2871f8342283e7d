"""Texts that stand for a missing value: those that a user names, and those that are common, in columns of numbers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

COMMON = frozenset((
    "", "?", "-", "--", "\u2013", "\u2014", ".", "..", "...", "na", "n/a", "#n/a", "n.a.", "n.a", "k.a.", "nan", "null",
    "#null!", "none", "nil", "<na>", "missing", "unknown",
))  # fmt: skip
"""Texts, in small letters, that mean missing in a column all other cells of which are numbers, dates or times."""


def are_common_marks(texts: pl.Series) -> pl.Series:
    """Say which texts are common marks for a missing value.

    Examples
    --------
    >>> import polars as pl
    >>> are_common_marks(pl.Series(["?", "N/A ", "7", None])).to_list()
    [True, True, False, False]
    """
    return texts.str.strip_chars().str.to_lowercase().is_in(list(COMMON)).fill_null(False)


def mark_counts(texts: pl.Series, marked: pl.Series) -> Counter[str]:
    """Count the marks of a column."""
    return Counter(dict(texts.filter(marked).value_counts(sort=True).iter_rows()))


def words_of_marks(name: str, marks: Mapping[str, int], *, learned: bool = False) -> str:
    """Note on marks of a column that are read as missing; `learned`: as a model has learned from numbers there.

    Examples
    --------
    >>> words_of_marks("age", {"?": 3, "n/a": 1}, learned=True)
    "column 'age': 4 cells are read as missing ('?' 3 times, 'n/a' once), as the model learned from numbers or dates"
    """
    import shlex

    n = sum(marks.values())
    frequent = sorted(marks.items(), key=lambda each: (-each[1], each[0]))[:5]
    shown = ", ".join(f"{mark!r} {'once' if k == 1 else f'{k:,} times'}" for mark, k in frequent)
    what = "1 cell is" if n == 1 else f"{n:,} cells are"
    why = (
        "as the model learned from numbers or dates"
        if learned
        else f"as all others are numbers or dates; --categorical {shlex.quote(name)} takes them for categories"
    )
    return f"column {name!r}: {what} read as missing ({shown}), {why}"


def without_marks(frame: pl.DataFrame, marks: Sequence[str], but: Sequence[str] = ()) -> pl.DataFrame:
    """Return a table in which the cells that a user takes for missing are: equal text, or an equal number.

    Parameters
    ----------
    frame : polars.DataFrame
        The table.
    marks : sequence of str
        What means missing.
    but : sequence of str
        Columns that stay as they are.

    Examples
    --------
    >>> import polars as pl
    >>> without_marks(pl.DataFrame({"age": [31.0, -999.0], "city": ["Oslo", "?"]}), ["?", "-999"]).rows()
    [(31.0, 'Oslo'), (None, None)]
    """
    if not marks:
        return frame
    columns = (column for column in frame.get_columns() if column.name not in but)
    return frame.with_columns(_without_marks(column, marks) for column in columns)


def _without_marks(column: pl.Series, marks: Sequence[str]) -> pl.Series:
    import polars as pl

    if column.dtype in (pl.String, pl.Categorical, pl.Enum):
        found = column.cast(pl.String).str.strip_chars().is_in(list(marks))
    elif column.dtype.is_numeric():
        numbers = [value for value in map(_number, marks) if value is not None]
        found = column.cast(pl.Float64).is_in(numbers)
    else:
        return column
    if not found.any():
        return column
    return pl.select(pl.when(~found.fill_null(False)).then(column).alias(column.name)).to_series()


def _number(text: str) -> float | None:
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        return None
    return value if math.isfinite(value) else None
