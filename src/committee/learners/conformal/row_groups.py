"""Rows that are judged apart: those of a group, of a class, or of both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any, Self

import numpy as np

from committee.data.frame_columns import is_frame, open_frame
from committee.data.names import known_names
from committee.data.number_types import Index
from committee.data.sparse import is_sparse

Group = str | int | float | bool | None
"""A group by its value; None for rows where it is missing."""


@dataclass(frozen=True, eq=False)
class RowCategories:
    """The categories of rows: each group's rows of each class, where groups and classes are told apart.

    Examples
    --------
    >>> apart = RowCategories.of(["b", "a", "b"], ("no", "yes"))
    >>> apart.numbers(["a", "b", "c"], np.array([1, 0, 0])).tolist()
    [1, 2, -1]
    >>> apart.words(1)
    "class 'yes' in group 'a'"
    """

    groups: Sequence[Group]
    """Those of training, in order; one, None, where they are not told apart."""
    classes: Sequence[Any]
    """The same of classes."""
    grouped: bool

    @classmethod
    def of(cls, groups: Sequence[Group] | None, classes: Sequence[Any] | None) -> Self:
        """Tell the groups of training rows apart, and the classes; None: these are not."""
        known = [None] if groups is None else sorted(set(groups), key=_order)
        return cls(known, [None] if classes is None else list(classes), groups is not None)

    def __len__(self) -> int:
        return len(self.groups) * len(self.classes)

    def numbers(self, groups: Sequence[Group] | None, labels: Index | None) -> Index:
        """Category of each row, or of each row's labels ``(n, K)``; -1 for a group that no training row is of."""
        first = np.zeros(1, dtype=np.intp)
        if groups is not None:
            place = {group: number for number, group in enumerate(self.groups)}
            first = np.array([place.get(group, -1) for group in groups], dtype=np.intp)
        if labels is None or len(self.classes) == 1:
            return first
        first = first[:, None] if labels.ndim == 2 else first
        return np.where(first < 0, -1, first * len(self.classes) + labels)

    def words(self, category: int) -> str:
        """Return a category in words."""
        group, k = divmod(category, len(self.classes))
        of_class = [f"class {self.classes[k]!r}"] if len(self.classes) > 1 else []
        of_group = [group_words(self.groups[group])] if self.grouped else []
        return " in ".join([*of_class, *of_group]) or "all rows"


def group_words(group: Group) -> str:
    """Return a group in words.

    Examples
    --------
    >>> group_words("a"), group_words(None)
    ("group 'a'", 'a missing group')
    """
    return "a missing group" if group is None else f"group {group!r}"


def group_of_rows(X: Any, groups: Any, column: str | int | None, n: int) -> list[Group] | None:
    """Return the group of each row: as given, or by a column of the table; None where there are none.

    Raises
    ------
    ValueError
        If both are given, there is no such column, or not one group for each row.
    """
    if column is None:
        if groups is None:
            return None
        values = groups.to_list() if hasattr(groups, "to_list") else _vector(groups)
    elif groups is not None:
        raise ValueError(f"group_by={column!r} names the column of groups, and groups are given too; leave one out.")
    else:
        values = _column(X, column)
    if len(values) != n:
        raise ValueError(f"groups has {len(values)} entries; X has {n} rows, which need one each.")
    return list(_known(values))


def _vector(groups: Any) -> list[Any]:
    """Return groups as a list, those of one column too."""
    array = np.asarray(groups, dtype=object)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"groups has the shape {array.shape}; give one value for each row.")
    return list(array.tolist())


def _column(X: Any, column: str | int) -> list[Any]:
    """Return the cells of a column, by its name or its place."""
    if isinstance(column, str):
        if not is_frame(X):
            raise ValueError(f"group_by={column!r} is a name, and X has no named columns; give the column's place.")
        frame = open_frame(X)
        known_names((column,), tuple(frame.columns), "group_by")
        return list(frame[column].to_list())
    width = X.shape[1] if hasattr(X, "shape") else len(X[0])
    if not 0 <= column < width:
        raise ValueError(f"group_by={column!r} is no column of X, which has {width}, numbered from 0.")
    if is_frame(X):
        frame = open_frame(X)
        return list(frame[frame.columns[column]].to_list())
    cells = X[:, [column]].toarray()[:, 0] if is_sparse(X) else np.asarray(X)[:, column]
    return list(cells.tolist())


def _known(values: Iterable[Any]) -> Iterable[Group]:
    for value in values:
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or value is not value or (isinstance(value, float) and isnan(value)):
            yield None
        elif isinstance(value, str | int | float | bool):
            yield value
        else:
            text = str(value)  # such as a date
            yield None if text in ("NaT", "<NA>") else text


def _order(group: Group) -> tuple[str, Any]:
    """Numbers by size, texts by letters, and last what is missing."""
    if group is None:
        return ("~", 0)
    return ("text", group) if isinstance(group, str) else ("number", group)
