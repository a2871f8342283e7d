"""`predict` of random voters along a path, beside AdaBoost's on as many stumps, with the errors of all."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.figures import Figure, Findings, command
from benchmarks.pairing import Spread, interleave
from benchmarks.tables import collisions
from committee import AdaBoostClassifier, BoostingTreeClassifier

F64 = NDArray[np.float64]

VOTERS = 256


def predictions(findings: Findings, X: F64, y: NDArray[np.int64], rounds: int) -> None:
    """`predict` of new rows: by the likely path through a tree, by all paths, by a drawn one; by AdaBoost's stumps."""
    n = len(X)
    rows, truth = collisions(n, seed=1)
    models: dict[str, Any] = {
        "likely path": BoostingTreeClassifier(VOTERS, method="likely_path", n_jobs=1),
        "AdaBoost": AdaBoostClassifier(VOTERS, n_jobs=1),
        "expectation": BoostingTreeClassifier(VOTERS, n_jobs=1),
        "one drawn path": BoostingTreeClassifier(VOTERS, method="sampled", random_state=0, n_jobs=1),
    }
    for model in models.values():
        model.fit(X, y)
    trial = interleave({name: partial(model.predict, rows) for name, model in models.items()}, rounds)
    error = {name: float(np.mean(model.predict(rows) != truth)) for name, model in models.items()}
    work = f"predict by the likely path, boosting tree of {VOTERS} soft stumps, {n:,} x {rows.shape[1]}"
    findings.add_ratio(work, f"own AdaBoost, {VOTERS} stumps", trial, "AdaBoost", "likely path")
    for name in models:
        cpu, wall = (Spread.of(1e9 * trial.seconds(name, clock) / n) for clock in ("cpu", "wall"))
        remark = f"test error {error[name]:.4f}"
        findings.add(Figure(f"{work}: {name}, per row", "", "ns", cpu, clock="cpu", wall=wall, remark=remark))


def measure(findings: Findings, quick: bool) -> None:
    """Paths through a tree of 256 soft stumps, learned from 100,000 x 28; one thread."""
    n, rounds = (10_000, 2) if quick else (100_000, 14)
    findings.settings = {"rows": n, "voters": VOTERS, "rounds": rounds, "threads": 1}
    X, y = collisions(n, seed=0)
    predictions(findings, X, y, rounds)


if __name__ == "__main__":
    command("paths", measure)
