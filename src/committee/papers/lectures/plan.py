"""Sizes of the lecture notes' experiments: in full, or a little of each to see that all is well."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from sklearn.datasets import make_friedman1

from committee.data.number_types import F64
from committee.papers.shared.mease_wyner import mease_wyner


@dataclass(frozen=True)
class LecturePlan:
    """Sizes of the experiments."""

    rounds: tuple[int, ...]
    """Rounds of AdaBoost after which margins are looked at; the lecture notes' are 5, 100 and 1000."""
    folds: int
    """Stratified folds of the table."""
    repeats: int
    """Times that a simulation is drawn anew."""
    training_rows: int
    test_rows: int
    """Rows of each simulation."""
    boosting_rounds: int
    """Rounds of gradient boosting."""
    trees: int
    """Trees of the forest."""
    table: str = "vehicle"
    """Of the margins; it is the lecture notes'."""

    def simulated(self, task: str, seed: int, repeat: int) -> tuple[F64, F64, F64, F64]:
        """Training and test rows: Mease and Wyner's two classes, or Friedman's function with noise of variance 1."""
        n, m = self.training_rows, self.test_rows
        random = np.random.default_rng([seed, repeat])
        if task == "classes":
            X, y = mease_wyner(n + m, random)
        else:
            X, y = make_friedman1(n + m, noise=1.0, random_state=int(random.integers(2**31)))
        return X[:n], y[:n].astype(np.float64), X[n:], y[n:].astype(np.float64)


FULL = LecturePlan((5, 100, 1000), 10, 20, 1000, 20_000, 200, 500)
QUICK = LecturePlan((2, 5, 10), 2, 2, 200, 500, 10, 20)
SMALL = replace(QUICK, table="iris")
"""Its table comes along."""
