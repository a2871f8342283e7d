"""Settings beside the defaults, on small tables of classes: of QuadBoost, of SBPMT, and softness of random voters.

Tables of up to 1,600 rows, 200 columns and four classes of the folder that ``COMMITTEE_DATA`` names, by half: defaults
are chosen on the one and reported on the other. Error and log loss are means over the tables, with the standard error
of that mean. Each cell is kept in ``results/settings/`` at once, and a run goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import committee
from benchmarks.bench_defaults import fitted, judged
from benchmarks.code import kept_cells
from benchmarks.default_tables import Problem, problems
from benchmarks.figures import RESULTS, Figure, Findings, command
from benchmarks.pairing import Spread
from committee.files.journal import Cell, Journal
from committee.papers.sbpmt.table2 import SETTINGS

MOST_ROWS, MOST_COLUMNS, MOST_CLASSES = 1600, 200, 4
SOFTNESS = (0.0, 0.1, 0.25, 0.35, 0.5, 0.7, 1.0)
VOTERS = 64
PAPERS_SBPMT = SETTINGS["paper"]

Make = Callable[..., Any]


def settings() -> dict[str, Make]:
    """Learners by the name of their setting, the part before the colon being that of its group."""
    added: dict[str, Any] = {"reweight": "none"}
    quadboost: dict[str, dict[str, Any]] = {
        "l1, 0.01 (default)": {},
        "l1, 0.01, no intercept": {"fit_intercept": False},
        "l1, 0.01, added": added,
        "l2, 0.1": {"penalty": "l2", "alpha": 0.1},
        "l2, 1, 1,000 rounds, added": {"penalty": "l2", "alpha": 1.0, **added},
        "l2, 10, 1,000 rounds, added": {"penalty": "l2", "alpha": 10.0, **added},
        "linf, 0.02, 200 rounds, added": {"penalty": "linf", "alpha_max": 0.02, "n_estimators": 200, **added},
        "none, 100 rounds, added": {"penalty": None, "n_estimators": 100, **added},
        "l1, 0.003, trees of depth 2, 100 rounds": {"alpha": 0.003, "dictionary": "trees", "n_estimators": 100},
    }
    found: dict[str, Make] = {
        f"quadboost: {name}": partial(committee.QuadBoostClassifier, **options) for name, options in quadboost.items()
    }
    sbpmt: dict[str, dict[str, Any]] = {
        "the paper's": PAPERS_SBPMT,
        "the paper's, half of the columns": {**PAPERS_SBPMT, "max_features": 0.5},
        "defaults": {},
        "all columns": {"max_features": None},
        "hard votes": {"voting": "hard"},
        "emphasis half": {"emphasis": "half"},
        "10 rows in a leaf": {"min_samples_leaf": 10},
        "10 rounds": {"n_boosting_rounds": 10},
        "logit": {"link": "logit"},
        "51 subsamples": {"n_estimators": 51},
    }
    found |= {f"sbpmt: {name}": partial(committee.SBPMTClassifier, **options) for name, options in sbpmt.items()}
    random: dict[str, Make] = {
        "sum": partial(committee.ProbabilisticAdaBoostClassifier, VOTERS),
        "tree": partial(committee.BoostingTreeClassifier, VOTERS),
        "2-matryoshka": partial(committee.MatryoshkaClassifier, max_voters=VOTERS),
        "greedy matryoshka": partial(committee.MatryoshkaClassifier, "greedy", max_voters=VOTERS),
    }
    for (name, make), softness in product(random.items(), SOFTNESS):
        found[f"{name}: {softness:g}"] = partial(make, softness=softness)
    return found


def small(folder: Path, half: str) -> Iterator[Problem]:
    """The tables of a half that are small enough."""
    for problem in problems(folder, half):
        if problem.numbers or int(problem.y.max()) >= MOST_CLASSES:
            continue
        if len(problem.y) <= MOST_ROWS and problem.X.shape[1] <= MOST_COLUMNS:
            yield problem


def cells(folder: Path, half: str, n_splits: int, journal: Journal) -> Iterator[Cell]:
    """All cells of a half, those that the journal has first; folds of five."""
    yield from journal.cells
    done = {(c["table"], c["setting"], c["fold"]) for c in journal.cells}
    for fold in range(n_splits):
        for problem in small(folder, half):
            train, test = list(problem.splits(5, 0))[fold]
            for name, learner in settings().items():
                if (problem.name, name, fold) in done:
                    continue

                def make(_: bool, categorical: Any, seed: int, learner: Make = learner) -> Any:
                    return learner(categorical_features=categorical, random_state=seed)

                model, known, seconds = fitted(problem, make, train, fold)
                found = judged(problem, model, known, test, seconds)
                place = {"table": problem.name, "setting": name, "fold": fold}
                journal.append({**place, "error": found.error, "log_loss": found.loss})
                yield journal.cells[-1]


def report(findings: Findings, found: list[Cell]) -> None:
    """Mean error and log loss of every setting."""
    tables = list(dict.fromkeys(cell["table"] for cell in found))
    findings.settings["tables"] = tables
    for name, (measure, unit, scale) in product(settings(), (("error", "%", 100.0), ("log_loss", "", 1.0))):
        own = [[c[measure] for c in found if c["setting"] == name and c["table"] == table] for table in tables]
        means = scale * np.array([np.mean(values) for values in own])
        mean, error = float(means.mean()), float(means.std(ddof=1) / np.sqrt(len(means)))
        spread = Spread(mean, mean - error, mean + error, means.min(), means.max(), len(means))
        findings.add(Figure(f"{name}: {measure.replace('_', ' ')}, {len(tables)} tables", "", unit, spread))


def main() -> None:
    """Measure what is missing, print, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_settings", description=__doc__)
    parser.add_argument("--half", choices=("choosing", "checking"), default="checking")
    parser.add_argument("--splits", type=int, default=2, help="folds of five that are fitted")
    options, rest = parser.parse_known_args()

    def measure(findings: Findings, quick: bool) -> None:
        """Settings of QuadBoost, SBPMT and random voters beside their defaults."""
        folder = os.environ.get("COMMITTEE_DATA")
        findings.settings = {"half": options.half, "splits": options.splits, "voters": VOTERS}
        if folder is None or quick:
            findings.settings["left out"] = "all: for --quick, or as COMMITTEE_DATA names no folder of tables"
            return
        path = RESULTS / "settings" / f"{options.half}.jsonl"
        with warnings.catch_warnings(), kept_cells(path, {}, __name__) as journal:
            warnings.simplefilter("ignore")
            found = list(cells(Path(folder), options.half, options.splits, journal))
        report(findings, found)

    command("settings" if options.half == "checking" else f"settings_{options.half}", measure, arguments=rest)


if __name__ == "__main__":
    main()
