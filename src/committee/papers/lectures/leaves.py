"""The lecture notes' L0, L1 and L2: what they do to the leaves of trees in gradient boosting."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import log_loss

from committee.files.journal import Cell
from committee.learners.gradient.gradient_boosting import GradientBoostingClassifier
from committee.papers.lectures.plan import LecturePlan
from committee.papers.shared.cells import Task
from committee.papers.shared.pages import grid_of, write_grid
from committee.report.grid import Grid

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
    "subsample": 1.0,
    "leaf": "constant",
    "l0_counts": "weights",
    "leaf_l0": 0.0,
    "leaf_l1": 0.0,
    "leaf_l2": 0.0,
}


def tasks(plan: LecturePlan, seed: int, _: Path | None = None) -> list[Task]:
    """Every regulariser on every drawing of the rows."""
    return [
        Task({"name": f"leaves: {named(one)}, repeat {repeat}"}, partial(leaf_cell, one, plan, seed, repeat))
        for repeat in range(plan.repeats)
        for one in REGULARISERS
    ]


def leaf_cell(regulariser: dict[str, float], plan: LecturePlan, seed: int, repeat: int) -> Cell:
    """Fit with regularised leaves: how many there are, how many vote, and the errors on the test rows."""
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
    """The regulariser as text."""
    return ", ".join(f"{name}={value:g}" for name, value in regulariser.items()) or "none"


def report(cells: Sequence[Cell], _: LecturePlan, out: Path) -> list[Grid]:
    """Write how many leaves still vote, and what becomes of the errors."""
    body = []
    for name in dict.fromkeys(cell["regulariser"] for cell in cells):
        own = [cell for cell in cells if cell["regulariser"] == name]
        leaves, nonzero, error, loss = (
            float(np.mean([cell[key] for cell in own])) for key in ("leaves", "nonzero", "error", "log_loss")
        )
        figures = (
            f"{leaves:.1f}",
            f"{leaves * nonzero:.1f}",
            f"{100 * nonzero:.1f}",
            f"{100 * error:.2f}",
            f"{loss:.4f}",
        )
        body.append((name, *figures))
    title = "Regularised leaves, logistic loss: leaves of a tree, those that are not zero, test error and log loss"
    grid = grid_of(title, ("regulariser", "leaves", "not zero", "share, %", "error, %", "log loss"), body)
    write_grid(grid, out / "leaves.csv")
    return [grid]
