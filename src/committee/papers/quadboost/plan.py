"""The search for the hyperparameters of the QuadBoost document's methods: its size, and what a method is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64
from committee.report.crossvalidation import Split

Params: TypeAlias = dict[str, float | int]
LabelledRows: TypeAlias = tuple[F64, NDArray[np.int64]]
"""Cells, and labels -1 or +1."""


@dataclass(frozen=True)
class SearchPlan:
    """Size of the document's search."""

    values: int
    """Values of each hyperparameter, evenly spaced in the logarithm; the document has 10."""
    folds: int
    """Folds of the choice; the document has 5."""
    max_rounds: int
    """Rounds of AdaBoost above it are not tried; those of QuadBoost all are."""
    max_grown: int
    """The same where every round grows its stump by Gini's index, which costs some twenty times as much."""

    def grid(self, low: float, high: float) -> list[float]:
        """The values from 10^low to 10^high."""
        return [float(value) for value in np.logspace(low, high, self.values)]

    def rounds(self, low: float, high: float) -> list[int]:
        """The same as whole numbers."""
        return sorted({round(value) for value in self.grid(low, high)})

    def affordable(self, low: float, high: float, most: int) -> list[int]:
        """Those of them that are no larger than `most`, or that one alone if all are larger."""
        return [value for value in self.rounds(low, high) if value <= most] or [most]


FULL = SearchPlan(10, 5, 1_000_000, 10_000)
QUICK = SearchPlan(3, 2, 100, 100)


class SearchedMethod(Protocol):
    """A learner and its grid."""

    @property
    def quadratic(self) -> bool:
        """Whether its scores are made to be near -1 and +1, so that their quadratic risk means something."""

    def choose(self, X: F64, y: NDArray[np.int64], folds: Sequence[Split], plan: SearchPlan) -> tuple[Params, float]:
        """The hyperparameters of least error over the folds, and that error."""

    def fit(self, X: F64, y: NDArray[np.int64], params: Params) -> Any:
        """A fitted classifier with these hyperparameters."""

    def test_errors(self, rows: LabelledRows, others: LabelledRows, plan: SearchPlan) -> dict[str, float]:
        """By value of the hyperparameter, the error on other rows, where all values come from one run; else none."""
