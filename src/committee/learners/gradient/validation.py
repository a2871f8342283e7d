"""Held-out rows of gradient boosting: parts of the table, and losses by bins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from committee.data.bins import Binned
from committee.data.rows import Rows, TargetRows
from committee.learners.base.fit_record import leaf_of_rows
from committee.learners.base.row_sampling import Mask, RowUnits
from committee.learners.gradient.rounds import GradientRun
from committee.learners.gradient.target import Target, add_tree
from committee.objectives.losses import Loss


@dataclass(frozen=True, eq=False)
class PartedRows:
    """A table of which some units of weight are held out.

    The trees of each round sort held-out rows into their leaves too, so that their loss costs nothing more. After early
    stopping without `warm_start` the leaves are refitted on all rows.
    """

    rows: Rows | TargetRows
    units: RowUnits
    held: Mask

    def training_target(self, loss: Loss) -> Target:
        return self._target(loss, ~self.held)[1]

    def held_target(self, loss: Loss) -> tuple[NDArray[np.int32], Target]:
        return self._target(loss, self.held)

    def weighted_target(self, loss: Loss) -> Target:
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
    """Return a function of the number of rounds for the mean loss of held-out rows, by their bins, without voters.

    The function must be called for each round in turn, from the first on; leaves are constants.
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
