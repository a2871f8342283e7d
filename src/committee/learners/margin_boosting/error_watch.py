"""Early stopping of votes whose weights may all change in a round: the error on held-out rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from committee.data.rows import Rows
from committee.learners.margin_boosting.voting_run import VotingRun
from committee.learners.pools.edge_sources import EdgeSource
from committee.vote.scores import elected

F64 = NDArray[np.float64]


class ErrorWatch:
    """The weighted error on held-out rows, round by round; votes on them are asked for once and kept as bytes.

    Parameters
    ----------
    source : EdgeSource
        Makes voters of what the runs found.
    runs : sequence of VotingRun
        One for two classes, else one for each class.
    rows : Rows
        The held-out rows.
    patience : int
        Rounds without improvement that end the run.
    """

    def __init__(self, source: EdgeSource, runs: Sequence[VotingRun], rows: Rows, patience: int) -> None:
        self.source, self.runs, self.rows, self.patience = source, runs, rows, patience
        self.errors: list[float] = []
        self._votes: list[list[NDArray[np.int8]]] = [[] for _ in runs]

    def after(self, n_rounds: int) -> bool:
        """Look at the newest round; True when there has been no improvement for long enough."""
        F = np.stack([self._score(k, n_rounds) for k in range(len(self.runs))], axis=1)
        wrong = elected(F) != self.rows.labels
        self.errors.append(float(np.average(wrong, weights=self.rows.weights)))
        return len(self.errors) - self.best >= self.patience

    def _score(self, k: int, n_rounds: int) -> F64:
        run, votes = self.runs[k], self._votes[k]
        if len(run.voters) > len(votes):
            label = self.source.plant(run.voters[len(votes) :], None, 2).votes(self.rows.X)
            signs = np.where(label < 0, 0, 2 * label - 1).astype(np.int8)
            votes += list(np.ascontiguousarray(signs.T))
        F: F64 = np.zeros(len(self.rows))
        for weight, some in zip(run.weights_after(n_rounds).tolist(), votes, strict=False):
            if weight:
                F += weight * some
        return F

    @property
    def best(self) -> int:
        """Rounds up to the first best one."""
        return int(np.argmin(self.errors)) + 1
