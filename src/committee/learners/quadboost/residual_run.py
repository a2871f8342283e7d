"""Rounds of QuadBoost on residuals: for voters that no list holds, or too long a list."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from committee.learners.pools.pool import Candidate, Pool
from committee.learners.quadboost.gram_run import NOISE, Schedule
from committee.learners.quadboost.weight_history import WeightHistory
from committee.objectives.programs.penalties import Penalty
from committee.objectives.programs.reweighting import reweight

F64 = NDArray[np.float64]


class ResidualRun:
    """The rounds of one score: find a voter for the residual, take it to its best weight, subtract.

    Parameters
    ----------
    pool : Pool
        Finds voters.
    target : float64 array (n,)
        What is to be fitted.
    weights : float64 array (n,)
        Row weights that sum to one.
    penalty : Penalty
        Penalty on the weights of voters.
    schedule : Schedule
        Stopping and re-weighting.
    intercept : bool
        The target and the votes are centred.

    Attributes
    ----------
    candidates : list of Candidate
        Voters in the order of their entry.
    decreases : list of float
        Decrease of the risk in each round, the penalty not counted.
    largest : float
        The largest correlation met: with "l1" no voter is taken if lambda exceeds it.
    missed : float
        How far from its optimum a re-weighting ended; 0 where all reached theirs.
    """

    def __init__(
        self, pool: Pool, target: F64, weights: F64, penalty: Penalty, schedule: Schedule, *, intercept: bool
    ) -> None:
        self.pool, self.weights, self.penalty, self.schedule = pool, weights, penalty, schedule
        self.residual = target - (float(weights @ target) if intercept else 0.0)
        self.scale = float(np.sqrt(weights @ self.residual**2))
        self.candidates: list[Candidate] = []
        self.alpha: dict[Hashable, float] = {}
        self.history = WeightHistory()
        self.decreases: list[float] = []
        self.finished = self.scale == 0.0
        self.largest = self.missed = 0.0
        self._number: dict[Hashable, int] = {}
        self._start = self.residual.copy() if schedule.every else None
        self._gram = np.zeros((0, 0))
        self._b = np.zeros(0)

    def advance(self, n_rounds: int) -> None:
        """Up to this many rounds more."""
        for _ in range(n_rounds):
            if self.finished:
                return
            self._round()

    def _round(self) -> None:
        as_new = self.schedule.as_new
        found = self.pool.best(self.weights * self.residual, self.penalty, {} if as_new else self.alpha)
        if found is None:
            self.finished = True
            return
        self.largest = max(self.largest, abs(found.c))
        held = self.alpha.get(found.key, 0.0)
        before = 0.0 if as_new else held
        penalised, best = self.penalty.decrease(np.array([found.c]), np.array([found.eta]), np.array([before]))
        if float(penalised[0]) <= (self.schedule.tol * self.scale) ** 2:
            self.finished = True
            return
        step = float(best[0]) - before
        if found.key not in self.alpha:
            self._number[found.key] = len(self.candidates)
            self.candidates.append(found)
            if self._start is not None:
                self._add_products(found, self._start)
        self.pool.subtract(self.residual, found, step)
        self.alpha[found.key] = held + step
        if self._start is None:  # no product will be taken of its votes
            self.pool.forget(found)
        decrease = step * (2.0 * found.c - step * found.eta)
        if self.schedule.is_due(len(self.history) + 1):
            self._reweight(decrease)
            return
        self.history.add(np.array([self._number[found.key]]), np.array([held + step]))
        self.decreases.append(decrease)

    def _add_products(self, newest: Candidate, start: F64) -> None:
        """Add a row to the products of the committee's voters.

        One of the two votes need not be centred: sum_i w_i (h - mean h)(g - mean g) = sum_i w_i (h - mean h) g.
        """
        T = len(self.candidates)
        weighted = self.weights * (self.pool.votes(newest) - newest.mean)
        row = np.array([weighted @ self.pool.votes(one) for one in self.candidates])
        gram = np.empty((T, T))
        gram[:-1, :-1] = self._gram
        gram[-1], gram[:, -1] = row, row
        gram[-1, -1] = newest.eta
        self._gram, self._b = gram, np.append(self._b, weighted @ start)

    def _reweight(self, decrease: float) -> None:
        """Set all weights of the committee anew, after a step of this decrease."""
        before = np.array([self.alpha[one.key] for one in self.candidates])
        weights = before.copy()
        wanted = 0.5 * self.schedule.tol * self.scale  # as in `GramRun`: no voter present is worth a round then
        reached = reweight(self._gram, self._b, weights, self.penalty, wanted)
        self.missed = max(self.missed, reached) if reached > wanted + NOISE * self.largest else self.missed
        for one, step in zip(self.candidates, (weights - before).tolist(), strict=True):
            if step:
                self.pool.subtract(self.residual, one, step)
        self.alpha = dict(zip([one.key for one in self.candidates], weights.tolist(), strict=True))
        self.history.add(np.arange(len(weights)), weights)
        self.decreases.append(decrease + self._risk(before) - self._risk(weights))

    def _risk(self, alpha: F64) -> float:
        """Quadratic risk, but for the target's own mean square."""
        return float(alpha @ (self._gram @ alpha - 2.0 * self._b))
