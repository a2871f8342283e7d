"""Monotone and interaction constraints: from the parameters of users to directions and groups of columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.data.table_schema import TableSchema, column_number

# --- monotone constraints ---------------------------------------------------------------------------------------------


def directions(constraints: Any, table: TableSchema) -> NDArray[np.int8] | None:
    if constraints is None:
        return None
    p = len(table.categorical)
    if isinstance(constraints, Mapping):
        by_column: dict[int, Any] = {}
        for column, direction in constraints.items():
            j = column_number(column, table, "monotonic_constraints")
            if j in by_column:
                raise ValueError(f"monotonic_constraints has column {table.column(j)!r} twice, by name and number.")
            by_column[j] = direction
        constraints = [by_column.get(j, 0) for j in range(p)]
    given = np.asarray(constraints, dtype=object)  # which makes no text of the numbers beside it
    if given.shape != (p,):
        raise ValueError(
            f"monotonic_constraints has directions of shape {given.shape} for a score; give one of -1, 0 and 1 for "
            f"each of the {p} columns, or a dict of columns."
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
    if isinstance(constraints, Mapping) and not constraints:
        return None
    several, by_name = _is_per_score(constraints), isinstance(constraints, Mapping)
    if n_scores == 1:
        if several:
            raise ValueError(
                "monotonic_constraints holds dicts or lists, as for several scores, but here each row has one; give "
                "one direction for each column (with two classes: of the score of the second)."
            )
        of_score = [constraints]
    elif classes is None:
        if several and by_name:
            raise ValueError(
                f"monotonic_constraints is a dict of dicts or lists, as for classes, but the {n_scores} predicted "
                "numbers of a row have no names; give a list with one dict or row for each."
            )
        of_score = _rows(constraints, n_scores, "predicted number") if several else [constraints] * n_scores
    elif not several:
        raise ValueError(
            f"monotonic_constraints has directions for all classes together, but each of the {n_scores} classes has a "
            f"score of its own; give it by class, as in {{{classes.tolist()[-1]!r}: {{column: 1}}}}, or one row for "
            "each."
        )
    elif by_name:
        known = classes.tolist()
        unknown = [label for label in constraints if label not in known]
        if unknown:
            raise ValueError(
                f"monotonic_constraints has the key {unknown[0]!r}, which is not a class of y; its classes are {known}."
            )
        of_score = [constraints.get(label) for label in known]
    else:
        of_score = _rows(constraints, n_scores, "class")
    found = [directions(each, table) for each in of_score]
    if all(each is None for each in found):
        return None
    return np.array([np.zeros(table.n_features, dtype=np.int8) if each is None else each for each in found])


def _rows(constraints: Any, n_scores: int, of: str) -> list[Any]:
    if len(constraints) != n_scores:
        raise ValueError(f"monotonic_constraints has {len(constraints)} rows; it needs one for each {of}, {n_scores}.")
    return list(constraints)


def columns_with_directions(constraints: Any) -> list[Any]:
    parts = _parts(constraints) if _is_per_score(constraints) else [constraints]
    return [column for part in parts if isinstance(part, Mapping) for column in part]


def _is_per_score(constraints: Any) -> bool:
    return any(np.iterable(part) and not isinstance(part, str) for part in _parts(constraints))


def _parts(constraints: Any) -> Iterable[Any]:
    return constraints.values() if isinstance(constraints, Mapping) else constraints


# --- interaction constraints ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Interactions:
    """Limits of the columns that one root-to-leaf path splits on."""

    most: int = 0  # columns of a path; 0: any number
    # sets of columns in rising order, one of which holds all columns of a path; empty: no limit
    groups: list[NDArray[np.int32]] = field(default_factory=list)


def interactions(constraints: Any, table: TableSchema) -> Interactions:
    if isinstance(constraints, str):
        return Interactions({"no_interactions": 1, "pairwise": 2}[constraints])
    groups = [
        {column_number(each, table, "interaction_constraints") for each in group} for group in _groups(constraints)
    ]
    groups.append(set(range(table.n_features)).difference(*groups))
    if any(len(group) == table.n_features for group in groups):
        return Interactions()
    return Interactions(groups=[np.array(sorted(group), dtype=np.int32) for group in groups if group])


def columns_in_groups(constraints: Any) -> list[Any]:
    if isinstance(constraints, str):
        return []
    return [column for group in _groups(constraints) for column in group]


def _groups(constraints: Any) -> Iterator[Iterable[Any]]:
    for group in constraints.tolist() if isinstance(constraints, np.ndarray) else constraints:
        if isinstance(group, str) or not isinstance(group, Iterable):
            raise TypeError(
                f"interaction_constraints has {group!r} where a group of columns belongs; write [{group!r}] for a "
                "group of one."
            )
        yield group
