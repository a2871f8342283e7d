"""Monotone constraints: from what users write to a direction for every score and column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.data.frames import TableSchema


def directions(constraints: Any, table: TableSchema) -> NDArray[np.int8] | None:
    """The direction in which a score may move with each column.

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


def directions_of_scores(
    constraints: Any, table: TableSchema, n_scores: int, classes: NDArray[Any] | None
) -> NDArray[np.int8] | None:
    """The direction in which each score may move with each column.

    Parameters
    ----------
    constraints : mapping, array-like or None
        As `directions` for one score. More than two classes: a mapping of classes, or one row for each of them.
        Several numbers: one row for each, or the directions of all of them.
    table : TableSchema
        The columns.
    n_scores : int
        Scores of a row.
    classes : array (K,) or None
        The classes; None where numbers are predicted.

    Returns
    -------
    int8 array (n_scores, p) or None
        None if all are free.

    Raises
    ------
    ValueError
        As `directions`; or if a class is unknown, or the directions are not said by class.
    """
    if constraints is None:
        return None
    if n_scores == 1:
        of_score = [_of_one(constraints)]
    elif classes is None:
        one_for_all = isinstance(constraints, Mapping) or np.ndim(constraints) == 1
        of_score = [constraints] * n_scores if one_for_all else _rows(constraints, n_scores, "predicted number")
    elif isinstance(constraints, Mapping) and not any(np.isscalar(each) for each in constraints.values()):
        of_score = _by_class(constraints, classes)
    elif isinstance(constraints, Mapping) or np.ndim(constraints) == 1:
        raise ValueError(
            f"monotonic_constraints has one direction for each column, but each of the {n_scores} classes has a score "
            f"of its own; say it by class, as in {{{classes.tolist()[-1]!r}: {{column: 1}}}}, or with one row for each."
        )
    else:
        of_score = _rows(constraints, n_scores, "class")
    found = [directions(each, table) for each in of_score]
    if all(each is None for each in found):
        return None
    return np.array([np.zeros(table.n_features, dtype=np.int8) if each is None else each for each in found])


def _of_one(constraints: Any) -> Any:
    """The constraints, where there is one score."""
    if isinstance(constraints, Mapping) and not all(np.isscalar(each) for each in constraints.values()):
        raise ValueError(
            "monotonic_constraints is a dict of dicts or lists, as for more than two classes, but here each row has "
            "one score; give one direction for each column (with two classes that of the second)."
        )
    return constraints


def _by_class(constraints: Mapping[Any, Any], classes: NDArray[Any]) -> list[Any]:
    """The constraints in the order of the classes; None for those that have none."""
    known = classes.tolist()
    unknown = [label for label in constraints if label not in known]
    if unknown:
        raise ValueError(
            f"monotonic_constraints has the key {unknown[0]!r}, which is no class of y; its classes are {known}."
        )
    return [constraints.get(label) for label in known]


def _rows(constraints: Any, n_scores: int, of: str) -> list[Any]:
    if len(constraints) != n_scores:
        raise ValueError(f"monotonic_constraints has {len(constraints)} rows; it needs one for each {of}, {n_scores}.")
    return list(constraints)


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
