"""`CommitteeClassifier` at its best beside AutoGluon's best quality, whole and of trees, in equal wall time, two cores.

``AUTOGLUON_PYTHON=... python -m benchmarks.bench_autogluon --seconds 30`` fits all on the first fold of tables that
chose nothing, in turn on each table, and compares log losses of the test rows. AutoGluon has an environment of its
own, whose Python the environment variable names; a fold goes there as a file and answers come back as one
(`autogluon_side`). Tables come in the order of the alphabet, which knows nothing of their sizes, so that a run can be
ended by ``--minutes``. Cells are kept in `results/autogluon/`, and a run goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.bench_defaults import LEAST_LOSS, judged
from benchmarks.code import kept_cells
from benchmarks.default_tables import Problem, problems
from benchmarks.figures import RESULTS, Figure, Findings, command
from benchmarks.pairing import Spread
from committee import CommitteeClassifier
from committee.files.journal import Journal

PYTHON = "AUTOGLUON_PYTHON"
SIDE = Path(__file__).with_name("autogluon_side.py")
OURS = "committee, best"
THEIRS = {"AutoGluon": "whole", "AutoGluon, trees": "trees"}
"""Names of the peers, and the models that each may train."""
LEAST_WON = {"30 s": 70.0, "120 s": 60.0, "600 s": 50.0}
"""Share of tables to win by log loss, in percent, by the limit of time."""
GRACE = 120.0
"""Seconds beyond its limit and four times it after which AutoGluon is given up."""


@dataclass(frozen=True, eq=False)
class Answers:
    """What a model of another process says of the test rows."""

    p: NDArray[np.float64]

    def predict_proba(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Its probabilities, whatever is asked."""
        return self.p


def ours(problem: Problem, train: NDArray[np.intp], test: NDArray[np.intp], seconds: float) -> dict[str, Any]:
    """Fit the committee within the seconds, and judge it."""
    known, y = np.unique(problem.y[train], return_inverse=True)
    flags = problem.categorical if problem.categorical.any() else None
    model = CommitteeClassifier("best", time_limit=seconds, n_jobs=2, random_state=0, categorical_features=flags)
    begun, processor = time.perf_counter(), time.process_time()
    model.fit(problem.X[train], y)
    taken, processor = time.perf_counter() - begun, time.process_time() - processor
    found = {"processor": processor, "models": "; ".join(model.member_names_)}
    return vars(judged(problem, model, known, test, taken)) | found


def theirs(
    problem: Problem, train: NDArray[np.intp], test: NDArray[np.intp], seconds: float, models: str
) -> dict[str, Any]:
    """Fit AutoGluon within the seconds, in its own environment, and judge it; why not, where it fails."""
    known, y = np.unique(problem.y[train], return_inverse=True)
    with tempfile.TemporaryDirectory() as name:
        fold, answers = Path(name, "fold.npz"), Path(name, "answers.npz")
        np.savez(fold, train=problem.X[train], test=problem.X[test], classes=y, categorical=problem.categorical)
        line = [os.environ[PYTHON], str(SIDE), str(fold), str(answers), str(seconds), models]
        environment = {k: v for k, v in os.environ.items() if k not in ("OMP_NUM_THREADS", "PYTHONPATH")}
        try:
            done = subprocess.run(
                line,
                env=environment,
                cwd=name,
                capture_output=True,
                text=True,
                timeout=5 * seconds + GRACE,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            return {"failed": f"more than {error.timeout:g} s"}
        if done.returncode != 0:
            return {"failed": done.stderr.strip().splitlines()[-1][:300]}
        found = np.load(answers)
        said = np.zeros((len(test), len(known)))
        said[:, found["classes"].astype(int)] = found["p"]
        clocks = {"processor": float(found["processor"]), "models": str(found["models"])}
        return vars(judged(problem, Answers(said), known, test, float(found["seconds"]))) | clocks


def measure_cells(folder: Path, seconds: float, minutes: float, journal: Journal) -> None:
    """Fit what the journal has not, until the minutes are over."""
    end = time.perf_counter() + 60 * minutes
    done = {(c["table"], c["limit"], c["model"]) for c in journal.cells}
    for problem in sorted((p for p in problems(folder, "checking") if not p.numbers), key=lambda p: p.name):
        train, test = next(problem.splits(5, 0))
        for name in (*THEIRS, OURS):
            if (problem.name, seconds, name) in done:
                continue
            if name != OURS and time.perf_counter() + 2 * seconds > end:
                return
            if name == OURS:
                found = ours(problem, train, test, seconds)
            else:
                found = theirs(problem, train, test, seconds, THEIRS[name])
            journal.append({"table": problem.name, "limit": seconds, "model": name, **found})


def report(findings: Findings, found: list[dict[str, Any]]) -> None:
    """Tables won and ratios of losses, for every limit that cells are of and each peer."""
    for limit in sorted({c["limit"] for c in found}):
        of_table: dict[str, dict[str, dict[str, Any]]] = {}
        for c in found:
            if c["limit"] == limit:
                of_table.setdefault(c["table"], {})[c["model"]] = c
        findings.settings[f"{limit:g} s"] = {
            table: {
                name: {"failed": cell["failed"]}
                if "failed" in cell
                else {key: round(cell[key], 5) for key in ("loss", "error", "seconds")} | {"models": cell["models"]}
                for name, cell in cells.items()
            }
            for table, cells in of_table.items()
        }
        for peer in THEIRS:
            pairs = [(each[OURS], each[peer]) for each in of_table.values() if {OURS, peer} <= set(each)]
            compared(findings, f"{limit:g} s", peer, [pair for pair in pairs if "failed" not in pair[1]])


def compared(findings: Findings, limit: str, peer: str, pairs: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    """Figures of the committee beside a peer, by their cells on each table."""
    if not pairs:
        return
    loss, error, seconds, processor = (
        np.array([[cell[key] for cell in pair] for pair in pairs]) for key in ("loss", "error", "seconds", "processor")
    )
    words = f"{limit}, {len(pairs)} tables"
    won = 100 * float((loss[:, 0] < loss[:, 1]).mean())
    findings.add(Figure(f"{words}: won by log loss", peer, "%", Spread.of([won]), LEAST_WON.get(limit)))
    ties = f"{words}: errors not more (fewer on {(error[:, 0] < error[:, 1]).sum()})"
    findings.add(Figure(ties, peer, "%", Spread.of([100 * (error[:, 0] <= error[:, 1]).mean()])))
    ratios = np.maximum(loss[:, 0], LEAST_LOSS) / np.maximum(loss[:, 1], LEAST_LOSS)
    mean = float(np.exp(np.log(ratios).mean()))
    ratio = f"{words}: loss, ours over theirs (geometric mean {mean:.3f})"
    findings.add(Figure(ratio, peer, "x", Spread.of(ratios), at_least=False))
    for name, wall, cpu in zip((OURS, peer), seconds.T, processor.T, strict=True):
        findings.add(Figure(f"{words}: fit, {name}", peer, "s", Spread.of(cpu), None, False, "cpu", Spread.of(wall)))


def main() -> None:
    """Measure what is missing, print, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_autogluon", description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0, help="limit of both fits")
    parser.add_argument("--minutes", type=float, default=600.0, help="no table begins that would end later")
    options, rest = parser.parse_known_args()

    def measure(findings: Findings, quick: bool) -> None:
        """Committees of ensembles beside AutoGluon at equal wall time."""
        folder = os.environ.get("COMMITTEE_DATA")
        findings.settings = {"half": "checking", "fold": 1, "cores": 2}
        if folder is None or PYTHON not in os.environ or quick:
            findings.settings["left out"] = f"all: for --quick, or as COMMITTEE_DATA or {PYTHON} is not set"
            return
        with warnings.catch_warnings(), kept_cells(RESULTS / "autogluon" / "checking.jsonl", {}, __name__) as journal:
            warnings.simplefilter("ignore")
            measure_cells(Path(folder), options.seconds, options.minutes, journal)
            report(findings, journal.cells)

    command("autogluon", measure, one_thread=False, arguments=rest)


if __name__ == "__main__":
    main()
