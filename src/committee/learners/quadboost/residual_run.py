"""Rounds of QuadBoost on residuals: for voters that no list holds, or too long a list."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from committee.learners.quadboost.gram_run import NOISE, Schedule
from committee.learners.quadboost.weight_history import WeightHistory
from committee.objectives.programs.penalties import Penalty
from committee.objectives.programs.reweighting import reweight

F64 = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Found:
    """The voter that a round takes.

    Attributes
    ----------
    key : hashable
        Which one; the same key is the same voter.
    c : float
        Its correlation with the residual, sum_i w_i h(x_i) r_i, centred where there is an intercept.
    eta : float
        Its (centred) mean square.
    mean : float
        Its mean vote; 0 where there is no intercept.
    """

    key: Hashable
    c: float
    eta: float
    mean: float


class VoterSource(Protocol):
    """Where the voters come from: the best one for given residuals."""

    def best(self, weighted: F64, alpha: dict[Hashable, float]) -> Found | None:
        """The voter that lowers the penalised risk most.

        Parameters
        ----------
        weighted : float64 array (n,)
            Row weight times residual.
        alpha : dict
            Weights of the voters that would be set anew, by key; none where a voter counts as new each time.
        """

    def votes(self, key: Hashable) -> NDArray[np.int8]:
        """What a voter that was found says of the training rows, ``(n,)``."""

    def forget(self, key: Hashable) -> None:
        """The votes of this voter will not be asked for again."""

    def subtract(self, residual: F64, key: Hashable, step: float, mean: float) -> None:
        """``residual -= step * (h - mean)``, in place."""


class ResidualRun:
    """The rounds of one score: find a voter for the residual, take it to its best weight, subtract.

    Parameters
    ----------
    source : VoterSource
        Finds voters.
    target : float64 array (n,)
        What is to be fitted.
    weights : float64 array (n,)
        Row weights that sum to one.
    penalty : Penalty
        What weights cost.
    schedule : Schedule
        Stopping and re-weighting.
    intercept : bool
        The target and the votes are centred.

    Attributes
    ----------
    largest : float
        The largest correlation met: with "l1" no voter is taken if lambda exceeds it.
    missed : float
        How far from its optimum a re-weighting ended; 0 where all reached theirs.
    """

    def __init__(
        self,
        source: VoterSource,
        target: F64,
        weights: F64,
        penalty: Penalty,
        schedule: Schedule,
        *,
        intercept: bool,
    ) -> None:
        self.source, self.weights, self.penalty, self.schedule = source, weights, penalty, schedule
        self.residual = target - (float(weights @ target) if intercept else 0.0)
        self.scale = float(np.sqrt(weights @ self.residual**2))
        self.keys: list[Hashable] = []
        self._number: dict[Hashable, int] = {}
        self.means: list[float] = []
        self.alpha: dict[Hashable, float] = {}
        self.history = WeightHistory()
        self.falls: list[float] = []
        self.finished = self.scale == 0.0
        self.largest = self.missed = 0.0
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
        found = self.source.best(self.weights * self.residual, {} if self.schedule.as_new else self.alpha)
        if found is None:
            self.finished = True
            return
        self.largest = max(self.largest, abs(found.c))
        held = self.alpha.get(found.key, 0.0)
        before = 0.0 if self.schedule.as_new else held
        falls, best = self.penalty.decrease(np.array([found.c]), np.array([found.eta]), np.array([before]))
        if float(falls[0]) <= (self.schedule.tol * self.scale) ** 2:
            self.finished = True
            return
        step = float(best[0]) - before
        fall, weight = step * (2.0 * found.c - step * found.eta), held + step
        if found.key not in self.alpha:
            self._number[found.key] = len(self.keys)
            self.keys.append(found.key)
            self.means.append(found.mean)
            if self._start is not None:
                self._add_products(found)
        self.source.subtract(self.residual, found.key, step, found.mean)
        self.alpha[found.key] = weight
        if self._start is None:
            self.source.forget(found.key)
        if not self.schedule.is_due(len(self.history) + 1):
            self.history.add(np.array([self._number[found.key]]), np.array([weight]))
            self.falls.append(fall)
            return
        self._reweight(fall)

    def _add_products(self, found: Found) -> None:
        """One row more of the products of the committee's voters."""
        assert self._start is not None
        T = len(self.keys)
        weighted = self.weights * (self.source.votes(found.key) - found.mean)
        row = np.array([weighted @ self.source.votes(key) for key in self.keys])
        gram = np.empty((T, T))
        gram[:-1, :-1] = self._gram
        gram[-1], gram[:, -1] = row, row
        gram[-1, -1] = found.eta
        self._gram, self._b = gram, np.append(self._b, weighted @ self._start)

    def _reweight(self, fall: float) -> None:
        """All weights of the committee anew."""
        before = np.array([self.alpha[key] for key in self.keys])
        weights = before.copy()
        wanted = 0.5 * self.schedule.tol * self.scale
        reached = reweight(self._gram, self._b, weights, self.penalty, wanted)
        self.missed = max(self.missed, reached) if reached > wanted + NOISE * self.largest else self.missed
        for key, mean, step in zip(self.keys, self.means, (weights - before).tolist(), strict=True):
            if step:
                self.source.subtract(self.residual, key, step, mean)
        self.alpha = dict(zip(self.keys, weights.tolist(), strict=True))
        self.history.add(np.arange(len(weights)), weights)
        self.falls.append(fall + self._risk(before) - self._risk(weights))

    def _risk(self, alpha: F64) -> float:
        """The quadratic risk, but for the target's own mean square."""
        return float(alpha @ (self._gram @ alpha - 2.0 * self._b))
