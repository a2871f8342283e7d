"""Rounds of QuadBoost for one score: over voters whose products are all known, or on residuals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64, Index
from committee.learners.pools.pool import Candidate, Pool
from committee.objectives.programs.coordinate_steps import greedy_rounds
from committee.objectives.programs.penalty import Penalty
from committee.objectives.programs.reweighting import reweight

if TYPE_CHECKING:
    from committee.learners.base.fit_record import FitRecord

NOISE = 1e-12
"""Share of the largest product below which a distance from an optimum is rounding."""


@dataclass(frozen=True)
class Schedule:
    """End of the rounds, and re-weighting of all voters."""

    tol: float
    """The run ends when no voter lowers the risk by more than ``tol^2`` of the target's mean square."""
    every: int = 0
    """Rounds between two re-weightings of all voters; 1 is fully corrective, 0 none."""
    as_new: bool = True
    """A voter that is chosen again counts as one more voter, and its weights add up. Else its weight is set anew."""

    def is_due(self, n_rounds: int) -> bool:
        """Tell whether the weights are set anew after this many rounds."""
        return self.every > 0 and n_rounds % self.every == 0


class WeightHistory:
    """Rounds of a run, each a few voters with their new weights.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.learners.quadboost.score_runs import WeightHistory
    >>> history = WeightHistory()
    >>> history.add_rounds(np.array([7, 3]), np.array([0.5, 0.25]))
    >>> history.add(np.array([7]), np.array([0.4]))
    >>> history.after(2), history.after(3)
    ((array([7, 3]), array([0.5 , 0.25])), (array([7, 3]), array([0.4 , 0.25])))
    """

    def __init__(self) -> None:
        self._ends = np.zeros(1, dtype=np.intp)
        self._voter = np.empty(0, dtype=np.intp)
        self._weight = np.empty(0)
        self._new: list[tuple[Index, F64, Index]] = []
        self._n_rounds = self._n_changes = 0

    def __len__(self) -> int:
        return self._n_rounds

    def add(self, voter: Index, weight: F64) -> None:
        """Add one round that changed these weights."""
        self._append(voter, weight, np.array([len(voter)]))

    def add_rounds(self, voter: Index, weight: F64) -> None:
        """Rounds of one change each."""
        self._append(voter, weight, np.arange(1, len(voter) + 1))

    def _append(self, voter: Index, weight: F64, ends: Index) -> None:
        self._new.append((np.asarray(voter, dtype=np.intp), np.asarray(weight), ends + self._n_changes))
        self._n_rounds += len(ends)
        self._n_changes += len(voter)

    def _settle(self) -> None:
        """Join what was added since the last look."""
        if self._new:
            voters, weights, ends = zip(*self._new, strict=True)
            self._voter = np.concatenate([self._voter, *voters])
            self._weight = np.concatenate([self._weight, *weights])
            self._ends = np.concatenate([self._ends, *ends])
            self._new.clear()

    def changes(self, round: int) -> tuple[Index, F64]:
        """Voters whose weights a round changed, and their new weights."""
        self._settle()
        here = slice(int(self._ends[round]), int(self._ends[round + 1]))
        return self._voter[here], self._weight[here]

    def after(self, n_rounds: int) -> tuple[Index, F64]:
        """Voters in the order of their entry, and their weights, after the first `n_rounds` rounds."""
        self._settle()
        end = int(self._ends[min(n_rounds, self._n_rounds)])
        voter, weight = self._voter[:end], self._weight[:end]
        entered = voter[np.sort(np.unique(voter, return_index=True)[1])]
        last = len(voter) - 1 - np.unique(voter[::-1], return_index=True)[1]  # in the order of their numbers
        rank = np.argsort(np.argsort(entered, kind="stable"), kind="stable")
        return entered, weight[last][rank]


class ScoreRun(ABC):
    """The rounds of one score; `scale` is the root of the weighted mean square of its target.

    Attributes
    ----------
    history : WeightHistory
        Weights that each round changed.
    decreases : list of float
        Decrease of the risk in each round, the penalty not counted.
    largest : float
        The largest correlation met: with "l1" no voter is taken if lambda exceeds it.
    missed : float
        How far from its optimum a re-weighting ended; 0 where all reached theirs.
    finished : bool
        No voter lowers the risk enough.
    """

    def __init__(self, penalty: Penalty, schedule: Schedule, scale: float) -> None:
        self.penalty: Penalty = penalty
        self.schedule: Schedule = schedule
        self.scale: float = scale
        self.history: WeightHistory = WeightHistory()
        self.decreases: list[float] = []
        self.largest = self.missed = 0.0
        self.finished = False
        self._record: FitRecord | None = None

    def keep(self, record: FitRecord) -> None:
        """As `BoostingRun.keep`: the solutions of re-weightings."""
        self._record = record

    def advance(self, n_rounds: int) -> None:
        """Up to this many rounds more."""
        for _ in range(n_rounds):
            if self.finished:
                return
            self._round()

    @abstractmethod
    def _round(self) -> None:
        """Take one round more, and set all weights anew where that is due."""

    def _reweight(self, gram: F64, b: F64, weights: F64) -> None:
        """Set the weights of the voters present to their optimum, in place."""
        # near enough that no voter present lowers the risk by what a round must: the next one takes a new voter or ends
        wanted = 0.5 * self.schedule.tol * self.scale
        reached = self._reweighted(gram, b, weights, wanted)
        if reached > wanted + NOISE * self.largest:
            self.missed = max(self.missed, reached)

    def _reweighted(self, gram: F64, b: F64, weights: F64, wanted: float) -> float:
        if self._record is None:
            return reweight(gram, b, weights, self.penalty, wanted)
        from committee.learners.base.fit_record import Codec

        def compute() -> tuple[F64, float]:
            solution = weights.copy()
            return solution, reweight(gram, b, solution, self.penalty, wanted)

        form = Codec[tuple[F64, float]](lambda found: [found[0], np.array(found[1])], lambda w, gap: (w, float(gap)))
        weights[:], reached = self._record.result("weights", (b, weights), compute, form)
        return reached


class GramRun(ScoreRun):
    """Rounds over N voters of a finite dictionary, from their products with each other and with the target.

    A round takes the voter that lowers the penalised risk most to its best weight; the correlations c = b - G alpha of
    all voters with the new residual follow by one column of G. So a round costs N operations whatever the number of
    rows.

    Parameters
    ----------
    gram, b, target_square : float64 arrays (N, N) and (N,), float
        Weighted mean products of the voters (centred where there is an intercept), with the target, and of the target.
    penalty, schedule
        On the weights of voters, and for stopping and re-weighting.
    """

    def __init__(self, gram: F64, b: F64, target_square: float, penalty: Penalty, schedule: Schedule) -> None:
        super().__init__(penalty, schedule, float(np.sqrt(target_square)))
        self.gram: F64 = gram
        self.b: F64 = b
        self.c = b.copy()
        self.alpha: F64 = np.zeros(len(b))
        self.largest: float = float(np.abs(b).max(initial=0.0))
        self._entered: list[int] = []

    def advance(self, n_rounds: int) -> None:
        """As `ScoreRun.advance`; without re-weighting, all at once."""
        if self.schedule.every:
            super().advance(n_rounds)
            return
        voter, weight, decrease = self._rounds(n_rounds)
        self.history.add_rounds(voter, weight)
        self.decreases += decrease.tolist()
        self.finished = len(voter) < n_rounds

    def _rounds(self, n_rounds: int) -> tuple[NDArray[np.intp], F64, F64]:
        least, as_new = (self.schedule.tol * self.scale) ** 2, self.schedule.as_new
        return greedy_rounds(self.penalty, self.gram, self.c, self.alpha, as_new=as_new, n_rounds=n_rounds, least=least)

    def _round(self) -> None:
        voter, weight, decrease = self._rounds(1)
        self.finished: bool = not len(voter)
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
        self._reweight(self.gram[np.ix_(active, active)], self.b[active], weights)
        self.alpha[active] = weights
        self.c = self.b - weights @ self.gram[active]
        self.history.add(active, weights)
        self.decreases.append(float(decrease[0]) + before - self._risk())

    def _risk(self) -> float:
        """Quadratic risk, but for the target's own mean square."""
        return -float(self.alpha @ (self.b + self.c))  # a'Ga - 2 a'b, as Ga = b - c


class ResidualRun(ScoreRun):
    """Rounds on residuals, for voters that no list holds, or too long a list.

    A round finds a voter in the pool for the residual, takes it to its best weight, and subtracts it.

    Parameters
    ----------
    pool : Pool
        Finds voters; `candidates` are those that have entered, in order.
    target, weights : float64 arrays (n,)
        What is to be fitted, and row weights that sum to one.
    penalty, schedule
        As for `GramRun`.
    intercept : bool
        The target and the votes are centred.
    """

    def __init__(
        self, pool: Pool, target: F64, weights: F64, penalty: Penalty, schedule: Schedule, *, intercept: bool
    ) -> None:
        residual = target - (float(weights @ target) if intercept else 0.0)
        super().__init__(penalty, schedule, float(np.sqrt(weights @ residual**2)))
        self.pool = pool
        self.weights: F64 = weights
        self.residual: F64 = residual
        self.finished = self.scale == 0.0
        self.candidates: list[Candidate] = []
        self.alpha: dict[Hashable, float] = {}
        self._number: dict[Hashable, int] = {}
        self._start = self.residual.copy() if schedule.every else None
        self._gram = np.zeros((0, 0))
        self._b = np.zeros(0)

    def _round(self) -> None:
        as_new = self.schedule.as_new
        found = self.pool.best(self.weights * self.residual, self.penalty, {} if as_new else self.alpha)
        if found is None:
            self.finished = True
            return
        self.largest: float = max(self.largest, abs(found.c))
        held = self.alpha.get(found.key, 0.0)
        before = 0.0 if as_new else held
        penalised, best = self.penalty.decrease(np.array([found.c]), np.array([found.eta]), np.array([before]))
        if float(penalised[0]) <= (self.schedule.tol * self.scale) ** 2:
            self.finished: bool = True
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
            self._reweight_all(decrease)
            return
        self.history.add(np.array([self._number[found.key]]), np.array([held + step]))
        self.decreases.append(decrease)

    def keep(self, record: FitRecord) -> None:
        """As `ScoreRun.keep`, and the searches."""
        from committee.learners.pools.recorded_pools import recorded  # few fits have a checkpoint

        super().keep(record)
        self.pool = recorded(self.pool, record)

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

    def _reweight_all(self, decrease: float) -> None:
        """Set all weights of the committee anew, after a step of this decrease."""
        before = np.array([self.alpha[one.key] for one in self.candidates])
        weights = before.copy()
        self._reweight(self._gram, self._b, weights)
        for one, step in zip(self.candidates, (weights - before).tolist(), strict=True):
            if step:
                self.pool.subtract(self.residual, one, step)
        self.alpha = dict(zip([one.key for one in self.candidates], weights.tolist(), strict=True))
        self.history.add(np.arange(len(weights)), weights)
        self.decreases.append(decrease + self._risk(before) - self._risk(weights))

    def _risk(self, alpha: F64) -> float:
        """Quadratic risk, but for the target's own mean square."""
        return float(alpha @ (self._gram @ alpha - 2.0 * self._b))
