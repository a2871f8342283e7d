"""Monotone constraints: from what users write to a direction for every score and column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.data.frames import TableSchema
from committee.learners.gradient.constrained_columns import column_number

PARAMETER = "monotonic_constraints"


def directions(constraints: Any, table: TableSchema) -> NDArray[np.int8] | None:
    """The direction in which a score may move with each column.

    Parameters
    ----------
    constraints : mapping of columns by name or number, array-like (p,), or None
        -1: never rises with the column, 1: never falls, 0 (and columns not named): free.
    table : TableSchema
        The columns.

    Returns
    -------
    int8 array (p,) or None
        None if all are free.

    Raises
    ------
    TypeError
        If a column is neither a name nor a number.
    ValueError
        If a column is unknown, categorical or given twice, a direction is none of the three, or there is not one per
        column.

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
    listed = _by_column(constraints, table) if isinstance(constraints, Mapping) else constraints
    given = np.asarray(listed, dtype=object)  # which makes no text of the numbers beside it
    if given.shape != (p,):
        raise ValueError(
            f"monotonic_constraints has shape {given.shape}; it needs one of -1, 0 and 1 for each of the {p} columns, "
            "or a dict of columns."
        )
    for j, direction in enumerate(given.tolist()):
        if direction not in (-1, 0, 1) or isinstance(direction, bool):
            raise ValueError(f"monotonic_constraints has {direction!r} for column {table.column(j)!r}; use -1, 0 or 1.")
        if direction and table.n_levels[j]:
            raise ValueError(
                f"monotonic_constraints has {direction} for column {table.column(j)!r}, whose categories have no "
                "order; use 0, or make it a number."
            )
    signs = given.astype(np.int8)
    return signs if signs.any() else None


def directions_of_scores(
    constraints: Any, table: TableSchema, n_scores: int, classes: NDArray[Any] | None
) -> NDArray[np.int8] | None:
    """The direction in which each score may move with each column.

    Parameters
    ----------
    constraints : mapping, array-like or None
        As `directions` for one score. More than two classes: a mapping of classes, or one row or mapping for each of
        them. Several numbers: one row or mapping for each, or the directions of all of them.
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
    if constraints is None or (isinstance(constraints, Mapping) and not constraints):
        return None
    if n_scores == 1:
        of_score = [_of_one(constraints)]
    elif classes is None:
        several = _is_for_each(constraints)
        if several and isinstance(constraints, Mapping):
            raise ValueError(
                f"monotonic_constraints is a dict of dicts or lists, as for classes, but the {n_scores} predicted "
                "numbers of a row have no names; give a list with one dict or row for each."
            )
        of_score = _rows(constraints, n_scores, "predicted number") if several else [constraints] * n_scores
    elif not _is_for_each(constraints):
        raise ValueError(
            f"monotonic_constraints has one direction for each column, but each of the {n_scores} classes has a score "
            f"of its own; say it by class, as in {{{classes.tolist()[-1]!r}: {{column: 1}}}}, or with one row for each."
        )
    elif isinstance(constraints, Mapping):
        of_score = _by_class(constraints, classes)
    else:
        of_score = _rows(constraints, n_scores, "class")
    found = [directions(each, table) for each in of_score]
    if all(each is None for each in found):
        return None
    return np.array([np.zeros(table.n_features, dtype=np.int8) if each is None else each for each in found])


def _of_one(constraints: Any) -> Any:
    """The constraints, where there is one score."""
    if _is_for_each(constraints):
        raise ValueError(
            "monotonic_constraints holds dicts or lists, as for more than two classes, but here each row has one "
            "score; give one direction for each column (with two classes that of the second)."
        )
    return constraints


def columns_with_directions(constraints: Any) -> list[Any]:
    """Return the names and numbers of columns that constraints hold as keys."""
    if constraints is None:
        return []
    parts = _parts(constraints) if _is_for_each(constraints) else [constraints]
    return [column for part in parts if isinstance(part, Mapping) for column in part]


def _is_for_each(constraints: Any) -> bool:
    """Whether constraints are not directions, but have several for each score."""
    return any(np.iterable(part) and not isinstance(part, str) for part in _parts(constraints))


def _parts(constraints: Any) -> Iterable[Any]:
    return constraints.values() if isinstance(constraints, Mapping) else constraints


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


def _by_column(constraints: Mapping[Any, Any], table: TableSchema) -> list[Any]:
    """The constraints in the order of the columns."""
    found: dict[int, Any] = {}
    for column, direction in constraints.items():
        j = column_number(column, table, PARAMETER)
        if j in found:
            raise ValueError(f"monotonic_constraints has column {table.column(j)!r} twice, by name and number.")
        found[j] = direction
    return [found.get(j, 0) for j in range(table.n_features)]
