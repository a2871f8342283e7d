"""Monotone constraints: from what users write to a direction for every column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.data.frames import TableSchema


def directions(constraints: Any, table: TableSchema) -> NDArray[np.int8] | None:
    """The direction in which predictions may move with each column.

    Parameters
    ----------
    constraints : mapping of column names, array-like (p,), or None
        -1: never rises with the column, 1: never falls, 0 (and columns not named): free.
    table : TableSchema
        The columns.

    Returns
    -------
    int8 array (p,) or None
        None if all are free.

    Raises
    ------
    ValueError
        If a column is unknown or categorical, a direction is none of the three, or there is not one per column.

    Examples
    --------
    >>> import polars as pl
    >>> from committee.data.frames import TableSchema
    >>> directions({"age": 1}, TableSchema.learn(pl.DataFrame({"size": [1.0], "age": [2.0]}))).tolist()
    [0, 1]
    """
    if constraints is None:
        return None
    p = len(table.categorical)
    given = _by_name(constraints, table) if isinstance(constraints, Mapping) else np.asarray(constraints)
    if given.shape != (p,):
        raise ValueError(
            f"monotonic_constraints has shape {given.shape}; it needs one of -1, 0 and 1 for each of the {p} columns."
        )
    for j, direction in enumerate(given.tolist()):
        if direction not in (-1, 0, 1):
            raise ValueError(f"monotonic_constraints has {direction!r} for column {table.column(j)!r}; use -1, 0 or 1.")
        if direction and table.n_levels[j]:
            raise ValueError(
                f"monotonic_constraints has {direction} for column {table.column(j)!r}, whose categories have no "
                "order; use 0, or make it a number."
            )
    return given.astype(np.int8) if given.any() else None


def _by_name(constraints: Mapping[Any, Any], table: TableSchema) -> NDArray[Any]:
    """The constraints in the order of the columns."""
    names = list(table.names) if table.names is not None else []
    unknown = [name for name in constraints if name not in names]
    if unknown:
        raise ValueError(
            f"monotonic_constraints names {unknown[0]!r}, which is no column of X; "
            + (f"the columns are {names}." if names else "X is an array without names, give one number per column.")
        )
    return np.array([constraints.get(name, 0) for name in names])
