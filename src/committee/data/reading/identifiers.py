"""Columns that number or name the rows, from which nothing can be learned about new ones."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

LEAST_ROWS = 20
"""Shorter tables say nothing: a handful of measurements is soon all different, and in order."""

DISTINCT_TEXT = 0.95
"""Text that is different in a larger share of the rows names them."""

_NAME = re.compile(
    r"(^|[^a-z])(id|ids|uuid|guid|pk)([^a-z]|$)"
    r"|(^|[^a-z])(no|nr|number|key)[^a-z]*$"  # a number of something is a count
    r"|^(row.?)?(index|idx)$"
)


@dataclass(frozen=True)
class IdLike:
    """A column that seems to number or name the rows, and why."""

    name: str
    reason: str


def id_like_columns(frame: pl.DataFrame) -> list[IdLike]:
    """Find columns that number or name the rows.

    Integers that are all different and count the rows by equal steps, or are a permutation of consecutive numbers, or
    have a name like ``id``, ``customer_no``, ``rowIndex``; text that is different in more than 95 % of the rows.
    Tables under 20 rows say nothing. Other numbers are never id-like: measurements may all differ, and tables be
    sorted by one.

    Parameters
    ----------
    frame : polars.DataFrame
        The table, without its labels.

    Returns
    -------
    list of IdLike

    Examples
    --------
    >>> import polars as pl
    >>> id_like_columns(pl.DataFrame({"row": range(30), "x": [0.5] * 30}))
    [IdLike(name='row', reason='counts the rows')]
    """
    if frame.height < LEAST_ROWS:
        return []
    reasons = ((column.name, _reason(column)) for column in frame.get_columns())
    return [IdLike(name, reason) for name, reason in reasons if reason is not None]


def is_named_like_an_identifier(name: str) -> bool:
    """Say whether a column's name says that it names rows, as pandas' for row numbers does.

    Examples
    --------
    >>> [is_named_like_an_identifier(name) for name in ("customerId", "Row No.", "", "idle", "number of rooms")]
    [True, True, True, False, False]
    """
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    return not name or name.startswith("Unnamed: ") or _NAME.search(words) is not None


def _reason(column: pl.Series) -> str | None:
    """Why a column seems to name the rows; None if it does not."""
    import polars as pl

    n = len(column)
    if column.dtype == pl.String:
        distinct = column.drop_nulls().n_unique()
        return f"is text with {distinct:,} different values in {n:,} rows" if distinct > DISTINCT_TEXT * n else None
    if not column.dtype.is_integer() or column.null_count() or column.n_unique() != n:
        return None
    if column.cast(pl.Int128).diff().drop_nulls().n_unique() == 1:
        return "counts the rows"
    if int(column.max()) - int(column.min()) == n - 1:  # type: ignore[arg-type]
        return f"holds each of {n:,} consecutive numbers once"
    return f"has another number in each of the {n:,} rows" if is_named_like_an_identifier(column.name) else None
