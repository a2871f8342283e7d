"""Figure 2 of the SBPMT paper: its four parameters, one at a time, on Mease and Wyner's simulation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64
from committee.files.journal import Cell
from committee.learners.bagging.sbpmt import SBPMTClassifier
from committee.papers.sbpmt.table2 import SETTINGS
from committee.papers.shared.cells import Task
from committee.papers.shared.mease_wyner import NOISE, mease_wyner
from committee.papers.shared.pages import grid_of
from committee.papers.shared.paired import standard_error
from committee.report.grid import Grid
from committee.voters.committees import BoostedCommittees

BENCHMARK: dict[str, Any] = {
    **SETTINGS["paper"],
    "n_estimators": 5,
    "n_boosting_rounds": 5,
    "n_leaf_steps": 5,
    "max_depth": 3,
}
"""The paper's benchmark setting; each curve moves one parameter of it."""

SUBAGGING, RATIO = "subagging times", "subagging ratio"
BOOSTING, LEAVES = "AdaBoost iterations", "ProbitBoost iterations"
SHOWN = (1, 2, 5, 10, 20, 50, 100), (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
"""Values in the table: of the counts, and of the ratio."""


@dataclass(frozen=True)
class Simulation:
    """Sizes of the simulation; by default the paper's."""

    training_rows: int = 2000
    test_rows: int = 10000
    most: int = 100
    """Largest value of the three counts."""
    ratios: tuple[float, ...] = tuple(round(0.05 * k, 2) for k in range(1, 21))
    """Values of the subagging ratio."""

    @property
    def curves(self) -> dict[str, tuple[float, ...]]:
        """The four panels: name and values of the parameter."""
        return {**dict.fromkeys((SUBAGGING, BOOSTING, LEAVES), tuple(range(1, self.most + 1))), RATIO: self.ratios}


PAPER = Simulation()
SMALL = Simulation(200, 500, 5, (0.5, 1.0))


def tasks(simulation: Simulation, repeats: int, seed: int) -> list[Task]:
    """Repeats of the simulation, of which each draws new training and test rows."""
    return [
        Task({"repeat": repeat}, partial(repeat_cell, simulation, seed, repeat), "simulation")
        for repeat in range(repeats)
    ]


def settings_of(simulation: Simulation, seed: int) -> dict[str, Any]:
    """Return all that the cells depend on."""
    rows = [simulation.training_rows, simulation.test_rows]
    described = {"figure": 2, "rows": rows, "most": simulation.most, "seed": seed, "q": NOISE}
    return described | SBPMTClassifier(**BENCHMARK).get_params()


def repeat_cell(simulation: Simulation, seed: int, repeat: int) -> Cell:
    """Test errors of the four curves on one drawing of the rows."""
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
    """Test errors of the binary model cut off after 1, ..., `most` boosting rounds.

    The rounds of AdaBoost do not look ahead: the first t of a long run are those of a run of t rounds, so one fit
    gives the whole curve. A committee whose boosting stopped early stays as it is.
    """
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
    """Test errors of each curve, ``(repeats, len(values))``."""
    found = list(cells)
    return {curve: np.array([cell["errors"][curve] for cell in found]) for curve in simulation.curves}


def grid(errors: dict[str, F64], simulation: Simulation = PAPER) -> Grid:
    """Mean test errors at a few values of each parameter."""

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
    title = f"Figure 2: test error in percent, mean of {len(errors[ratio])} run(s); the best rule has {100 * NOISE:g}"
    return grid_of(title, ("at", *counts, "at", ratio), body, text=0)


def records(errors: dict[str, F64], simulation: Simulation = PAPER) -> Iterator[dict[str, object]]:
    """The curves as lines of CSV: the mean test error at each value, and its standard error."""
    for curve, values in simulation.curves.items():
        for value, column in zip(values, errors[curve].T, strict=True):
            yield {
                "parameter": curve,
                "value": value,
                "test_error": f"{column.mean():.6f}",
                "standard_error": f"{standard_error(column):.6f}",
                "runs": len(column),
            }
