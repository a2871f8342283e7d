"""What `committee fit` says of a model that it has trained."""

from __future__ import annotations

import time
from math import isfinite
from typing import TYPE_CHECKING, Any

from committee.cli.spoken import in_options
from committee.cli.terminal import print_grids, say
from committee.data.text import pluralize

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from committee.cli.training_table import TrainingTable
    from committee.files.documents import Estimate

TIMED_ROWS = 1000
"""Prediction is timed on that many rows."""


def describe_fit(learner: Any, model: str, table: TrainingTable, seconds: float, folds: int) -> Estimate | None:
    """Say how good the model is on rows that it has not seen, which it returns, what was trained, and its costs."""
    from committee.report.members import estimate, has_members, left_out_grid, members_grid, stored_estimate

    vote, members = learner.committee_, has_members(learner)
    found: Estimate | None = None
    if members:
        say(estimate(learner, table.y))
        found = stored_estimate(learner, table.y)
    elif model != "committee":
        found = say_estimate(learner, table, folds)
    else:  # of a committee that has seen one class alone
        say(f"on rows not seen in training: not known, as {_too_few(learner, table.y, folds)}")
    held = len(getattr(learner, "reserved_rows_", ()))
    kept = f"; {pluralize(held, 'row')} held out as its reserve" if held else ""
    voters = pluralize(vote.n_voters, "fit") if members else pluralize(vote.n_voters, "voter")
    say(
        f"{model}: {voters} with {pluralize(vote.n_nodes, 'node')}, learned from"
        f" {pluralize(len(table.y) - held, 'row')} x {pluralize(table.rows.width, 'column')} in {seconds:.2f} s{kept}"
    )
    if members:
        print_grids([grid for grid in (members_grid(learner), left_out_grid(learner)) if grid.rows])
        say(f"prediction: {_microseconds(learner, table.rows):,.1f} µs a row, in a batch of {TIMED_ROWS:,}")
    elif model != "committee":
        for line in _on_training_rows(learner, table, judged=found is not None):
            say(line)
    return found


def say_estimate(learner: Any, table: TrainingTable, folds: int) -> Estimate | None:
    """Say how good a single learner is by folds, which is returned, or why nothing tells."""
    if folds == 0:
        say("on rows not seen in training: not known, as --folds is 0")
        return None
    if table.files is not None:
        say("on rows not seen in training: not known, as tables in pieces have no folds; keep rows for evaluate")
        return None
    from committee.files.documents import Estimate
    from committee.report.out_of_fold import out_of_fold

    try:
        found = out_of_fold(learner, table.rows, table.y, folds=folds)
    except KeyboardInterrupt:
        say("on rows not seen in training: not known, as the fits of folds were interrupted; the model is whole")
        return None
    except ValueError as error:  # parts of the rows may be too few for the learner, where all are enough
        reason = in_options(str(error))
        say(f"on rows not seen in training: not known, as a part of the rows cannot be learned from ({reason})")
        return None
    if found is None:
        say(f"on rows not seen in training: not known, as {_too_few(learner, table.y, folds)}")
        return None
    say(f"on rows not seen in training ({folds} folds): {found.brief()}")
    figures = {each.name: each.value for each in found.figures if isfinite(each.value)}
    return Estimate(f"{folds} folds", found.n_rows, figures)


def _too_few(learner: Any, y: NDArray[Any], folds: int) -> str:
    """Why rows have no folds."""
    import numpy as np

    counts = np.unique(y, return_counts=True)[1]
    if hasattr(learner, "classes_") and len(counts) == 1:
        return "there is one row only" if len(y) == 1 else "all rows are of one class"
    if hasattr(learner, "classes_") and len(y) >= 2 * folds:
        return f"no class has rows for {folds} folds"
    return f"{pluralize(len(y), 'row')} {'is' if len(y) == 1 else 'are'} too few for {folds} folds"


def _on_training_rows(learner: Any, table: TrainingTable, *, judged: bool) -> list[str]:
    """Figures of the training rows: those that flatter stand below an estimate alone."""
    from committee.report.evaluation import evaluate
    from committee.report.inspection import describe_margins

    X, y = table.rows, table.y_of_rows
    said = [evaluate(learner, X, y).brief(with_alone=False)] if judged else []
    if hasattr(learner, "classes_"):
        margins = dict(describe_margins(learner.committee_.margins(X, y)))
        said.append(f"margins: mean {margins['mean']}, median {margins['median']}, minimum {margins['minimum']}")
    rows = f"{table.part.removeprefix(' of ')} of the training" if table.part else "the training rows"
    return [f"on {rows}: {'; '.join(said)}"] if said else []


def _microseconds(learner: Any, X: pl.DataFrame) -> float:
    """Time of a prediction for each row of a batch."""
    import numpy as np

    batch = X[np.resize(np.arange(X.height), TIMED_ROWS)]
    learner.predict(batch[:1])  # untimed: the first call may import or compile something
    start = time.perf_counter()
    learner.predict(batch)
    return 1e6 * (time.perf_counter() - start) / TIMED_ROWS
