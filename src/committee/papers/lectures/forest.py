"""The lecture notes' random forest: its out-of-bag error beside its error on many new rows, as trees are added."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from committee.learners.bagging.random_forest import RandomForestClassifier
from committee.papers.lectures.boosting import simulated
from committee.papers.lectures.plan import Plan
from committee.papers.sbpmt.mease_wyner import standard_error
from committee.papers.shared.journal import Cell
from committee.report.tables import Grid

F64 = NDArray[np.float64]

UNSEEN = float(np.exp(-1.0))
"""Share of the trees that did not see a row, about: so many vote on it out of bag."""

SHOWN = (1, 2, 5, 10, 20, 50, 100, 200, 500)
"""Numbers of trees in the table."""


def calls(plan: Plan, seed: int) -> dict[str, Callable[[], Cell]]:
    """What is to be run, by name: a forest on every drawing of the rows."""
    return {f"forest: repeat {repeat}": ForestCell(plan, seed, repeat) for repeat in range(plan.repeats)}


@dataclass(frozen=True)
class ForestCell:
    """One forest: the errors of its first T trees, out of bag and on the test rows, for every T."""

    plan: Plan
    seed: int
    repeat: int

    def __call__(self) -> Cell:
        """Fit, and judge."""
        X, y, X_test, y_test = simulated("classes", self.plan, self.seed, self.repeat)
        model = RandomForestClassifier(self.plan.trees, oob_score=True, random_state=self.repeat).fit(X, y)
        test = [float(np.mean(predicted != y_test)) for predicted in model.staged_predict(X_test)]
        return {"oob": [float(error) for error in model.oob_curve_], "test": test}


@dataclass(frozen=True)
class ForestCurves:
    """Errors by the number of trees, `(repeats, T)`: out of bag, and on new rows."""

    oob: F64
    test: F64

    @property
    def test_of_as_many(self) -> F64:
        """Errors on new rows of as many trees as vote out of bag, a share of `UNSEEN`."""
        trees = np.arange(1, self.test.shape[1] + 1)
        return self.test[:, np.maximum(1, np.round(UNSEEN * trees)).astype(np.intp) - 1]

    def smallest(self) -> NDArray[np.intp]:
        """For each repeat the number of trees of least out-of-bag error."""
        return np.asarray(np.argmin(self.oob, axis=1) + 1)

    def within_one_standard_error(self, n: int) -> NDArray[np.intp]:
        """For each repeat the fewest trees whose out-of-bag error on n rows is within a standard error of the least."""
        least = self.oob.min(axis=1, keepdims=True)
        near = self.oob <= least + np.sqrt(least * (1.0 - least) / n)
        return np.asarray(np.argmax(near, axis=1) + 1)


def curves(cells: Sequence[Cell]) -> ForestCurves:
    """The repeats put together."""
    return ForestCurves(np.array([cell["oob"] for cell in cells]), np.array([cell["test"] for cell in cells]))


def grid(found: ForestCurves, n: int) -> Grid:
    """Both errors at a few numbers of trees, and at those that the out-of-bag error chooses."""
    repeats, trees = found.oob.shape
    picks = {f"{T:,}": np.full(repeats, T) for T in SHOWN if trees >= T}
    picks["least out of bag"] = found.smallest()
    picks["within one s.e."] = found.within_one_standard_error(n)
    body = []
    for name, T in picks.items():
        each = (errors[np.arange(repeats), T - 1] for errors in (found.oob, found.test, found.test_of_as_many))
        oob, test, as_many = (100.0 * errors for errors in each)
        body.append(
            (
                name,
                f"{T.mean():.0f}",
                f"{oob.mean():.2f}",
                f"{test.mean():.2f}",
                f"{(oob - test).mean():+.2f} ±{standard_error(oob - test):.2f}",
                f"{as_many.mean():.2f}",
                f"{(oob - as_many).mean():+.2f} ±{standard_error(oob - as_many):.2f}",
            )
        )
    return Grid(
        f"Random forest: out-of-bag and test error in percent, mean of {repeats} drawing(s) of {n:,} rows",
        ("at", "trees", "out of bag", "test", "less", f"test of {UNSEEN:.0%}", "less that"),
        tuple(body),
        "lrrrrrr",
    )
