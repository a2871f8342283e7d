"""How time and memory grow with the number of rows."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.figures import Figure, Findings, command
from benchmarks.pairing import Spread, interleave
from benchmarks.peak_memory import MB, peak_bytes
from benchmarks.tables import Table, collisions
from committee import AdaBoostClassifier, TreeVoter

ROUNDS = 20


def exponents(findings: Findings, tables: dict[int, Table], rounds: int) -> None:
    """The slope of log seconds on log rows, one regression for every turn through the sizes."""
    learners: dict[str, Any] = {
        f"AdaBoost, {ROUNDS} stump rounds": AdaBoostClassifier(n_estimators=ROUNDS),
        f"AdaBoost, {ROUNDS} rounds of 8 leaves": AdaBoostClassifier(
            n_estimators=ROUNDS, max_depth=None, max_leaf_nodes=8
        ),
        "TreeVoter, 31 leaves": TreeVoter(max_leaf_nodes=31),
    }
    sizes = np.array(sorted(tables))
    for name, learner in learners.items():
        work = f"{name}, {' - '.join(f'{n:,}' for n in sizes)} rows"
        trial = interleave({f"{n:,} rows": partial(learner.fit, *tables[n]) for n in sizes}, rounds)
        findings.record(work, trial)
        slopes = {
            clock: Spread.of(np.polyfit(np.log(sizes), np.log([seconds[f"{n:,} rows"] for n in sizes]), 1)[0])
            for clock, seconds in (("cpu", trial.cpu), ("wall", trial.wall))
        }
        findings.add(
            Figure(
                f"{work}: exponent of time",
                "",
                "",
                slopes["cpu"],
                target=1.05,
                at_least=False,
                clock="cpu",
                wall=slopes["wall"],
            )
        )


def fit_and_tell(folder: Path, n_estimators: int) -> None:
    """In a process of its own: read the table, fit, and print what memory each step came to."""
    at_import = peak_bytes()
    X, y = np.load(folder / "X.npy"), np.load(folder / "y.npy")
    with_input = peak_bytes()
    AdaBoostClassifier(n_estimators=n_estimators).fit(X, y)
    told = {"import": at_import, "input": with_input, "fit": peak_bytes(), "arrays": X.nbytes + y.nbytes}
    print(json.dumps({**told, "binned": X.size}))


def memory(findings: Findings, table: Table, n_estimators: int, target: bool) -> None:
    """Peak memory of a fit above input and 1.3 times the binned table; 50 MB are allowed."""
    X, y = table
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "X.npy", X)
        np.save(Path(folder) / "y.npy", y)
        here = [sys.executable, "-m", "benchmarks.bench_growth", "--fit-in", folder, str(n_estimators)]
        done = subprocess.run(here, check=True, capture_output=True, text=True)
    told: dict[str, int] = json.loads(done.stdout)
    above = told["fit"] - told["import"] - told["arrays"] - 1.3 * told["binned"]
    findings.add(
        Figure(
            f"AdaBoost, {n_estimators} stump rounds, {len(y):,} x {X.shape[1]}: peak above input + 1.3 x binned",
            "",
            "MB",
            Spread.of(above / MB),
            target=50.0 if target else None,
            at_least=False,
            remark=f"import {told['import'] / MB:.0f}, input {told['arrays'] / MB:.0f}, "
            f"binned {told['binned'] / MB:.0f}, peak {told['fit'] / MB:.0f}",
        )
    )


def measure(findings: Findings, quick: bool) -> None:
    """Time and peak memory of fits on 10,000, 100,000 and 1,000,000 rows; one thread."""
    sizes, rounds = ((2_000, 20_000), 3) if quick else ((10_000, 100_000, 1_000_000), 9)
    findings.settings = {"rows": list(sizes), "rounds": rounds, "columns": 28, "threads": 1}
    tables = {n: collisions(n) for n in sizes}
    exponents(findings, tables, rounds)
    for table in tables.values():
        memory(findings, table, ROUNDS, target=True)
    memory(findings, tables[max(sizes)], 5 * ROUNDS, target=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--fit-in"]:
        fit_and_tell(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        command("growth", measure)
