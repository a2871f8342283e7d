"""Early stopping by the loss of held-out rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from committee.learners.gradient.scores import Target
from committee.voters.protocol import Voters

F64 = NDArray[np.float64]


class LossWatch:
    """The mean loss of held-out rows, round by round.

    Parameters
    ----------
    target : Target
        The loss that is boosted, and the targets and weights of the held-out rows.
    X : float64 array (m, p)
        These rows, encoded.
    intercept : float64 array (D,)
        The score before the first round.
    patience : int
        Rounds without improvement that end the run.
    """

    def __init__(self, target: Target, X: F64, intercept: F64, patience: int) -> None:
        self.target, self.X, self.patience = target, X, patience
        self.F = np.repeat(intercept[:, None], len(X), axis=1)
        self.losses: list[float] = []

    def after(self, voters: Voters, weights: F64) -> bool:
        """Add the newest round's votes; True when there has been no improvement for long enough."""
        self.F += voters.tally(self.X, weights).T
        self.losses.append(self.target.mean_loss(self.F[0] if len(self.F) == 1 else self.F))
        return len(self.losses) - self.best >= self.patience

    def after_each(self, voters: Voters, weights: F64) -> None:
        """Add rounds that are there already, one by one."""
        for t in range(len(voters)):
            self.after(voters[t : t + 1], weights[t : t + 1])

    @property
    def best(self) -> int:
        """Rounds up to the first best one."""
        return int(np.argmin(self.losses)) + 1
