"""Training rows as the kernels take them: a matrix, what is to be learned, and weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.data.binning import Binned
from committee.data.frames import TableSchema

RowIndex: TypeAlias = NDArray[np.integer[Any]] | NDArray[np.bool_]
"""What picks rows: their numbers, or a mask."""


class WeightedRows(ABC):
    """What rows of classes and rows of numbers have in common."""

    X: NDArray[np.float64]
    weights: NDArray[np.float64]
    uniform: bool
    """All weights are equal."""

    def __len__(self) -> int:
        return len(self.weights)

    @abstractmethod
    def take(self, index: RowIndex) -> Self:
        """Some of the rows."""

    def binned(self, table: TableSchema, max_bins: int, n_threads: int) -> Binned:
        """The rows in bins, learned from them and their weights."""
        return Binned.of(self.X, None if self.uniform else self.weights, table, max_bins, n_threads)

    @property
    def count(self) -> float:
        """How many rows the weights stand for: a weight of k counts as k rows, and never fewer than there are."""
        return max(float(self.weights.sum()), float(len(self.weights)))


@dataclass(frozen=True, eq=False)
class Rows(WeightedRows):
    """Rows of classes: the encoded matrix, class numbers and weights, all of positive weight."""

    X: NDArray[np.float64]
    labels: NDArray[np.uint16]
    weights: NDArray[np.float64]
    uniform: bool

    def take(self, index: RowIndex) -> Rows:
        """Some of the rows."""
        return Rows(self.X[index], self.labels[index], self.weights[index], self.uniform)


@dataclass(frozen=True, eq=False)
class TargetRows(WeightedRows):
    """Rows of numbers: the encoded matrix, targets and weights, all of positive weight."""

    X: NDArray[np.float64]
    target: NDArray[np.float64]
    weights: NDArray[np.float64]
    uniform: bool

    def take(self, index: RowIndex) -> TargetRows:
        """Some of the rows."""
        return TargetRows(self.X[index], self.target[index], self.weights[index], self.uniform)


def have_weight(sample_weight: ArrayLike | None, n: int) -> NDArray[np.bool_]:
    """Tell which of the user's rows have weight, ``(n_given,)``; `n` is how many rows have.

    Examples
    --------
    >>> have_weight([2.0, 0.0, 1.0], 2).tolist(), have_weight(None, 2).tolist()
    ([True, False, True], [True, True])
    """
    weights = np.ones(n) if sample_weight is None or not np.ndim(sample_weight) else np.asarray(sample_weight)
    return np.asarray(weights > 0)
