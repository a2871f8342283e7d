"""Random samples, held-out rows and folds of training rows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Self

import numpy as np
from numpy.random import Generator, RandomState
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from committee import _core
from committee.data.bins import digests_of_kinds, row_digests, unordered_digests
from committee.data.matrices import Matrix, SparseMatrix
from committee.data.number_types import F64, Index, Mask
from committee.data.out_of_core.training_pieces import OutOfCoreMatrix
from committee.data.rows import Rows, TargetRows, counts_rows
from committee.data.text import warn_user

MOST_UNITS = 64
BLOCK = 2**16
MOST_PARTS = 4096
"""Largest number of common units in the lower quartile of the weights that `multiples` tries."""
LARGEST_MULTIPLE = 2**30


def fit_generator(random_state: Any, labels: NDArray[Any] | None, weights: F64) -> RandomState:
    """Return the generator of all draws of a fit; with ``random_state=None`` refits of a table draw the same."""
    if random_state is None:
        return RandomState(table_seed(labels, weights))
    if isinstance(random_state, Generator):
        return RandomState(int(random_state.integers(2**32)))
    generator: RandomState = check_random_state(random_state)
    return generator


def table_seed(labels: NDArray[Any] | None, weights: F64) -> int:
    counted = weights > 0.0
    times = weights[counted] if counts_rows(weights) else np.ones(int(counted.sum()))
    totals = np.array([times.sum()])
    if labels is not None:
        known = labels[counted]
        # numbers of classes are counted without sorting the rows
        totals = np.bincount(known if known.dtype == np.uint16 else np.unique(known, return_inverse=True)[1], times)
    sizes = sorted(int(total) for total in totals if total > 0.0)
    return int.from_bytes(blake2b(repr(sizes).encode(), digest_size=4).digest(), "little")


@dataclass(frozen=True, eq=False)
class RowUnits:
    """Units of weight of the rows, each with a number in [0, 1) by its row's contents, for draws in any row order."""

    row: NDArray[np.intp] | None
    """Row of each unit, ascending, ``(m,)``; None if unit i is row i."""
    weight: F64 | None
    """Weight of each unit, ``(m,)``; None if all weigh equally."""
    place: F64
    n_rows: int

    @classmethod
    def of(cls, rows: Rows | TargetRows, seed: int, n_threads: int) -> Self:
        y = rows.labels if isinstance(rows, Rows) else ranks(rows.target)
        offset = np.empty((len(rows), 0)) if rows.offset is None else ranks(rows.offset).reshape(len(rows), -1)
        keys, whole = digests_of_kinds(rows.X, rows.categorical, n_threads)
        for some in _blocks(len(keys)):
            content = np.column_stack([_unit_interval(keys[some]), y[some].astype(np.float64), *offset[some].T])
            keys[some] = _core.row_keys(content, seed, n_threads)
        row, weight = None, None
        if not rows.uniform:
            per_row = np.clip(np.ceil(rows.weights), 1, MOST_UNITS).astype(np.intp)
            row = np.repeat(np.arange(len(rows)), per_row)
            weight = np.where(rows.weights > MOST_UNITS, rows.weights / MOST_UNITS, 1.0)[row]
            last = np.cumsum(per_row) - 1
            weight[last] = np.where(rows.weights > MOST_UNITS, weight[last], rows.weights - (per_row - 1))
            keys, whole = keys[row], None if whole is None else whole[row]
        unit, copies = _copies(keys, whole)
        place = keys.view(np.float64)  # in the memory of the keys, which are read before
        for some in _blocks(len(keys)):
            numbered = np.column_stack([_unit_interval(keys[some]), np.zeros(len(keys[some]))])
            begin, end = np.searchsorted(unit, [some.start, some.stop])
            numbered[unit[begin:end] - some.start, 1] = copies[begin:end]
            place[some] = _unit_interval(_core.row_keys(numbered, seed, n_threads))
        return cls(row, weight, place, len(rows))

    def of_rows(self, rows: slice) -> tuple[slice, Self]:
        n = rows.stop - rows.start
        if self.row is None or self.weight is None:
            return rows, type(self)(None, None, self.place[rows], n)
        units = slice(*np.searchsorted(self.row, [rows.start, rows.stop]).tolist())
        return units, type(self)(self.row[units] - rows.start, self.weight[units], self.place[units], n)

    def drawn(self, share: float, seed: int, among: Mask | None = None) -> Mask:
        """Draw each unit (of the mask `among`) with probability `share`, at least one."""
        drawn = self.below(share, seed, among)
        if drawn.any():
            return drawn
        keys = _core.row_keys(self.place[:, None], seed, 1)
        lowest = _unit_interval(keys if among is None else keys[among]).min()
        return self.below(float(np.nextafter(lowest, 2.0)), seed, among)

    def rows_drawn(self, share: float, seed: int, among: Mask | None = None) -> tuple[NDArray[np.int32], F64 | None]:
        if self.weight is not None:
            return self.rows_of(self.drawn(share, seed, among))
        return _core.rows_below(
            self.place, seed, upper_bound(share), None if among is None else among.view(np.uint8)
        ), None

    def below(self, share: float, seed: int, among: Mask | None = None) -> Mask:
        drawn = np.empty(len(self.place), dtype=bool)
        bound = upper_bound(share) << 11
        for some in _blocks(len(self.place)):
            keys = _core.row_keys(self.place[some, None], seed, 1)
            np.less(keys, np.uint64(min(bound, 2**64 - 1)), out=drawn[some])
        if bound >= 2**64:
            drawn[:] = True
        return drawn if among is None else drawn & among

    def held_out(self, share: float, labels: NDArray[np.uint16] | None, group: Index | None = None) -> Mask | None:
        """Hold out a share of the units, stratified by the labels of the rows or in whole groups."""
        if group is not None:
            return self._grouped(group, labels).held_out(share)
        rank, count = self._ranks(labels)
        held = np.asarray(rank < np.minimum(np.round(share * count), count - 1))
        return held if held.any() else None

    def _ranks(self, labels: NDArray[np.uint16] | None) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        # rank of each unit's number within its class, and the number of units of this class
        if labels is None:
            strata = np.zeros(len(self.place), dtype=np.uint16)
        else:
            strata = labels if self.row is None else labels[self.row]
        order = np.lexsort((self.place, strata))
        count = np.bincount(strata)
        rank = np.empty(len(order), dtype=np.intp)
        rank[order] = np.arange(len(order)) - (np.cumsum(count) - count)[strata[order]]
        return rank, count[strata]

    def _grouped(self, group: Index, labels: NDArray[np.uint16] | None) -> GroupedUnits:
        # the order of groups depends on their rows, not on their names
        if self.row is not None:
            group, labels = group[self.row], None if labels is None else labels[self.row]
        lowest = np.full(int(group.max()) + 1, 2.0)
        np.minimum.at(lowest, group, self.place)
        return GroupedUnits.of(group, labels, np.argsort(_core.row_keys(lowest[:, None], 0, 1), kind="stable"))

    def parts(self, n_parts: int, labels: NDArray[np.uint16] | None, group: Index | None = None) -> NDArray[np.intp]:
        """Assign units to parts of about equal size, stratified by label or in whole groups; -1 is no part."""
        if group is not None:
            return self._grouped(group, labels).parts(n_parts)
        rank, count = self._ranks(labels)
        return np.where(count < n_parts, -1, rank * n_parts // count)

    def rows_of(self, units: Mask) -> tuple[NDArray[np.int32], F64 | None]:
        """Rows with a unit in the mask, ascending, and each row's weight in the mask, ``(n,)``; None if uniform."""
        if self.weight is None or self.row is None:
            return _numbers(units), None
        weights: F64 = np.bincount(self.row[units], self.weight[units], self.n_rows).astype(np.float64)
        return _numbers(weights > 0.0), weights


@dataclass(frozen=True, eq=False)
class GroupedUnits:
    group: Index
    """Group of each unit, ``(m,)``."""
    order: Index
    """Order in which groups are tried, ``(G,)``."""
    counts: NDArray[np.int64]
    """Units of each group and class, ``(G, K)``."""

    @classmethod
    def of(cls, group: Index, labels: NDArray[Any] | None, order: Index) -> Self:
        n_classes = 1 if labels is None else int(labels.max()) + 1
        cell = group if labels is None else group * n_classes + labels
        return cls(group, order, np.bincount(cell, minlength=len(order) * n_classes).reshape(len(order), n_classes))

    def held_out(self, share: float) -> Mask | None:
        """Hold out whole groups, about a share of the units; each class keeps a unit."""
        sizes, left, held = self.counts.sum(axis=1), self.counts.sum(axis=0), np.zeros(len(self.order), dtype=bool)
        wanted = share * sizes.sum()
        for group in self.order.tolist():
            if sizes[group] < 2.0 * wanted and self._is_spare(group, left):
                held[group], left, wanted = True, left - self.counts[group], wanted - sizes[group]
        if not held.any():  # all are too large
            smallest = self.order[np.argsort(sizes[self.order], kind="stable")]
            held[[group for group in smallest.tolist() if self._is_spare(group, left)][:1]] = True
        return held[self.group] if held.any() else None

    def _is_spare(self, group: int, left: NDArray[np.int64]) -> bool:
        return bool((left > self.counts[group])[left > 0].all())

    def parts(self, n_parts: int) -> NDArray[np.intp]:
        """Assign units to about equal parts of whole groups; -1 is no part."""
        sizes, total = self.counts.sum(axis=1), self.counts.sum(axis=0)
        middle = np.cumsum(sizes[self.order]) - 0.5 * sizes[self.order]
        part = np.empty(len(self.order), dtype=np.intp)
        part[self.order] = middle * n_parts // total.sum()
        for k in range(n_parts):
            inside = part == k
            alone = self.counts[inside].sum(axis=0) == total
            part[inside & self.counts[:, alone].any(axis=1)] = -1
        return part[self.group]


def upper_bound(share: float) -> int:
    return math.ceil(share * 2.0**53)  # of the upper 53 bits of a key


def _blocks(n: int) -> Iterator[slice]:
    return (slice(first, min(first + BLOCK, n)) for first in range(0, n, BLOCK))


def _numbers(mask: Mask) -> NDArray[np.int32]:
    if len(mask) <= BLOCK:
        return np.flatnonzero(mask).astype(np.int32)
    numbers, first = np.empty(np.count_nonzero(mask), dtype=np.int32), 0
    for some in _blocks(len(mask)):  # blocks of 64-bit numbers take little memory
        found = np.flatnonzero(mask[some])
        numbers[first : first + len(found)] = found + some.start
        first += len(found)
    return numbers


def _unit_interval(keys: NDArray[np.uint64]) -> F64:
    return np.asarray((keys >> np.uint64(11)) * 2.0**-53, dtype=np.float64)


def _copies(keys: NDArray[np.uint64], whole: NDArray[np.uint64] | None) -> tuple[NDArray[np.intp], F64]:
    """Places of keys that occur repeatedly, ascending, and the number of equal keys before each, ordered by `whole`."""
    ordered = np.sort(keys)
    several = ordered[1:][ordered[1:] == ordered[:-1]]
    del ordered
    if not len(several):
        return np.empty(0, dtype=np.intp), np.empty(0)
    unit = np.concatenate([some.start + np.flatnonzero(_among(keys[some], several)) for some in _blocks(len(keys))])
    alike = keys[unit]
    order = np.argsort(alike, kind="stable") if whole is None else np.lexsort((whole[unit], alike))
    ordered = alike[order]
    begins = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    first = np.maximum.accumulate(np.where(begins, np.arange(len(alike)), 0))
    copies = np.empty(len(alike))
    copies[order] = np.arange(len(alike)) - first
    return unit, copies


def _among(keys: NDArray[np.uint64], ascending: NDArray[np.uint64]) -> Mask:
    return np.asarray(ascending[np.minimum(np.searchsorted(ascending, keys), len(ascending) - 1)] == keys)


# --- folds ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Fold:
    """Row indices and weights of a training and a test set; `n_test` counts the copies of test rows."""

    train: Index
    train_weights: F64
    test: Index
    test_weights: F64
    n_test: int


@dataclass(frozen=True, eq=False)
class Folds:
    """Folds of rows by their contents, stratified by class.

    Copies of a distinct row are dealt out in turn, so that test rows may equal training rows.
    """

    row: Index
    """Index of the first of the equal rows, for each of m distinct ones, ascending."""
    weights: F64
    copies: NDArray[np.int64]
    first: NDArray[np.int64]
    """Position of the row's first copy among those of its class, ``(m,)``; -1 for the only copy of a class."""
    n_folds: int

    @classmethod
    def of(cls, rows: Rows | TargetRows, n_folds: int, n_threads: int = 1) -> Folds:
        number = content_digests(rows, n_threads)
        labels = rows.labels if isinstance(rows, Rows) else np.zeros(len(rows), dtype=np.uint16)
        _, row, alike = np.unique(number, return_index=True, return_inverse=True)
        weights: F64 = np.bincount(alike, rows.weights).astype(np.float64, copy=False)
        labels = labels[row]
        order = np.lexsort((*_keys_of_order(rows, row, labels, n_threads), labels))
        row, weights, labels = row[order], weights[order], labels[order]
        copies, first = np.empty(len(row), dtype=np.int64), np.full(len(row), -1, dtype=np.int64)
        for k in np.unique(labels):
            copies[labels == k] = multiples(weights[labels == k])
        if are_resampled(rows.X[row], number[row], int(copies.sum())):
            copies[:] = 1
        for k in np.unique(labels):
            of_class = labels == k
            if copies[of_class].sum() > 1:
                first[of_class] = np.cumsum(copies[of_class]) - copies[of_class]
        back = np.argsort(row)
        return cls(row[back], weights[back], copies[back], first[back], n_folds)

    def __iter__(self) -> Iterator[Fold]:
        begin, end = self.first, self.first + self.copies
        for k in range(self.n_folds):
            # multiples of the number of folds below a position, counted from the fold's own
            before, until = (-((k - place) // self.n_folds) for place in (begin, end))
            share = np.where(begin < 0, 0, until - before)
            test, train = np.flatnonzero(share), np.flatnonzero(self.copies - share)
            if len(test):
                unit = self.weights / self.copies
                weights, test_weights = (unit * (self.copies - share))[train], (unit * share)[test]
                yield Fold(self.row[train], weights, self.row[test], test_weights, int(share.sum()))


LEAST_RESAMPLED = 1 / 8
"""Least share of further copies among all rows by which a table counts as resampled."""
LEAST_DIFFERENT = 10
FEW_ALIKE = 1 / 4
"""Most rows that differ from another one in one column alone, as a share of further copies and of different rows."""


def are_resampled(X: Matrix, digests: NDArray[np.uint64], n_copies: int, least_share: float = LEAST_RESAMPLED) -> bool:
    """Return whether copies of different rows come from resampling, and not from columns of few values.

    `digests` ``(n,)`` are `content_digests` of the different rows X; `n_copies` >= n counts them and their copies.
    """
    # where columns have few values, rows that differ in one column alone are about as frequent as equal rows
    n = len(digests)
    further = n_copies - n
    if further < least_share * n_copies:
        return False
    most = FEW_ALIKE * min(n, further)
    alike = n - len(np.unique(row_digests(X, 1)))
    known = np.sort(digests)
    for j, row, values in _nonzero_cells(X):
        if alike > most:
            return False
        # the digests of these rows without their cell; those of the other rows are as they were
        without = np.unique(digests[row] - _core.row_digests(values[:, None], np.array([j + 1], np.uint64), 1))
        alike += len(row) - len(without) + int(_among(without, known).sum())
    return alike <= most


def _nonzero_cells(X: Matrix) -> Iterator[tuple[int, Index, F64]]:
    # number of each column, its rows that are not 0, and their values
    if not isinstance(X, SparseMatrix):
        for j in range(X.shape[1]):
            row = np.flatnonzero(X[:, j])
            yield j, row, X[row, j]
        return
    row_of_cell, order = np.repeat(np.arange(len(X)), np.diff(X.start)), np.argsort(X.column, kind="stable")
    order = order[X.value[order] != 0.0]
    ends = np.searchsorted(X.column[order], np.arange(X.n_columns + 1))
    for j in range(X.n_columns):
        cells = order[ends[j] : ends[j + 1]]
        yield j, row_of_cell[cells], X.value[cells]


def copied_rows(rows: Rows | TargetRows, n_threads: int, least_share: float = LEAST_RESAMPLED) -> Index | None:
    """Number the distinct row that each row equals, ``(n,)``, if rows were repeated or resampled."""
    if isinstance(rows.X, OutOfCoreMatrix):
        return None
    digests = content_digests(rows, n_threads)
    _, first, same = np.unique(digests, return_index=True, return_inverse=True)
    if not LEAST_DIFFERENT <= len(first) < len(rows):  # fewer may come equally often by chance
        return None
    labels = np.zeros(len(first)) if rows.class_numbers is None else rows.class_numbers[first]
    copies = np.bincount(same)
    once = sum(int(multiples(copies[labels == k]).sum()) for k in np.unique(labels))
    if once == len(rows) and not are_resampled(rows.X[first], digests[first], len(rows), least_share):
        return None
    return np.argsort(np.argsort(first))[same]


def warn_of_copies(group: Index) -> None:
    n_different = int(group.max()) + 1
    warn_user(
        f"{len(group) - n_different} of {len(group)} rows are copies of other rows, as after resampling: copies are "
        "held out together, so that no row is judged by its copy. To avoid this warning, give each row once, with the "
        "number of its copies as sample_weight.",
    )


def group_numbers(groups: ArrayLike, counted: Mask) -> Index:
    if isinstance(groups, str):
        raise ValueError(f"groups={groups!r} names a column, and rows in pieces need an array of all their groups.")
    values = np.asarray(groups, dtype=object)
    if values.shape != counted.shape:
        raise ValueError(f"groups has shape {values.shape}; {len(counted)} rows need one group each.")
    number: dict[Hashable, int] = {}
    found = np.array([number.setdefault(value, len(number)) for value in values[counted].tolist()], dtype=np.intp)
    for value in number:
        same = value == value  # pandas.NA compares to no truth value
        if value is None or not isinstance(same, bool | np.bool_) or not same:
            raise ValueError("groups holds missing values; give such rows groups of their own, or leave them out.")
    if len(number) < 2:
        raise ValueError("groups holds one group only, where several are needed; leave groups out.")
    return found


def group_folds(group: Index, weights: F64, n_folds: int, labels: NDArray[np.uint16] | None = None) -> Iterator[Fold]:
    """Yield folds of whole groups, of about equal size; `labels` are class numbers for stratified ones."""
    from sklearn.model_selection import GroupKFold, StratifiedGroupKFold  # few rows have groups

    n_folds = min(n_folds, int(group.max()) + 1)
    stratifies = labels is not None and n_folds <= np.bincount(labels).max()
    splitter = StratifiedGroupKFold(n_folds) if stratifies else GroupKFold(n_folds)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class")
        folds = list(splitter.split(group, labels if stratifies else None, group))
    for train, test in folds:
        yield Fold(train, weights[train], test, weights[test], len(test))


def _keys_of_order(
    rows: Rows | TargetRows, row: Index, labels: NDArray[np.uint16], n_threads: int
) -> list[NDArray[Any]]:
    # of different rows, by which they are dealt to folds; the last key is the first that counts
    X = rows.X[row]
    whole: list[NDArray[Any]] = [unordered_digests(X, n_threads, labels)]
    target = [] if isinstance(rows, Rows) else list(ranks(rows.target[row]).reshape(len(row), -1).T)
    if rows.categorical is None or isinstance(X, SparseMatrix):
        return [*target, *whole]
    if rows.categorical.all():
        return [*whole, *target]
    numbers = np.ascontiguousarray(X[:, ~rows.categorical])
    return [*whole, *target, unordered_digests(numbers, n_threads, labels)]


def content_digests(rows: Rows | TargetRows, n_threads: int) -> NDArray[np.uint64]:
    """Digest of each row's cells and target, ``(n,)``."""
    number = row_digests(rows.X, n_threads)
    if isinstance(rows, Rows):
        return number + rows.labels
    return number + row_digests(ranks(rows.target).reshape(len(rows), -1), n_threads) * np.uint64(3)


def ranks(numbers: F64) -> F64:
    columns = numbers.reshape(len(numbers), -1).T
    found = [np.unique(column, return_inverse=True)[1].astype(np.float64) for column in columns]
    return np.column_stack(found).reshape(numbers.shape)


def multiples(weights: F64) -> NDArray[np.int64]:
    """Weights as multiples of a common unit of those from the lower quartile on; all 1 if none is found."""
    # lighter rows are rounded, to 1 at least: a row of nearly no weight does not make other rows copies
    usual = np.quantile(weights, 0.25, method="lower")
    ratio = np.minimum(weights / usual, LARGEST_MULTIPLE)
    distinct = np.unique(ratio[ratio >= 1.0])
    candidates = np.arange(1.0, MOST_PARTS + 1.0)
    candidates = candidates[_whole(np.outer(candidates, distinct[-8:])).all(axis=1)]  # rules out nearly all others
    parts = next((q for q in candidates if _whole(q * distinct).all()), 0.0)
    if not parts and (weights == np.rint(weights)).all():
        ratio, parts = np.minimum(weights, LARGEST_MULTIPLE), 1.0
    return np.maximum(1, np.rint(ratio * parts)).astype(np.int64)


def _whole(numbers: F64) -> Mask:
    return np.asarray(np.abs(numbers - np.rint(numbers)) <= 1e-9 + 1e-12 * numbers)
