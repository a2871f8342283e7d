"""Re-weighting by programs that take rows as they need them, beside scipy's `linprog` on one dense program."""

from __future__ import annotations

import resource
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning

from benchmarks.figures import Figure, Findings, command
from benchmarks.pairing import Spread, collect, timed
from benchmarks.tables import collisions
from committee import AdaBoostClassifier, GradientBoostingClassifier
from committee.learners.reweighting.margin_reweighter import MarginReweighter
from committee.objectives.margins.linear_objectives import Uniform
from committee.objectives.margins.named_objectives import OBJECTIVES
from committee.objectives.margins.objective import Objective, Reweighting
from committee.objectives.programs.margin_matrix import MarginMatrix
from committee.vote.committee import Committee
from committee.vote.signed_votes import SignedVotes

F64 = NDArray[np.float64]
SLACK = 0.02


def correlated_votes(n: int, n_voters: int, seed: int) -> NDArray[np.int8]:
    """Whether voters are right, +1 or -1: some rows are hard for all, voters lean on the same four hidden columns."""
    rng = np.random.default_rng(seed)
    ease = (0.35 + 0.5 * rng.standard_normal(n)).astype(np.float32)
    hidden = rng.standard_normal((n, 4), dtype=np.float32)
    leaning = 0.35 * rng.standard_normal((4, n_voters), dtype=np.float32)
    skill = 0.08 * rng.standard_normal(n_voters, dtype=np.float32)
    votes = np.empty((n, n_voters), dtype=np.int8)
    for at in range(0, n, 65_536):
        some = slice(at, at + 65_536)
        signal = ease[some, None] + skill + hidden[some] @ leaning
        votes[some] = np.where(signal + rng.standard_normal(signal.shape, dtype=np.float32) > 0.0, 1, -1)
    return votes


def forest_votes(n: int, n_voters: int, seed: int) -> NDArray[np.int8]:
    """Whether the trees of a real forest of four leaves each are right."""
    X, y = collisions(2 * n, seed)
    forest = RandomForestClassifier(n_voters, max_leaf_nodes=4, random_state=seed).fit(X[:n], y[:n])
    truth = 2 * (y[n:] == forest.classes_[1]) - 1
    trees = Committee.from_estimator(forest).votes(X[n:])
    return (np.where(trees > 0.0, 1, -1) * truth[:, None]).astype(np.int8)


def dense_program(S: NDArray[np.int8], slack: float) -> float:
    """No margin falls by more than the slack: the textbook's program, given to scipy whole; its value."""
    A = -S.astype(np.float64)
    adds_up = np.ones((1, S.shape[1]))
    found = linprog(A.mean(axis=0), A, slack - S.mean(axis=1), adds_up, [1.0], method="highs")
    if found.status != 0:
        raise RuntimeError(f"linprog: {found.message}")
    return -float(found.fun)


def quietly(objective: Objective, lines: MarginMatrix) -> Reweighting:
    """Solved, whether or not there is anything to gain."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return objective.solve(lines)


def race(findings: Findings, name: str, S: NDArray[np.int8], slack: float, target: float | None) -> None:
    """Both on the same votes; then how far their values are apart, relative to the value."""
    lines = MarginMatrix.of_matrix(S)
    reached: dict[str, Any] = {}
    trial = collect(
        {
            "committee": lambda: timed(lambda: reached.update(ours=quietly(Uniform(slack=slack), lines)), 1),
            "scipy": lambda: timed(lambda: reached.update(theirs=dense_program(S, slack)), 1),
        },
        1,
    )
    ours: Reweighting = reached["ours"]
    work = f"no margin falls by more than {slack:g}, {name}, {len(S):,} rows x {S.shape[1]} voters"
    findings.add_ratio(work, "scipy linprog, dense", trial, "scipy", "committee", target)
    findings.add(
        Figure(
            f"{work}: relative difference of the values",
            "scipy linprog, dense",
            "",
            Spread.of(abs(ours.value - reached["theirs"]) / abs(reached["theirs"])),
            target=1e-7,
            at_least=False,
            remark=f"gain {ours.value - ours.before:.2e}, {ours.n_rows_used:,} rows used in {ours.rounds} rounds, "
            f"gap {ours.gap:.1e}",
        )
    )


def alone(
    findings: Findings, work: str, target: float | None, task: Callable[[], Any], remark: Callable[[Any], str]
) -> None:
    """Seconds of one thing that nobody else does."""
    reached: list[Any] = []
    trial = collect({"committee": lambda: timed(lambda: reached.append(task()), 1)}, 1)
    findings.record(work, trial)
    seconds, wall = Spread.of(trial.seconds("committee")), Spread.of(trial.seconds("committee", "wall"))
    said = remark(reached[-1])
    findings.add(Figure(work, "", "s", seconds, target, at_least=False, clock="cpu", wall=wall, remark=said))


def large(findings: Findings, n: int, n_voters: int) -> None:
    """Margins, the linear program with and without room, and every other objective on as many rows as there are."""
    S = correlated_votes(n, n_voters, seed=1)
    votes = SignedVotes(S, np.arange(n), np.zeros(n, dtype=np.intp), n, np.full(n_voters, 1.0 / n_voters))
    size = f"{n:,} rows x {n_voters} voters"
    alone(findings, f"margins, {size}", 2.0, lambda: votes.lines(votes.weights), lambda _: "int8 votes")
    lines = MarginMatrix.of(votes)
    for slack in (0.0, SLACK):
        alone(
            findings,
            f"no margin falls by more than {slack:g}, {size}",
            60.0,
            lambda slack=slack: quietly(Uniform(slack=slack), lines),
            lambda found: (
                f"gain {found.value - found.before:.2e}, {found.n_rows_used:,} rows used in "
                f"{found.rounds} rounds, gap {found.gap:.1e}"
            ),
        )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    findings.add(
        Figure(f"memory so far, {size}", "", "GB", Spread.of(peak), 3.0, at_least=False, remark="whole process, peak")
    )


def every_objective(findings: Findings, n: int, n_voters: int) -> None:
    """Seconds of each objective with its defaults."""
    lines = MarginMatrix.of_matrix(correlated_votes(n, n_voters, seed=2))
    for name, kind in OBJECTIVES.items():
        objective = kind() if name != "range" else kind(1.0 / n)  # type: ignore[call-arg]
        alone(
            findings,
            f"{name}, {n:,} rows x {n_voters} voters",
            None,
            lambda objective=objective: quietly(objective, lines),
            lambda found: f"{found.before:.4f} to {found.value:.4f}, {np.count_nonzero(found.weights)} voters",
        )


def several_classes(findings: Findings, n: int) -> None:
    """Whole fits of the soft margin of five classes, of three kinds of ensembles; nobody else does them."""
    X, y = make_classification(n, 20, n_informative=10, n_classes=5, flip_y=0.05, random_state=0)
    ensembles: dict[str, tuple[Any, Any]] = {
        "a forest of 100 trees": (RandomForestClassifier(100, random_state=0), "oob"),
        "100 rounds of AdaBoost": (AdaBoostClassifier(100, vote="discrete"), "train"),
        "200 rounds of gradient boosting": (GradientBoostingClassifier(), "train"),
    }
    for name, (ensemble, on) in ensembles.items():
        model = MarginReweighter(ensemble.fit(X, y), on=on)
        alone(
            findings,
            f"soft margin of {name}, {n:,} rows x 5 classes",
            1.0,
            lambda model=model: model.fit(X, y),
            lambda found: (
                f"{found.value_before_:.4f} to {found.value_:.4f}, gap {found.gap_:.1e}, "
                f"{found.n_rows_used_:,} of {4 * n:,} lines used in {found.n_rounds_} rounds"
            ),
        )


def measure(findings: Findings, quick: bool) -> None:
    """200 voters on 100,000 rows beside scipy, on 1,000,000 rows alone."""
    # the large ones first, as the peak of memory must not be that of the dense programs
    n, n_large, T = (3_000, 20_000, 40) if quick else (100_000, 1_000_000, 200)
    findings.settings = {"rows": n, "rows alone": n_large, "voters": T, "slack": SLACK, "threads": 1}
    large(findings, n_large, T)
    every_objective(findings, n // 10, T)
    several_classes(findings, n // 20)
    votes = correlated_votes(n, T, seed=0)
    for slack in (0.0, SLACK):
        race(findings, "simulated votes", votes, slack, 10.0)
    race(findings, "votes of a forest", forest_votes(n // 5, T, seed=0), SLACK, None)


if __name__ == "__main__":
    command("margins", measure)
