"""One cell of the rebuilt QuadBoost comparison: a method searched and fitted on a split of a table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from committee.papers.quadboost.methods import LEARNERS, SearchPlan
from committee.papers.quadboost.tables import BinaryTable, draw_split, prepared
from committee.papers.shared.cells import timed
from committee.papers.shared.journal import Cell
from committee.papers.shared.paired import packed
from committee.report.crossvalidation import stratified_folds


@dataclass(frozen=True)
class SearchTask:
    """One method on one split of one table."""

    table: BinaryTable
    method: str
    repeat: int
    seed: int
    plan: SearchPlan

    @property
    def key(self) -> tuple[str, int, str]:
        """Table, repeat and method."""
        return self.table.published.name, self.repeat, self.method

    def __call__(self) -> Cell:
        """Choose hyperparameters on the training rows, fit, and judge on the test rows.

        Returns
        -------
        dict
            Among others ``right``, a bit per test row as hexadecimal digits; the seconds of the choice and of the fit;
            the mean of (y - F)^2 over the test rows as ``risk``, or None.
        """
        method = LEARNERS[self.method]
        train, test = draw_split(self.table.published, self.seed, self.repeat)
        X, y = prepared(self.table, train), self.table.y
        folds = stratified_folds((y[train] > 0).astype(np.intp), self.plan.folds, 1, self.seed + self.repeat)
        (params, cv_error), choose_seconds = timed(lambda: method.choose(X[train], y[train], folds, self.plan))
        model, fit_seconds = timed(lambda: method.fit(X[train], y[train], params))
        risk = float(np.mean((y[test] - model.decision_function(X[test])) ** 2)) if method.quadratic else None
        return {
            "table": self.table.published.name,
            "digest": self.table.digest,
            "repeat": self.repeat,
            "method": self.method,
            "params": params,
            "cv_error": cv_error,
            "right": packed(model.predict(X[test]) == y[test]),
            "risk": risk,
            "columns": X.shape[1],
            "voters": model.committee_.n_voters,
            "choose_seconds": round(choose_seconds, 4),
            "fit_seconds": round(fit_seconds, 5),
        }
