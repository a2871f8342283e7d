"""Parameters that name columns: numbers of columns by name, and weights of the draws of columns."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.data.columns import is_frame
from committee.data.number_types import is_number
from committee.data.table_schema import TableSchema
from committee.data.text import quoted, suggest_names

LARGEST_WEIGHT = 2**32 - 1  # integer of the largest weight: integers make draws the same on every machine


def column_number(column: Any, table: TableSchema, parameter: str) -> int:
    if isinstance(column, str):
        names = table.names or ()
        if column not in names:
            known = suggest_names(column, names) if names else "the columns of X have no names, give numbers"
            raise ValueError(f"{parameter} names {column!r}, which is not a column of X; {known}")
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
    if not any(isinstance(column, Integral) for column in columns) or not is_frame(X):
        return
    names = list(X.columns)
    if any(isinstance(name, Integral) for name in names) and names != list(range(len(names))):
        raise ValueError(
            f"{parameter} gives columns by number, and the columns of X have other numbers for names, "
            f"{quoted(names, 5)}: a number may mean a position or a name. Make the names text, X.columns = "
            "X.columns.astype(str), and give names."
        )


def feature_weights(given: Any, table: TableSchema) -> NDArray[np.uint32]:
    p = table.n_features
    if isinstance(given, Mapping):
        listed: list[Any] = [1.0] * p
        for column, weight in given.items():
            listed[column_number(column, table, "feature_weights")] = weight
    else:
        listed = list(given)
    if len(listed) != p:
        raise ValueError(f"feature_weights has {len(listed)} weights; it needs one for each of the {p} columns.")
    for j, weight in enumerate(listed):
        if not is_number(weight) or not 0.0 <= weight <= sys.float_info.max:
            raise ValueError(
                f"feature_weights has {weight!r} for column {table.column(j)!r}; weights are finite numbers from 0 on."
            )
    weights = np.array(listed, dtype=np.float64)
    if not weights.any():
        raise ValueError("feature_weights is 0 for every column; at least one must be drawn.")
    whole = np.rint(weights / weights.max() * LARGEST_WEIGHT)
    return np.where(weights > 0.0, np.maximum(whole, 1.0), 0.0).astype(np.uint32)


def check_draws(weights: NDArray[np.uint32] | None, of_tree: int, of_node: int) -> None:
    """`of_tree` and `of_node` are the numbers of columns that a tree and a node draw; 0 without a draw."""
    if weights is not None and not of_node and of_tree in (0, len(weights)):
        raise ValueError(
            "feature_weights weigh draws of columns, but here every node has all columns; set max_features, or "
            "max_features_tree where the learner has it, to fewer."
        )
