"""Folds of training rows that follow from what the rows hold, not from where they stand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64, Index
from committee.data.row_digests import row_digests, unordered_digests
from committee.data.rows import Rows, TargetRows

MOST_PARTS = 4096
"""Weights are multiples of a unit if it is no smaller a part of a common weight."""
LARGEST_MULTIPLE = 2**30
"""Larger numbers of copies are counted as so many."""


@dataclass(frozen=True, eq=False)
class Fold:
    """Some copies of rows to be judged by a fit on all others; rows of weight 0 have no copy there."""

    others: Index
    other_weights: F64
    judged: Index
    judged_weights: F64
    n_judged: int
    """Number of copies."""


@dataclass(frozen=True, eq=False)
class Folds:
    """Copies of rows dealt out to folds, which have the classes in the same shares.

    Rows that hold the same are copies of one, and go to as many folds as there are of them: where few different rows
    come again and again, those to come have been seen, and are not judged as if they had not. A row of weight k counts
    as k copies where the weights of a class are multiples of a unit; else each different row is one copy. So neither k
    copies of every row nor another scale of weights change anything.

    A row's place follows from a number that its cells are mixed to. A cell counts by its value and its column, and a
    column by its values, not by its name or its place. So rows and columns in another order have the same folds, and
    nothing has to be drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.data.rows import Rows
    >>> X, labels = np.array([[1.0], [2.0], [2.0], [3.0]]), np.zeros(4, dtype=np.uint16)
    >>> folds = Folds.of(Rows(X, labels, np.ones(4), True), 2)
    >>> folds.weights.tolist(), folds.copies.tolist(), [fold.n_judged for fold in folds]
    ([1.0, 2.0, 1.0], [1, 2, 1], [2, 2])
    """

    row: Index
    """The first of the rows that hold the same, of m different ones, in rising order."""
    weights: F64
    """What they weigh together, ``(m,)``."""
    copies: NDArray[np.int64]
    """How many copies they count as, ``(m,)``."""
    first: NDArray[np.int64]
    """Place of the first of these among all copies, which are dealt out in turn; -1 for the only copy of a class, which
    is always one to train on, ``(m,)``."""
    n_folds: int

    @classmethod
    def of(cls, rows: Rows | TargetRows, n_folds: int, n_threads: int = 1) -> Folds:
        """Deal the copies of each class out to the folds; of numbers, all copies."""
        number, labels = row_digests(rows.X, n_threads), np.zeros(len(rows), dtype=np.uint16)
        if isinstance(rows, Rows):
            number, labels = number + rows.labels, rows.labels
        else:
            number = number + row_digests(rows.target.reshape(len(rows), -1), n_threads) * np.uint64(3)
        _, row, alike = np.unique(number, return_index=True, return_inverse=True)
        weights: F64 = np.bincount(alike, rows.weights).astype(np.float64, copy=False)
        labels = labels[row]
        order = np.lexsort((unordered_digests(rows.X[row], n_threads, labels), labels))
        row, weights, labels = row[order], weights[order], labels[order]
        copies, first = np.empty(len(row), dtype=np.int64), np.full(len(row), -1, dtype=np.int64)
        for k in np.unique(labels):
            of_class = labels == k
            copies[of_class] = multiples(weights[of_class])
            if copies[of_class].sum() > 1:
                first[of_class] = np.cumsum(copies[of_class]) - copies[of_class]
        back = np.argsort(row)
        return cls(row[back], weights[back], copies[back], first[back], n_folds)

    def __iter__(self) -> Iterator[Fold]:
        """Yield the folds that have a copy."""
        begin, end = self.first, self.first + self.copies
        for k in range(self.n_folds):
            # multiples of the number of folds below a place, counted from the fold's own
            before, until = (-((k - place) // self.n_folds) for place in (begin, end))
            share = np.where(begin < 0, 0, until - before)
            judged, others = np.flatnonzero(share), np.flatnonzero(self.copies - share)
            if len(judged):
                unit = self.weights / self.copies
                yield Fold(
                    self.row[others],
                    (unit * (self.copies - share))[others],
                    self.row[judged],
                    (unit * share)[judged],
                    int(share.sum()),
                )


def multiples(weights: F64) -> NDArray[np.int64]:
    """Count by how many of their largest common unit weights are; once each if they have none.

    Weights below the lower quartile count once: a row that is meant to count for next to nothing makes no other ones
    copies.

    Examples
    --------
    >>> multiples(np.array([2.0, 4.0, 6.0])).tolist(), multiples(np.array([0.5, 0.75, 1.0])).tolist()
    ([1, 2, 3], [2, 3, 4])
    >>> multiples(np.array([1.0, 1.41421356, 3.14159265])).tolist(), multiples(np.array([1e-3, 1, 1, 1, 1])).tolist()
    ([1, 1, 1], [1, 1, 1, 1, 1])
    """
    usual = np.quantile(weights, 0.25, method="lower")
    ratio = np.minimum(weights / usual, LARGEST_MULTIPLE)
    told = np.unique(ratio[ratio >= 1.0])
    candidates = np.arange(1.0, MOST_PARTS + 1.0)
    candidates = candidates[_whole(np.outer(candidates, told[-8:])).all(axis=1)]  # a few rule nearly all others out
    parts = next((q for q in candidates if _whole(q * told).all()), 0.0)
    if not parts and (weights == np.rint(weights)).all():
        ratio, parts = np.minimum(weights, LARGEST_MULTIPLE), 1.0
    return np.maximum(1, np.rint(ratio * parts)).astype(np.int64)


def _whole(numbers: F64) -> NDArray[np.bool_]:
    return np.asarray(np.abs(numbers - np.rint(numbers)) <= 1e-9 + 1e-12 * numbers)
