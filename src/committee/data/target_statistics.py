"""Target statistics: columns of many levels become numbers, learned from the training rows by cross-fitting.

A level's number is the mean target of its rows, shrunk to that of all rows. In training a row sees the mean over the
rows of the other folds, so that its own target has no part in it. Folds are drawn by the rows' contents and not by
chance: equal rows are in the same fold, so a row of weight 2 is the same as two rows, in any order of rows and columns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import fsum, sqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from committee.data.level_values import LevelValues
from committee.data.number_types import F64
from committee.data.parallel import one_blas_thread

if TYPE_CHECKING:
    from committee.data.many_levels import ManyLevels

N_FOLDS = 5

LEAST_STANDARD_ERRORS = 2.0
"""A column whose levels predict the target of other folds by fewer standard errors says nothing, and is one number."""

_UNIT = 2.0**-30
"""Targets are counted in this part of their reach, so that their sums over rows do not depend on the rows' order."""

_LEAST_REACH = 1e-140
"""Targets that differ by less are equal; its square is a number."""

_LEAST_ROWS = 1e-6
"""Least shrinkage: a level without rows in other folds has the mean of all rows, and nothing is divided by 0."""


@dataclass(frozen=True, eq=False)
class ClassTarget:
    """Classes of rows as a target: the rate of the second of two, else their scores on one axis.

    Parameters
    ----------
    labels : uint16 array (n,)
        Class number of every row.
    n_classes : int
        Number of classes K, at least two.
    """

    labels: NDArray[np.uint16]
    n_classes: int

    def __getitem__(self, index: NDArray[np.integer] | NDArray[np.bool_]) -> ClassTarget:
        return ClassTarget(self.labels[index], self.n_classes)

    def sums(self, cells: Cells, weights: F64, row: float) -> Sums:
        """Sums of the classes' scores: 0 and 1 for two of them."""
        flat = cells.of_row * self.n_classes + self.labels
        shape = len(cells.level), self.n_classes
        weight = row * np.bincount(flat, weights, minlength=shape[0] * shape[1]).astype(np.float64).reshape(shape)
        of_class = weight.sum(axis=0)
        share = np.where(of_class > 0.0, of_class, 1.0) / weight.sum()
        expected = weight.sum(axis=1, keepdims=True) * of_class / weight.sum()
        said = cells.said(weight - expected, weight.sum(axis=1))
        score = np.array([0.0, 1.0]) if self.n_classes == 2 else _first_axis((weight - expected).T @ said, share)
        total, square = weight @ score, weight @ score**2
        # of a row's own class the other folds say said / share more than of any
        lift = said / share
        return Sums(
            weight.sum(axis=1), total, square, _errors(float((weight * lift).sum()), float((weight * lift**2).sum()))
        )


@dataclass(frozen=True, eq=False)
class NumberTarget:
    """Numbers to predict as a target.

    Parameters
    ----------
    target : float64 array (n,)
        Number of every row.
    """

    target: F64

    def __getitem__(self, index: NDArray[np.integer] | NDArray[np.bool_]) -> NumberTarget:
        return NumberTarget(self.target[index])

    def sums(self, cells: Cells, weights: F64, row: float) -> Sums:
        """Sums of the targets."""
        low, high = float(self.target.min()), float(self.target.max())
        origin, reach = low / 2.0 + high / 2.0, max(high / 2.0 - low / 2.0, _LEAST_REACH)
        unit = _UNIT * 2.0 ** np.ceil(np.log2(reach))
        whole = np.rint((self.target - origin) / unit)
        weight = row * cells.sums(weights)
        total = unit * row * cells.sums(weights * whole)
        square = unit * reach * row * cells.sums(weights * np.rint(whole * (whole * (unit / reach))))
        sums = Sums(weight, total, square, origin=origin)
        said = cells.said(sums.residual, weight)
        return replace(sums, errors=_errors(float(sums.residual @ said), float(sums.squared_residual @ said**2)))


@dataclass(frozen=True, eq=False)
class SeveralTargets:
    """Several numbers to predict of each row, put on the one axis on which levels tell most of them.

    Parameters
    ----------
    target : float64 array (n, q)
        Numbers of every row.
    """

    target: F64

    def __getitem__(self, index: NDArray[np.integer] | NDArray[np.bool_]) -> SeveralTargets:
        return SeveralTargets(self.target[index])

    def sums(self, cells: Cells, weights: F64, row: float) -> Sums:
        """Sums of the targets along the first axis of what folds say of each other."""
        each = [NumberTarget(column).sums(cells, weights, row) for column in self.target.T]
        residual = np.stack([one.residual for one in each], axis=1)
        scale = max(float(np.abs(residual).max()), _LEAST_REACH)  # so that squares are numbers
        said = cells.said(residual / scale, each[0].weight)
        axis = _first_axis((residual / scale).T @ said, np.ones(len(each)))
        score, agreement = np.zeros(len(self.target)), np.zeros(len(self.target))
        for k, one in enumerate(each):
            score += axis[k] * self.target[:, k]
            agreement += (self.target[:, k] - one.origin - one.mean) / scale * said[cells.of_row, k]
        # summed exactly, so that the order of rows does not matter
        errors = _errors(*(fsum((row * weights * terms).tolist()) for terms in (agreement, agreement**2)))
        return replace(NumberTarget(score).sums(cells, weights, row), errors=errors)


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums of a target over the rows of cells, ``(C,)`` each.

    Parameters
    ----------
    weight, total, square : float64 array (C,)
        Of weights, which add up to the number of different rows, of the target and of its square.
    errors : float
        By how many standard errors the levels predict the targets of other folds better than chance.
    origin : float
        The target that counts as 0.
    """

    weight: F64
    total: F64
    square: F64
    errors: float = 0.0
    origin: float = 0.0

    @property
    def mean(self) -> float:
        """Mean of all rows, from the origin."""
        return float(self.total.sum() / self.weight.sum())

    @property
    def residual(self) -> F64:
        """Sums of what is above the mean, ``(C,)``."""
        return self.total - self.mean * self.weight

    @property
    def squared_residual(self) -> F64:
        """Sums of squared differences from the mean, ``(C,)``."""
        return self.square - self.mean * (2.0 * self.total - self.mean * self.weight)


@dataclass(frozen=True, eq=False)
class Cells:
    """Rows by level and fold: those pairs that occur, C of them, and the cell of every row.

    Parameters
    ----------
    code : int32 array (L,)
        The levels that occur.
    level : intp array (C,)
        Place in `code` of each cell's level.
    of_row : intp array (n,)
        Cell of every row.
    """

    code: NDArray[np.int32]
    level: NDArray[np.intp]
    of_row: NDArray[np.intp]

    @classmethod
    def of_rows(cls, codes: NDArray[np.int32], fold: NDArray[np.int64]) -> Cells:
        """Cells of rows that have a level."""
        pairs, of_row = np.unique(codes.astype(np.int64) * N_FOLDS + fold, return_inverse=True)
        code, level = np.unique(pairs // N_FOLDS, return_inverse=True)
        return cls(code.astype(np.int32), level, of_row)

    def sums(self, of_rows: F64) -> F64:
        """Sums over the rows of each cell, ``(C,)``, of something ``(n,)``."""
        return np.bincount(self.of_row, of_rows, minlength=len(self.level)).astype(np.float64, copy=False)

    def others(self, sums: F64) -> F64:
        """Sums over a cell's level in the other folds, of sums over cells ``(C,)`` or ``(C, K)``."""
        columns = np.atleast_2d(sums.T)
        of_level = np.stack([np.bincount(self.level, column) for column in columns], axis=-1)
        return of_level.reshape(-1, *sums.shape[1:])[self.level] - sums

    def said(self, residual: F64, weight: F64) -> F64:
        """Mean residual of a cell's level in the other folds, a little shrunk, of sums ``(C,)`` or ``(C, K)``."""
        other = self.others(residual)
        mean: F64 = (other.T / (self.others(weight) + 1.0)).T
        return mean


@np.errstate(over="ignore")  # weights and targets at the limits of their type: a sum that is no number says nothing
def target_statistics(
    levels: ManyLevels, target: ClassTarget | NumberTarget | SeveralTargets, weights: F64
) -> tuple[F64, dict[int, LevelValues]]:
    """Numbers of the training rows' cells ``(n, m)``, and by column those of its levels for later rows."""
    numbers = np.full(levels.codes.shape, np.nan)
    found = {}
    fold = (levels.contents % np.uint64(N_FOLDS)).astype(np.int64)
    row = levels.n_rows / float(weights.sum())
    for c, j in enumerate(levels.columns):
        known = levels.codes[:, c] >= 0
        cells = Cells.of_rows(levels.codes[known, c], fold[known])
        with one_blas_thread():  # its sums hang on the number of threads
            sums = target[known].sums(cells, weights[known], row)
            seen, whole = _shrunk(cells, sums, levels.alone[c])
        mean = sums.mean + sums.origin
        numbers[known, c] = mean + seen[cells.of_row]
        values = np.full(levels.n_levels[c], mean)
        values[cells.code] += whole
        found[j] = LevelValues(tuple(values.tolist()), mean, levels.of)
    return numbers, found


def _shrunk(cells: Cells, sums: Sums, alone: bool) -> tuple[F64, F64]:
    """Means of cells by the other folds ``(C,)`` and of levels ``(L,)`` less that of all rows, both shrunk to it.

    They are as much shrunk as is best for levels whose own means vary by tau^2 about that of all and rows by sigma^2
    about their level's: by sigma^2 / tau^2 rows. What levels say of the targets in other folds is an estimate of tau^2
    that chance does not raise; if it is not clear of 0, all levels have the one mean.
    """
    residual, weight = sums.residual, sums.weight
    of_level, weight_of_level = np.bincount(cells.level, residual), np.bincount(cells.level, weight)
    if alone:  # nothing else tells the rows of a level apart, so none could be in another fold
        whole = of_level / weight_of_level
        return whole[cells.level], whole
    if sums.errors <= LEAST_STANDARD_ERRORS:
        return np.zeros(len(weight)), np.zeros(len(of_level))
    other_weight = cells.others(weight)
    expected = float(weight @ (other_weight / (other_weight + 1.0)))
    between = max(float(residual @ cells.said(residual, weight)) / expected, _LEAST_REACH**2)
    within = float(sums.squared_residual.sum() / weight.sum()) - between
    rows = max(within / between, _LEAST_ROWS)
    return cells.others(residual) / (other_weight + rows), of_level / (weight_of_level + rows)


def _first_axis(agreement: F64, share: F64) -> F64:
    """Scores of the classes ``(K,)`` on which levels agree most between folds, by the agreement of pairs ``(K, K)``.

    It is the first axis of correspondence analysis, but for each fold taken with the others; `share` are the classes'.
    Of targets that count alike it is the first principal axis of the levels' means.
    """
    root = np.sqrt(share)
    axis: F64 = np.linalg.eigh((agreement + agreement.T) / np.outer(root, root))[1][:, -1]
    scores: F64 = axis * np.sign(axis[np.abs(axis).argmax()]) / root
    return scores


def _errors(agreement: float, square: float) -> float:
    """Agreement between folds in its standard errors, from sums over rows of what was said of them, and its square."""
    # every pair of folds is met twice, hence twice the variance
    return agreement / sqrt(2.0 * square) if square > 0.0 else 0.0
