"""Figure 2 of the SBPMT paper and the study of its Theorem 2, on Mease and Wyner's simulation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64
from committee.files.journal import Cell
from committee.learners.bagging.sbpmt import SBPMTClassifier
from committee.papers.sbpmt.table2 import SETTINGS
from committee.papers.shared.cells import Task
from committee.papers.shared.pages import BLUE, GREY, grid_of, plain, standard_error
from committee.papers.shared.tables import NOISE, mease_wyner
from committee.report.displays.base import new_figure
from committee.report.page import Grid
from committee.voters.model_forest import BoostedCommittees

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BENCHMARK: dict[str, Any] = {
    **SETTINGS["paper"],
    "n_estimators": 5,
    "n_boosting_rounds": 5,
    "n_leaf_steps": 5,
    "max_depth": 3,
}
"""The paper's benchmark setting."""

SUBAGGING, RATIO = "subagging times", "subagging ratio"
BOOSTING, LEAVES = "AdaBoost iterations", "ProbitBoost iterations"
SHOWN = (1, 2, 5, 10, 20, 50, 100), (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
"""Parameter values in the table: counts, and ratio."""


@dataclass(frozen=True)
class Simulation:
    """Sizes of the simulation of Figure 2."""

    training_rows: int = 2000
    test_rows: int = 10000
    most: int = 100  # largest value of the three counts
    ratios: tuple[float, ...] = tuple(round(0.05 * k, 2) for k in range(1, 21))  # values of the subagging ratio

    @property
    def curves(self) -> dict[str, tuple[float, ...]]:
        return {**dict.fromkeys((SUBAGGING, BOOSTING, LEAVES), tuple(range(1, self.most + 1))), RATIO: self.ratios}


PAPER = Simulation()
SMALL = Simulation(200, 500, 5, (0.5, 1.0))


def tasks(simulation: Simulation, repeats: int, seed: int) -> list[Task]:
    return [
        Task({"repeat": repeat}, partial(repeat_cell, simulation, seed, repeat), "simulation")
        for repeat in range(repeats)
    ]


def settings_of(simulation: Simulation, seed: int) -> dict[str, Any]:
    rows = [simulation.training_rows, simulation.test_rows]
    described = {"figure": 2, "rows": rows, "most": simulation.most, "seed": seed, "q": NOISE}
    return described | SBPMTClassifier(**BENCHMARK).get_params()


def repeat_cell(simulation: Simulation, seed: int, repeat: int) -> Cell:
    random = np.random.default_rng([seed, repeat])
    X, y = mease_wyner(simulation.training_rows, random)
    X_test, y_test = mease_wyner(simulation.test_rows, random)

    def fitted(**changed: Any) -> SBPMTClassifier:
        model = SBPMTClassifier(**{**BENCHMARK, **changed}, random_state=repeat)
        model.fit(X, y)
        return model

    def error(**changed: Any) -> float:
        return float((fitted(**changed).predict(X_test) != y_test).mean())

    many = fitted(n_estimators=simulation.most).staged_predict(X_test)
    long = fitted(n_boosting_rounds=simulation.most)
    errors = {
        SUBAGGING: [float((predicted != y_test).mean()) for predicted in many],
        BOOSTING: errors_by_round(long, X_test, y_test, simulation.most),
        LEAVES: [error(n_leaf_steps=B) for B in range(1, simulation.most + 1)],
        RATIO: [error(max_samples=ratio) for ratio in simulation.ratios],
    }
    return {"errors": errors}


def errors_by_round(model: SBPMTClassifier, X: F64, y: NDArray[np.int64], most: int) -> list[float]:
    """Return the test errors of a binary model after 1, ..., `most` boosting rounds."""
    committees = model.committee_.voters
    assert isinstance(committees, BoostedCommittees)
    sides = 2.0 * committees.members.votes(X) - 1.0
    scores = np.zeros((len(X), len(committees)))
    errors = []
    for t in range(most):
        trees = committees.start[:-1] + t
        present = trees < committees.start[1:]
        scores[:, present] += committees.alpha[trees[present]] * sides[:, trees[present]]
        majority = np.where(scores > 0.0, 1, -1).sum(axis=1)
        predicted = model.classes_[(majority > 0).astype(np.intp)]
        errors.append(float((predicted != y).mean()))
    return errors


def errors_of(cells: Iterable[Cell], simulation: Simulation = PAPER) -> dict[str, F64]:
    found = list(cells)
    return {curve: np.array([cell["errors"][curve] for cell in found]) for curve in simulation.curves}


def grid(errors: dict[str, F64], simulation: Simulation = PAPER) -> Grid:
    def mean(curve: str, value: float) -> str:
        return f"{100 * errors[curve][:, simulation.curves[curve].index(value)].mean():.2f}"

    *counts, ratio = simulation.curves
    shown = (
        [v for v in values if v in simulation.curves[c]] for values, c in zip(SHOWN, (SUBAGGING, RATIO), strict=True)
    )
    body = [
        (f"{value}", *(mean(curve, value) for curve in counts), f"{share:g}", mean(ratio, share))
        for value, share in zip(*shown, strict=False)
    ]
    title = f"Figure 2: test error in percent, mean of {len(errors[ratio])} run(s); Bayes error {100 * NOISE:g} %"
    return grid_of(title, ("at", *counts, "at", ratio), body, text=0)


def records(errors: dict[str, F64], simulation: Simulation = PAPER) -> Iterator[dict[str, object]]:
    for curve, values in simulation.curves.items():
        for value, column in zip(values, errors[curve].T, strict=True):
            yield {
                "parameter": curve,
                "value": value,
                "test_error": f"{column.mean():.6f}",
                "standard_error": f"{standard_error(column):.6f}",
                "runs": len(column),
            }


def figure2(errors: dict[str, F64], simulation: Simulation = PAPER) -> Figure:
    figure = new_figure(9.0, 6.4)
    panels = figure.subplots(2, 2, sharey=True)
    for letter, ax, (curve, values) in zip("abcd", panels.ravel(), simulation.curves.items(), strict=True):
        runs = 100.0 * errors[curve]
        mean = runs.mean(axis=0)
        if len(runs) > 1:
            band = 2.0 * runs.std(axis=0, ddof=1) / np.sqrt(len(runs))
            ax.fill_between(values, mean - band, mean + band, color=BLUE, alpha=0.2, linewidth=0)
        ax.plot(values, mean, color=BLUE, linewidth=1.4, marker="o" if len(values) < 50 else "", markersize=4)
        ax.axhline(100.0 * NOISE, color=GREY, linewidth=0.9, linestyle="--")
        ax.set_xlabel(curve)
        plain(ax, f"({letter})")
    for ax in panels[:, 0]:
        ax.set_ylabel("test error, %")
    panels[0, 0].annotate(
        "Bayes error", (1.0, 100.0 * NOISE), (0, 4), xycoords=("axes fraction", "data"), textcoords="offset points",
        ha="right", color="#666666", fontsize="small",
    )  # fmt: skip
    return figure


@dataclass(frozen=True)
class Growth:
    """Sizes of the study of Theorem 2."""

    rows: tuple[int, ...] = (250, 500, 1000, 2000, 4000, 8000)  # numbers n of training rows
    exponents: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75)  # values of nu, for T = n^nu rounded up; 0 is one round
    test_rows: int = 10_000

    def rounds(self, n: int, exponent: float) -> int:
        return ceil(float(n**exponent))


FULL = Growth()
SMALL_GROWTH = Growth((100, 200), (0.0, 0.5), 500)


def growth_tasks(growth: Growth, repeats: int, seed: int) -> list[Task]:
    return [
        Task({"n": n, "repeat": repeat}, partial(error_cell, growth, n, seed, repeat), f"n = {n}")
        for n in growth.rows
        for repeat in range(repeats)
    ]


def growth_settings(growth: Growth, seed: int) -> dict[str, Any]:
    sizes = {"exponents": list(growth.exponents), "test_rows": growth.test_rows}
    return {"study": "consistency", **sizes, "seed": seed, "q": NOISE, **SBPMTClassifier(**BENCHMARK).get_params()}


def error_cell(growth: Growth, n: int, seed: int, repeat: int) -> Cell:
    random = np.random.default_rng([seed, repeat, n])
    X, y = mease_wyner(n, random)
    X_test, y_test = mease_wyner(growth.test_rows, random)
    most = max(growth.rounds(n, exponent) for exponent in growth.exponents)
    model = SBPMTClassifier(**{**BENCHMARK, "n_boosting_rounds": most}, random_state=repeat).fit(X, y)
    errors = errors_by_round(model, X_test, y_test, most)
    return {"errors": [errors[growth.rounds(n, exponent) - 1] for exponent in growth.exponents]}


def growth_errors(cells: Iterable[Cell], growth: Growth) -> F64:
    """Return the test errors, ``(n_sizes, repeats, n_exponents)``."""
    found = list(cells)
    return np.array([[cell["errors"] for cell in found if cell["n"] == n] for n in growth.rows])


def growth_grid(errors: F64, growth: Growth) -> Grid:
    columns = [f"T = n^{exponent:g}" if exponent else "T = 1" for exponent in growth.exponents]
    means = 100.0 * errors.mean(axis=1)
    body = [(f"{n}", *(f"{mean:.2f}" for mean in line)) for n, line in zip(growth.rows, means, strict=True)]
    title = f"Test error in percent, mean of {errors.shape[1]} run(s); Bayes error {100 * NOISE:g} %"
    return grid_of(title, ("rows", *columns), body, text=0)


def growth_records(errors: F64, growth: Growth) -> Iterator[dict[str, object]]:
    for n, of_size in zip(growth.rows, errors, strict=True):
        for exponent, runs in zip(growth.exponents, of_size.T, strict=True):
            yield {
                "rows": n,
                "exponent": exponent,
                "rounds": growth.rounds(n, exponent),
                "test_error": f"{runs.mean():.6f}",
                "standard_error": f"{standard_error(runs):.6f}",
                "runs": len(runs),
            }
