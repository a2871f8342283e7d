"""The lecture notes' gradient boosting: losses and random subsamples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data.number_types import F64
from committee.files.journal import Cell
from committee.learners.adaboost import AdaBoostClassifier
from committee.learners.gradient.gradient_boosting import GradientBoostingClassifier, GradientBoostingRegressor
from committee.papers.lectures.plan import LecturePlan
from committee.papers.shared.cells import Task, timed
from committee.papers.shared.figures import BLUE, GREEN, GREY, ORANGE, plain, save
from committee.papers.shared.mease_wyner import NOISE
from committee.papers.shared.pages import grid_of, write_grid
from committee.papers.shared.paired import standard_error
from committee.report.displays.base import INK, new_figure
from committee.report.grid import Grid

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TREES: dict[str, Any] = {"max_leaf_nodes": 8, "max_depth": None, "min_samples_leaf": 10}
STEP: dict[str, Any] = {
    **TREES,
    "learning_rate": 0.1,
    "leaf": "constant",
    "leaf_l2": 0.0,
    "max_features": None,
    "growth": "leaf",
}
"""As the notes have it: all columns at each split, a number in each leaf. Named, so that new defaults leave it so."""
SUBSAMPLES = (1.0, 0.5, 0.25)
LOSSES = ("exponential", "log_loss", "squared_error")
"""Of votes between two classes; the last is regression on -1 and +1, whose sign is the vote."""

ADABOOST = "exponential, by votes"
"""AdaBoost itself: the gradient method for exp(-a y) with trees that vote."""


@dataclass(frozen=True)
class BoostingMethod:
    """A way to boost: "classes" or "numbers", a loss, and the share of rows that each tree is trained on."""

    task: str
    loss: str
    subsample: float

    def model(self, rounds: int, seed: int) -> Any:
        """The unfitted learner."""
        if self.loss == ADABOOST:
            return AdaBoostClassifier(rounds, calibrate=None, **TREES)
        options = {"n_estimators": rounds, "subsample": self.subsample, "random_state": seed, **STEP}
        if self.loss == "squared_error":
            return GradientBoostingRegressor(loss="squared_error", **options)
        return GradientBoostingClassifier(loss=self.loss, **options)

    @property
    def name(self) -> str:
        """All three."""
        return f"{self.task}, {self.loss}, {self.subsample:g}"

    @property
    def votes(self) -> bool:
        """Whether signs are predicted, and not numbers."""
        return self.task == "classes"

    def error(self, predicted: F64, y: F64) -> float:
        """Share of wrong signs, or root mean squared error."""
        if self.votes:
            return float(np.mean(np.where(predicted > 0.0, 1.0, -1.0) != y))
        return float(np.sqrt(np.mean((predicted - y) ** 2)))


METHODS = (
    BoostingMethod("classes", ADABOOST, 1.0),
    *(BoostingMethod("classes", loss, subsample) for loss in LOSSES for subsample in SUBSAMPLES),
    *(BoostingMethod("numbers", "squared_error", subsample) for subsample in SUBSAMPLES),
)


def tasks(plan: LecturePlan, seed: int, _: Path | None = None) -> list[Task]:
    """Every method on every drawing of the rows."""
    return [
        Task({"name": f"boosting: {method.name}, repeat {repeat}"}, partial(boosting_cell, method, plan, seed, repeat))
        for repeat in range(plan.repeats)
        for method in METHODS
    ]


def boosting_cell(method: BoostingMethod, plan: LecturePlan, seed: int, repeat: int) -> Cell:
    """Fit, and take the error on the test rows after every round."""
    X, y, X_test, y_test = plan.simulated(method.task, seed, repeat)
    model, seconds = timed(lambda: method.model(plan.boosting_rounds, repeat).fit(X, y))
    return {
        **asdict(method),
        "errors": [method.error(predicted, y_test) for predicted in model.staged_predict(X_test)],
        "fit_seconds": round(seconds, 4),
    }


def report(cells: Sequence[Cell], _: LecturePlan, out: Path) -> list[Grid]:
    """Write the test error of losses and subsamples at the end, and where it is least."""
    body = []
    curves: dict[str, dict[tuple[str, float], F64]] = {"classes": {}, "numbers": {}}
    for method in METHODS:
        own = [cell for cell in cells if (cell["task"], cell["loss"], cell["subsample"]) == astuple(method)]
        curves[method.task][method.loss, method.subsample] = mean = mean_curve(own)
        said, scale, digits = ("two classes, error %", 100.0, 2) if method.votes else ("regression, RMSE", 1.0, 3)
        end, best = np.array([cell["errors"][-1] for cell in own]), int(mean.argmin())
        at_the_end = f"{scale * end.mean():.{digits}f} ±{scale * standard_error(end):.{digits}f}"
        seconds = f"{np.median([cell['fit_seconds'] for cell in own]):.3f}"
        least = f"{scale * mean[best]:.{digits}f}", f"{best + 1}"
        body.append((said, method.loss, f"{method.subsample:g}", at_the_end, *least, seconds))
    rounds = max(len(cell["errors"]) for cell in cells)
    title = (
        f"Gradient boosting, {rounds} rounds: test error at the end, and its least (best rule {100 * NOISE:g} %, 1.0)"
    )
    grid = grid_of(title, ("task", "loss", "subsample", "at the end", "least", "at", "fit s"), body, text=2)
    write_grid(grid, out / "boosting.csv")
    save(picture(curves), out / "boosting.png")
    return [grid]


def mean_curve(cells: Sequence[Cell]) -> F64:
    """Mean test error after every round, up to the end of the shortest run: AdaBoost may end early."""
    shortest = min(len(cell["errors"]) for cell in cells)
    return np.asarray(np.mean([cell["errors"][:shortest] for cell in cells], axis=0))


def picture(curves: dict[str, dict[tuple[str, float], F64]]) -> Figure:
    """Test error after every round: losses on the left, subsamples in the middle (two classes) and right (numbers)."""
    figure = new_figure(11.0, 4.2)
    left, middle, right = figure.subplots(1, 3)
    losses = [(loss, curve) for (loss, subsample), curve in curves["classes"].items() if subsample == 1.0]
    for (loss, curve), colour in zip(losses, (GREY, BLUE, ORANGE, GREEN), strict=True):
        name = "AdaBoost" if loss == ADABOOST else loss.replace("_", " ")
        left.plot(np.arange(1, len(curve) + 1), 100.0 * curve, color=colour, linewidth=1.4, label=name)
    for ax, task, loss, scale in ((middle, "classes", "log_loss", 100.0), (right, "numbers", "squared_error", 1.0)):
        own = [(subsample, curve) for (name, subsample), curve in curves[task].items() if name == loss]
        for (subsample, curve), colour in zip(own, (INK, BLUE, ORANGE), strict=True):
            label = "all rows" if subsample == 1.0 else f"{subsample:g} of the rows"
            ax.plot(np.arange(1, len(curve) + 1), scale * curve, color=colour, linewidth=1.4, label=label)
    titles = ("two classes, by loss", "two classes, log loss, by subsample", "regression, squared error, by subsample")
    for ax, title, label in zip((left, middle, right), titles, ("error, %", "error, %", "RMSE"), strict=True):
        drawn = [np.asarray(line.get_ydata()) for line in ax.lines]
        least, first = min(curve.min() for curve in drawn), max(curve[0] for curve in drawn)
        # the first rounds are all alike, and would leave the others no room
        ax.set_ylim(least - 0.03 * (first - least), least + (0.5 if ax is not right else 0.25) * (first - least))
        ax.set_xlabel("rounds")
        ax.set_ylabel(f"test {label}")
        ax.legend(frameon=False, fontsize="small")
        plain(ax, title)
    return figure
