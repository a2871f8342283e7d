"""Sparse tables beside LightGBM and XGBoost: equal rounds, leaves, step and bins; a forest beside scikit-learn's."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse
from sklearn.ensemble import RandomForestClassifier as TheirForest
from sklearn.metrics import log_loss
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from benchmarks.bench_gradient_boosting import OURS, contenders
from benchmarks.figures import Figure, Findings, command
from benchmarks.pairing import Spread, Work, interleave
from benchmarks.peak_memory import FIT_IN, memory_figure, print_peak
from benchmarks.tables import SparseTable, documents, one_hot
from committee import RandomForestClassifier

PEERS = ("LightGBM", "XGBoost hist")


def race(findings: Findings, name: str, train: SparseTable, test: SparseTable, rounds: int, repeats: int) -> None:
    """Fits and predictions in turn; our time as a ratio to each peer's; then the log losses."""
    (X, y), (X_test, y_test) = train, test
    models = {who: model for who, model in contenders(rounds, 1).items() if who in (OURS, *PEERS)}
    fits: dict[str, Work] = {who: partial(model.fit, X, y) for who, model in models.items()}
    trials = {"fit": interleave(fits, repeats)}
    answers: dict[str, Work] = {who: partial(model.predict_proba, X_test) for who, model in models.items()}
    trials["predictions"] = interleave(answers, repeats)
    losses = {who: log_loss(y_test, model.predict_proba(X_test)) for who, model in models.items()}
    for part, trial in trials.items():
        work = f"{name}, {rounds} rounds: {part}"
        findings.record(work, trial)
        fastest = min(PEERS, key=lambda who: float(np.median(trial.seconds(who))))
        for who in PEERS:
            remark = "the faster peer" if who == fastest else ""
            findings.add(
                Figure(
                    work,
                    who,
                    "x",
                    trial.ratio(who, OURS),
                    1.0 if who == fastest else None,
                    clock="cpu",
                    wall=trial.ratio(who, OURS, "wall"),
                    remark=remark,
                )
            )
    told = ", ".join(f"{who} {loss:.4f}" for who, loss in losses.items())
    best = min(losses[who] for who in PEERS)
    above = Spread.of(100.0 * (losses[OURS] / best - 1.0))
    findings.add(Figure(f"{name}: test log loss above the better peer's", "", "%", above, at_least=False, remark=told))


def forests(findings: Findings, name: str, train: SparseTable, repeats: int) -> None:
    """Ten trees of a forest, fully grown."""
    X, y = train
    trial = interleave(
        {
            OURS: lambda: RandomForestClassifier(10, random_state=0).fit(X, y),
            "scikit-learn": lambda: TheirForest(10, random_state=0).fit(X, y),
        },
        repeats,
    )
    findings.record(f"{name}: forest of 10 trees", trial)
    findings.add_ratio(f"{name}: forest of 10 trees", "scikit-learn", trial, "scikit-learn", OURS, 1.0)


# --- memory -----------------------------------------------------------------------------------------------------------


def fit_and_tell(folder: Path, who: str) -> None:
    """In a process of its own: read the table, fit, and print the peak above the input."""
    print_peak(contenders(10, 1)[who], scipy.sparse.load_npz(folder / "X.npz"), np.load(folder / "y.npy"))


def memory(findings: Findings, name: str, table: SparseTable) -> None:
    """Peak memory of every program above the input; ours at most the leaner peer's."""
    X, y = table
    with tempfile.TemporaryDirectory() as folder:
        scipy.sparse.save_npz(Path(folder) / "X.npz", X, compressed=False)
        np.save(Path(folder) / "y.npy", y)
        findings.add(memory_figure(name, "sparse", folder, OURS, PEERS))


def measure(findings: Findings, quick: bool) -> None:
    """Gradient boosting on both tables, memory, and a forest."""
    rows, rounds, repeats = ((5_000, 2_000), 10, 2) if quick else ((100_000, 15_000), 100, 5)
    tables: list[tuple[Callable[[int, int], SparseTable], int]] = [(one_hot, rows[0]), (documents, rows[1])]
    findings.settings = {"repeats": repeats, "rounds": rounds}
    with threadpool_limits(limits=1):
        for make, n in tables:
            train, test = make(n, 0), make(n, 1)
            name = f"{make.__name__.replace('_', '-')}, {n:,} x {train[0].shape[1]:,}"
            race(findings, name, train, test, rounds, repeats)
            memory(findings, name, train)
        few = 2_000 if quick else 10_000
        forests(findings, f"one-hot, {few:,} x 500", one_hot(few), 2 if quick else 3)


if __name__ == "__main__":
    if sys.argv[1:2] == [FIT_IN]:
        fit_and_tell(Path(sys.argv[2]), sys.argv[3])
    else:
        command("sparse", measure, one_thread=True)
