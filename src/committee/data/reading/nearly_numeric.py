"""Columns of text that would be numbers but for a few cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from committee.data.reading.cell_words import cells_in_rows
from committee.data.reading.cells import as_numbers
from committee.data.reading.number_forms import COMMA, THOUSANDS, numbers, sign_in, with_sign

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class NearlyNumeric:
    """A text column nearly all cells of which are numbers: often ones with a mark for missing, say ``?``.

    Parameters
    ----------
    name : str
        The column.
    count : int
        How many cells are no numbers.
    cells : str
        The first few different ones, with their rows.
    """

    name: str
    count: int
    cells: str

    @property
    def words(self) -> str:
        """What keeps the column from being numbers."""
        return f"{'1 cell is no number' if self.count == 1 else f'{self.count:,} cells are no numbers'} ({self.cells})"


def nearly_numeric_columns(frame: pl.DataFrame) -> list[NearlyNumeric]:
    """Find text columns at least nine tenths of whose present cells are numbers, though not all.

    Each would be learned as a category per number. Most often one spelling of "missing" is to blame.

    Examples
    --------
    >>> import polars as pl
    >>> nearly_numeric_columns(pl.DataFrame({"age": ["31", "?", *map(str, range(20))]}))
    [NearlyNumeric(name='age', count=1, cells="'?' in row 1")]
    """
    import polars as pl

    found: list[NearlyNumeric] = []
    for column in frame.get_columns():
        if column.dtype != pl.String:
            continue
        others = ~are_numbers(column) & column.is_not_null()
        if 0 < others.sum() <= 0.1 * (len(column) - column.null_count()):
            found.append(NearlyNumeric(column.name, int(others.sum()), cells_in_rows(column, others)))
    return found


def are_numbers(texts: pl.Series) -> pl.Series:
    """Say which texts are numbers, in one way of writing them or another.

    Examples
    --------
    >>> import polars as pl
    >>> are_numbers(pl.Series(["1.5", "1,5", "1,234.5", "?"])).to_list()
    [True, True, True, False]
    """
    signs = {"", *(sign_in(cell) or "" for cell in texts.drop_nulls().head(3))}
    found = as_numbers(texts).is_not_null()
    for form in (with_sign(base, sign) for sign in signs for base in (COMMA, THOUSANDS)):
        found |= numbers(texts, form).is_not_null()
    return found
