"""Target statistics: numbers for categories of high-cardinality columns, learned by cross-fitting."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import fsum, sqrt
from typing import Self
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from committee.data.bins import cell_sums
from committee.data.categories import MAX_SUBSET_CATEGORIES, CategoryValues
from committee.data.number_types import F64
from committee.data.out_of_core.training_pieces import OutOfCoreMatrix
from committee.data.table_schema import TableSchema

N_FOLDS = 5

LEAST_STANDARD_ERRORS = 2.0

_UNIT = 2.0**-30  # targets are rounded to this part of their range, so that sums do not depend on the order of rows

_LEAST_REACH = 1e-140  # targets that differ by less are equal; its square is above 0

_LEAST_ROWS = 1e-6  # least shrinkage, so that a category without rows in other folds has the mean of all rows


@dataclass(frozen=True, eq=False)
class ClassTarget:
    """Classes as a target, scored on one axis."""

    labels: NDArray[np.uint16]
    n_classes: int

    def __getitem__(self, index: NDArray[np.integer] | NDArray[np.bool_]) -> ClassTarget:
        return ClassTarget(self.labels[index], self.n_classes)

    def sums(self, cells: Cells, weights: F64, row: float) -> Sums:
        flat = cells.of_row * self.n_classes + self.labels
        shape = len(cells.level), self.n_classes
        weight = row * np.bincount(flat, weights, minlength=shape[0] * shape[1]).astype(np.float64).reshape(shape)
        of_class = weight.sum(axis=0)
        share = np.where(of_class > 0.0, of_class, 1.0) / weight.sum()
        expected = weight.sum(axis=1, keepdims=True) * of_class / weight.sum()
        held_out = cells.held_out(weight - expected, weight.sum(axis=1))
        score = np.array([0.0, 1.0]) if self.n_classes == 2 else _first_axis((weight - expected).T @ held_out, share)
        total, square = weight @ score, weight @ score**2
        # lift of a row's own class in the other folds over its share
        lift = held_out / share
        standard_errors = _t_value(float((weight * lift).sum()), float((weight * lift**2).sum()))
        return Sums(weight.sum(axis=1), total, square, standard_errors)


@dataclass(frozen=True, eq=False)
class NumberTarget:
    target: F64

    def __getitem__(self, index: NDArray[np.integer] | NDArray[np.bool_]) -> Self:
        return type(self)(self.target[index])

    def sums(self, cells: Cells, weights: F64, row: float) -> Sums:
        low, high = float(self.target.min()), float(self.target.max())
        origin, reach = low / 2.0 + high / 2.0, max(high / 2.0 - low / 2.0, _LEAST_REACH)
        unit = _UNIT * 2.0 ** np.ceil(np.log2(reach))
        whole = np.rint((self.target - origin) / unit)
        weight = row * cells.sums(weights)
        total = unit * row * cells.sums(weights * whole)
        square = unit * reach * row * cells.sums(weights * np.rint(whole * (whole * (unit / reach))))
        sums = Sums(weight, total, square, origin=origin)
        held_out = cells.held_out(sums.residual, weight)
        standard_errors = _t_value(float(sums.residual @ held_out), float(sums.squared_residual @ held_out**2))
        return replace(sums, standard_errors=standard_errors)


@dataclass(frozen=True, eq=False)
class WeightedTarget(NumberTarget):
    weight: F64

    def __getitem__(self, index: NDArray[np.integer] | NDArray[np.bool_]) -> Self:
        return type(self)(self.target[index], self.weight[index])

    def sums(self, cells: Cells, weights: F64, row: float) -> Sums:
        own = weights * self.weight
        return super().sums(cells, own * (float(weights.sum()) / float(own.sum())), row)


class SeveralTargets(NumberTarget):
    """Several targets ``(n, q)``, projected on the axis on which the folds agree most."""

    def sums(self, cells: Cells, weights: F64, row: float) -> Sums:
        each = [NumberTarget(column).sums(cells, weights, row) for column in self.target.T]
        residual = np.stack([one.residual for one in each], axis=1)
        scale = max(float(np.abs(residual).max()), _LEAST_REACH)  # so that squares are numbers
        held_out = cells.held_out(residual / scale, each[0].weight)
        axis = _first_axis((residual / scale).T @ held_out, np.ones(len(each)))
        score, agreement = np.zeros(len(self.target)), np.zeros(len(self.target))
        for k, one in enumerate(each):
            score += axis[k] * self.target[:, k]
            agreement += (self.target[:, k] - one.origin - one.mean) / scale * held_out[cells.of_row, k]
        # summed exactly, so that the order of rows does not matter
        standard_errors = _t_value(*(fsum((row * weights * terms).tolist()) for terms in (agreement, agreement**2)))
        return replace(NumberTarget(score).sums(cells, weights, row), standard_errors=standard_errors)


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums of a target over the rows of each cell, ``(C,)``."""

    weight: F64  # scaled such that all rows of the table together have the number of distinct rows
    total: F64
    square: F64
    standard_errors: float = 0.0  # by which categories predict other folds better than chance
    origin: float = 0.0

    @property
    def mean(self) -> float:
        return float(self.total.sum() / self.weight.sum())

    @property
    def residual(self) -> F64:
        return self.total - self.mean * self.weight

    @property
    def squared_residual(self) -> F64:
        return self.square - self.mean * (2.0 * self.total - self.mean * self.weight)


@dataclass(frozen=True, eq=False)
class Cells:
    """The C pairs of category and fold that occur."""

    code: NDArray[np.int32]  # (L,): categories that occur
    level: NDArray[np.intp]  # (C,): index in `code` of each cell's category
    of_row: NDArray[np.intp]  # (n,): cell of each row

    @classmethod
    def of_rows(cls, codes: NDArray[np.int32], fold: NDArray[np.int64]) -> Cells:
        pairs, of_row = np.unique(codes.astype(np.int64) * N_FOLDS + fold, return_inverse=True)
        code, level = np.unique(pairs // N_FOLDS, return_inverse=True)
        return cls(code.astype(np.int32), level, of_row)

    def sums(self, of_rows: F64) -> F64:
        return np.bincount(self.of_row, of_rows, minlength=len(self.level)).astype(np.float64, copy=False)

    def other_folds(self, sums: F64) -> F64:
        """Sums of each cell's category over the other folds, ``(C,)`` or ``(C, K)``."""
        columns = np.atleast_2d(sums.T)
        of_level = np.stack([np.bincount(self.level, column) for column in columns], axis=-1)
        return of_level.reshape(-1, *sums.shape[1:])[self.level] - sums

    def held_out(self, residual: F64, weight: F64) -> F64:
        """Mean residual of each cell's category in the other folds, slightly shrunk."""
        other = self.other_folds(residual)
        mean: F64 = (other.T / (self.other_folds(weight) + 1.0)).T
        return mean


@np.errstate(over="ignore")  # weights and targets at the limits of float64: an infinite sum has no effect
def target_statistics(
    levels: HighCardinality, target: ClassTarget | NumberTarget | SeveralTargets, weights: F64
) -> tuple[F64, dict[int, CategoryValues]]:
    """Return cross-fitted numbers of training rows ``(n, m)``, and those of categories by column."""
    numbers = np.full(levels.codes.shape, np.nan)
    found = {}
    row = levels.n_rows / float(weights.sum())
    for c, j in enumerate(levels.columns):
        known = levels.codes[:, c] >= 0
        cells = Cells.of_rows(levels.codes[known, c], levels.fold[known])
        sums = target[known].sums(cells, weights[known], row)
        seen, whole = _shrunk(cells, sums, levels.alone[c])
        mean = sums.mean + sums.origin
        numbers[known, c] = mean + seen[cells.of_row]
        values = np.full(levels.n_levels[c], mean)
        values[cells.code] += whole
        found[j] = CategoryValues(tuple(values.tolist()), mean, levels.of)
    return numbers, found


def _shrunk(cells: Cells, sums: Sums, alone: bool) -> tuple[F64, F64]:
    # Means of cells by the other folds and of categories, less the mean of all rows. Both are shrunk as is best for
    # categories whose means vary by tau^2 about that of all, and rows by sigma^2 about their category's: by
    # sigma^2 / tau^2 rows. Agreement between folds estimates tau^2, which chance does not raise.
    residual, weight = sums.residual, sums.weight
    of_level, weight_of_level = np.bincount(cells.level, residual), np.bincount(cells.level, weight)
    if alone:  # equal rows are in one fold, so the other folds have none of the category
        whole = of_level / weight_of_level
        return whole[cells.level], whole
    if sums.standard_errors <= LEAST_STANDARD_ERRORS:
        return np.zeros(len(weight)), np.zeros(len(of_level))
    other_weight = cells.other_folds(weight)
    expected = float(weight @ (other_weight / (other_weight + 1.0)))
    between = max(float(residual @ cells.held_out(residual, weight)) / expected, _LEAST_REACH**2)
    within = float(sums.squared_residual.sum() / weight.sum()) - between
    rows = max(within / between, _LEAST_ROWS)
    return cells.other_folds(residual) / (other_weight + rows), of_level / (weight_of_level + rows)


def _first_axis(agreement: F64, share: F64) -> F64:
    # first axis of correspondence analysis, with agreement between folds in place of that of all rows
    root = np.sqrt(share)
    axis: F64 = np.linalg.eigh((agreement + agreement.T) / np.outer(root, root))[1][:, -1]
    scores: F64 = axis * np.sign(axis[np.abs(axis).argmax()]) / root
    return scores


def _t_value(agreement: float, square: float) -> float:
    # each pair of folds occurs twice, hence twice the variance
    return agreement / sqrt(2.0 * square) if square > 0.0 else 0.0


@dataclass(frozen=True, eq=False)
class HighCardinality:
    columns: tuple[int, ...]
    codes: NDArray[np.int32]  # (n, m): category codes, -1 if missing
    contents: NDArray[np.uint64]  # (n,): equal for rows that are equal in all columns
    fold: NDArray[np.int64]  # (n,): equal for rows that are equal in all columns
    n_levels: tuple[int, ...]
    alone: tuple[bool, ...]  # per column: whether no other column of the table varies
    of: str  # name of the statistic in rules

    @classmethod
    def of_table(cls, X: F64 | OutOfCoreMatrix, table: TableSchema, max_bins: int, of: str) -> HighCardinality | None:
        wide = np.flatnonzero(table.n_categories > min(MAX_SUBSET_CATEGORIES, max_bins)).tolist()
        if not wide:
            return None
        codes, (contents, numbers) = np.empty((len(X), len(wide)), np.int32), np.empty((2, len(X)), np.uint64)
        same, no_cell = np.ones(X.shape[1], bool), np.ones(X.shape[1], bool)
        of_first = None
        for first, rows in X.blocks() if isinstance(X, OutOfCoreMatrix) else [(0, X)]:
            last, missing = first + len(rows), np.isnan(rows)
            of_first = rows[0].copy() if of_first is None else of_first
            same &= (rows == of_first).all(axis=0)
            no_cell &= missing.all(axis=0)
            codes[first:last] = np.where(missing[:, wide], -1.0, rows[:, wide])
            contents[first:last], numbers[first:last] = _row_hashes(rows, table)
        occurring = [len(np.unique(column[column >= 0])) for column in codes.T]
        many = [
            c for c, j in enumerate(wide) if occurring[c] > MAX_SUBSET_CATEGORIES or table.n_categories[j] > max_bins
        ]
        if not many:
            return None
        columns = [wide[c] for c in many]
        alone = [not np.delete(~(same | no_cell), j).any() for j in columns]
        n_levels = tuple(table.n_categories[columns].tolist())
        kept = np.ascontiguousarray(codes[:, many])
        # by the columns of numbers if these tell most rows apart, so that names of categories choose no fold
        hashes = numbers if 2 * len(np.unique(numbers)) >= len(np.unique(contents)) else contents
        fold = (hashes % np.uint64(N_FOLDS)).astype(np.int64)
        return cls(tuple(columns), kept, contents, fold, n_levels, tuple(alone), of)

    def __getitem__(self, index: NDArray[np.integer] | NDArray[np.bool_]) -> HighCardinality:
        return replace(self, codes=self.codes[index], contents=self.contents[index], fold=self.fold[index])

    @property
    def n_rows(self) -> int:
        return len(np.unique(self.contents))


def _row_hashes(X: F64, table: TableSchema) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    # by all columns, and by those of numbers
    hashed = X.copy()
    for j, categories in enumerate(table.categories):
        if categories:
            # hashes of texts are above 0, and exact in single precision
            words = [1.0 + (crc32(each.encode()) >> 8) if isinstance(each, str) else float(each) for each in categories]
            code = np.where(np.isnan(X[:, j]), len(words), X[:, j]).astype(np.intp)
            hashed[:, j] = np.append(np.array(words, dtype=np.float64), np.nan)[code]
    every = cell_sums(hashed, 1)
    hashed[:, table.n_levels > 0] = 0.0  # which adds nothing
    return every, cell_sums(hashed, 1)
