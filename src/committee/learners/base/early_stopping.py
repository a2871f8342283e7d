"""Early stopping: the loss of held-out rows round by round, patience, and the round that was best."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from committee.data.number_types import F64
from committee.data.rows import Rows
from committee.vote.scores import elected


@dataclass(eq=False)
class EarlyStopping:
    """Patience with rounds that improve nothing, and the first of the best rounds to go back to.

    Examples
    --------
    >>> from committee.learners.base.early_stopping import EarlyStopping
    >>> stopping = EarlyStopping([0.0, 0.5, 0.3, 0.4, 0.3, 0.2].__getitem__, patience=2)
    >>> [stopping.follow(t) for t in (1, 2, 3, 4)], stopping.best
    ([False, False, False, True], 2)
    """

    loss_after: Callable[[int], float]
    """Loss of the held-out rows after t rounds; called once for each t, in order."""
    patience: int | None
    """Rounds without improvement that end the run; None: it does not end."""
    first: int = 1
    """The first t: 0 where the loss before any round is looked at, too."""
    losses: list[float] = field(default_factory=list)
    """What `loss_after` returned."""

    def follow(self, n_rounds: int) -> bool:
        """Look at the rounds up to this one; True when there has been no improvement for long enough."""
        for t in range(self.first + len(self.losses), n_rounds + 1):
            self.losses.append(self.loss_after(t))
        return bool(self.losses) and self.patience is not None and n_rounds - self.best >= self.patience

    @property
    def best(self) -> int:
        """Rounds up to the first best one; at least one."""
        return max(1, int(np.argmin(self.losses)) + self.first)


@dataclass(eq=False)
class AddedVotes:
    """Loss of held-out rows to whose scores each round t = 1, 2, ... adds its votes.

    F are the scores before the first round; an array is changed in place.
    """

    votes: Callable[[int], F64]
    loss: Callable[[F64], float]
    F: F64 | float = 0.0

    def __call__(self, t: int) -> float:
        """Loss after t rounds."""
        return self.loss(self.after(t))

    def after(self, t: int) -> F64:
        """Scores after t rounds."""
        self.F += self.votes(t)
        assert isinstance(self.F, np.ndarray)
        return self.F


def weighted_error(F: F64, rows: Rows) -> float:
    """Share of the rows' weight for which scores ``(n, K)`` elect a wrong class."""
    return float(np.average(elected(F) != rows.labels, weights=rows.weights))
