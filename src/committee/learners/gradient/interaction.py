"""Interaction constraints: from what users write to the columns that may meet on a path of a tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.data.frames import TableSchema
from committee.learners.gradient.constrained_columns import column_number

PARAMETER = "interaction_constraints"


@dataclass(frozen=True)
class Interactions:
    """Limits of the columns that the splits on one path from a root to a leaf use."""

    most: int = 0
    """Columns of a path; 0: any number."""
    groups: list[NDArray[np.int32]] = field(default_factory=list)
    """Sets of columns in rising order, of which one holds all of a path; none: no matter which."""


def interactions(constraints: Any, table: TableSchema) -> Interactions:
    """Return the limits that the constraints ask for.

    Parameters
    ----------
    constraints : {"pairwise", "no_interactions"}, iterable of groups of columns, or None
        Columns are names or numbers; those that are in no group are one more group, as in scikit-learn.
    table : TableSchema
        The columns.

    Raises
    ------
    TypeError
        If the constraints are no iterable of groups, or a column is neither a name nor a number.
    ValueError
        If a column is unknown.

    Examples
    --------
    >>> import polars as pl
    >>> from committee.data.frames import TableSchema
    >>> table = TableSchema.learn(pl.DataFrame({"size": [1.0], "age": [2.0], "height": [3.0]}))
    >>> [group.tolist() for group in interactions([["size", "height"]], table).groups]
    [[0, 2], [1]]
    >>> interactions("pairwise", table).most
    2
    """
    if constraints is None:
        return Interactions()
    if isinstance(constraints, str):
        return Interactions({"no_interactions": 1, "pairwise": 2}[constraints])
    groups = [{column_number(each, table, PARAMETER) for each in group} for group in _groups(constraints)]
    groups.append(set(range(table.n_features)).difference(*groups))
    if any(len(group) == table.n_features for group in groups):
        return Interactions()
    return Interactions(groups=[np.array(sorted(group), dtype=np.int32) for group in groups if group])


def columns_in_groups(constraints: Any) -> list[Any]:
    """Return the names and numbers of columns that constraints hold."""
    if constraints is None or isinstance(constraints, str):
        return []
    return [column for group in _groups(constraints) for column in group]


def _groups(constraints: Any) -> Iterator[Iterable[Any]]:
    for group in constraints.tolist() if isinstance(constraints, np.ndarray) else constraints:
        if isinstance(group, str) or not isinstance(group, Iterable):
            raise TypeError(
                f"{PARAMETER} has {group!r} where a group of columns belongs; write [{group!r}] for a group of one."
            )
        yield group
