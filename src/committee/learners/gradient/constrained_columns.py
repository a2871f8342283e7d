"""Columns as constraints name them: by name, or by number where that can mean one column only."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any

from committee.data.frame_columns import is_frame
from committee.data.frames import TableSchema
from committee.data.names import hint_of_names, listing


def column_number(column: Any, table: TableSchema, parameter: str) -> int:
    """Return the number of a column given by name or number; errors call the constraints by their parameter.

    Raises
    ------
    TypeError
        If it is neither a name nor a number.
    ValueError
        If there is no such column.

    Examples
    --------
    >>> from committee.data.frames import TableSchema
    >>> table = TableSchema(("size", "age"), (None, None))
    >>> column_number("age", table, "monotonic_constraints"), column_number(0, table, "monotonic_constraints")
    (1, 0)
    """
    if isinstance(column, str):
        names = table.names or ()
        if column not in names:
            known = hint_of_names(column, names) if names else "X is an array without names, give numbers"
            raise ValueError(f"{parameter} names {column!r}, which is no column of X; {known}")
        return names.index(column)
    if not isinstance(column, Integral) or isinstance(column, bool):
        raise TypeError(
            f"{parameter} has {column!r} of type {type(column).__name__} for a column; use names or whole numbers."
        )
    number = int(column)
    if not 0 <= number < table.n_features:
        raise ValueError(f"{parameter} has column {number}; X has columns 0 to {table.n_features - 1}.")
    return number


def refuse_ambiguous(columns: Iterable[Any], X: Any, parameter: str) -> None:
    """Refuse columns given by number where the columns of X have other numbers for names, as pandas allows.

    Raises
    ------
    ValueError
        If a number could be a name as well as a place.

    Examples
    --------
    >>> import pandas as pd
    >>> refuse_ambiguous([1], pd.DataFrame([[0.5, 1.5]]), "interaction_constraints")
    """
    if not any(isinstance(column, Integral) for column in columns) or not is_frame(X):
        return
    names = list(X.columns)
    if any(isinstance(name, Integral) for name in names) and names != list(range(len(names))):
        raise ValueError(
            f"{parameter} gives columns by number, and the columns of X have other numbers for names, "
            f"{listing(names, 5)}: it could mean either. Make the names text, X.columns = X.columns.astype(str), and "
            "give them."
        )
