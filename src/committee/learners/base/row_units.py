"""Rows drawn by what is in them, so that a row of weight k is drawn as k equal rows are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.number_types import F64
from committee.data.row_digests import row_digests
from committee.data.rows import Rows, TargetRows

MOST_UNITS = 64
"""A row that weighs more is drawn in so many parts."""

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class RowUnits:
    """Units of weight: k of a row of weight k, the last of them smaller where the weight is no whole number.

    Each has a number between 0 and 1 that depends on the row's cells, its class or target, and on how many units of
    equal rows come before. Draws by these numbers are the same wherever a row stands, and for k equal rows as for one
    row of weight k (up to `MOST_UNITS`).

    Examples
    --------
    >>> X = np.array([[1.0], [2.0], [3.0]])
    >>> twice = TargetRows(X, np.zeros(3), np.array([2.0, 1.0, 2.0]), uniform=False)
    >>> units = RowUnits.of(twice, seed=0, n_threads=1)
    >>> units.row.tolist()
    [0, 0, 1, 2, 2]
    >>> again = X[[2, 0, 0, 2, 1]]
    >>> repeated = RowUnits.of(TargetRows(again, np.zeros(5), np.ones(5), uniform=True), seed=0, n_threads=1)
    >>> drawn = np.sort(again[repeated.row[repeated.drawn(0.5, 1)], 0])
    >>> bool((drawn == X[units.row[units.drawn(0.5, 1)], 0]).all())
    True
    """

    row: NDArray[np.intp]
    """Row of each unit, in rising order, ``(m,)``."""
    weight: F64 | None
    """What each unit weighs, ``(m,)``; None: each is a whole row, and all weigh alike."""
    place: F64
    """Number of each unit, ``(m,)``."""
    n_rows: int

    @classmethod
    def of(cls, rows: Rows | TargetRows, seed: int, n_threads: int) -> Self:
        """Units of training rows."""
        y = rows.labels if isinstance(rows, Rows) else rows.target
        content = np.column_stack([_unit_interval(row_digests(rows.X, n_threads)), y.astype(np.float64)])
        n = len(rows)
        row, weight = np.arange(n), None
        if not rows.uniform:
            per_row = np.clip(np.ceil(rows.weights), 1, MOST_UNITS).astype(np.intp)
            row = np.repeat(row, per_row)
            weight = np.where(rows.weights > MOST_UNITS, rows.weights / MOST_UNITS, 1.0)[row]
            last = np.cumsum(per_row) - 1
            weight[last] = np.where(rows.weights > MOST_UNITS, weight[last], rows.weights - (per_row - 1))
        keys = _core.row_keys(content, seed, n_threads)[row]
        numbered = np.column_stack([_unit_interval(keys), _copies(keys)])
        return cls(row, weight, _unit_interval(_core.row_keys(numbered, seed, n_threads)), n)

    def drawn(self, share: float, seed: int, among: Mask | None = None) -> Mask:
        """Draw each unit with probability `share`, at least one, among all or those of a mask."""
        place = _unit_interval(_core.row_keys(self.place[:, None], seed, 1))
        if among is not None:
            place[~among] = 2.0
        return np.asarray(place < max(share, np.nextafter(place.min(), 2.0)))

    def held_out(self, share: float, labels: NDArray[np.uint16] | None) -> Mask | None:
        """Choose a share of the units to hold out; of classes (`labels` of the rows) this share of each.

        At least one unit of each class stays. None: there are too few units for one to be held out.
        """
        rank, count = self._ranks(labels)
        held = np.asarray(rank < np.minimum(np.round(share * count), count - 1))
        return held if held.any() else None

    def _ranks(self, labels: NDArray[np.uint16] | None) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Rank of each unit's number among those of its class, and how many these are."""
        strata = np.zeros(len(self.row), dtype=np.uint16) if labels is None else labels[self.row]
        order = np.lexsort((self.place, strata))
        count = np.bincount(strata)
        rank = np.empty(len(order), dtype=np.intp)
        rank[order] = np.arange(len(order)) - (np.cumsum(count) - count)[strata[order]]
        return rank, count[strata]

    def parts(self, n_parts: int, labels: NDArray[np.uint16] | None) -> NDArray[np.intp]:
        """Part of each unit, from 0 to n_parts - 1, of equal sizes; of classes (`labels` of the rows) equal shares.

        Units of classes that have fewer than `n_parts` are in none: -1.
        """
        rank, count = self._ranks(labels)
        return np.where(count < n_parts, -1, rank * n_parts // count)

    def rows_of(self, units: Mask) -> tuple[NDArray[np.int32], F64 | None]:
        """Rows with a unit in the mask, in rising order, and what all rows then weigh, ``(n,)``; None: all alike."""
        if self.weight is None:
            return np.flatnonzero(units).astype(np.int32), None
        weights: F64 = np.bincount(self.row[units], self.weight[units], self.n_rows).astype(np.float64)
        return np.flatnonzero(weights).astype(np.int32), weights


def _unit_interval(keys: NDArray[np.uint64]) -> F64:
    return np.asarray((keys >> np.uint64(11)) * 2.0**-53, dtype=np.float64)


def _copies(keys: NDArray[np.uint64]) -> F64:
    """Count the equal keys before each."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    begins = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    first = np.maximum.accumulate(np.where(begins, np.arange(len(keys)), 0))
    copies = np.empty(len(keys))
    copies[order] = np.arange(len(keys)) - first
    return copies
