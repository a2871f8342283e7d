"""Held-out rows of gradient boosting: parts of the table, losses by bins, and trials of the learning rate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from committee.data.bins import Binned
from committee.data.rows import Rows, TargetRows
from committee.learners.base.early_stopping import EarlyStopping
from committee.learners.base.fit_record import leaf_of_rows
from committee.learners.base.row_sampling import Mask, RowUnits
from committee.learners.gradient.rounds import GradientRun
from committee.learners.gradient.target import Target, add_tree
from committee.objectives.losses import Loss

TRIAL_RATE, TRIAL_ROUNDS, PATIENCE = 0.4, 75, 10
N_PARTS = 4  # A trial is trained on three of four parts of the rows, and evaluated on the other
MORE_ROWS = 1.2  # factor of the total step, as the fit has a third more rows than the trials
LARGEST_RATE = 0.5
WITHOUT_TRIALS = 0.1  # rate where there are no trials: held-out rows end the run, or there are too few rows


@dataclass(frozen=True, eq=False)
class PartedRows:
    """A table of which some units of weight are held out.

    The trees of each round sort held-out rows into their leaves too, so that their loss costs nothing more, and after
    the last round the leaves are refitted on all rows.
    """

    rows: Rows | TargetRows
    units: RowUnits
    held: Mask

    def training_target(self, loss: Loss) -> Target:
        """Return the loss of the rows that are not held out."""
        return self._target(loss, ~self.held)[1]

    def held_target(self, loss: Loss) -> tuple[NDArray[np.int32], Target]:
        """Return the numbers of the held-out rows, and their loss."""
        return self._target(loss, self.held)

    def weighted_target(self, loss: Loss) -> Target:
        """Return the loss of all rows, with weights 0 for held-out rows."""
        rows, weights = self.units.rows_of(~self.held)
        if weights is None:
            weights = np.zeros(len(self.rows))
            weights[rows] = 1.0
        return replace(Target.of(loss, self.rows), w=weights)

    def held_rows(self) -> Rows | TargetRows:
        rows, weights = self.units.rows_of(self.held)
        taken = self.rows.take(rows)
        return taken if weights is None else replace(taken, weights=weights[rows])

    def _target(self, loss: Loss, units: Mask) -> tuple[NDArray[np.int32], Target]:
        rows, weights = self.units.rows_of(units)
        return rows, Target.of(loss, self.rows).of_rows(rows, None if weights is None else weights[rows])


def binned_loss(run: GradientRun, held_out: Rows | TargetRows, n_threads: int) -> Callable[[int], float]:
    """Return the mean loss of held-out rows by the number of rounds, from their bins, without making voters.

    It is called for each round in turn, from the first on; leaves are constants.
    """
    target = Target.of(run.target.loss, held_out, run.target.scale)
    F = target.first_scores(run.intercept)
    binned = Binned(run.bins, run.bins.encode(held_out.dense, n_threads))

    def loss_after(t: int) -> float:
        step = run.steps[t - 1]
        for k, one in enumerate(run.grown[(t - 1) * run.n_trees : t * run.n_trees]):
            add_tree(F, leaf_of_rows(binned, one.tree, None), one.value, step, k, n_threads)
        return target.mean_loss(F)

    return loss_after


# --- learning_rate="auto" ---------------------------------------------------------------------------------------------


def rows_of_trials(rows: Rows | TargetRows, seed: int, n_threads: int) -> list[PartedRows]:
    """Return the rows of each trial: two up to 10,000 rows, then one; none if there are too few rows."""
    units = RowUnits.of(rows, seed, n_threads)
    part = units.parts(N_PARTS, rows.class_numbers, rows.group)  # stratified by class; rare classes are in none
    held = [mask for k in range(N_PARTS) if (mask := part == k).any()]
    return [PartedRows(rows, units, each) for each in held[: 2 if rows.count < 10_000 else 1]]


def rate_by_trials(
    parted: list[PartedRows], trial: Callable[[PartedRows, float], GradientRun], n_estimators: int
) -> float:
    """Return the learning rate of a fit of `n_estimators` rounds, from the best total step of trials with large steps.

    Boosting with small steps depends on the rounds T and the rate a almost only through the total step a T. Each trial
    holds out another part of the rows.
    """
    if not parted:
        return WITHOUT_TRIALS
    runs = [trial(rows, TRIAL_RATE) for rows in parted]
    held_out = [rows.held_target(run.target.loss) for rows, run in zip(parted, runs, strict=True)]

    def loss_after(_: int) -> float:
        return sum(
            target.total * target.mean_loss(run.scored.scores(rows))
            for run, (rows, target) in zip(runs, held_out, strict=True)
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
