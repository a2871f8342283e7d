"""What the rounds of gradient boosting say of held-out rows, for early stopping and for scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from committee.data.number_types import F64
from committee.data.rows import Rows, TargetRows
from committee.learners.gradient.scores import Target

if TYPE_CHECKING:
    from committee.learners.base.early_stopping import HeldOutVotes, StagedLoss


class Rounds(Protocol):
    """Rounds whose voters add up to scores."""

    target: Target
    intercept: F64

    def voters(self, first: int, end: int) -> Any:
        """Return the voters of the rounds from `first` to `end`."""

    def weights(self, first: int, end: int) -> F64:
        """Return the weights of these voters."""


def added_votes(run: Rounds, held_out: Rows | TargetRows, cells: Any) -> StagedLoss:
    """Votes of the rounds on held-out rows, ``(D, n)``, whose voters see `cells`, and the mean loss of their sum."""
    from committee.learners.base.early_stopping import StagedLoss

    target = Target.of(run.target.loss, held_out, run.target.scale)

    def votes(t: int) -> F64:
        tally: F64 = run.voters(t - 1, t).tally(cells, run.weights(t - 1, t))
        return tally.T

    def loss(F: F64) -> float:
        return target.mean_loss(F[0] if len(F) == 1 else F)

    return StagedLoss(votes, loss, np.repeat(run.intercept[:, None], len(held_out), axis=1))


def held_out_votes(run: Rounds, held_out: Rows | TargetRows, cells: Any) -> HeldOutVotes:
    """As `added_votes`, for scores: the sum of the rounds so far, and the weight that it is a share of."""
    from committee.learners.base.early_stopping import HeldOutVotes

    added = added_votes(run, held_out, cells)

    def total(t: int) -> float:
        return float(np.abs(run.weights(0, t)).sum()) + 1.0

    return HeldOutVotes(lambda t: added.after(t).T, total, run.target.loss.link)
