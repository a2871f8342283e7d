"""The cells into which the splits of trees part all rows, as whole-number variables, and the leaves that meet there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64, Index, Mask
from committee.voters.decided_splits import category_sides
from committee.voters.forest import Forest


@dataclass(frozen=True, eq=False)
class Column:
    """The values of one column that the trees tell apart.

    Parameters
    ----------
    feature : int
    values : float64 array (V,)
        A value of each kind: in numbers, one between neighbouring thresholds, rising; NaN at the end where missing
        values go a way of their own. Of categories, one of those that always go together, NaN where that is any other.
    numbers : bool
        Whether splits are at thresholds.
    """

    feature: int
    values: F64
    numbers: bool

    @property
    def has_missing(self) -> bool:
        """Whether the last of the numbers is NaN."""
        return self.numbers and bool(np.isnan(self.values[-1]))

    @property
    def n_numbers(self) -> int:
        """Values that are no NaN, where splits are at thresholds."""
        return len(self.values) - self.has_missing


@dataclass(frozen=True, eq=False)
class VoteCells:
    """Every cell is a value of each column.

    Parameters
    ----------
    forest : Forest
    columns : tuple of Column
        Those that trees split on.
    takes : tuple of bool arrays (N, V)
        For each column, the values with which a row can come to a node.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from committee import Committee
    >>> from committee.learners.trained.vote_cells import VoteCells
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = Committee.from_estimator(RandomForestClassifier(3, max_depth=2, random_state=0).fit(X, y)).voters
    >>> cells = VoteCells.of(forest)
    >>> [(column.feature, len(column.values)) for column in cells.columns], cells.number
    ([(0, 2), (2, 3), (3, 5)], 30)
    """

    forest: Forest
    columns: tuple[Column, ...]
    takes: tuple[Mask, ...]

    @classmethod
    def of(cls, forest: Forest) -> VoteCells:
        """The cells of a forest.

        Raises
        ------
        ValueError
            If a column is split at thresholds and by categories.
        """
        words = np.diff(forest.category_offset)
        split = forest.feature >= 0
        sides = category_sides(forest)
        columns, takes = [], []
        for feature in np.unique(forest.feature[split]).tolist():
            nodes = np.flatnonzero(forest.feature == feature)
            if (words[nodes] > 0).any() and (words[nodes] == 0).any():
                raise ValueError(
                    f"ensemble splits column {feature} both at thresholds and by categories; train it on a table whose "
                    "columns are one or the other."
                )
            if words[nodes].any():
                column, left = _categories(feature, np.stack([sides[node] for node in nodes.tolist()]))
            else:
                column, left = _numbers(feature, forest.threshold[nodes], forest.missing_left[nodes] == 1)
            columns.append(column)
            takes.append(_reach(forest, nodes, left))
        return cls(forest, tuple(columns), tuple(takes))

    @property
    def number(self) -> int:
        """Number of cells."""
        product = 1
        for column in self.columns:
            product *= len(column.values)
        return product

    def row(self, chosen: Index) -> F64:
        """A row of the encoded matrix that has these values; other columns are 0."""
        row = np.zeros(self.forest.n_features)
        for column, value in zip(self.columns, chosen.tolist(), strict=True):
            row[column.feature] = column.values[value]
        return row

    def random_rows(self, n: int, rng: np.random.Generator) -> F64:
        """Rows of cells drawn at random."""
        X = np.zeros((n, self.forest.n_features))
        for column in self.columns:
            X[:, column.feature] = column.values[rng.integers(len(column.values), size=n)]
        return X

    def neighbours(self, row: F64) -> F64:
        """Rows that differ from one in the value of one column."""
        many = []
        for column in self.columns:
            moved = np.repeat(row[None], len(column.values), axis=0)
            moved[:, column.feature] = column.values
            many.append(moved)
        return np.concatenate(many)

    def all_rows(self) -> Iterator[F64]:
        """A row of every cell, some thousands at a time."""
        sizes = [len(column.values) for column in self.columns]
        step = 1 << 14
        for first in range(0, self.number, step):
            cell = np.arange(first, min(first + step, self.number))
            X = np.zeros((len(cell), self.forest.n_features))
            for column, size in zip(self.columns, sizes, strict=True):
                X[:, column.feature] = column.values[cell % size]
                cell //= size
            yield X


def _numbers(feature: int, threshold: F64, missing_left: Mask) -> tuple[Column, Mask]:
    """A column that is split at thresholds, and which of its values go left at each split."""
    cuts = np.unique(threshold)
    above = np.nextafter(cuts[-1], np.inf)
    values = cuts if np.isinf(cuts[-1]) else np.append(cuts, above)
    if np.isinf(cuts[-1]):  # below infinity, where numbers end, lies the last number of all
        values = np.append(cuts[:-1], np.nextafter(cuts[-2], np.inf) if len(cuts) > 1 else 0.0)
    left = values[None, :] <= threshold[:, None]
    if not any(np.array_equal(left[:, v], missing_left) for v in range(len(values))):
        values, left = np.append(values, np.nan), np.column_stack([left, missing_left])
    return Column(feature, values, True), left


def _categories(feature: int, sides: Mask) -> tuple[Column, Mask]:
    """A column that is split by categories; those that go together everywhere are one value."""
    kinds, first = np.unique(sides, axis=1, return_index=True)
    codes = np.where(first == sides.shape[1] - 1, np.nan, first)
    return Column(feature, codes.astype(np.float64), False), kinds


def _reach(forest: Forest, nodes: NDArray[np.intp], left: Mask) -> Mask:
    """Values of a column with which rows can come to each node, ``(N, V)``."""
    start = np.repeat(forest.offset[:-1], forest.n_nodes)
    place = np.full(len(forest.feature), -1)
    place[nodes] = np.arange(len(nodes))
    reach = np.ones((len(forest.feature), left.shape[1]), dtype=bool)
    level = forest.offset[:-1]
    while len(level := level[forest.left[level] >= 0]):
        child = forest.left[level] + start[level]
        splits = (place[level] >= 0)[:, None]
        sides = left[place[level]]
        reach[child] = reach[level] & (~splits | sides)
        reach[child + 1] = reach[level] & (~splits | ~sides)
        level = np.column_stack([child, child + 1]).ravel()
    return reach
