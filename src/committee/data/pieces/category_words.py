"""Numbers that stand for categories as long as it is not known which there are, and so what their codes will be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from committee.data.columns import Category, Column
from committee.data.number_types import F64


def words_of(categories: Sequence[Category]) -> F64:
    """Return a number for each category: itself, or one that depends on its text and hardly ever is that of another.

    Examples
    --------
    >>> words_of((1, 2.5)).tolist(), words_of(("a", "b", "a")).tolist()
    ([1.0, 2.5], [3904355907.0, 1908338681.0, 3904355907.0])
    """
    return np.array([crc32(each.encode()) if isinstance(each, str) else each for each in categories], dtype=np.float64)


def sampled_words(column: Column, rows: NDArray[np.intp]) -> F64:
    """Return the numbers of the categories in some rows of a column, NaN where the cell is missing.

    Examples
    --------
    >>> import narwhals as nw, polars as pl
    >>> series = nw.from_native(pl.Series(["a", None, "b"]), series_only=True)
    >>> sampled_words(Column.read(series, "letter"), np.array([1, 2]))
    array([           nan, 1.90833868e+09])
    """
    some = replace(column, series=column.series[rows])
    if column.kind != "text":
        return some.numbers().astype(np.float64)
    found = some.distinct()
    codes = some.codes(found)
    return np.append(words_of(found), np.nan)[np.where(np.isnan(codes), -1, codes).astype(np.intp)]
