"""Rounds of gradient boosting over any regressor: least squares to the antigradient, then a step."""

from __future__ import annotations

from typing import Any

import numpy as np

from committee.data.number_types import F64
from committee.learners.base.boosting import BoostingRun
from committee.learners.gradient.line_search import LineSearch
from committee.learners.gradient.round_draws import Draws
from committee.learners.gradient.scores import Target
from committee.learners.pools.classifier_pool import Clones
from committee.voters.regressor_rounds import RegressorRounds
from committee.voters.regressors import RegressorVoters, predicted

LARGEST = 1e150
"""Antigradients are smaller than this: base learners square them."""


class FunctionalRun(BoostingRun):
    """Scores F of the training rows, and the rounds so far.

    Each round fits a clone of the base learner for each score to the antigradient of the loss at F, and moves F along
    what they predict: F <- F + a b(x). The step a is the learning rate, times the best step if there is a line search.
    A round that would change nothing ends the run, unless it is the first: a committee needs a voter.

    Equation: functional-gradient (docs/theory.md).

    Parameters
    ----------
    target : Target
        What is boosted.
    X : float64 array (n, p)
        The encoded rows.
    weighted : bool
        Whether the base learner is given the rows' weights, where they have some.
    clones : Clones
        Makes base learners.
    draws : Draws
        The rows that a round sees.
    intercept : float64 array (D,)
        The score before any round.
    learning_rate, line_search
        The step of a round.
    n_classes : int
        Number of classes, or of numbers that are predicted.
    n_threads : int
        Ceiling on the number of threads.
    """

    def __init__(
        self,
        target: Target,
        X: F64,
        clones: Clones,
        draws: Draws,
        intercept: F64,
        *,
        weighted: bool,
        learning_rate: float,
        line_search: LineSearch | None,
        n_classes: int,
        n_threads: int,
    ) -> None:
        self.target: Target = target
        self.X = X
        self.clones: Clones = clones
        self.draws: Draws = draws
        self.intercept: F64 = intercept
        self.weighted: bool = weighted
        self.learning_rate: float = learning_rate
        self.search: LineSearch | None = line_search
        self.n_classes: int = n_classes
        self.n_threads: int = n_threads
        self.F = start_scores(intercept, len(X)) if line_search is None else line_search.F
        self.members: list[Any] = []
        self.spreads: list[float] = []
        self.steps: list[float] = []
        self._idle = False

    def has_next(self) -> bool:
        """Tell whether the last round has changed anything."""
        return not self._idle

    def advance(self) -> None:
        """Fit the base learners of a round, and move the scores along them."""
        members, along = self._fitted()
        direction = along if len(along) > 1 else along[0]
        if self.search is None:
            step = self.learning_rate
            self.F += step * direction
        else:
            step = self.search.step(direction, [], self.learning_rate)
        self._idle = not self.draws.any and (step == 0.0 or not direction.any())
        if self._idle and self.steps:
            return
        self.members += members
        self.spreads += np.abs(along).max(axis=1).tolist()
        self.steps.append(step)
        self.n_rounds += 1

    def _fitted(self) -> tuple[list[Any], F64]:
        """Base learners of the next round, one for each score, and what they predict of all rows, ``(D, n)``."""
        rows, weights = self.draws.rows_of_round(self.n_rounds)
        if weights is None:
            weights = self.target.w
        antigradient = self._antigradient()
        seen: Any = slice(None) if rows is None else rows
        X, w = self.X[seen], weights[seen] if self.weighted and weights is not None else None
        members = [self.clones.trained(X, each[seen], w) for each in antigradient]
        return members, np.stack([predicted(member, self.X) for member in members])

    def _antigradient(self) -> F64:
        """Minus the derivative of each row's loss by its scores, ``(D, n)``, in the scores' own units."""
        gradient, hessian = np.empty_like(self.F), np.empty_like(self.F)
        self.target.write_gradients(self.F, None, gradient, hessian, self.n_threads)
        descent = -np.atleast_2d(gradient)
        if self.target.scale is not None:
            descent *= self.target.scale[:, None]
        if not (np.abs(descent) < LARGEST).all():
            raise ValueError(
                f"the scores overflow in round {self.n_rounds + 1}; lower learning_rate, or set line_search=True."
            )
        return descent

    def voters(self, first: int, end: int) -> RegressorVoters | RegressorRounds:
        """Return the base learners of the rounds from `first` to `end`: a round is one voter."""
        D = len(self.intercept)
        some = slice(first * D, end * D)
        output = np.tile(np.arange(D), end - first)
        voters = RegressorVoters(self.members[some], output, np.array(self.spreads[some]), D, self.n_classes)
        return voters if D == 1 else RegressorRounds(voters)

    def committee(self, n_rounds: int) -> tuple[RegressorVoters | RegressorRounds, F64]:
        """Return the first rounds and their steps, but for rounds that went nowhere.

        If none went anywhere the first stays, as a committee needs a voter.
        """
        moved = np.flatnonzero(self.weights(0, n_rounds))
        if not len(moved):
            return self.voters(0, 1), self.weights(0, 1)
        return self.voters(0, n_rounds)[moved], self.weights(0, n_rounds)[moved]

    def weights(self, first: int, end: int) -> F64:
        """Return the steps of these rounds."""
        return np.array(self.steps[first:end], dtype=np.float64)


def start_scores(intercept: F64, n: int) -> F64:
    """Scores of n rows before the first round, ``(n,)`` or ``(D, n)``."""
    F = np.repeat(intercept[:, None], n, axis=1)
    return F[0] if len(intercept) == 1 else F
