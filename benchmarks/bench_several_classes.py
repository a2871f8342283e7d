"""SBPMT on tables of three classes and more: other AdaBoosts, and gradient steps in leaves, beside its defaults.

Tables of up to 2,500 rows and 200 columns of the folder that ``COMMITTEE_DATA`` names, by half, in five folds. Printed
are error and log loss, means over the tables, and by how much they are above the defaults', with the standard error of
that mean. Each cell is kept in ``results/several_classes/`` at once, and a run goes on where it was stopped.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.bench_defaults import fitted, judged
from benchmarks.code import kept_cells
from benchmarks.default_tables import Problem, problems
from benchmarks.figures import QUICK_RESULTS, RESULTS, Figure, Findings, command
from benchmarks.pairing import Spread
from committee import SBPMTClassifier
from committee.files.journal import Cell, Journal

LEAST_CLASSES, MOST_ROWS, MOST_COLUMNS = 3, 2500, 200
N_FOLDS = 5
HALVES = ("choosing", "checking")
DEFAULTS = "defaults"
SETTINGS: dict[str, dict[str, Any]] = {
    DEFAULTS: {},
    'emphasis="half"': {"emphasis": "half"},
    'emphasis="m1"': {"emphasis": "m1"},
    'emphasis="m2"': {"emphasis": "m2"},
    'emphasis="mh"': {"emphasis": "mh"},
    'leaf_steps="gradient"': {"leaf_steps": "gradient"},
    'leaf_steps="gradient", n_leaf_steps=20': {"leaf_steps": "gradient", "n_leaf_steps": 20},
}
"""What differs from the defaults."""


def several(folder: Path, half: str) -> Iterator[Problem]:
    """The tables of a half that have classes enough, and are small enough."""
    for problem in problems(folder, half):
        small = len(problem.y) <= MOST_ROWS and problem.X.shape[1] <= MOST_COLUMNS
        if not problem.numbers and problem.y.max() + 1 >= LEAST_CLASSES and small:
            yield problem


def cells(problem: Problem, n_folds: int, journal: Journal) -> Iterator[Cell]:
    """The cells of a table, those that the journal has first."""
    done = {(c["setting"], c["fold"]): c for c in journal.cells if c["table"] == problem.name}
    yield from done.values()
    for fold, (train, test) in enumerate(list(problem.splits(N_FOLDS, 0))[:n_folds]):
        for name, options in SETTINGS.items():
            if (name, fold) in done:
                continue

            def make(_: bool, categorical: Any, seed: int, options: dict[str, Any] = options) -> Any:
                return SBPMTClassifier(categorical_features=categorical, random_state=seed, n_jobs=1, **options)

            model, known, seconds = fitted(problem, make, train, fold)
            found = judged(problem, model, known, test, seconds)
            place = {"table": problem.name, "setting": name, "fold": fold}
            journal.append({**place, "error": 100.0 * found.error, "log_loss": found.loss, "seconds": seconds})
            yield journal.cells[-1]


def report(findings: Findings, half: str, found: list[Cell]) -> None:
    """Each setting's mean over the tables, and how far it is above that of the defaults."""
    tables = list(dict.fromkeys(cell["table"] for cell in found))
    findings.settings[f"tables of the {half} half"] = tables

    def means(name: str, measure: str) -> Any:
        own = [[c[measure] for c in found if c["setting"] == name and c["table"] == table] for table in tables]
        return np.array([np.mean(values) for values in own])

    for measure, unit in (("error", "%"), ("log_loss", "")):
        for name in SETTINGS:
            work = f"{name}: {measure.replace('_', ' ')}, {len(tables)} tables of the {half} half"
            findings.add(Figure(work, "", unit, _spread(means(name, measure))))
            if name != DEFAULTS:
                above = _spread(means(name, measure) - means(DEFAULTS, measure))
                better = int((means(name, measure) < means(DEFAULTS, measure)).sum())
                error = above.median - above.lower_quartile
                remark = f"mean {above.median:+.3f}, standard error {error:.3f}; better on {better}"
                findings.add(Figure(f"{work}, less the defaults'", DEFAULTS, unit, above, remark=remark))
    for name in SETTINGS:
        seconds = means(name, "seconds").sum() / means(DEFAULTS, "seconds").sum()
        findings.add(Figure(f"{name}: fit time, all tables of the {half} half", DEFAULTS, "x", Spread.of([seconds])))


def _spread(values: Any) -> Spread:
    """Mean, a standard error of it on either side, and the extremes."""
    mean, error = float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))
    return Spread(mean, mean - error, mean + error, float(values.min()), float(values.max()), len(values))


def measure(findings: Findings, quick: bool) -> None:
    """Errors and log losses of SBPMT by AdaBoosts and steps in leaves, on tables of several classes."""
    folder = os.environ.get("COMMITTEE_DATA")
    if folder is None:
        findings.settings["left out"] = "all: COMMITTEE_DATA names no folder of tables"
        return
    n_folds, n_tables = (1, 2) if quick else (N_FOLDS, None)
    findings.settings["folds"] = n_folds
    kept = (QUICK_RESULTS if quick else RESULTS) / "several_classes"
    for half in HALVES:
        chosen = list(several(Path(folder), half))[:n_tables]
        with warnings.catch_warnings(), kept_cells(kept / f"{half}.jsonl", {}, __name__) as journal:
            warnings.simplefilter("ignore")
            found = [cell for problem in chosen for cell in cells(problem, n_folds, journal)]
        report(findings, half, found)


if __name__ == "__main__":
    command("several_classes", measure)
