"""Cells of a column in words, as notes and errors name them: the first few, with their rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


def cells_in_rows(column: pl.Series, wrong: pl.Series, limit: int = 3) -> str:
    """Name the first different cells of some, with the row of each, counted from 0.

    Parameters
    ----------
    column : polars.Series
        The cells.
    wrong : polars.Series of bool
        Which of them are meant.
    limit : int, default=3
        How many are named.

    Examples
    --------
    >>> import polars as pl
    >>> cells_in_rows(pl.Series(["1", "?", "?", "x"]), pl.Series([False, True, True, True]))
    "'?' in row 1, 'x' in row 3"
    """
    import polars as pl

    cells = pl.DataFrame({"cell": column, "row": pl.int_range(len(column), eager=True)}).filter(wrong)
    first = cells.unique("cell", keep="first", maintain_order=True)
    shown = ", ".join(f"{cell!r} in row {row:,}" for cell, row in first.head(limit).iter_rows())
    return shown + (f" and {first.height - limit:,} more" if first.height > limit else "")
