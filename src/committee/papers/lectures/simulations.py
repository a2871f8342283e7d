"""The lecture notes' experiments on simulated tables: gradient boosting, its regularised leaves, a random forest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_friedman1
from sklearn.metrics import log_loss

from committee.data.number_types import F64
from committee.files.journal import Cell
from committee.learners.bagging.random_forest import RandomForestClassifier
from committee.learners.boosting.adaboost import AdaBoostClassifier
from committee.learners.gradient.gradient_boosting import GradientBoostingClassifier, GradientBoostingRegressor
from committee.papers.shared.cells import Task, timed
from committee.papers.shared.pages import BLUE, GREEN, GREY, ORANGE, grid_of, plain, save, standard_error, write_grid
from committee.papers.shared.tables import NOISE, Folder, mease_wyner
from committee.report.displays.base import INK, new_figure
from committee.report.page import Grid

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class LecturePlan:
    rounds: tuple[int, ...]
    """Rounds of AdaBoost after which margins are measured."""
    folds: int  # stratified folds of the table
    repeats: int  # random draws of each simulation
    training_rows: int
    test_rows: int  # rows of each simulation
    boosting_rounds: int  # rounds of gradient boosting
    trees: int  # trees of the forest
    table: str = "vehicle"  # whose margins are measured; the lecture notes' is vehicle

    def simulated(self, task: str, seed: int, repeat: int) -> tuple[F64, F64, F64, F64]:
        n, m = self.training_rows, self.test_rows
        random = np.random.default_rng([seed, repeat])
        if task == "classes":
            X, y = mease_wyner(n + m, random)
        else:
            X, y = make_friedman1(n + m, noise=1.0, random_state=int(random.integers(2**31)))
        return X[:n], y[:n].astype(np.float64), X[n:], y[n:].astype(np.float64)


FULL = LecturePlan((5, 100, 1000), 10, 20, 1000, 20_000, 200, 500)
QUICK = LecturePlan((2, 5, 10), 2, 2, 200, 500, 10, 20)
SMALL = replace(QUICK, table="iris")  # a bundled table


TREES: dict[str, Any] = {"max_leaf_nodes": 8, "max_depth": None, "min_samples_leaf": 10}
STEP: dict[str, Any] = {
    **TREES,
    "learning_rate": 0.1,
    "leaf": "constant",
    "leaf_l2": 0.0,
    "max_features": None,
    "extra_trees": False,
    "growth": "leaf",
}
"""Parameters of gradient boosting, all named, as defaults may change."""
SUBSAMPLES = (1.0, 0.5, 0.25)
LOSSES = ("exponential", "log_loss", "squared_error")  # losses for two classes; the last is regression on -1 and +1

ADABOOST = "exponential, by votes"  # AdaBoost itself: the gradient method for exp(-a y) with trees that vote


@dataclass(frozen=True)
class BoostingMethod:
    task: str
    loss: str
    subsample: float

    def model(self, rounds: int, seed: int) -> Any:
        if self.loss == ADABOOST:
            return AdaBoostClassifier(rounds, vote="discrete", calibrate=None, **TREES)
        options = {"n_estimators": rounds, "subsample": self.subsample, "random_state": seed, **STEP}
        if self.loss == "squared_error":
            return GradientBoostingRegressor(loss="squared_error", **options)
        return GradientBoostingClassifier(loss=self.loss, **options)

    @property
    def name(self) -> str:
        return f"{self.task}, {self.loss}, {self.subsample:g}"

    @property
    def votes(self) -> bool:
        return self.task == "classes"

    def error(self, predicted: F64, y: F64) -> float:
        if self.votes:
            return float(np.mean(np.where(predicted > 0.0, 1.0, -1.0) != y))
        return float(np.sqrt(np.mean((predicted - y) ** 2)))


METHODS = (
    BoostingMethod("classes", ADABOOST, 1.0),
    *(BoostingMethod("classes", loss, subsample) for loss in LOSSES for subsample in SUBSAMPLES),
    *(BoostingMethod("numbers", "squared_error", subsample) for subsample in SUBSAMPLES),
)


def tasks(plan: LecturePlan, seed: int, _: Folder = None) -> list[Task]:
    return [
        Task({"name": f"boosting: {method.name}, repeat {repeat}"}, partial(boosting_cell, method, plan, seed, repeat))
        for repeat in range(plan.repeats)
        for method in METHODS
    ]


def boosting_cell(method: BoostingMethod, plan: LecturePlan, seed: int, repeat: int) -> Cell:
    X, y, X_test, y_test = plan.simulated(method.task, seed, repeat)
    model, seconds = timed(lambda: method.model(plan.boosting_rounds, repeat).fit(X, y))
    return {
        **asdict(method),
        "errors": [method.error(predicted, y_test) for predicted in model.staged_predict(X_test)],
        "fit_seconds": round(seconds, 4),
    }


def report(cells: Sequence[Cell], _: LecturePlan, out: Path) -> list[Grid]:
    body = []
    curves: dict[str, dict[tuple[str, float], F64]] = {"classes": {}, "numbers": {}}
    for method in METHODS:
        own = [cell for cell in cells if (cell["task"], cell["loss"], cell["subsample"]) == astuple(method)]
        shortest = min(len(cell["errors"]) for cell in own)  # AdaBoost may end early
        mean = np.asarray(np.mean([cell["errors"][:shortest] for cell in own], axis=0))
        curves[method.task][method.loss, method.subsample] = mean
        said, scale, digits = ("two classes, error %", 100.0, 2) if method.votes else ("regression, RMSE", 1.0, 3)
        end, best = np.array([cell["errors"][-1] for cell in own]), int(mean.argmin())
        at_the_end = f"{scale * end.mean():.{digits}f} ±{scale * standard_error(end):.{digits}f}"
        seconds = f"{np.median([cell['fit_seconds'] for cell in own]):.3f}"
        least = f"{scale * mean[best]:.{digits}f}", f"{best + 1}"
        body.append((said, method.loss, f"{method.subsample:g}", at_the_end, *least, seconds))
    rounds = max(len(cell["errors"]) for cell in cells)
    title = (
        f"Gradient boosting, {rounds} rounds: test error after the last round, least mean test error and its round"
        f" (Bayes: {100 * NOISE:g} %, 1.0); median training time (s)"
    )
    grid = grid_of(title, ("task", "loss", "subsample", "last round", "least", "at round", "fit s"), body, text=2)
    write_grid(grid, out / "boosting.csv")
    save(picture(curves), out / "boosting.png")
    return [grid]


def picture(curves: dict[str, dict[tuple[str, float], F64]]) -> Figure:
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
        # the first rounds, which are alike in all curves, are cut off
        ax.set_ylim(least - 0.03 * (first - least), least + (0.5 if ax is not right else 0.25) * (first - least))
        ax.set_xlabel("rounds")
        ax.set_ylabel(f"test {label}")
        ax.legend(frameon=False, fontsize="small")
        plain(ax, title)
    return figure


REGULARISERS: tuple[dict[str, float], ...] = (
    {},
    {"leaf_l0": 0.5},
    {"leaf_l0": 2.0},
    {"leaf_l1": 0.5},
    {"leaf_l1": 2.0},
    {"leaf_l2": 1.0},
    {"leaf_l2": 10.0},
    {"leaf_l2": 100.0},
    {"leaf_l0": 0.5, "leaf_l1": 0.5, "leaf_l2": 10.0},
)
LARGE_TREES: dict[str, Any] = {
    "max_leaf_nodes": 32,
    "max_depth": None,
    "growth": "leaf",
    "learning_rate": 0.1,
    "min_samples_leaf": 5,
    "max_features": None,
    "extra_trees": False,
    "subsample": 1.0,
    "leaf": "constant",
    "l0_counts": "weights",
    "leaf_l0": 0.0,
    "leaf_l1": 0.0,
    "leaf_l2": 0.0,
}


def leaf_tasks(plan: LecturePlan, seed: int, _: Folder = None) -> list[Task]:
    return [
        Task({"name": f"leaves: {named(one)}, repeat {repeat}"}, partial(leaf_cell, one, plan, seed, repeat))
        for repeat in range(plan.repeats)
        for one in REGULARISERS
    ]


def leaf_cell(regulariser: dict[str, float], plan: LecturePlan, seed: int, repeat: int) -> Cell:
    X, y, X_test, y_test = plan.simulated("classes", seed, repeat)
    options = LARGE_TREES | regulariser
    model: Any = GradientBoostingClassifier(n_estimators=plan.boosting_rounds, random_state=repeat, **options)
    model.fit(X, y)
    trees = model.committee_.voters
    leaves = trees.value[trees.feature < 0]
    return {
        "regulariser": named(regulariser),
        "leaves": len(leaves) / len(trees),
        "nonzero": float(np.mean(np.any(leaves != 0.0, axis=1))),
        "error": float(np.mean(model.predict(X_test) != y_test)),
        "log_loss": float(log_loss(y_test, model.predict_proba(X_test))),
    }


def named(regulariser: dict[str, float]) -> str:
    return ", ".join(f"{name}={value:g}" for name, value in regulariser.items()) or "none"


def leaf_report(cells: Sequence[Cell], _: LecturePlan, out: Path) -> list[Grid]:
    body = []
    for name in dict.fromkeys(cell["regulariser"] for cell in cells):
        own = [cell for cell in cells if cell["regulariser"] == name]
        leaves, nonzero, error, loss = (
            float(np.mean([cell[key] for cell in own])) for key in ("leaves", "nonzero", "error", "log_loss")
        )
        of_leaves = f"{leaves:.1f}", f"{leaves * nonzero:.1f}", f"{100 * nonzero:.1f}"
        body.append((name, *of_leaves, f"{100 * error:.2f}", f"{loss:.4f}"))
    title = "Regularised leaves, logistic loss: leaves per tree, leaves with nonzero value, test error and log loss"
    grid = grid_of(title, ("regulariser", "leaves", "nonzero", "nonzero, %", "error, %", "log loss"), body)
    write_grid(grid, out / "leaves.csv")
    return [grid]


UNSEEN = float(np.exp(-1.0))  # approximate share of the trees for which a row is out of bag

SHOWN = (1, 2, 5, 10, 20, 50, 100, 200, 500)  # numbers of trees in the table


FOREST: dict[str, Any] = {
    "oob_score": True,
    "max_features": "sqrt",
    "min_samples_leaf": 1,
    "voting": "soft",
    "calibrate": None,
}


def forest_tasks(plan: LecturePlan, seed: int, _: Folder = None) -> list[Task]:
    return [
        Task({"name": f"forest: repeat {repeat}"}, partial(forest_cell, plan, seed, repeat))
        for repeat in range(plan.repeats)
    ]


def forest_cell(plan: LecturePlan, seed: int, repeat: int) -> Cell:
    X, y, X_test, y_test = plan.simulated("classes", seed, repeat)
    model = RandomForestClassifier(plan.trees, random_state=repeat, **FOREST).fit(X, y)
    test = [float(np.mean(predicted != y_test)) for predicted in model.staged_predict(X_test)]
    return {"oob": [float(error) for error in model.oob_curve_], "test": test}


@dataclass(frozen=True)
class ForestCurves:
    """Out-of-bag and test errors by the number of trees, ``(repeats, T)``."""

    oob: F64
    test: F64

    @property
    def test_of_as_many(self) -> F64:
        """Test errors ``(repeats, T)`` of a share `UNSEEN` of the trees, about as many as vote on a row out of bag."""
        trees = np.arange(1, self.test.shape[1] + 1)
        return self.test[:, np.maximum(1, np.round(UNSEEN * trees)).astype(np.intp) - 1]

    def smallest(self) -> NDArray[np.intp]:
        return np.asarray(np.argmin(self.oob, axis=1) + 1)

    def within_one_standard_error(self, n: int) -> NDArray[np.intp]:
        least = self.oob.min(axis=1, keepdims=True)
        near = self.oob <= least + np.sqrt(least * (1.0 - least) / n)
        return np.asarray(np.argmax(near, axis=1) + 1)


def forest_report(cells: Sequence[Cell], plan: LecturePlan, out: Path) -> list[Grid]:
    found = ForestCurves(*(np.array([cell[side] for cell in cells]) for side in ("oob", "test")))
    made = grid(found, plan.training_rows)
    write_grid(made, out / "forest.csv")
    save(forest_picture(found, plan.training_rows), out / "forest.png")
    return [made]


def grid(found: ForestCurves, n: int) -> Grid:
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
    title = (
        f"Random forest: out-of-bag error, test error and their difference, and test error of {UNSEEN:.0%} of the"
        f" trees, in percent, mean of {repeats} sample(s) of {n:,} rows"
    )
    columns = ("choice", "trees", "out of bag", "test", "difference")
    return grid_of(title, (*columns, f"test of {UNSEEN:.0%}", f"difference, {UNSEEN:.0%}"), body)


def forest_picture(found: ForestCurves, n: int) -> Figure:
    figure = new_figure(9.6, 4.2)
    left, right = figure.subplots(1, 2)
    repeats, trees = found.oob.shape
    T = np.arange(1, trees + 1)
    for errors, name, colour, line in ((found.oob, "out of bag", ORANGE, "-"), (found.test, "test", BLUE, "--")):
        left.plot(T, 100.0 * errors.mean(axis=0), color=colour, linestyle=line, linewidth=1.5, label=name)
    left.axhline(100.0 * NOISE, color=GREY, linewidth=0.9, linestyle=":", label="Bayes error")
    left.set_ylabel("error, %")
    left.legend(frameon=False, fontsize="small")
    for test, name, colour in (
        (found.test, "minus test error", BLUE),
        (found.test_of_as_many, f"minus test error of {UNSEEN:.0%} of the trees", INK),
    ):
        difference = 100.0 * (found.oob - test)
        mean = difference.mean(axis=0)
        right.plot(T, mean, color=colour, linewidth=1.4, label=name)
        if repeats > 1:
            band = 2.0 * difference.std(axis=0, ddof=1) / np.sqrt(repeats)
            right.fill_between(T, mean - band, mean + band, color=colour, alpha=0.2, linewidth=0)
    right.legend(frameon=False, fontsize="small")
    right.axhline(0.0, color=GREY, linewidth=0.9)
    right.set_ylabel("difference, percentage points")
    for ax in (left, right):
        ax.set_xscale("log")
        ax.set_xlabel("trees")
        ax.xaxis.set_major_formatter("{x:g}")
    plain(left, f"random forest on {n:,} rows, mean of {repeats} sample(s)")
    plain(right, "out-of-bag error minus test error")
    return figure
