"""The lecture notes' random forest: its out-of-bag error beside its error on many new rows, as trees are added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64
from committee.files.journal import Cell
from committee.learners.bagging.random_forest import RandomForestClassifier
from committee.papers.lectures.plan import LecturePlan
from committee.papers.shared.cells import Task
from committee.papers.shared.figures import BLUE, GREY, ORANGE, plain, save
from committee.papers.shared.mease_wyner import NOISE
from committee.papers.shared.pages import grid_of, write_grid
from committee.papers.shared.paired import standard_error
from committee.report.displays.base import INK, new_figure
from committee.report.grid import Grid

if TYPE_CHECKING:
    from matplotlib.figure import Figure

UNSEEN = float(np.exp(-1.0))
"""Share of the trees that did not see a row, about: so many vote on it out of bag."""

SHOWN = (1, 2, 5, 10, 20, 50, 100, 200, 500)
"""Numbers of trees in the table."""


FOREST: dict[str, Any] = {
    "oob_score": True,
    "max_features": "sqrt",
    "min_samples_leaf": 1,
    "voting": "soft",
    "calibrate": None,
}
"""Breiman's trees, whose shares are averaged."""


def tasks(plan: LecturePlan, seed: int, _: Path | None = None) -> list[Task]:
    """A forest on every drawing of the rows."""
    return [
        Task({"name": f"forest: repeat {repeat}"}, partial(forest_cell, plan, seed, repeat))
        for repeat in range(plan.repeats)
    ]


def forest_cell(plan: LecturePlan, seed: int, repeat: int) -> Cell:
    """Errors of the first T trees of a forest, out of bag and on the test rows, for every T."""
    X, y, X_test, y_test = plan.simulated("classes", seed, repeat)
    model = RandomForestClassifier(plan.trees, random_state=repeat, **FOREST).fit(X, y)
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


def report(cells: Sequence[Cell], plan: LecturePlan, out: Path) -> list[Grid]:
    """Write the two errors as a table and a picture."""
    found = ForestCurves(*(np.array([cell[side] for cell in cells]) for side in ("oob", "test")))
    made = grid(found, plan.training_rows)
    write_grid(made, out / "forest.csv")
    save(picture(found, plan.training_rows), out / "forest.png")
    return [made]


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
        line = [name, f"{T.mean():.0f}", f"{oob.mean():.2f}"]
        for other in (test, as_many):
            line += [f"{other.mean():.2f}", f"{(oob - other).mean():+.2f} ±{standard_error(oob - other):.2f}"]
        body.append(line)
    title = f"Random forest: out-of-bag and test error in percent, mean of {repeats} drawing(s) of {n:,} rows"
    return grid_of(title, ("at", "trees", "out of bag", "test", "less", f"test of {UNSEEN:.0%}", "less that"), body)


def picture(found: ForestCurves, n: int) -> Figure:
    """Out-of-bag and test error by the number of trees: means, and two standard errors of their differences."""
    figure = new_figure(9.6, 4.2)
    left, right = figure.subplots(1, 2)
    repeats, trees = found.oob.shape
    T = np.arange(1, trees + 1)
    for errors, name, colour, line in ((found.oob, "out of bag", ORANGE, "-"), (found.test, "new rows", BLUE, "--")):
        left.plot(T, 100.0 * errors.mean(axis=0), color=colour, linestyle=line, linewidth=1.5, label=name)
    left.axhline(100.0 * NOISE, color=GREY, linewidth=0.9, linestyle=":", label="the best rule")
    left.set_ylabel("error, %")
    left.legend(frameon=False, fontsize="small")
    for test, name, colour in (
        (found.test, "less new rows", BLUE),
        (found.test_of_as_many, f"less new rows with {UNSEEN:.0%} of the trees", INK),
    ):
        difference = 100.0 * (found.oob - test)
        mean = difference.mean(axis=0)
        right.plot(T, mean, color=colour, linewidth=1.4, label=name)
        if repeats > 1:
            band = 2.0 * difference.std(axis=0, ddof=1) / np.sqrt(repeats)
            right.fill_between(T, mean - band, mean + band, color=colour, alpha=0.2, linewidth=0)
    right.legend(frameon=False, fontsize="small")
    right.axhline(0.0, color=GREY, linewidth=0.9)
    right.set_ylabel("out-of-bag error less another, %")
    for ax in (left, right):
        ax.set_xscale("log")
        ax.set_xlabel("trees")
        ax.xaxis.set_major_formatter("{x:g}")
    plain(left, f"random forest on {n:,} rows, mean of {repeats}")
    plain(right, "what the out-of-bag error is too high by")
    return figure
