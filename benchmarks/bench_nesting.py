"""A node of soft stumps, out of whole fits, beside a histogram pass."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.bench_histogram import kernel
from benchmarks.figures import Figure, Findings, command
from benchmarks.pairing import Spread, collect, timed
from benchmarks.tables import collisions
from committee import (
    BoostingTreeClassifier,
    MatryoshkaClassifier,
    ProbabilisticAdaBoostClassifier,
)
from committee.data.bins import Binned
from committee.data.table_schema import TableSchema

F64 = NDArray[np.float64]

VOTERS = 256
LEARNERS: dict[str, Any] = {
    "boosting tree": BoostingTreeClassifier(VOTERS, n_jobs=1),
    "probabilistic AdaBoost": ProbabilisticAdaBoostClassifier(VOTERS, n_jobs=1),
    "2-matryoshka": MatryoshkaClassifier(levels=8, n_jobs=1),
    "greedy matryoshka": MatryoshkaClassifier("greedy", max_voters=VOTERS, n_jobs=1),
}


def nodes(findings: Findings, X: F64, y: NDArray[np.int64], rounds: int) -> None:
    """Fits of 256 voters - search, q, weights, all of Python - less a fit of one, which bins the table as well."""
    binned = Binned.of(X, None, TableSchema.learn(X), 255)
    weights, labels = np.full(len(X), 1.0 / len(X)), y.astype(np.uint16)
    passes = kernel(binned.codes, binned.bins.n_bins, labels, weights, None)
    works = {name: partial(timed, partial(model.fit, X, y), 1) for name, model in LEARNERS.items()}
    works["one voter"] = partial(timed, partial(BoostingTreeClassifier(1, n_jobs=1).fit, X, y), 1)
    trial = collect({**works, "histogram": passes}, rounds)
    work = f"fits of {VOTERS} voters, {len(X):,} x {X.shape[1]}"
    findings.record(work, trial)
    for name in LEARNERS:
        a_node = (trial.seconds(name) - trial.seconds("one voter")) / trial.seconds("histogram") / (VOTERS - 1)
        target = 3.0 if name == "boosting tree" else None
        what = f"{work}: {name}, a node in histogram passes"
        remark = f"bound {LEARNERS[name].bound_:.3f}, voters met {LEARNERS[name].cost_:.1f}"
        findings.add(Figure(what, "own histogram", "", Spread.of(a_node), target, at_least=False, remark=remark))


def measure(findings: Findings, quick: bool) -> None:
    """Fits of 256 voters at 100,000 x 28 in units of a histogram pass; one thread."""
    n, rounds = (10_000, 1) if quick else (100_000, 7)
    findings.settings = {"rows": n, "voters": VOTERS, "rounds": rounds, "threads": 1}
    X, y = collisions(n, seed=0)
    nodes(findings, X, y, rounds)


if __name__ == "__main__":
    command("nesting", measure)
