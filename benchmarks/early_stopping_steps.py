"""Steps of gradient boosting that stops early by given rows, beside the step that it finds itself without them.

``COMMITTEE_DATA=... python -m benchmarks.early_stopping_steps`` fits both on the choosing half, tables of up to 3,000
rows and 400 columns, three folds, a fifth of the training rows held out, and prints ranks and errors over those of the
step that is found: by what TabArena judges by (1 less the area under the curve of two classes, log loss of more,
squared error of numbers), and of classes by log loss. It chose the early stopping of integrations/tabarena.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from benchmarks.default_tables import Problem, problems
from committee import GradientBoostingClassifier, GradientBoostingRegressor

WAYS: dict[str, dict[str, Any]] = {
    "its own step": {},
    "0.1": {"learning_rate": 0.1, "n_estimators": 2000, "n_iter_no_change": 30},
    "0.05": {"learning_rate": 0.05, "n_estimators": 4000, "n_iter_no_change": 50},
    "0.03": {"learning_rate": 0.03, "n_estimators": 5000, "n_iter_no_change": 80},
}
MOST_ROWS, MOST_COLUMNS, N_FOLDS = 3000, 400, 3
LEAST = 0.003
"""Errors below count as this in a ratio."""


def errors(problem: Problem, parameters: Mapping[str, Any], rows: tuple[NDArray[np.intp], ...]) -> tuple[float, float]:
    """Fit on the first rows, stop by the second, and judge on the third: TabArena's error, and log loss."""
    fit, held, test = rows
    learner = GradientBoostingRegressor if problem.numbers else GradientBoostingClassifier
    categorical = problem.categorical if problem.categorical.any() else None
    model = learner(random_state=0, n_jobs=1, categorical_features=categorical, **parameters)
    if parameters:
        model.set_params(early_stopping=True).fit(
            problem.X[fit], problem.y[fit], X_val=problem.X[held], y_val=problem.y[held]
        )
    else:
        model.fit(problem.X[fit], problem.y[fit])
    X, y = problem.X[test], problem.y[test]
    if problem.numbers:
        error = float(((model.predict(X) - y) ** 2).mean() / problem.y.var())
        return error, error
    p = np.full((len(y), problem.y.max() + 1), 1e-15)
    p[:, model.classes_] = model.predict_proba(X)
    log_loss = float(-np.log(np.maximum(p[np.arange(len(y)), y], 1e-15)).mean())
    return (1.0 - roc_auc_score(y, p[:, 1]) if p.shape[1] == 2 else log_loss), log_loss


def of_table(problem: Problem) -> NDArray[np.float64]:
    """Return the errors of all ways, ``(n_ways, 2)``, means over folds."""
    found = []
    for train, test in islice(problem.splits(5, 0), N_FOLDS):
        y = problem.y[train]
        even = not problem.numbers and np.unique(y, return_counts=True)[1].min() > 1
        fit, held = train_test_split(train, test_size=0.2, random_state=0, stratify=y if even else None)
        found.append([errors(problem, parameters, (fit, held, test)) for parameters in WAYS.values()])
    return np.maximum(np.array(found), LEAST).mean(axis=0)


def main() -> None:
    """Print a line for each way, of classes and of numbers."""
    chosen = [
        problem
        for problem in problems(Path(os.environ["COMMITTEE_DATA"]), "choosing")
        if len(problem.y) <= MOST_ROWS and problem.X.shape[1] <= MOST_COLUMNS
    ]
    for numbers in (False, True):
        table = np.array([of_table(problem) for problem in chosen if problem.numbers is numbers])
        for k, judge in enumerate(("TabArena's error",) if numbers else ("TabArena's error", "log loss")):
            E = table[:, :, k]
            print(f"{'numbers' if numbers else 'classes'}, {len(E)} tables, {judge}")
            for way, name in enumerate(WAYS):
                rank = (1 + (E[:, [way]] > E).sum(axis=1)).mean()
                ratio = np.exp(np.log(E[:, way] / E[:, 0]).mean())
                print(f"  {name:12s} rank {rank:.2f}, over its own step's {ratio:.3f}")


if __name__ == "__main__":
    main()
