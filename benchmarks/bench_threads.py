"""Two threads against one: worth it on a large table, never a loss on a small one; sixteen by simulation."""

from __future__ import annotations

from benchmarks.bench_gradient_boosting import BINS, OURS, contenders
from benchmarks.figures import Figure, Findings, command
from benchmarks.machine import Patience
from benchmarks.pairing import Spread, Trial, Work, interleave
from benchmarks.tables import Table, collisions, hastie
from benchmarks.thread_schedule import speed_up
from committee import AdaBoostClassifier
from committee.voters.forest import Forest

PATIENCE = 30.0
"""Most seconds that each trial spends waiting for others to leave the processors alone."""


def race(table: Table, rounds: int, *, n_estimators: int = 20, max_depth: int = 1) -> Trial:
    """The same fit on one thread and on two, in turn."""
    X, y = table
    one = AdaBoostClassifier(n_estimators=n_estimators, max_depth=max_depth, n_jobs=1)
    two = AdaBoostClassifier(n_estimators=n_estimators, max_depth=max_depth, n_jobs=2)
    contenders: dict[str, Work] = {"one thread": lambda: one.fit(X, y), "two threads": lambda: two.fit(X, y)}
    return interleave(contenders, rounds, before_round=Patience(PATIENCE))


def gradient_boosting(findings: Findings, n: int, rounds: int) -> None:
    """Twenty rounds of 31 leaves on two threads, and what the sizes of their parts let more threads gain."""
    X, y = collisions(n)
    one, two = (contenders(20, threads)[OURS] for threads in (1, 2))
    fits: dict[str, Work] = {"one thread": lambda: one.fit(X, y), "two threads": lambda: two.fit(X, y)}
    trial = interleave(fits, rounds, before_round=Patience(PATIENCE))
    work = f"gradient boosting, 20 rounds of 31 leaves, {n:,} x 28"
    findings.record(work, trial)
    findings.add(
        Figure(f"{work}: 2 threads", "1 thread", "x", trial.ratio("one thread", "two threads", "wall"), clock="wall")
    )
    forest = one.committee_.voters
    assert isinstance(forest, Forest)
    n_cells = X.shape[1] * (BINS + 1)
    for threads in (2, 4, 8, 16):
        ratio = speed_up(forest, threads, n, n_cells)
        remark = "by the sizes of the parts, its rounds alone"
        findings.add(Figure(f"{work}: {threads} threads", "1 thread", "x", Spread.of(ratio), remark=remark))


def measure(findings: Findings, quick: bool) -> None:
    """Fits with n_jobs=2 against n_jobs=1, by wall time; of gradient boosting up to 16 threads, by simulation."""
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
    for n in (10_000,) if quick else (10_000, 100_000, 1_000_000):
        gradient_boosting(findings, n, few)


if __name__ == "__main__":
    command("threads", measure, one_thread=False)
