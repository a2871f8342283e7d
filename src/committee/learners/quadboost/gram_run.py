"""Rounds of QuadBoost over a finite dictionary whose products are known: no row is looked at again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from committee.learners.quadboost.weight_history import WeightHistory
from committee.objectives.programs.coordinate_steps import greedy_rounds
from committee.objectives.programs.penalties import Penalty
from committee.objectives.programs.reweighting import reweight

F64 = NDArray[np.float64]

NOISE = 1e-12
"""Share of the largest product below which a distance from an optimum is rounding."""


@dataclass(frozen=True)
class Schedule:
    """End of the rounds, and re-weighting of all voters.

    Parameters
    ----------
    tol : float
        The run ends when no voter lowers the risk by more than ``tol^2`` of the target's mean square.
    every : int, default=0
        Rounds between two re-weightings of all voters; 1 is fully corrective, 0 none.
    as_new : bool, default=True
        A voter that is chosen again counts as one more voter, and its weights add up. Else its weight is set anew.
    """

    tol: float
    every: int = 0
    as_new: bool = True

    def is_due(self, n_rounds: int) -> bool:
        """Tell whether the weights are set anew after this many rounds."""
        return self.every > 0 and n_rounds % self.every == 0


class GramRun:
    """The rounds of one score over N voters, from their products with each other and with the target.

    A round takes the voter that lowers the penalised risk most to its best weight; the correlations c = b - G alpha
    of all voters with the new residual follow by one column of G. So a round costs N operations whatever the number
    of rows.

    Parameters
    ----------
    gram : float64 array (N, N)
        Weighted mean products of the voters (centred where there is an intercept).
    b : float64 array (N,)
        Weighted mean products with the target.
    target_square : float
        Weighted mean square of the target.
    penalty : Penalty
        What weights cost.
    schedule : Schedule
        Stopping and re-weighting.

    Attributes
    ----------
    largest : float
        The largest |b|: with "l1" no voter is taken if lambda exceeds it.
    missed : float
        How far from its optimum a re-weighting ended; 0 where all reached theirs.
    """

    def __init__(self, gram: F64, b: F64, target_square: float, penalty: Penalty, schedule: Schedule) -> None:
        self.gram, self.b, self.penalty, self.schedule = gram, b, penalty, schedule
        self.scale = float(np.sqrt(target_square))
        self.c, self.alpha = b.copy(), np.zeros(len(b))
        self.largest = float(np.abs(b).max(initial=0.0))
        self.missed = 0.0
        self.history = WeightHistory()
        self.decreases: list[float] = []
        self.finished = False
        self._entered: list[int] = []

    def advance(self, n_rounds: int) -> None:
        """Up to this many rounds more."""
        if not self.schedule.every:
            self._greedy(n_rounds)
            return
        for _ in range(n_rounds):
            if self.finished:
                return
            self._corrective()

    def _greedy(self, n_rounds: int) -> None:
        voter, weight, decrease = self._rounds(n_rounds)
        self.history.add_rounds(voter, weight)
        self.decreases += decrease.tolist()
        self.finished = len(voter) < n_rounds

    def _rounds(self, n_rounds: int) -> tuple[NDArray[np.intp], F64, F64]:
        least, as_new = (self.schedule.tol * self.scale) ** 2, self.schedule.as_new
        return greedy_rounds(self.penalty, self.gram, self.c, self.alpha, as_new=as_new, n_rounds=n_rounds, least=least)

    def _corrective(self) -> None:
        """Run one round, and set all weights anew where that is due."""
        voter, weight, decrease = self._rounds(1)
        self.finished = not len(voter)
        if self.finished:
            return
        if int(voter[0]) not in self._entered:
            self._entered.append(int(voter[0]))
        if not self.schedule.is_due(len(self.history) + 1):
            self.history.add(voter, weight)
            self.decreases.append(float(decrease[0]))
            return
        active = np.array(self._entered)
        before = self._risk()
        weights = self.alpha[active]
        of_active = self.gram[np.ix_(active, active)]
        # near enough that no voter present lowers the risk by what a round must: the next one takes a new voter or ends
        wanted = 0.5 * self.schedule.tol * self.scale
        reached = reweight(of_active, self.b[active], weights, self.penalty, wanted)
        self.missed = max(self.missed, reached) if reached > wanted + NOISE * self.largest else self.missed
        self.alpha[active] = weights
        self.c = self.b - weights @ self.gram[active]
        self.history.add(active, weights)
        self.decreases.append(float(decrease[0]) + before - self._risk())

    def _risk(self) -> float:
        """Quadratic risk, but for the target's own mean square."""
        return -float(self.alpha @ (self.b + self.c))  # a'Ga - 2 a'b, as Ga = b - c
