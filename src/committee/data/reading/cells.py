"""Cells of text: which are missing, and which are numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

MISSING = ("", "NA", "NaN", "nan", "null")
"""Texts that stand for a missing value in a file; every other cell is a value."""


def as_numbers(texts: pl.Series) -> pl.Series:
    """Read text as numbers, null where it is none; the CSV reader leaves ``inf`` and ``+1`` as text.

    Examples
    --------
    >>> import polars as pl
    >>> as_numbers(pl.Series(["+1", " 2.5", "?"])).to_list()
    [1.0, 2.5, None]
    """
    import polars as pl

    return texts.str.strip_chars().cast(pl.Float64, strict=False)


def plain_numbers(column: pl.Series) -> pl.Series | None:
    """Return a column of text as the numbers that its cells are, whole ones as such; None if some are none.

    Examples
    --------
    >>> import polars as pl
    >>> plain_numbers(pl.Series(["1", "NA"])).to_list(), plain_numbers(pl.Series(["1", "x"]))
    ([1, None], None)
    """
    import polars as pl

    present = column.set(column.is_in(MISSING).fill_null(False), None)
    missing = present.null_count()
    if missing == len(present):
        return None
    for numbers in (present.cast(pl.Int64, strict=False), as_numbers(present)):
        if numbers.null_count() == missing:
            return numbers
    return None
