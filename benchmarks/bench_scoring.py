"""Gradient boosting whose trials or early stopping follow accuracy in place of the log loss, on the choosing half.

``python -m benchmarks.bench_scoring`` reads the tables of classes of up to 2,500 rows in the folder that COMMITTEE_DATA
names.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.bench_defaults import LEAST_LOSS, fitted, judged
from benchmarks.default_tables import problems
from benchmarks.figures import Figure, Findings, command
from benchmarks.pairing import Spread
from committee import GradientBoostingClassifier

MOST_ROWS = 2500
N_FOLDS = 3
SETTINGS: dict[str, dict[str, Any]] = {
    "trials": {},
    "trials by accuracy": {"scoring": "accuracy"},
    "early stopping": {"early_stopping": True},
    "early stopping by accuracy": {"early_stopping": True, "scoring": "accuracy"},
}
AGAINST = {"trials by accuracy": "trials", "early stopping by accuracy": "early stopping"}


def cells(folder: Path, quick: bool) -> Iterator[dict[str, Any]]:
    """Log loss, error and processor time of each model on each fold."""
    for problem in takewhile(lambda one: not one.numbers, problems(folder, "choosing")):
        if len(problem.y) > (100 if quick else MOST_ROWS):
            continue
        for fold, (train, test) in enumerate(problem.splits(N_FOLDS, 1)):
            for name, settings in SETTINGS.items():

                def make(numbers: bool, flags: NDArray[np.bool_], seed: int, settings: Any = settings) -> Any:
                    columns = flags if flags.any() else None
                    return GradientBoostingClassifier(categorical_features=columns, random_state=seed, **settings)

                try:
                    model, known, seconds = fitted(problem, make, train, 0)
                except ValueError:  # classes of a single row, of which early stopping can hold out none
                    continue
                yield {"table": problem.name, "fold": fold, "model": name} | vars(
                    judged(problem, model, known, test, seconds)
                )


def measure(findings: Findings, quick: bool) -> None:
    """Gradient boosting by accuracy beside that by log loss."""
    folder = os.environ.get("COMMITTEE_DATA")
    if folder is None:
        findings.settings["left out"] = "all: COMMITTEE_DATA names no folder of tables"
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = list(cells(Path(folder), quick))
    for name, other in AGAINST.items():
        tables = sorted({c["table"] for c in found if c["model"] == name})

        def means(model: str, measured: str, tables: Any = tables) -> Any:
            of = [[c[measured] for c in found if (c["table"], c["model"]) == (table, model)] for table in tables]
            return np.array([np.mean(each) for each in of])

        loss, before = (np.maximum(means(one, "loss"), LEAST_LOSS) for one in (name, other))
        ratio = Spread.of(np.exp(np.log(loss / before).mean(keepdims=True)))
        findings.add(Figure(f"log loss of {name}, {len(tables)} tables", other, "x", ratio, at_least=False))
        points = 100.0 * (means(other, "error") - means(name, "error"))
        error = points.std(ddof=1) / np.sqrt(len(points)) if len(points) > 1 else 0.0
        words = f"standard error {error:.2f}"
        findings.add(
            Figure(f"accuracy of {name}", other, "points more", Spread.of(points.mean(keepdims=True)), remark=words)
        )
        ratio = Spread.of(np.exp(np.log(means(name, "seconds") / means(other, "seconds")).mean(keepdims=True)))
        findings.add(Figure(f"fit time of {name}", other, "x", ratio, at_least=False, clock="cpu"))


if __name__ == "__main__":
    command("scoring", measure)
