"""Rows drawn by what is in them, so that a row of weight k is drawn as k equal rows are."""

from __future__ import annotations

from collections.abc import Iterator
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

BLOCK = 2**16
"""Units whose numbers are computed at a time."""

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
    >>> drawn, times = units.rows_of(units.drawn(0.5, 1))
    >>> drawn_again, _ = repeated.rows_of(repeated.drawn(0.5, 1))
    >>> bool((np.sort(again[drawn_again, 0]) == np.repeat(X[:, 0], times.astype(int))).all())
    True
    """

    row: NDArray[np.intp] | None
    """Row of each unit, in rising order, ``(m,)``; None: unit i is row i."""
    weight: F64 | None
    """What each unit weighs, ``(m,)``; None: each is a whole row, and all weigh alike."""
    place: F64
    """Number of each unit, ``(m,)``."""
    n_rows: int

    @classmethod
    def of(cls, rows: Rows | TargetRows, seed: int, n_threads: int) -> Self:
        """Units of training rows."""
        y = rows.labels if isinstance(rows, Rows) else rows.target
        keys = row_digests(rows.X, n_threads)
        for some in _blocks(len(keys)):
            content = np.column_stack([_unit_interval(keys[some]), y[some].astype(np.float64)])
            keys[some] = _core.row_keys(content, seed, n_threads)
        row, weight = None, None
        if not rows.uniform:
            per_row = np.clip(np.ceil(rows.weights), 1, MOST_UNITS).astype(np.intp)
            row = np.repeat(np.arange(len(rows)), per_row)
            weight = np.where(rows.weights > MOST_UNITS, rows.weights / MOST_UNITS, 1.0)[row]
            last = np.cumsum(per_row) - 1
            weight[last] = np.where(rows.weights > MOST_UNITS, weight[last], rows.weights - (per_row - 1))
            keys = keys[row]
        unit, copies = _copies(keys)
        place = keys.view(np.float64)  # no number of a unit needs its key once it is there
        for some in _blocks(len(keys)):
            numbered = np.column_stack([_unit_interval(keys[some]), np.zeros(len(keys[some]))])
            begin, end = np.searchsorted(unit, [some.start, some.stop])
            numbered[unit[begin:end] - some.start, 1] = copies[begin:end]
            place[some] = _unit_interval(_core.row_keys(numbered, seed, n_threads))
        return cls(row, weight, place, len(rows))

    def of_rows(self, rows: slice) -> tuple[slice, Self]:
        """Return which units are those of rows one after the other, and these units."""
        n = rows.stop - rows.start
        if self.row is None or self.weight is None:
            return rows, type(self)(None, None, self.place[rows], n)
        units = slice(*np.searchsorted(self.row, [rows.start, rows.stop]).tolist())
        return units, type(self)(self.row[units] - rows.start, self.weight[units], self.place[units], n)

    def drawn(self, share: float, seed: int, among: Mask | None = None) -> Mask:
        """Draw each unit with probability `share`, at least one, among all or those of a mask."""
        drawn, lowest = self._below(share, seed, among)
        return drawn if lowest < share else self._below(float(np.nextafter(lowest, 2.0)), seed, among)[0]

    def below(self, share: float, seed: int, among: Mask | None = None) -> Mask:
        """As `drawn`, perhaps none: so that of the units of some rows those are drawn that are drawn among all."""
        return self._below(share, seed, among)[0]

    def _below(self, share: float, seed: int, among: Mask | None) -> tuple[Mask, float]:
        """Units whose number for this seed is below `share`, and the lowest number of all."""
        drawn, lowest = np.empty(len(self.place), dtype=bool), 2.0
        for some in _blocks(len(self.place)):
            place = _unit_interval(_core.row_keys(self.place[some, None], seed, 1))
            if among is not None:
                place[~among[some]] = 2.0
            np.less(place, share, out=drawn[some])
            lowest = min(lowest, float(place.min()))
        return drawn, lowest

    def held_out(self, share: float, labels: NDArray[np.uint16] | None) -> Mask | None:
        """Choose a share of the units to hold out; of classes (`labels` of the rows) this share of each.

        At least one unit of each class stays. None: there are too few units for one to be held out.
        """
        rank, count = self._ranks(labels)
        held = np.asarray(rank < np.minimum(np.round(share * count), count - 1))
        return held if held.any() else None

    def _ranks(self, labels: NDArray[np.uint16] | None) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Rank of each unit's number among those of its class, and how many these are."""
        if labels is None:
            strata = np.zeros(len(self.place), dtype=np.uint16)
        else:
            strata = labels if self.row is None else labels[self.row]
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
        if self.weight is None or self.row is None:
            return _numbers(units), None
        weights: F64 = np.bincount(self.row[units], self.weight[units], self.n_rows).astype(np.float64)
        return _numbers(weights > 0.0), weights


def _blocks(n: int) -> Iterator[slice]:
    """Parts of n rows, so that what is computed of them on the way takes little memory."""
    return (slice(first, min(first + BLOCK, n)) for first in range(0, n, BLOCK))


def _numbers(mask: Mask) -> NDArray[np.int32]:
    """Numbers of the rows in a mask, rising."""
    numbers, first = np.empty(np.count_nonzero(mask), dtype=np.int32), 0
    for some in _blocks(len(mask)):
        found = np.flatnonzero(mask[some])
        numbers[first : first + len(found)] = found + some.start
        first += len(found)
    return numbers


def _unit_interval(keys: NDArray[np.uint64]) -> F64:
    return np.asarray((keys >> np.uint64(11)) * 2.0**-53, dtype=np.float64)


def _copies(keys: NDArray[np.uint64]) -> tuple[NDArray[np.intp], F64]:
    """Places of keys that are not the only one of their value, rising, and how many equal keys are before each."""
    ordered = np.sort(keys)
    several = ordered[1:][ordered[1:] == ordered[:-1]]
    del ordered
    if not len(several):
        return np.empty(0, dtype=np.intp), np.empty(0)
    unit = np.concatenate([some.start + np.flatnonzero(_among(keys[some], several)) for some in _blocks(len(keys))])
    alike = keys[unit]
    order = np.argsort(alike, kind="stable")
    ordered = alike[order]
    begins = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    first = np.maximum.accumulate(np.where(begins, np.arange(len(alike)), 0))
    copies = np.empty(len(alike))
    copies[order] = np.arange(len(alike)) - first
    return unit, copies


def _among(keys: NDArray[np.uint64], several: NDArray[np.uint64]) -> Mask:
    """Which keys are among some, which rise."""
    return np.asarray(several[np.minimum(np.searchsorted(several, keys), len(several) - 1)] == keys)
