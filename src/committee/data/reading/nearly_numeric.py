"""Columns of text that would be numbers but for a few cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from committee.data.reading.cells import as_numbers
from committee.data.reading.number_forms import COMMA, THOUSANDS, numbers

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class NearlyNumeric:
    """A text column nearly all cells of which are numbers: often ones with a mark for missing, say ``?``.

    `values` are the first few distinct cells that are not numbers, `count` is how many cells are not.
    """

    name: str
    values: tuple[str, ...]
    count: int


def nearly_numeric_columns(frame: pl.DataFrame) -> list[NearlyNumeric]:
    """Find text columns at least nine tenths of whose present cells are numbers, though not all.

    Each would be learned as a category per number. Most often one spelling of "missing" is to blame.

    Examples
    --------
    >>> import polars as pl
    >>> nearly_numeric_columns(pl.DataFrame({"age": ["31", "?", *map(str, range(20))]}))
    [NearlyNumeric(name='age', values=('?',), count=1)]
    """
    import polars as pl

    found: list[NearlyNumeric] = []
    for column in frame.get_columns():
        if column.dtype != pl.String:
            continue
        texts = column.drop_nulls()
        others = texts.filter(~are_numbers(texts))
        if 0 < len(others) <= 0.1 * len(texts):
            values = tuple(others.unique(maintain_order=True).head(3).to_list())
            found.append(NearlyNumeric(column.name, values, len(others)))
    return found


def are_numbers(texts: pl.Series) -> pl.Series:
    """Say which texts are numbers, in one way of writing them or another.

    Examples
    --------
    >>> import polars as pl
    >>> are_numbers(pl.Series(["1.5", "1,5", "1,234.5", "?"])).to_list()
    [True, True, True, False]
    """
    return (
        as_numbers(texts).is_not_null() | numbers(texts, COMMA).is_not_null() | numbers(texts, THOUSANDS).is_not_null()
    )
