"""SBPMT beside a forest of 500 trees on tables of all sizes, and how its fit time grows with the rows.

Tables are those of the folder that ``COMMITTEE_DATA`` names, by their half (``halves.json``), in five folds shuffled
twice; both learners get the same encoded columns and know which are categories. Each cell is kept in
``results/sbpmt_sizes/`` at once, and a run goes on where it was stopped; remove the file when a program has changed.
``--tables NAME ...`` measures some tables alone.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_classification

from benchmarks.code import kept_cells
from benchmarks.default_tables import Problem, problems
from benchmarks.figures import QUICK_RESULTS, RESULTS, Figure, Findings, command
from benchmarks.pairing import Spread
from committee import RandomForestClassifier, SBPMTClassifier
from committee.files.journal import Journal

LARGE = 3_000
"""Rows beyond which SBPMT must be within half a point of the forest."""
LEFT_OUT = ("colon", "madelon")
"""Two of very many columns."""
N_FOLDS = 5
SIZES = (5_000, 10_000, 20_000, 40_000)
BEFORE: dict[str, Any] = {"max_depth": 6, "min_impurity_decrease": 0.005}
"""Defaults that did not follow the rows."""


def made(n_rows: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Two classes in eight clusters each."""
    X, y = make_classification(
        n_rows, 20, n_informative=10, n_redundant=5, n_clusters_per_class=8, flip_y=0.02, random_state=0
    )
    return X, y


def accuracies(problem: Problem, models: dict[str, Any], n_seeds: int, journal: Journal) -> NDArray[np.float64]:
    """Accuracy in percent on every fold, folds x models; cells that the journal has are not fitted again."""
    done = {(c["table"], c["seed"], c["fold"], c["model"]): c["accuracy"] for c in journal.cells}
    found = np.empty((n_seeds * N_FOLDS, len(models)))
    for seed in range(n_seeds):
        for fold, (train, test) in enumerate(problem.splits(N_FOLDS, seed)):
            for m, (name, make) in enumerate(models.items()):
                where = (problem.name, seed, fold, name)
                if where not in done:
                    model = make(random_state=seed, categorical_features=problem.categorical, n_jobs=1)
                    right = model.fit(problem.X[train], problem.y[train]).predict(problem.X[test]) == problem.y[test]
                    done[where] = 100.0 * float(np.mean(right))
                    cell = dict(zip(("table", "seed", "fold", "model"), where, strict=True))
                    journal.append(cell | {"accuracy": done[where]})
                found[seed * N_FOLDS + fold, m] = done[where]
    return found


def measure(findings: Findings, quick: bool, names: list[str] | None = None) -> None:
    """Accuracy on the tables, five folds shuffled twice, and seconds of fits on made tables of 5,000 to 40,000 rows."""
    n_trees, n_seeds, sizes = (500, 2, SIZES) if not quick else (20, 1, (300, 600))
    findings.settings = {"trees of the forest": n_trees, "folds": N_FOLDS, "seeds": n_seeds, "before": BEFORE}
    if folder := os.environ.get("COMMITTEE_DATA"):
        models = {
            "forest": partial(RandomForestClassifier, n_trees),
            "SBPMT": SBPMTClassifier,
            "SBPMT before": partial(SBPMTClassifier, **BEFORE),
        }
        kept = (QUICK_RESULTS if quick else RESULTS) / "sbpmt_sizes"
        for half in ("checking", "choosing"):
            tables = [
                each
                for each in problems(Path(folder), half)
                if not each.numbers and (each.name in names if names else each.name not in LEFT_OUT)
            ]
            with kept_cells(kept / f"{half}.jsonl", {"trees": n_trees, "before": BEFORE}, __name__) as journal:
                _accuracy(findings, half, tables[: 2 if quick else None], models, n_seeds, journal)
    else:
        findings.settings["left out"] = "tables: COMMITTEE_DATA names no folder"
    _seconds(findings, sizes)


def _accuracy(
    findings: Findings, half: str, tables: list[Problem], models: dict[str, Any], n_seeds: int, journal: Journal
) -> None:
    """Accuracy of SBPMT less that of the forest, small and large tables apart."""
    found: dict[str, NDArray[np.float64]] = {}
    for each in tables:
        cells = accuracies(each, models, n_seeds, journal)
        found[each.name] = cells.mean(axis=0)
        print(f"{half} {each.name:16} {len(each.y):6}", " ".join(f"{a:6.2f}" for a in found[each.name]), flush=True)
    findings.settings[f"{half}: accuracy of {', '.join(models)}"] = {n: a.round(2).tolist() for n, a in found.items()}
    for large in (True, False):
        some = np.array([found[each.name] for each in tables if (len(each.y) > LARGE) == large])
        if not len(some):
            continue
        ahead = some[:, 1] - some[:, 0]
        findings.add(
            Figure(
                f"{half} tables of {'more' if large else 'no more'} than {LARGE:,} rows: accuracy less the forest's",
                "forest of 500",
                "points",
                Spread.of(ahead),
                remark=f"mean {ahead.mean():+.2f}, worst {ahead.min():+.2f}, ahead on {(ahead > 0).sum()} of "
                f"{len(ahead)}; before: mean {(some[:, 2] - some[:, 0]).mean():+.2f}, worst "
                f"{(some[:, 2] - some[:, 0]).min():+.2f}",
            )
        )


def _seconds(findings: Findings, sizes: tuple[int, ...]) -> None:
    """Processor time of fits by rows, and its growth: 1 is linear."""
    seconds: dict[str, list[float]] = {"SBPMT": [], "forest of 500": []}
    for n_rows in sizes:
        X, y = made(n_rows)
        for name, model in (("SBPMT", SBPMTClassifier), ("forest of 500", partial(RandomForestClassifier, 500))):
            begin = time.process_time()
            model(random_state=0, n_jobs=1).fit(X, y)
            seconds[name].append(time.process_time() - begin)
        print(f"{n_rows:6} rows:", " ".join(f"{name} {each[-1]:.2f} s" for name, each in seconds.items()), flush=True)
    findings.settings["seconds of fits by rows"] = {"rows": list(sizes), **seconds}
    for name, each in seconds.items():
        growth = np.log(each[-1] / each[0]) / np.log(sizes[-1] / sizes[0])
        findings.add(
            Figure(
                f"{name}, {sizes[0]:,} to {sizes[-1]:,} rows: exponent of the fit time",
                "",
                "",
                Spread.of([growth]),
                target=1.0 if name == "SBPMT" else None,
                at_least=False,
            )
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--tables", nargs="*")
    options, rest = parser.parse_known_args(sys.argv[1:])
    chosen = partial(measure, names=options.tables)
    chosen.__doc__ = measure.__doc__
    command("sbpmt_sizes", chosen, arguments=rest)
