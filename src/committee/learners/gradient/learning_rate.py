"""The learning rate that a table asks for, found by a few quick boosting runs on parts of its rows.

Boosting with small steps depends on the rounds T and the rate a through the total step a T alone, nearly. So runs with
large steps, which take few rounds, find the total that serves rows best that they have not seen; the fit on all rows
then takes it in as many rounds as it was given.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from committee.learners.base.early_stopping import EarlyStopping
from committee.learners.base.row_sampling import Mask, RowUnits
from committee.learners.gradient.gradient_run import GradientRun
from committee.learners.gradient.parted_rows import PartedRows

TRIAL_RATE = 0.4
TRIAL_ROUNDS = 75
PATIENCE = 10
N_PARTS = 4
"""A trial sees three of four parts of the rows, and is judged on the other."""
MORE_ROWS = 1.2
"""The fit sees a third more rows than the trials, and may go as much further."""
LARGEST_RATE = 0.5
WITHOUT_TRIALS = 0.1
"""Rate where there are no trials: held-out rows end the run, or there are too few of them."""


def n_trials(n: float) -> int:
    """Trials on n rows: with many rows one is enough.

    Examples
    --------
    >>> n_trials(5000), n_trials(50_000)
    (2, 1)
    """
    return 2 if n < 10_000 else 1


def rate_by_trials(
    parted: list[PartedRows], trial: Callable[[PartedRows, float], GradientRun], n_estimators: int
) -> float:
    """Return the learning rate of a fit of so many rounds.

    Parameters
    ----------
    parted : list of PartedRows
        The rows, with another part held out by each trial.
    trial : callable
        Makes the run of a trial with a learning rate.
    n_estimators : int
        Rounds of the fit.
    """
    if not parted:
        return WITHOUT_TRIALS
    runs = [trial(rows, TRIAL_RATE) for rows in parted]
    watched = [rows.held_target(run.target.loss) for rows, run in zip(parted, runs, strict=True)]

    def loss_after(_: int) -> float:
        return sum(
            target.total * target.mean_loss(run.scored.scores(rows))
            for run, (rows, target) in zip(runs, watched, strict=True)
        )

    stopping = EarlyStopping(loss_after, PATIENCE)
    stopping.first = 0
    stopping.follow(0)
    for t in range(1, TRIAL_ROUNDS + 1):
        going = [run for run in runs if run.has_next()]
        for run in going:
            run.advance()
        if not going or stopping.follow(t):
            break
    rounds = max(0.5, float(np.argmin(stopping.losses)))
    return min(LARGEST_RATE, MORE_ROWS * TRIAL_RATE * rounds / n_estimators)


def parts(units: RowUnits, labels: NDArray[np.uint16] | None, n_parts: int = N_PARTS) -> list[Mask]:
    """Masks of the units of each of equal parts; of classes each part has an equal share, of rare ones none."""
    part = units.parts(n_parts, labels)
    return [held for k in range(n_parts) if (held := part == k).any()]
