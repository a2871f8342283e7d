"""What early stopping does with the rows that it held out: leaves refitted on all rows, a second fit, or nothing.

``python -m benchmarks.bench_replay`` reads the tables of the folder that COMMITTEE_DATA names, and compares three
models of the same held-out rows: the rounds up to the best one as they were grown, the same with splits kept and leaves
refitted on all rows (what the learners do), and as many rounds grown anew on all rows. Processor time, one thread.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.bench_defaults import Measures, judged
from benchmarks.default_tables import Problem, problems
from benchmarks.figures import Figure, Findings, command
from benchmarks.pairing import Spread
from committee import GradientBoostingClassifier, GradientBoostingRegressor
from committee.learners.gradient.rounds import GradientRun

MODES = ("as grown", "leaves refitted", "second fit")


class ClassesAsGrown(GradientBoostingClassifier):
    """Without the replay."""

    def _after_stopping(self, run: GradientRun, held_out: Any, n_rounds: int) -> None:
        """Leave the rounds as they are."""


class NumbersAsGrown(GradientBoostingRegressor):
    """Without the replay."""

    def _after_stopping(self, run: GradientRun, held_out: Any, n_rounds: int) -> None:
        """Leave the rounds as they are."""


def three(problem: Problem, train: NDArray[np.intp], test: NDArray[np.intp], seed: int) -> dict[str, Measures]:
    """Fit the three models on the training rows of a split, and judge them on its test rows."""
    y, known = problem.y[train], np.empty(0, dtype=np.intp)
    if not problem.numbers:
        known, y = np.unique(y, return_inverse=True)
    as_grown: type[Any] = NumbersAsGrown if problem.numbers else ClassesAsGrown
    own: type[Any] = GradientBoostingRegressor if problem.numbers else GradientBoostingClassifier
    columns = problem.categorical if problem.categorical.any() else None
    settings = {"n_estimators": 1000, "random_state": seed, "categorical_features": columns}
    found, rounds = {}, 0
    for mode in MODES:
        begun = time.process_time()
        if mode == "second fit":
            model = own(**{**settings, "n_estimators": rounds, "learning_rate": 0.1}).fit(problem.X[train], y)
        else:
            kind = as_grown if mode == "as grown" else own
            model = kind(early_stopping=True, **settings).fit(problem.X[train], y)
            rounds = model.committee_.n_voters
        found[mode] = judged(problem, model, known, test, time.process_time() - begun)
    return found


def report(findings: Findings, found: list[tuple[Problem, dict[str, Measures]]]) -> None:
    """Tables won, mean logarithm of the ratio of losses, and times."""
    tables = list(dict.fromkeys(problem.name for problem, _ in found))
    loss = {
        mode: np.array([np.mean([f[mode].loss for p, f in found if p.name == name]) for name in tables])
        for mode in MODES
    }
    seconds = {mode: sum(f[mode].seconds for _, f in found) for mode in MODES}
    findings.settings["loss"] = {
        name: {mode: round(float(loss[mode][i]), 5) for mode in MODES} for i, name in enumerate(tables)
    }
    ours = "leaves refitted"
    for rival in ("as grown", "second fit"):
        won = int((loss[ours] < loss[rival]).sum())
        words = f"tables won by refitted leaves, of {len(tables)}"
        findings.add(Figure(words, rival, "", Spread.of([won]), None))
        ratio = np.log(np.maximum(loss[ours], 1e-3) / np.maximum(loss[rival], 1e-3))
        findings.add(Figure("logarithm of the loss over theirs", rival, "", Spread.of(ratio), None, at_least=False))
    whole = seconds["as grown"] + seconds["second fit"]
    words = "time of all fits, over that of stopping and a second fit"
    findings.add(Figure(words, "second fit", "x", Spread.of([seconds[ours] / whole]), None, False, "cpu"))


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_replay", description=__doc__)
    parser.add_argument("--half", choices=("choosing", "checking"), default="checking")
    parser.add_argument("--seeds", type=int, default=1, help="shuffles of the rows")
    options, rest = parser.parse_known_args()

    def measure(findings: Findings, quick: bool) -> None:
        """Early stopping: replay beside a second fit."""
        folder = os.environ.get("COMMITTEE_DATA")
        findings.settings = {"half": options.half, "seeds": options.seeds, "folds": 5}
        if folder is None or quick:
            findings.settings["left out"] = "all: for --quick, or as COMMITTEE_DATA names no folder of tables"
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = [
                (problem, three(problem, train, test, seed))
                for problem in problems(Path(folder), options.half)
                for seed in range(options.seeds)
                for train, test in problem.splits(5, seed)
            ]
        report(findings, found)

    command("replay" if options.half == "checking" else f"replay_{options.half}", measure, arguments=rest)


if __name__ == "__main__":
    main()
