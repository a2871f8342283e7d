"""What `committee fit` says of a model that it has trained."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from committee.cli.terminal import print_grids, say

if TYPE_CHECKING:
    import polars as pl

    from committee.cli.training_table import TrainingTable

TIMED_ROWS = 1000
"""Prediction is timed on that many rows."""


def describe_fit(learner: Any, model: str, table: TrainingTable, seconds: float) -> None:
    """Say what was trained, how good it is, and what it costs."""
    from committee.report.members import estimate, has_members, left_out_grid, members_grid

    vote, members = learner.committee_, has_members(learner)
    voters = count(vote.n_voters, "fit", "fits") if members else count(vote.n_voters, "voter", "voters")
    say(
        f"{model}: {voters} with {count(vote.n_nodes, 'node', 'nodes')}, learned from"
        f" {len(table.y):,} rows x {table.rows.width:,} columns in {seconds:.2f} s"
    )
    if members:
        say(estimate(learner, table.y))
        print_grids([grid for grid in (members_grid(learner), left_out_grid(learner)) if grid.rows])
        say(f"prediction: {_microseconds(learner, table.rows):,.1f} µs a row, in a batch of {TIMED_ROWS:,}")
    elif model != "committee":  # one that has seen one class alone tells nothing
        say(_on_training_rows(learner, table))


def count(n: int, one: str, several: str) -> str:
    """Number with its noun.

    Examples
    --------
    >>> count(1, "class", "classes"), count(1200, "class", "classes")
    ('1 class', '1,200 classes')
    """
    return f"{n:,} {one if n == 1 else several}"


def _on_training_rows(learner: Any, table: TrainingTable) -> str:
    from committee.report.inspection import describe_margins

    X, y, part = table.rows, table.y_of_rows, table.part
    if not hasattr(learner, "classes_"):
        error = learner.predict(X) - y
        root = float((error**2).mean()) ** 0.5
        return f"training R2{part} {learner.score(X, y):.4f}, root mean squared error {root:.4g}"
    margins = dict(describe_margins(learner.committee_.margins(X, y)))
    return (
        f"training accuracy{part} {(learner.predict(X) == y).mean():.4f};"
        f" training margins: mean {margins['mean']}, minimum {margins['minimum']}"
    )


def _microseconds(learner: Any, X: pl.DataFrame) -> float:
    """Time of a prediction for each row of a batch."""
    import numpy as np

    batch = X[np.resize(np.arange(X.height), TIMED_ROWS)]
    learner.predict(batch[:1])  # untimed: the first call may import or compile something
    start = time.perf_counter()
    learner.predict(batch)
    return 1e6 * (time.perf_counter() - start) / TIMED_ROWS
