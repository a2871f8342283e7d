"""Early stopping of QuadBoost: the quadratic risk of held-out rows, round by round."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from committee.learners.quadboost.quad_voters import QuadVoters, ScoreTargets

F64 = NDArray[np.float64]


class RiskWatch:
    """The mean squared residual of held-out rows, summed over the scores.

    Parameters
    ----------
    voters : QuadVoters
        The runs that are watched.
    X : float64 array (m, p)
        The held-out rows, encoded.
    target : ScoreTargets
        What they should be.
    patience : int
        Rounds without improvement that end the run.
    """

    def __init__(self, voters: QuadVoters, X: F64, target: ScoreTargets, patience: int) -> None:
        self.voters, self.target, self.patience = voters, target, patience
        self.rows = voters.read(X)
        trained = voters.target
        start = trained.y @ trained.weights if trained.intercept else np.zeros(trained.n_outputs)
        self.residual = target.y - start[:, None]
        self.weight: list[dict[int, float]] = [{} for _ in voters.runs]
        self._votes: dict[tuple[int, int], NDArray[np.int8]] = {}
        self.risks = [self._risk()]

    def _risk(self) -> float:
        return float((self.residual**2 @ self.target.weights).sum())

    def after(self, n_rounds: int) -> bool:
        """Follow the runs up to this round; True when there has been no improvement for long enough."""
        for t in range(len(self.risks) - 1, n_rounds):
            for k, run in enumerate(self.voters.runs):
                if t < len(run.history):
                    self._follow(k, *run.history.changes(t))
            self.risks.append(self._risk())
        return len(self.risks) - 1 - self.best >= self.patience

    def _follow(self, k: int, voter: NDArray[np.intp], weight: F64) -> None:
        for j, now in zip(voter.tolist(), weight.tolist(), strict=True):
            step = now - self.weight[k].get(j, 0.0)
            if step:
                self.weight[k][j] = now
                mean = self.voters.mean(k, j) if self.target.intercept else 0.0
                if (k, j) not in self._votes:
                    self._votes[k, j] = self.voters.votes_on(self.rows, k, j)
                self.residual[k] -= step * (self._votes[k, j] - mean)

    @property
    def best(self) -> int:
        """Rounds up to the first best one; at least one."""
        return max(1, int(np.argmin(self.risks)))
