"""The rounds of QuadBoost's scores side by side, and their risk on held-out rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64, I8
from committee.learners.base.boosting import BoostingRun
from committee.learners.quadboost.quad_voters import QuadVoters, ScoreTargets

if TYPE_CHECKING:
    from committee.learners.base.fit_record import FitRecord


@dataclass(eq=False)
class QuadRun(BoostingRun):
    """One run for each score; they take their rounds together, at most so many.

    `count` is how many rows the weights stand for. With `one_by_one` somebody looks at each round, so that several must
    not be run at once, though they are cheap.
    """

    voters: QuadVoters
    count: float
    most: int
    one_by_one: bool

    def has_next(self) -> bool:
        """Tell whether a run is not finished."""
        return not all(run.finished for run in self.voters.runs)

    def advance(self) -> None:
        """Run a round more of each score, or as many as may be run at once."""
        more = 1 if self.one_by_one else min(self.voters.rounds_at_once, self.most - self.n_rounds)
        for run in self.voters.runs:
            run.advance(more)
            self.n_rounds = max(self.n_rounds, len(run.history))

    def keep(self, record: FitRecord) -> None:
        """As `BoostingRun.keep`."""
        for run in self.voters.runs:
            run.keep(record)

    def training_risks(self, n_rounds: int) -> F64:
        """Quadratic risk before the first round and after each, summed over the scores, ``(n_rounds + 1,)``."""
        decreases = np.zeros((n_rounds, len(self.voters.runs)))
        for k, run in enumerate(self.voters.runs):
            some = run.decreases[:n_rounds]
            decreases[: len(some), k] = some
        start = np.array([run.scale**2 for run in self.voters.runs])
        risks: F64 = start.sum() - np.concatenate([[0.0], np.cumsum(decreases.sum(axis=1))])
        return risks


class HeldOutRisk:
    """Mean squared residual of held-out rows, summed over the scores, as weights change round by round."""

    def __init__(self, voters: QuadVoters, X: F64, target: ScoreTargets) -> None:
        self.voters: QuadVoters = voters
        self.target: ScoreTargets = target
        self.rows = voters.read(X)
        trained = voters.target
        start = trained.y @ trained.weights if trained.intercept else np.zeros(trained.n_outputs)
        self.residual: F64 = target.y - start[:, None]
        # kept beside the residuals, whose roundings know the targets: a scorer would see equal scores in their order
        self.scores: F64 = np.repeat(start[:, None], target.y.shape[1], axis=1)
        self.weight: list[dict[int, float]] = [{} for _ in voters.runs]
        self._votes: dict[tuple[int, int], I8 | F64] = {}

    def __call__(self, t: int) -> float:
        """Risk after t rounds."""
        self._advance(t)
        return float((self.residual**2 @ self.target.weights).sum())

    def votes_after(self, t: int) -> F64:
        """Scores after t rounds, ``(n, K)``."""
        self._advance(t)
        return self.scores.T

    def total_weight(self, t: int) -> float:
        """Weight of all voters now, and 1 of an intercept."""
        voters = sum(abs(weight) for weights in self.weight for weight in weights.values())
        return float(voters) + float(self.target.intercept)

    def _advance(self, t: int) -> None:
        for k, run in enumerate(self.voters.runs):
            if 0 < t <= len(run.history):
                self._change(k, *run.history.changes(t - 1))

    def _change(self, k: int, voter: NDArray[np.intp], weight: F64) -> None:
        """Set weights of run k anew."""
        for j, new in zip(voter.tolist(), weight.tolist(), strict=True):
            step = new - self.weight[k].get(j, 0.0)
            if step:
                self.weight[k][j] = new
                mean = self.voters.mean(k, j) if self.target.intercept else 0.0
                if (k, j) not in self._votes:
                    self._votes[k, j] = self.voters.votes_on(self.rows, k, j)
                change = step * (self._votes[k, j] - mean)
                self.residual[k] -= change
                self.scores[k] += change
