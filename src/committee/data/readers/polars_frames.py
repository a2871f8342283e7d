"""Data frames of any library as frames of polars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data.columns import Column, column_names, is_frame, open_frame, read_columns
from committee.data.dates import restore_times

if TYPE_CHECKING:
    import polars as pl


def polars_frame(X: Any) -> pl.DataFrame:
    """Return a frame of pandas, polars or Arrow as one of polars; raise TypeError for anything else."""
    if not is_frame(X):
        raise TypeError(f"X is {type(X).__name__}; give the path of a file, or a frame (pandas, polars, Arrow)")
    import polars as pl

    frame = open_frame(X)
    names = column_names(frame.columns)
    if names is None:
        raise TypeError("the columns of X have no names; name them, as in X.columns = ['age', 'city']")
    if isinstance(X, pl.DataFrame):
        return X
    columns = read_columns(frame, names)
    times = {column.name: column.form for column in columns if column.form is not None}
    return restore_times(pl.DataFrame([_polars_column(column) for column in columns]), times)


def _polars_column(column: Column) -> pl.Series:
    import polars as pl

    if (column.kind == "number" and not column.declared) or column.seconds is not None:
        return pl.Series(column.name, np.asarray(column.numbers()), nan_to_null=True)
    cells = [None if absent else cell for cell, absent in zip(column.series.to_list(), column.missing(), strict=True)]
    if column.kind == "boolean":
        return pl.Series(column.name, cells, pl.Boolean)
    texts = pl.Series(column.name, [None if cell is None else str(cell) for cell in cells], pl.String)
    if not column.declared:
        return texts
    order = column.order
    return texts.cast(pl.Categorical if order is None else pl.Enum(list(map(str, order))))
