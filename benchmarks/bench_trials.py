"""Gradient boosting with and without trials of its rounds, trees and draws, beside LightGBM, on both halves of tables.

``python -m benchmarks.bench_trials`` reads the tables of the folder that COMMITTEE_DATA names, but `madelon`, which
takes minutes, and makes tables of rules: all combinations of the levels of eight categories, whose class is a rule of
sums of levels, with noise of 0 to 5 %. On these scikit-learn's histogram boosting stands too. What is tried, and when
it is taken, was chosen on the choosing half and on these tables.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.bench_defaults import Models, fitted, judged, report
from benchmarks.default_tables import Problem, problems
from benchmarks.figures import Findings, command
from benchmarks.rivals import BOOSTERS
from committee import GradientBoostingClassifier, GradientBoostingRegressor

LEVELS = (3, 5, 4, 4, 3, 2, 3, 3)
N_FOLDS = 3


def with_trials(numbers: bool, categorical: NDArray[np.bool_], seed: int, **settings: Any) -> Any:
    kind = GradientBoostingRegressor if numbers else GradientBoostingClassifier
    return kind(categorical_features=categorical if categorical.any() else None, random_state=seed, **settings)


def without_trials(numbers: bool, categorical: NDArray[np.bool_], seed: int) -> Any:
    draws = {} if numbers else {"subsample": 0.7, "max_features": 0.5}
    return with_trials(numbers, categorical, seed, n_estimators=200, max_leaf_nodes=15, **draws)


MODELS = {"trials": with_trials, "trials of the step alone": without_trials, "LightGBM": BOOSTERS["LightGBM"]}
OF_RULES = MODELS | {"scikit-learn": BOOSTERS["scikit-learn"]}


def tables_of_rules() -> Iterator[Problem]:
    """Classes by three sums of levels, each cut into three, and a table of these; two levels of the last one decide."""
    X = np.array(list(np.ndindex(*LEVELS)))
    for seed, noise in enumerate((0.0, 0.0, 0.01, 0.05)):
        rng = np.random.default_rng(seed)
        cut = []
        for group in (X[:, :2], X[:, 2:6], X[:, 6:]):
            total = group @ rng.integers(1, 4, group.shape[1])
            cut.append(np.digitize(total, np.quantile(total, [0.3, 0.7])))
        table = np.sort(np.sort(rng.integers(0, 3, (3, 3, 3)), axis=0), axis=1)
        y = np.where(X[:, 7] == 0, 5, table[tuple(cut)] + 2 * (X[:, 7] == 2))
        y = np.where(rng.random(len(y)) < noise, rng.permutation(y), y)
        codes = np.column_stack([rng.permutation(n)[column] for n, column in zip(LEVELS, X.T, strict=True)])
        labels = np.unique(y, return_inverse=True)[1]
        yield Problem(f"rules {seed}", codes.astype(float), labels, np.ones(8, dtype=bool), numbers=False)


def cells(tables: Iterator[Problem], models: Models) -> Iterator[dict[str, Any]]:
    for problem in tables:
        for fold, (train, test) in enumerate(problem.splits(N_FOLDS, 1)):
            for name, make in models.items():
                model, known, seconds = fitted(problem, make, train, 0)
                found = judged(problem, model, known, test, seconds)
                where = {"table": problem.name, "numbers": problem.numbers, "model": name, "seed": 0, "fold": fold}
                yield where | vars(found)


def measure(findings: Findings, quick: bool) -> None:
    """Gradient boosting with and without trials of its rounds, trees and draws."""
    folder = os.environ.get("COMMITTEE_DATA")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not quick:
            report(findings, list(cells(tables_of_rules(), OF_RULES)), "rules, ")
        if folder is None or quick:
            findings.settings["left out"] = "tables: for --quick, or as COMMITTEE_DATA names no folder of them"
            return
        for half in ("choosing", "checking"):
            chosen = (one for one in problems(Path(folder), half) if one.name != "madelon")
            report(findings, list(cells(chosen, MODELS)), f"{half}, ")


if __name__ == "__main__":
    command("trials", measure)
