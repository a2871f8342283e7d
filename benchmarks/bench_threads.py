"""Two threads against one: worth it on a large table, never a loss on a small one."""

from __future__ import annotations

from benchmarks.figures import Figure, Findings, command
from benchmarks.machine import Patience
from benchmarks.pairing import Trial, Work, interleave
from benchmarks.tables import Table, collisions, hastie
from committee import AdaBoostClassifier

PATIENCE = 30.0
"""Most seconds that each trial spends waiting for others to leave the processors alone."""


def race(table: Table, rounds: int, *, n_estimators: int = 20, max_depth: int = 1) -> Trial:
    """The same fit on one thread and on two, in turn."""
    X, y = table
    one = AdaBoostClassifier(n_estimators=n_estimators, max_depth=max_depth, n_jobs=1)
    two = AdaBoostClassifier(n_estimators=n_estimators, max_depth=max_depth, n_jobs=2)
    contenders: dict[str, Work] = {"one thread": lambda: one.fit(X, y), "two threads": lambda: two.fit(X, y)}
    return interleave(contenders, rounds, before_round=Patience(PATIENCE))


def measure(findings: Findings, quick: bool) -> None:
    """AdaBoost fit with n_jobs=2 against n_jobs=1, by wall time."""
    large = 100_000 if quick else 1_000_000
    few, many = (3, 9) if quick else (11, 101)
    findings.settings = {"rounds": {"large": few, "small": many}, "columns": 28}
    plan: list[tuple[str, Table, int, int, float | None]] = [
        (f"AdaBoost, 20 stump rounds, {large:,} x 28", collisions(large), few, 1, 1.7),
        ("AdaBoost, 20 stump rounds, 2,000 x 28", collisions(2_000), many, 1, 0.97),
        ("AdaBoost, 20 rounds of depth 2, 2,000 x 10", hastie(2_000), many, 2, 0.97),
    ]
    # between the two, where the second thread starts to join in
    middle = (20_000,) if quick else (5_000, 10_000, 20_000, 50_000, 200_000)
    plan += [(f"AdaBoost, 20 stump rounds, {n:,} x 28", collisions(n), many // 3, 1, None) for n in middle]
    for work, table, rounds, max_depth, target in plan:
        trial = race(table, rounds, max_depth=max_depth)
        findings.record(work, trial)
        ratio = trial.ratio("one thread", "two threads", "wall")
        findings.add(Figure(f"{work}: 2 threads", "1 thread", "x", ratio, target, clock="wall"))


if __name__ == "__main__":
    command("threads", measure, one_thread=False)
