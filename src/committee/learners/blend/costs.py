"""Estimated training time of the candidates of a committee of ensembles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from committee.data.matrices import SparseMatrix
from committee.data.rows import Rows, TargetRows
from committee.data.table_schema import TableSchema
from committee.learners.adaboost import AdaBoostClassifier
from committee.learners.bagging.random_forest import ForestEstimator, RandomForestClassifier
from committee.learners.bagging.sbpmt import SBPMTClassifier
from committee.learners.blend.members import Candidate
from committee.learners.gradient.gradient_boosting import GradientBoosting, GradientBoostingRegressor
from committee.learners.gradient.trials import leaves_by_rows
from committee.learners.trees.probit_boost import LogitBoostClassifier

TRIALS, TRIALS_OF_TREES = 1.35, 1.6
"""Time of a fit of boosting with the trials of its learning rate, and of its trees too, over that of a fit without."""
TYPICAL_ROUNDS = 250
"""Number of rounds that is assumed where trials choose it."""


@dataclass(frozen=True)
class FitCosts:
    """Estimated processor seconds of single fits, by rows, columns, classes and settings.

    The constants are fitted to fits of 300 to 50,000 rows, 5 to 60 columns and 1 to 20 classes on one thread of a
    2 GHz processor; half of the estimates are within 25 % (docs/decisions.md). Ratios of estimates hold on other
    processors too.
    """

    n_columns: int
    n_design: int
    """Number of columns if each category has a 0/1 column."""
    n_scores: int
    """Classes, or 1 for numbers."""

    @classmethod
    def of(cls, rows: Rows | TargetRows, table: TableSchema) -> FitCosts:
        n_scores = int(rows.labels.max()) + 1 if isinstance(rows, Rows) else 1
        cells = rows.cells
        if isinstance(cells, SparseMatrix):  # stored cells are counted as columns
            stored = sum(array.size for array in vars(cells).values() if isinstance(array, np.ndarray)) / 2.0
            p = max(1, round(stored / len(rows)))
            return cls(p, p, n_scores)
        levels = np.asarray(table.n_levels)
        return cls(cells.shape[1], int(np.where(levels > 0, levels, 1).sum()), n_scores)

    def seconds(self, candidate: Candidate, n: float) -> float:
        """Seconds of one fit on n rows, with its held-out predictions."""
        learner, settings = candidate.learner, candidate.settings
        if issubclass(learner, GradientBoosting):
            return self._gradient_boosting(learner, settings, n)
        if issubclass(learner, ForestEstimator):
            return self._forest(learner, settings, n)
        if issubclass(learner, SBPMTClassifier):
            return self._sbpmt(settings, n)
        if issubclass(learner, LogitBoostClassifier):
            return float(settings["n_estimators"] * self._n_trees * (2e-6 + 3e-10 * n * self.n_design))
        if issubclass(learner, AdaBoostClassifier):
            K, p = self.n_scores, self.n_columns
            per_voter = 3e-5 + 3e-5 * p * K + n * (1e-7 + 2e-8 * K + 3e-9 * p)
            return float(settings["n_estimators"] * per_voter)
        return 1e-7 * n * self.n_columns

    @property
    def _n_trees(self) -> int:
        return self.n_scores if self.n_scores > 2 else 1

    def _gradient_boosting(self, learner: type[Any], settings: dict[str, Any], n: float) -> float:
        leaves = settings["max_leaf_nodes"]
        leaves = min(leaves_by_rows(n) if leaves == "auto" else leaves or n, 0.2 * n)
        shared = settings.get("tree") == "shared"
        trees, outputs = (1, self._n_trees) if shared else (self._n_trees, 1)
        p, numbers = self.n_columns, issubclass(learner, GradientBoostingRegressor)
        lines = numbers and settings["leaf"] != "constant"
        per_tree = 6e-5 + 3e-7 * leaves * p * outputs + n * (3.6e-8 * outputs + 3.7e-9 * p)
        per_tree += (1.5e-4 + 8e-7 * leaves * p + 3e-8 * n) * lines
        of_trees = TRIALS_OF_TREES if settings["max_leaf_nodes"] == "auto" else TRIALS
        trials = of_trees if settings["learning_rate"] == "auto" else 1.0
        rounds = settings["n_estimators"]
        return float(trials * (TYPICAL_ROUNDS if rounds == "auto" else rounds) * trees * per_tree)

    def _forest(self, learner: type[Any], settings: dict[str, Any], n: float) -> float:
        drawn = _drawn(settings, n)
        work = drawn * np.log2(max(drawn, 2.0))
        classes, p = issubclass(learner, RandomForestClassifier), self.n_columns
        of_draw = work * (3e-9 + 5e-9 * (p**0.5 if classes else p)) + 4e-8 * drawn * self.n_scores
        # rows that are not drawn fall through the trees too
        return float(settings["n_estimators"] * (7e-4 + of_draw + n * (5e-8 + 1e-8 * self.n_scores)))

    def _sbpmt(self, settings: dict[str, Any], n: float) -> float:
        drawn, k = _drawn(settings, n), self._n_trees
        trees = settings["n_estimators"] * settings["n_boosting_rounds"]
        return float(trees * (6e-4 + drawn * (2.2e-6 + 7.6e-7 * k) + n * 2e-8 * k))


def _drawn(settings: dict[str, Any], n: float) -> float:
    share = settings["max_samples"]
    return float(share * n if isinstance(share, float) else min(share or n, n))
