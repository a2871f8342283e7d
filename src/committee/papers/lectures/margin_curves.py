"""AdaBoost's margins on one problem: a cell for each fold, and the folds put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from committee.bounds import voting, voting_certified
from committee.data.number_types import F64
from committee.files.journal import Cell
from committee.learners.adaboost import AdaBoostClassifier
from committee.learners.trained_ensembles import for_vote
from committee.papers.shared.tables import labels_of
from committee.report.crossvalidation import Split, Table

ALL = "all classes"
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


def margin_cell(table: Table, problem: str, learner: str, split: Split, rounds: tuple[int, ...]) -> Cell:
    """Fit AdaBoost on the training rows of a fold, and look at the margins after each number of rounds."""
    train_rows, test_rows = split
    labels = labels_of(table)
    if problem != ALL:
        labels = labels == problem
    X, y = table.rows(train_rows), labels[train_rows]
    X_test, y_test = table.rows(test_rows), labels[test_rows]
    model = AdaBoostClassifier(max(rounds), calibrate=None, **LEARNERS[learner]).fit(X, y)
    size, described = (bound.inputs for bound in for_vote(model, X, y).values())
    stages = {}
    for T in rounds:
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
        "problem": problem,
        "learner": learner,
        "rows": len(train_rows),
        "test_rows": len(test_rows),
        "ln_size": size["ln_size"],
        "stages": stages,
    }


def below(margins: F64) -> list[int]:
    """Numbers of margins that are at most each of `LEVELS`; one that a rounding parts from a level counts as at it."""
    return [int(k) for k in np.searchsorted(np.sort(margins), LEVELS + 1e-12, side="right")]


@dataclass(frozen=True)
class MarginCurves:
    """A problem and learner after T rounds, over all folds."""

    problem: str
    learner: str
    rounds: int
    """T."""
    train: F64
    test: F64
    """Share of rows with a margin of at most each level: training rows of all folds, and every row once as a test row.
    Shape ``(len(LEVELS),)``."""
    minimum: float
    mean: float
    """Of the training margins; means over the folds, as all below."""
    train_error: float
    test_error: float
    bound: float
    theta: float
    """`voting` with C = 1, and the margin that it is least at."""
    certified: float
    """`voting_certified`."""
    rows_needed: float
    """Training rows that would bring that down to 1/2, were margins the same; median over the folds."""


def curves(cells: Sequence[Cell]) -> list[MarginCurves]:
    """Fold by fold put together, in the order of the tasks."""
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


def share_at(found: MarginCurves, theta: float) -> float:
    """Share of training rows with a margin of at most theta, one of `LEVELS`."""
    return float(found.train[np.argmin(np.abs(LEVELS - theta))])
