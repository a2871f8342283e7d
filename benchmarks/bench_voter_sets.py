"""Sets of voters for QuadBoost that no list can hold - trees, lines, splines - beside listed stumps.

Tables of two classes, at most 1,000 rows and 30 columns, of the folder that ``COMMITTEE_DATA`` names. Of three
strengths, or numbers of rounds, of each set that of the least log loss on the choosing half is taken for all tables of
the checking half, which alone are reported: means over the tables of error, log loss and seconds of a fit, with the
standard error of that mean. Each cell is kept in ``results/voter_sets/`` at once, and a run goes on where it was
stopped.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler

import committee
from benchmarks.bench_defaults import fitted, judged
from benchmarks.code import kept_cells
from benchmarks.default_tables import Problem, problems
from benchmarks.figures import RESULTS, Figure, Findings, command
from benchmarks.pairing import Spread
from committee.files.journal import Cell, Journal

MOST_ROWS, MOST_COLUMNS = 1000, 30
ROUNDS, ROUNDS_OF_STUMPS = 30, 1000
HALVES = ("choosing", "checking")

Make = Callable[..., Any]
Numbers = NDArray[np.float64]


def sets() -> dict[str, tuple[str, tuple[float, ...], Make]]:
    """Sets of voters by name: what is chosen for them, of which values, and the learner of a value."""
    lines = make_pipeline(SimpleImputer(), VarianceThreshold(), StandardScaler(), Ridge(1.0))
    splines = make_pipeline(SimpleImputer(), VarianceThreshold(), SplineTransformer(n_knots=5), Ridge(10.0))
    trees = committee.TreeRegressor(max_depth=2, min_samples_leaf=5)

    def quadboost(penalty: str | None, dictionary: Any = "stumps", **options: Any) -> Make:
        most = ROUNDS_OF_STUMPS if dictionary == "stumps" else ROUNDS
        return lambda value, **rest: committee.QuadBoostClassifier(
            penalty,  # type: ignore[arg-type]
            **({"n_estimators": most, "alpha": value} if penalty else {"n_estimators": int(value)}),
            dictionary=dictionary,
            min_samples_leaf=5,
            **options,
            **rest,
        )

    def boosted(value: float, **rest: Any) -> Any:
        return committee.FunctionalGradientBoostingClassifier(base=splines, n_estimators=int(value), **rest)

    strengths, rounds, one_more = (1.0, 10.0, 100.0), (3.0, 10.0, 30.0), {"reweight": "none"}
    return {
        "listed stumps, L1": ("alpha", (0.003, 0.01, 0.03), quadboost("l1")),
        "listed stumps, L2": ("alpha", strengths, quadboost("l2", **one_more)),
        "listed stumps, KL": ("alpha", strengths, quadboost("kl", **one_more)),
        "listed stumps, no penalty": ("rounds", (10.0, 30.0, 100.0), quadboost(None, **one_more)),
        "trees of signs, L2": ("alpha", strengths, quadboost("l2", "trees")),
        "regression trees, L2": ("alpha", strengths, quadboost("l2", trees)),
        "lines, L2": ("alpha", strengths, quadboost("l2", lines)),
        "splines, L2": ("alpha", strengths, quadboost("l2", splines)),
        "splines, no penalty (L2Boost)": ("rounds", rounds, quadboost(None, splines)),
        "splines, log loss": ("rounds", rounds, boosted),
    }


def small(folder: Path, half: str) -> Iterator[Problem]:
    """The tables of a half that are small enough."""
    for problem in problems(folder, half):
        if problem.numbers or int(problem.y.max()) > 1:
            continue
        if len(problem.y) <= MOST_ROWS and problem.X.shape[1] <= MOST_COLUMNS:
            yield problem


def cells(folder: Path, n_splits: int, journal: Journal) -> Iterator[Cell]:
    """All cells, those that the journal has first; folds of five."""
    yield from journal.cells
    done = {(c["table"], c["set"], c["value"], c["fold"]) for c in journal.cells}
    for half in HALVES:
        for fold, problem in product(range(n_splits), list(small(folder, half))):
            train, test = list(problem.splits(5, 0))[fold]
            for name, (_, values, learner) in sets().items():
                for value in values:
                    if (problem.name, name, value, fold) in done:
                        continue

                    def make(
                        _: bool, categorical: Any, seed: int, learner: Make = learner, value: float = value
                    ) -> Any:
                        return learner(value, categorical_features=categorical, random_state=seed)

                    model, known, seconds = fitted(problem, make, train, fold)
                    found = judged(problem, model, known, test, seconds)
                    place = {"half": half, "table": problem.name, "set": name, "value": value, "fold": fold}
                    journal.append({**place, "error": found.error, "log_loss": found.loss, "seconds": seconds})
                    yield journal.cells[-1]


def means(found: list[Cell], half: str, name: str, value: float, measure: str) -> Numbers:
    """Means over the folds of each table of a half."""
    own = [c for c in found if (c["half"], c["set"], c["value"]) == (half, name, value)]
    tables = dict.fromkeys(c["table"] for c in own)
    return np.array([np.mean([c[measure] for c in own if c["table"] == table]) for table in tables])


def report(findings: Findings, found: list[Cell]) -> None:
    """Mean error, log loss and seconds of a fit of every set, at the value that the choosing half has chosen."""
    for half in HALVES:
        findings.settings[half] = list(dict.fromkeys(cell["table"] for cell in found if cell["half"] == half))
    for name, (what, values, _) in sets().items():
        chosen = min(values, key=lambda value, name=name: means(found, "choosing", name, value, "log_loss").mean())
        for measure, unit, scale in (("error", "%", 100.0), ("log_loss", "", 1.0), ("seconds", "s", 1.0)):
            each = scale * means(found, "checking", name, chosen, measure)
            mean, error = float(each.mean()), float(each.std(ddof=1) / np.sqrt(len(each)))
            spread = Spread(mean, mean - error, mean + error, each.min(), each.max(), len(each))
            work = f"{name}, {what} {chosen:g}: {measure.replace('_', ' ')}, {len(each)} tables"
            findings.add(Figure(work, "", unit, spread))


def main() -> None:
    """Measure what is missing, print, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_voter_sets", description=__doc__)
    parser.add_argument("--splits", type=int, default=2, help="folds of five that are fitted")
    options, rest = parser.parse_known_args()

    def measure(findings: Findings, quick: bool) -> None:
        """Sets of voters that no list can hold, beside listed stumps."""
        folder = os.environ.get("COMMITTEE_DATA")
        findings.settings = {"splits": options.splits, "rounds": ROUNDS}
        if folder is None or quick:
            findings.settings["left out"] = "all: for --quick, or as COMMITTEE_DATA names no folder of tables"
            return
        path = RESULTS / "voter_sets" / "cells.jsonl"
        with warnings.catch_warnings(), kept_cells(path, {}, __name__) as journal:
            warnings.simplefilter("ignore")
            found = list(cells(Path(folder), options.splits, journal))
        report(findings, found)

    command("voter_sets", measure, arguments=rest)


if __name__ == "__main__":
    main()
