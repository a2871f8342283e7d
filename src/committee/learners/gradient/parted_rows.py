"""Training rows of which some are held out, in one table."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from committee.data.rows import Rows, TargetRows
from committee.learners.base.row_sampling import Mask, RowUnits
from committee.learners.gradient.scores import Target
from committee.objectives.losses import Loss


@dataclass(frozen=True, eq=False)
class PartedRows:
    """All rows, as units of weight of which some are held out.

    They stay together: each round's trees sort held-out rows into their leaves too, so that their loss costs nothing
    more, and after the last round their leaves are refitted on all.
    """

    rows: Rows | TargetRows
    units: RowUnits
    held: Mask
    """Units that are held out."""

    def training_target(self, loss: Loss) -> Target:
        """The loss of the rows that are trained on, without the others."""
        return self._target(loss, ~self.held)[1]

    def held_target(self, loss: Loss) -> tuple[NDArray[np.int32], Target]:
        """Numbers of the rows held out, and their loss."""
        return self._target(loss, self.held)

    def weighted_target(self, loss: Loss) -> Target:
        """The loss of all rows, with weights 0 for those held out."""
        rows, weights = self.units.rows_of(~self.held)
        if weights is None:
            weights = np.zeros(len(self.rows))
            weights[rows] = 1.0
        return replace(Target.of(loss, self.rows), w=weights)

    def held_rows(self) -> Rows | TargetRows:
        """The rows held out, on their own."""
        rows, weights = self.units.rows_of(self.held)
        taken = self.rows.take(rows)
        return taken if weights is None else replace(taken, weights=weights[rows])

    def _target(self, loss: Loss, units: Mask) -> tuple[NDArray[np.int32], Target]:
        rows, weights = self.units.rows_of(units)
        return rows, Target.of(loss, self.rows).of_rows(rows, None if weights is None else weights[rows])
