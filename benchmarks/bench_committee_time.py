"""Processor time of committees of ensembles beside CatBoost's, in one run.

``python -m benchmarks.bench_committee_time`` fits `CommitteeClassifier` by both of its quicker efforts and CatBoost as
it comes on the first fold of every table of classes that chose nothing, one after the other on each table, one thread
each, so that a busy machine is busy for all three. Cells are kept in `results/committee_time/`; a table counts when all
three are there.
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

RIVAL = "CatBoost"
MOST = {"committee, fast": 0.35, "committee": 1.0}
"""Geometric means of ratios that are asked for."""


def measure_cells(folder: Path, journal: Journal) -> None:
    """Fit what the journal has not."""
    done = {(c["table"], c["model"]) for c in journal.cells}
    makers = models()
    for problem in problems(folder, "checking"):
        if problem.numbers:
            continue
        train, _ = next(problem.splits(5, 0))
        for name in (*MOST, RIVAL):
            if (problem.name, name) not in done:
                seconds = fitted(problem, makers[name], train, 0)[2]
                journal.append({"table": problem.name, "rows": len(train), "model": name, "seconds": seconds})


def report(findings: Findings, found: list[dict[str, Any]]) -> None:
    """Ratios of times over tables."""
    seconds = {(c["table"], c["model"]): c["seconds"] for c in found}
    tables = [
        table
        for table in dict.fromkeys(c["table"] for c in found)
        if all((table, name) in seconds for name in (*MOST, RIVAL))
    ]
    findings.settings["seconds"] = {
        table: {name: round(seconds[table, name], 3) for name in (*MOST, RIVAL)} for table in tables
    }
    for name, most in MOST.items():
        ratios = np.array([seconds[table, name] / seconds[table, RIVAL] for table in tables])
        whole = sum(seconds[table, name] for table in tables) / sum(seconds[table, RIVAL] for table in tables)
        mean = float(np.exp(np.log(ratios).mean()))
        words = f"{name}: fit time, {len(tables)} tables"
        findings.add(
            Figure(f"{words}, geometric mean", RIVAL, "x", Spread.of([mean]), most, at_least=False, clock="cpu")
        )
        words += f" (all together {whole:.3f})"
        findings.add(Figure(words, RIVAL, "x", Spread.of(ratios), at_least=False, clock="cpu"))


def main() -> None:
    """Measure what is missing, print, write."""

    def measure(findings: Findings, quick: bool) -> None:
        """Fit times of committees of ensembles beside CatBoost's."""
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
