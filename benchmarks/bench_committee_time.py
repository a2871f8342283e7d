"""Processor time of fits at their defaults beside CatBoost's and LightGBM's, in one run.

``python -m benchmarks.bench_committee_time`` fits committees of ensembles by both of their quicker efforts, gradient
boosting, and both peers as they come on the first fold of every table that chose nothing, one after the other on each
table, one thread each, so that a busy machine is busy for all of them. Cells are kept in `results/committee_time/`; a
table counts when all are there.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.bench_committee import models
from benchmarks.bench_defaults import fitted
from benchmarks.code import kept_cells
from benchmarks.default_tables import problems
from benchmarks.figures import RESULTS, Figure, Findings, command
from benchmarks.pairing import Spread
from committee.files.journal import Journal

ASKED: dict[tuple[str, str, str], float | None] = {
    ("classes", "committee, fast", "CatBoost"): 0.35,
    ("classes", "committee", "CatBoost"): 1.0,
    ("numbers", "committee, fast", "CatBoost"): None,
    ("numbers", "committee", "CatBoost"): None,
    ("classes", "gradient boosting", "LightGBM"): None,
    ("numbers", "gradient boosting", "LightGBM"): None,
    ("both", "gradient boosting", "LightGBM"): 2.5,
    ("both", "gradient boosting", "CatBoost"): 0.125,
}
"""Kind of table, model and rival, and the geometric mean of ratios that is asked for."""
NAMES = tuple(dict.fromkeys(name for _, *pair in ASKED for name in pair))


def measure_cells(folder: Path, journal: Journal) -> None:
    """Fit what the journal has not."""
    done = {(c["table"], c["model"]) for c in journal.cells}
    makers = models()
    for problem in problems(folder, "checking"):
        train, _ = next(problem.splits(5, 0))
        for name in NAMES:
            if (problem.name, name) not in done:
                seconds = fitted(problem, makers[name], train, 0)[2]
                kind = "numbers" if problem.numbers else "classes"
                journal.append({"table": problem.name, "kind": kind, "model": name, "seconds": seconds})


def report(findings: Findings, found: list[dict[str, Any]]) -> None:
    """Ratios of times over tables."""
    by_table: dict[tuple[str, str], dict[str, float]] = {}
    for c in found:
        by_table.setdefault((c["kind"], c["table"]), {})[c["model"]] = c["seconds"]
    whole = {key: cells for key, cells in by_table.items() if set(NAMES) <= set(cells)}
    findings.settings["seconds"] = {
        table: {name: round(cells[name], 3) for name in NAMES} for (_, table), cells in whole.items()
    }
    for (wanted, name, rival), most in ASKED.items():
        seconds = [cells for (kind, _), cells in whole.items() if wanted in (kind, "both")]
        own, other = (np.array([cells[one] for cells in seconds]) for one in (name, rival))
        words = f"{wanted}, {name}: fit time, {len(seconds)} tables"
        mean = Spread.of([float(np.exp(np.log(own / other).mean()))])
        findings.add(Figure(f"{words}, geometric mean", rival, "x", mean, most, at_least=False, clock="cpu"))
        words += f" (all together {own.sum() / other.sum():.3f})"
        findings.add(Figure(words, rival, "x", Spread.of(own / other), at_least=False, clock="cpu"))


def main() -> None:
    """Measure what is missing, print, write."""

    def measure(findings: Findings, quick: bool) -> None:
        """Fit times at the defaults beside CatBoost's and LightGBM's."""
        folder = os.environ.get("COMMITTEE_DATA")
        findings.settings = {"half": "checking", "fold": 1}
        if folder is None or quick:
            findings.settings["left out"] = "all: for --quick, or as COMMITTEE_DATA names no folder of tables"
            return
        with (
            warnings.catch_warnings(),
            kept_cells(RESULTS / "committee_time" / "checking.jsonl", {}, __name__) as journal,
        ):
            warnings.simplefilter("ignore")
            measure_cells(Path(folder), journal)
            report(findings, journal.cells)

    command("committee_time", measure)


if __name__ == "__main__":
    main()
