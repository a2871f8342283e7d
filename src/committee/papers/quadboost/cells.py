"""One cell of the rebuilt QuadBoost comparison: a method searched and fitted on a split of a table."""

from __future__ import annotations

import numpy as np

from committee.files.journal import Cell
from committee.papers.quadboost.methods import LEARNERS
from committee.papers.quadboost.plan import SearchPlan
from committee.papers.quadboost.tables import BinaryTable, draw_split, prepared
from committee.papers.shared.cells import timed
from committee.papers.shared.paired import packed
from committee.report.crossvalidation import stratified_folds


def search_cell(table: BinaryTable, name: str, repeat: int, seed: int, plan: SearchPlan) -> Cell:
    """Choose a method's hyperparameters on the training rows of a split, fit, and judge on the test rows.

    The cell has ``right``, a bit per test row as hexadecimal digits; the seconds of the choice and of the fit; the mean
    of (y - F)^2 over the test rows as ``risk``, or None; AdaBoost's ``test_errors`` by its rounds.
    """
    method = LEARNERS[name]
    train, test = draw_split(table.published, seed, repeat)
    X, y = prepared(table, train), table.y
    folds = stratified_folds((y[train] > 0).astype(np.intp), plan.folds, 1, seed + repeat)
    (params, cv_error), choose_seconds = timed(lambda: method.choose(X[train], y[train], folds, plan))
    model, fit_seconds = timed(lambda: method.fit(X[train], y[train], params))
    risk = float(np.mean((y[test] - model.decision_function(X[test])) ** 2)) if method.quadratic else None
    return {
        "params": params,
        "cv_error": cv_error,
        "right": packed(model.predict(X[test]) == y[test]),
        "risk": risk,
        "test_errors": method.test_errors((X[train], y[train]), (X[test], y[test]), plan),
        "columns": X.shape[1],
        "voters": model.committee_.n_voters,
        "choose_seconds": round(choose_seconds, 4),
        "fit_seconds": round(fit_seconds, 5),
    }
