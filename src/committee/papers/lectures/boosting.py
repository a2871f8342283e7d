"""The lecture notes' gradient boosting: losses, random subsamples, and what L0, L1 and L2 do to the leaves of trees."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_friedman1
from sklearn.metrics import log_loss

from committee.learners.adaboost.adaboost import AdaBoostClassifier
from committee.learners.gradient.gradient_boosting import GradientBoostingClassifier, GradientBoostingRegressor
from committee.papers.lectures.plan import Plan
from committee.papers.sbpmt.mease_wyner import NOISE, mease_wyner, standard_error
from committee.papers.shared.journal import Cell
from committee.report.tables import Grid

F64 = NDArray[np.float64]

TREES: dict[str, Any] = {"max_leaf_nodes": 8, "max_depth": None, "min_samples_leaf": 10}
STEP: dict[str, Any] = {**TREES, "learning_rate": 0.1, "leaf_l2": 0.0}
SUBSAMPLES = (1.0, 0.5, 0.25)
LOSSES = ("exponential", "log_loss", "squared_error")
"""Of votes between two classes; the last is regression on -1 and +1, whose sign is the vote."""

ADABOOST = "exponential, by votes"
"""AdaBoost itself: the gradient method for exp(-a y) with trees that vote."""

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
    "learning_rate": 0.1,
    "min_samples_leaf": 5,
    "leaf_l0": 0.0,
    "leaf_l1": 0.0,
    "leaf_l2": 0.0,
}


def calls(plan: Plan, seed: int) -> dict[str, Callable[[], Cell]]:
    """What is to be run, by name: every method on every drawing of the rows."""
    methods: list[Method] = [Method("classes", ADABOOST, 1.0)]
    methods += [Method("classes", loss, subsample) for loss in LOSSES for subsample in SUBSAMPLES]
    methods += [Method("numbers", "squared_error", subsample) for subsample in SUBSAMPLES]
    found: dict[str, Callable[[], Cell]] = {}
    for repeat in range(plan.repeats):
        for method in methods:
            found[f"boosting: {method.task}, {method.loss}, {method.subsample:g}, repeat {repeat}"] = BoostingCell(
                method, plan, seed, repeat
            )
        for number in range(len(REGULARISERS)):
            name = named(REGULARISERS[number])
            found[f"leaves: {name}, repeat {repeat}"] = LeafCell(number, plan, seed, repeat)
    return found


def simulated(task: str, plan: Plan, seed: int, repeat: int) -> tuple[F64, F64, F64, F64]:
    """Training and test rows: Mease and Wyner's two classes, or Friedman's function with noise of variance 1."""
    n, m = plan.training_rows, plan.test_rows
    random = np.random.default_rng([seed, repeat])
    if task == "classes":
        X, y = mease_wyner(n + m, random)
    else:
        X, y = make_friedman1(n + m, noise=1.0, random_state=int(random.integers(2**31)))
    return X[:n], y[:n].astype(np.float64), X[n:], y[n:].astype(np.float64)


@dataclass(frozen=True)
class Method:
    """A way to boost: "classes" or "numbers", a loss, and the share of rows that each tree is trained on."""

    task: str
    loss: str
    subsample: float

    def model(self, rounds: int, seed: int) -> Any:
        """The unfitted learner."""
        if self.loss == ADABOOST:
            return AdaBoostClassifier(rounds, **TREES)
        options = {"n_estimators": rounds, "subsample": self.subsample, "random_state": seed, **STEP}
        if self.loss == "squared_error":
            return GradientBoostingRegressor(loss="squared_error", **options)
        return GradientBoostingClassifier(loss=self.loss, **options)


@dataclass(frozen=True)
class BoostingCell:
    """One fit, and its error on the test rows after every round."""

    method: Method
    plan: Plan
    seed: int
    repeat: int

    def __call__(self) -> Cell:
        """Fit, and judge."""
        X, y, X_test, y_test = simulated(self.method.task, self.plan, self.seed, self.repeat)
        model = self.method.model(self.plan.boosting_rounds, self.repeat)
        start = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - start
        return {
            "task": self.method.task,
            "loss": self.method.loss,
            "subsample": self.method.subsample,
            "errors": list(self._errors(model, X_test, y_test)),
            "fit_seconds": round(seconds, 4),
        }

    def _errors(self, model: Any, X: F64, y: F64) -> Iterator[float]:
        for predicted in model.staged_predict(X):
            if self.method.task == "numbers":
                yield float(np.sqrt(np.mean((predicted - y) ** 2)))
            else:
                yield float(np.mean(np.where(predicted > 0.0, 1.0, -1.0) != y))


@dataclass(frozen=True)
class LeafCell:
    """One fit with regularised leaves: how many there are, how many vote, and the errors on the test rows."""

    number: int
    plan: Plan
    seed: int
    repeat: int

    def __call__(self) -> Cell:
        """Fit, and judge."""
        X, y, X_test, y_test = simulated("classes", self.plan, self.seed, self.repeat)
        options = LARGE_TREES | REGULARISERS[self.number]
        model: Any = GradientBoostingClassifier(
            n_estimators=self.plan.boosting_rounds, random_state=self.repeat, **options
        )
        model.fit(X, y)
        trees = model.committee_.voters
        leaves = trees.value[trees.feature < 0]
        chances = model.predict_proba(X_test)
        return {
            "regulariser": named(REGULARISERS[self.number]),
            "leaves": len(leaves) / len(trees),
            "nonzero": float(np.mean(np.any(leaves != 0.0, axis=1))),
            "error": float(np.mean(model.predict(X_test) != y_test)),
            "log_loss": float(log_loss(y_test, chances)),
        }


def named(regulariser: dict[str, float]) -> str:
    """The regulariser as text."""
    return ", ".join(f"{name}={value:g}" for name, value in regulariser.items()) or "none"


def boosting_grid(cells: Sequence[Cell]) -> Grid:
    """Losses and subsamples: the test error at the end, and where it is least."""
    body = []
    for key in dict.fromkeys((cell["task"], cell["loss"], cell["subsample"]) for cell in cells):
        own = [cell for cell in cells if (cell["task"], cell["loss"], cell["subsample"]) == key]
        task, loss, subsample = key
        curve = np.array([cell["errors"][-1] for cell in own])
        stopped = min(len(cell["errors"]) for cell in own)  # AdaBoost may end early
        mean = np.mean([cell["errors"][:stopped] for cell in own], axis=0)
        best, scale, digits = int(mean.argmin()), 100.0 if task == "classes" else 1.0, 2 if task == "classes" else 3
        body.append(
            (
                "two classes, error %" if task == "classes" else "regression, RMSE",
                loss,
                f"{subsample:g}",
                f"{scale * curve.mean():.{digits}f} ±{scale * standard_error(curve):.{digits}f}",
                f"{scale * mean[best]:.{digits}f}",
                f"{best + 1}",
                f"{np.median([cell['fit_seconds'] for cell in own]):.3f}",
            )
        )
    rounds = max(len(cell["errors"]) for cell in cells)
    title = (
        f"Gradient boosting, {rounds} rounds: test error at the end, and its least (best rule {100 * NOISE:g} %, 1.0)"
    )
    return Grid(title, ("task", "loss", "subsample", "at the end", "least", "at", "fit s"), tuple(body), "llrrrrr")


def leaf_grid(cells: Sequence[Cell]) -> Grid:
    """L0, L1 and L2: how many leaves still vote, and what becomes of the errors."""
    body = []
    for name in dict.fromkeys(cell["regulariser"] for cell in cells):
        own = [cell for cell in cells if cell["regulariser"] == name]
        mean = {key: float(np.mean([cell[key] for cell in own])) for key in ("leaves", "nonzero", "error", "log_loss")}
        body.append(
            (
                name,
                f"{mean['leaves']:.1f}",
                f"{mean['leaves'] * mean['nonzero']:.1f}",
                f"{100 * mean['nonzero']:.1f}",
                f"{100 * mean['error']:.2f}",
                f"{mean['log_loss']:.4f}",
            )
        )
    return Grid(
        "Regularised leaves, logistic loss: leaves of a tree, those that are not zero, test error and log loss",
        ("regulariser", "leaves", "not zero", "share, %", "error, %", "log loss"),
        tuple(body),
        "lrrrrr",
    )


def mean_curves(cells: Sequence[Cell], task: str) -> dict[tuple[str, float], F64]:
    """Mean test error after every round, by loss and subsample."""
    own = [cell for cell in cells if cell["task"] == task]
    found = {}
    for key in dict.fromkeys((cell["loss"], cell["subsample"]) for cell in own):
        runs = [cell["errors"] for cell in own if (cell["loss"], cell["subsample"]) == key]
        shortest = min(map(len, runs))
        found[key] = np.mean([run[:shortest] for run in runs], axis=0)
    return found
