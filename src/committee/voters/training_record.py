"""Training record of model trees: sums over their rows, so that they can be explained without them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64

Value = TypeVar("Value", bound=np.generic)


@dataclass(frozen=True, eq=False)
class LeafRows:
    """Training rows by leaf.

    Parameters
    ----------
    rows : int32 array (m,)
        Leaf l holds ``rows[start[l]:start[l + 1]]``, one row at least.
    start : int64 array (L + 1,)
    """

    rows: NDArray[np.int32]
    start: NDArray[np.int64]

    @classmethod
    def concatenate(cls, parts: Sequence[LeafRows]) -> LeafRows:
        """The leaves of several, in order."""
        sizes = np.concatenate([np.diff(part.start) for part in parts])
        return cls(np.concatenate([part.rows for part in parts]), np.concatenate([[0], np.cumsum(sizes)]))

    def sums(self, values: F64) -> F64:
        """Sum in each leaf of an array ``(m, ...)``."""
        return np.add.reduceat(values, self.start[:-1], axis=0)

    def spread_out(self, of_leaf: NDArray[Value]) -> NDArray[Value]:
        """Value of each leaf, at each of its rows."""
        return np.repeat(of_leaf, np.diff(self.start), axis=0)

    def centre(self, D: F64, w: F64) -> F64:
        """Mean design row of each leaf, ``(L, q)``: its rows have ``D`` ``(m, q)`` and weights ``(m,)``."""
        # about the first row of each leaf, so that a column far from 0 loses no digits
        first = D[self.start[:-1]]
        apart = D - self.spread_out(first)
        apart *= w[:, None]
        return first + self.sums(apart) / self.sums(w)[:, None]


@dataclass(frozen=True, eq=False)
class TrainingRecord:
    """Sums over training rows: the place of every leaf's rows, and the decrease of every tree's risk by feature.

    Parameters
    ----------
    mass : float64 array (L,)
        Weight (the user's, before any emphasis) of the training rows in each leaf.
    centre : float64 array (L, q)
        Their mean design row in that weight.
    risk_decrease : float64 array (T, p)
        By how much each feature lowered each tree's mean training risk, in nats.
    """

    mass: F64
    centre: F64
    risk_decrease: F64

    def take(self, models: NDArray[np.integer], trees: NDArray[np.integer]) -> TrainingRecord:
        """The record of some leaf models and trees."""
        return TrainingRecord(self.mass[models], self.centre[models], self.risk_decrease[trees])

    @classmethod
    def concatenate(cls, parts: Sequence[TrainingRecord]) -> TrainingRecord:
        """One record of the leaves and trees of several, in order."""
        return cls(
            np.concatenate([part.mass for part in parts]),
            np.concatenate([part.centre for part in parts]),
            np.concatenate([part.risk_decrease for part in parts]),
        )

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.mass.nbytes + self.centre.nbytes + self.risk_decrease.nbytes
