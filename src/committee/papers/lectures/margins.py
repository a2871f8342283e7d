"""The lecture notes' last figure: AdaBoost's margins on `vehicle` after 5, 100 and 1000 rounds; the voting bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.bounds import voting, voting_certified
from committee.learners.adaboost.adaboost import AdaBoostClassifier
from committee.learners.trained import for_vote
from committee.papers.lectures.plan import Plan
from committee.papers.shared.journal import Cell
from committee.report.crossvalidation import Rows, Table, stratified_folds
from committee.report.tables import Grid

F64 = NDArray[np.float64]

TABLE = "vehicle"
ALL = "all four"
"""The problem with every class in it; the others are one class against the rest."""

STUMPS, REFUSING, TREES = "stumps", "stumps that may refuse", "trees of 16 leaves"
LEARNERS: dict[str, dict[str, Any]] = {
    STUMPS: {},
    REFUSING: {"vote": "abstaining"},
    TREES: {"max_depth": None, "max_leaf_nodes": 16},
}
"""AdaBoost's parameters by the name of its voters."""

LEVELS: F64 = np.linspace(-1.0, 1.0, 401)
"""Margins theta at which the share of rows below is kept."""


def calls(table: Table, plan: Plan, seed: int) -> dict[str, Callable[[], Cell]]:
    """What is to be run, by name: every problem, learner and fold."""
    found: dict[str, Callable[[], Cell]] = {}
    classes = [str(label) for label in table.labels.classes]
    problems = [(name, learner) for name in classes for learner in (STUMPS, REFUSING)] + [(ALL, TREES)]
    for fold, (train, test) in enumerate(stratified_folds(table.labels.codes, plan.folds, 1, seed)):
        for problem, learner in problems:
            job = MarginCell(table, problem, learner, train, test, plan.rounds)
            found[f"margins: {problem}, {learner}, fold {fold}"] = job
    return found


@dataclass(frozen=True, eq=False)
class MarginCell:
    """One fit of AdaBoost on the training rows of a fold, looked at after each number of rounds."""

    table: Table
    problem: str
    learner: str
    train: Rows
    test: Rows
    rounds: tuple[int, ...]

    def __call__(self) -> Cell:
        """Fit, and look at the margins."""
        labels = self.table.labels.classes[self.table.labels.codes]
        if self.problem != ALL:
            labels = labels == self.problem
        X, y = self.table.rows(self.train), labels[self.train]
        X_test, y_test = self.table.rows(self.test), labels[self.test]
        model = AdaBoostClassifier(max(self.rounds), **LEARNERS[self.learner]).fit(X, y)
        size, described = (bound.inputs for bound in for_vote(model, X, y).values())
        stages = {}
        for T in self.rounds:
            committee = model.committee_.select(slice(T))
            train, test = committee.margins(X, y), committee.margins(X_test, y_test)
            certified = voting_certified(
                train,
                described["ln_size"],
                n_classes=described["n_classes"],
                rows_per_voter=described["rows_per_voter"],
            )
            rough = voting(train, size["ln_size"])
            stages[str(T)] = {
                "voters": committee.n_voters,
                "below": below(train),
                "test_below": below(test),
                "minimum": float(train.min()),
                "mean": float(train.mean()),
                "train_error": float(np.mean(committee.predict(X) != y)),
                "test_wrong": int(np.sum(committee.predict(X_test) != y_test)),
                "bound": rough.value,
                "theta": rough.terms["theta"],
                "certified": certified.value,
                # infinity is no JSON
                "rows_needed": min(certified.terms["rows_to_be_useful"], 1e300),
            }
        return {
            "problem": self.problem,
            "learner": self.learner,
            "rows": len(self.train),
            "test_rows": len(self.test),
            "ln_size": size["ln_size"],
            "stages": stages,
        }


def below(margins: F64) -> list[int]:
    """How many margins are at most each of `LEVELS`; a margin that a rounding parts from a level counts as at it."""
    return [int(k) for k in np.searchsorted(np.sort(margins), LEVELS + 1e-12, side="right")]


@dataclass(frozen=True)
class MarginCurves:
    """A problem and learner after T rounds, over all folds.

    Attributes
    ----------
    problem, learner : str
    rounds : int
        T.
    train, test : float64 array (len(LEVELS),)
        Share of rows with a margin of at most each level: training rows of all folds, and every row once as a test
        row.
    minimum, mean : float
        Of the training margins; means over the folds, as all below.
    train_error, test_error : float
    bound, theta : float
        `voting` with C = 1, and the margin that it is least at.
    certified : float
        `voting_certified`.
    rows_needed : float
        Training rows that would bring that down to 1/2, were margins the same; median over the folds.
    """

    problem: str
    learner: str
    rounds: int
    train: F64
    test: F64
    minimum: float
    mean: float
    train_error: float
    test_error: float
    bound: float
    theta: float
    certified: float
    rows_needed: float


def curves(cells: Sequence[Cell]) -> list[MarginCurves]:
    """Fold by fold put together, in the order of `calls`."""
    problems = dict.fromkeys((cell["problem"], cell["learner"]) for cell in cells)
    found = []
    for problem, learner in problems:
        own = [cell for cell in cells if (cell["problem"], cell["learner"]) == (problem, learner)]
        for T in own[0]["stages"]:
            stages = [cell["stages"][T] for cell in own]
            mean = {
                name: float(np.mean([stage[name] for stage in stages]))
                for name in ("minimum", "mean", "train_error", "bound", "theta", "certified")
            }
            found.append(
                MarginCurves(
                    problem,
                    learner,
                    int(T),
                    train=np.sum([stage["below"] for stage in stages], axis=0) / sum(cell["rows"] for cell in own),
                    test=np.sum([stage["test_below"] for stage in stages], axis=0)
                    / sum(cell["test_rows"] for cell in own),
                    test_error=sum(stage["test_wrong"] for stage in stages) / sum(cell["test_rows"] for cell in own),
                    rows_needed=float(np.median([stage["rows_needed"] for stage in stages])),
                    **mean,
                )
            )
    return found


def grids(found: Sequence[MarginCurves]) -> list[Grid]:
    """The margins as a table, and the voting bounds as another."""
    of = {STUMPS: "stumps", REFUSING: "refusing", TREES: "trees"}
    margins = tuple(
        (
            c.problem,
            of[c.learner],
            f"{c.rounds:,}",
            f"{c.minimum:+.3f}",
            f"{c.mean:.3f}",
            f"{100 * share_at(c, 0.1):.1f}",
            f"{100 * c.train_error:.2f}",
            f"{100 * c.test_error:.2f}",
        )
        for c in found
    )
    bounds = tuple(
        (
            c.problem,
            of[c.learner],
            f"{c.rounds:,}",
            f"{c.theta:.2f}",
            f"{c.bound:.2f}",
            f"{c.certified:.2f}",
            "-" if c.rows_needed >= 1e300 else f"{c.rows_needed:.1e}",
        )
        for c in found
    )
    return [
        Grid(
            "Margins of AdaBoost on vehicle: least and mean training margin; in percent rows at 0.1 or below, errors",
            ("class", "voters", "rounds", "least", "mean", "<= 0.1", "train", "test"),
            margins,
            "llrrrrrr",
        ),
        Grid(
            "Voting bound: with C = 1 (no certificate) and its theta; certified, and rows to bring that down to 1/2",
            ("class", "voters", "rounds", "theta", "C = 1", "certified", "rows"),
            bounds,
            "llrrrrr",
        ),
    ]


def share_at(found: MarginCurves, theta: float) -> float:
    """Share of training rows with a margin of at most theta, one of `LEVELS`."""
    return float(found.train[np.argmin(np.abs(LEVELS - theta))])


def lines(found: Sequence[MarginCurves]) -> list[dict[str, object]]:
    """The curves, a line per problem, learner, rounds and level."""
    return [
        {
            "class": c.problem,
            "voters": c.learner,
            "rounds": c.rounds,
            "theta": f"{level:.3f}",
            "train": f"{train:.6f}",
            "test": f"{test:.6f}",
        }
        for c in found
        for level, train, test in zip(LEVELS.tolist(), c.train.tolist(), c.test.tolist(), strict=True)
    ]
