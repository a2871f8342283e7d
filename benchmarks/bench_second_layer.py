"""The second layer of a committee of ensembles: what it gains on tables that chose nothing, and what it costs.

``python -m benchmarks.bench_second_layer`` fits `CommitteeClassifier("best")` without and with its second layer on a
fold of each table of classes of the checking half with at least 625 rows, in the folder that COMMITTEE_DATA names.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.bench_defaults import LEAST_LOSS, judged
from benchmarks.default_tables import problems
from benchmarks.figures import Figure, Findings, command
from benchmarks.pairing import Spread
from committee import CommitteeClassifier

LEAST_ROWS = 625
"""So that four fifths have the rows from which the second layer is tried by default."""


def cells(folder: Path, quick: bool) -> Iterator[dict[str, Any]]:
    """Log loss, error, processor time and file size of both committees on each table."""
    tables = [one for one in problems(folder, "checking") if not one.numbers and len(one.y) >= LEAST_ROWS]
    for problem in sorted(tables, key=lambda one: len(one.y))[: 1 if quick else None]:
        train, test = next(problem.splits(5, 0))
        known, y = np.unique(problem.y[train], return_inverse=True)
        flags = problem.categorical if problem.categorical.any() else None
        for layer in (False, "auto"):
            model = CommitteeClassifier("best", second_layer=layer, random_state=0, categorical_features=flags)
            begun = time.process_time()
            model.fit(problem.X[train], y)
            found = judged(problem, model, known, test, time.process_time() - begun)
            joined = "second_layer" in model.member_names_
            size = model.committee_.file_bytes
            yield {"table": problem.name, "layer": bool(layer), "joined": joined, "bytes": size} | vars(found)


def measure(findings: Findings, quick: bool) -> None:
    """Committees at their best with a second layer beside those without."""
    folder = os.environ.get("COMMITTEE_DATA")
    if folder is None:
        findings.settings["left out"] = "all: COMMITTEE_DATA names no folder of tables"
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = list(cells(Path(folder), quick))
    without = {cell["table"]: cell for cell in found if not cell["layer"]}
    with_layer = {cell["table"]: cell for cell in found if cell["layer"]}
    joined = [table for table, cell in with_layer.items() if cell["joined"]]
    for words, tables in ((f"{len(with_layer)} tables", list(with_layer)), (f"{len(joined)} where it joins", joined)):
        if not tables:
            continue
        loss, error, seconds, size = (
            np.array([[cells[table][name] for cells in (with_layer, without)] for table in tables])
            for name in ("loss", "error", "seconds", "bytes")
        )
        ratios = np.maximum(loss[:, 0], LEAST_LOSS) / np.maximum(loss[:, 1], LEAST_LOSS)
        mean = float(np.exp(np.log(ratios).mean()))
        work = f"{words}: log loss (geometric mean {mean:.3f})"
        findings.add(Figure(work, "without", "x", Spread.of(ratios), at_least=False))
        points = Spread.of(100.0 * (error[:, 1] - error[:, 0]).mean(keepdims=True))
        findings.add(Figure(f"{words}: accuracy", "without", "points more", points))
        for what, each in (("fit time", seconds), ("file size", size)):
            ratio = Spread.of(each[:, 0] / each[:, 1])
            clock = {"clock": "cpu"} if what == "fit time" else {}
            findings.add(Figure(f"{words}: {what}", "without", "x", ratio, at_least=False, **clock))
    for table, cell in with_layer.items():
        pair = {"with": cell, "without": without[table]}
        findings.settings[table] = {"joined": cell["joined"]} | {
            which: {name: round(float(of[name]), 4) for name in ("loss", "error", "seconds")} | {"bytes": of["bytes"]}
            for which, of in pair.items()
        }


if __name__ == "__main__":
    command("second_layer", measure)
