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
