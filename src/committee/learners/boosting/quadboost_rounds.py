"""Rounds of QuadBoost: over voters whose products are all known, or on residuals; one run for each score."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.bins import Binned
from committee.data.number_types import F64, Index
from committee.data.rows import Rows
from committee.learners.base.boosting import BoostingRun
from committee.learners.base.fit_record import Codec, FitRecord
from committee.learners.boosting.dictionaries import StumpPool
from committee.learners.boosting.pool import Candidate, Pool
from committee.objectives.programs.penalised_least_squares import CountedProducts, Penalty, greedy_rounds, reweight
from committee.vote.weighted_votes import elected
from committee.voters.protocol import Voters
from committee.voters.stump_dictionary import StumpDictionary

NOISE = 1e-12  # share of the largest product below which a distance from an optimum is rounding
MOST_CELLS = 3000  # cells of a table up to which all products of its stumps are kept: two matrices of 72 MB
GREEDY_ROUNDS = 1000  # rounds over products that are run at once


@dataclass(frozen=True)
class Schedule:
    tol: float  # the run ends when no voter lowers the penalised risk by more than tol^2 of the target's mean square
    every: int = 0  # rounds between two re-weightings of all voters; 1 is fully corrective, 0 none
    as_new: bool = True  # weights of a voter that is chosen again add up, in place of being recomputed

    def is_due(self, n_rounds: int) -> bool:
        return self.every > 0 and n_rounds % self.every == 0


class WeightHistory:
    def __init__(self) -> None:
        self._ends = np.zeros(1, dtype=np.intp)
        self._voter = np.empty(0, dtype=np.intp)
        self._weight = np.empty(0)
        self._new: list[tuple[Index, F64, Index]] = []
        self._n_rounds = self._n_changes = 0

    def __len__(self) -> int:
        return self._n_rounds

    def add(self, voter: Index, weight: F64, *, one_a_round: bool = False) -> None:
        ends = np.arange(1, len(voter) + 1) if one_a_round else np.array([len(voter)])
        self._new.append((np.asarray(voter, dtype=np.intp), np.asarray(weight), ends + self._n_changes))
        self._n_rounds += len(ends)
        self._n_changes += len(voter)

    def _settle(self) -> None:
        if self._new:
            voters, weights, ends = zip(*self._new, strict=True)
            self._voter = np.concatenate([self._voter, *voters])
            self._weight = np.concatenate([self._weight, *weights])
            self._ends = np.concatenate([self._ends, *ends])
            self._new.clear()

    def changes(self, round: int) -> tuple[Index, F64]:
        self._settle()
        here = slice(int(self._ends[round]), int(self._ends[round + 1]))
        return self._voter[here], self._weight[here]

    def after(self, n_rounds: int) -> tuple[Index, F64]:
        """Return the voters after `n_rounds` rounds, in the order of their entry, and their weights."""
        self._settle()
        end = int(self._ends[min(n_rounds, self._n_rounds)])
        voter, weight = self._voter[:end], self._weight[:end]
        entered = voter[np.sort(np.unique(voter, return_index=True)[1])]
        last = len(voter) - 1 - np.unique(voter[::-1], return_index=True)[1]  # in the order of their numbers
        rank = np.argsort(np.argsort(entered, kind="stable"), kind="stable")
        return entered, weight[last][rank]


class ScoreRun(ABC):
    def __init__(self, penalty: Penalty, schedule: Schedule, scale: float) -> None:
        self.penalty: Penalty = penalty
        self.schedule: Schedule = schedule
        self.scale: float = scale  # root mean square of the target, about its mean if there is an intercept
        self.history: WeightHistory = WeightHistory()
        self.decreases: list[float] = []  # of the unpenalised risk
        self.largest = self.missed = 0.0  # missed: distance of a re-weighting from its optimum
        self.finished = False
        self._record: FitRecord | None = None

    def keep(self, record: FitRecord) -> None:
        self._record = record

    def advance(self, n_rounds: int) -> None:
        for _ in range(n_rounds):
            if self.finished:
                return
            self._round()

    @abstractmethod
    def _round(self) -> None: ...

    def _reweight(self, gram: F64, b: F64, weights: F64) -> None:
        # so near that no present voter can lower the risk enough for a round: the next round takes a new one, or none
        wanted = 0.5 * self.schedule.tol * self.scale

        def optimum() -> tuple[F64, float]:
            solution = weights.copy()
            return solution, reweight(gram, b, solution, self.penalty, wanted)

        form = Codec[tuple[F64, float]](lambda found: [found[0], np.array(found[1])], lambda w, gap: (w, float(gap)))
        record = self._record
        weights[:], reached = optimum() if record is None else record.result("weights", (b, weights), optimum, form)
        if reached > wanted + NOISE * self.largest:
            self.missed = max(self.missed, reached)


class GramRun(ScoreRun):
    """Rounds over a finite dictionary of N voters, from products instead of rows."""

    def __init__(self, gram: F64, b: F64, target_square: float, penalty: Penalty, schedule: Schedule) -> None:
        super().__init__(penalty, schedule, float(np.sqrt(target_square)))
        self.c = b.copy()
        self.gram: F64 = gram  # (N, N): weighted mean products of the voters
        self.b: F64 = b  # (N,): with the target
        self.alpha = np.zeros(len(b))
        self.largest: float = float(np.abs(b).max(initial=0.0))
        self._entered: list[int] = []

    def advance(self, n_rounds: int) -> None:
        if self.schedule.every:
            super().advance(n_rounds)
            return
        voter, weight, decrease = self._rounds(n_rounds)
        self.history.add(voter, weight, one_a_round=True)
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
        return -float(self.alpha @ (self.b + self.c))  # a'Ga - 2 a'b, as Ga = b - c


class ResidualRun(ScoreRun):
    def __init__(
        self, pool: Pool, target: F64, weights: F64, penalty: Penalty, schedule: Schedule, *, intercept: bool
    ) -> None:
        residual = target - (float(weights @ target) if intercept else 0.0)
        super().__init__(penalty, schedule, float(np.sqrt(weights @ residual**2)))
        self.pool: Pool = pool
        self.weights: F64 = weights
        self.residual: F64 = residual
        self.finished = self.scale == 0.0
        self.candidates: list[Candidate] = []
        self.alpha: dict[Hashable, float] = {}
        self._number: dict[Hashable, int] = {}
        self._start = self.residual.copy() if schedule.every else None
        self._gram = np.zeros((0, 0))
        self._b = np.zeros(0)

    def keep(self, record: FitRecord) -> None:
        super().keep(record)
        self.pool.keep(record)

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

    def _add_products(self, newest: Candidate, start: F64) -> None:
        # one of two votes need not be centred: sum_i w_i (h - mean h)(g - mean g) = sum_i w_i (h - mean h) g
        T = len(self.candidates)
        weighted = self.weights * (self.pool.votes(newest) - newest.mean)
        row = np.array([weighted @ self.pool.votes(one) for one in self.candidates])
        gram = np.empty((T, T))
        gram[:-1, :-1] = self._gram
        gram[-1], gram[:, -1] = row, row
        gram[-1, -1] = newest.eta
        self._gram, self._b = gram, np.append(self._b, weighted @ start)

    def _reweight_all(self, decrease: float) -> None:
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
        return float(alpha @ (self._gram @ alpha - 2.0 * self._b))


# --- products of a finite dictionary ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ScoreTargets:
    y: F64  # (K, n): -1 or +1, or numbers
    weights: F64  # (n,): row weights that sum to one
    intercept: bool  # scores start at the targets' means, and votes are centred
    labels: bool  # one score for two classes

    @property
    def n_outputs(self) -> int:
        return len(self.y)


@dataclass(frozen=True, eq=False)
class Products:
    """Weighted mean products of N stumps and K targets, centred where there is an intercept."""

    gram: Any  # (N, N): of the stumps with each other, as numbers or as `CountedProducts`
    b: F64  # (K, N): of the stumps with the targets
    square: F64  # (K,): of the targets with themselves


def products_of(
    cells: _core.Cells, dictionary: StumpDictionary, target: ScoreTargets, n_threads: int, *, counted: bool = False
) -> Products:
    mean = dictionary.mean if target.intercept else None
    unit = float(target.weights[0])
    # counts of rows, where all weigh alike
    apart = dictionary.disagreements(cells) if counted and (target.weights == unit).all() else None
    gram: Any
    if apart is not None:
        centre = np.zeros(len(dictionary)) if mean is None else mean
        gram = CountedProducts(apart, centre, unit, unit * len(target.weights))
    else:
        # two stumps vote alike on all rows that are in the same pair of cells: a product needs the weight of each pair
        gram = dictionary.gram(cells.pairs(target.weights), mean, n_threads)
    y = target.y
    if target.intercept:  # before the products are taken, as numbers far from zero would leave few digits of them
        y = y - (y @ target.weights)[:, None]
    b = np.stack([dictionary.correlations(cells.sums(target.weights * of_run)) for of_run in y])
    if target.intercept:  # 0 but for rounding
        b -= np.outer(y @ target.weights, dictionary.mean)
    return Products(gram, b, y**2 @ target.weights)


def products_pay(n: int, stumps: StumpDictionary, n_passes: int) -> bool:
    """Return whether products of the stumps fit in memory, and cost less than `n_passes` over n rows."""
    C, p = int(stumps.offset[-1]), len(stumps.offset) - 1
    # subsets of categories are not listed
    listed = not (stumps.subsets and stumps.bins.categorical.any())
    # products take n p^2 / 2 + 4 C^2 additions, a pass n p
    return listed and C <= MOST_CELLS and n * p * p / 2 + 4 * C * C <= 1.0 * n * p * n_passes


Part: TypeAlias = tuple[Products, F64, F64]  # products of some folds' rows, means of votes (N,) and of targets (K,)


class FoldSums:
    def __init__(
        self,
        binned: Binned,
        dictionary: StumpDictionary,
        rows: Rows,
        y: F64,
        intercept: bool,
        folds: list[NDArray[np.intp]],
    ) -> None:
        self.folds = folds
        self.dictionary: StumpDictionary = dictionary
        self.rows: Rows = rows
        self.y: F64 = y
        self.intercept: bool = intercept
        codes: Any = binned.codes
        self.cells = [_core.Cells(np.ascontiguousarray(codes[held]), binned.bins.n_bins, 1) for held in folds]
        w = self.weights = [rows.weights[held] for held in folds]
        self.total: NDArray[Any] = np.array([weights.sum() for weights in w])
        self.weight: F64 = np.stack([cells.sums(weights) for cells, weights in zip(self.cells, w, strict=True)])
        self.target: F64 = np.stack(
            [
                np.stack([cells.sums(weights * of_class[held]) for of_class in y])
                for cells, weights, held in zip(self.cells, w, folds, strict=True)
            ]
        )
        self.start: F64 = np.stack([y[:, held] @ weights for weights, held in zip(w, folds, strict=True)])
        # the largest of the sums by far: those of one fold are taken again when it is left out, and never kept
        self.all_pairs = self.cells[0].pairs(w[0])
        for cells, weights in zip(self.cells[1:], w[1:], strict=True):
            self.all_pairs += cells.pairs(weights)

    def without(self, fold: int | None) -> Part:
        outside = np.ones(len(self.folds), dtype=bool)
        pairs = self.all_pairs
        if fold is not None:
            outside[fold] = False
            pairs = pairs - self.cells[fold].pairs(self.weights[fold])
        total = self.total[outside].sum()
        of = self.dictionary.correlations
        mean = of(self.weight[outside].sum(axis=0)) / total
        gram = self.dictionary.gram(pairs / total, mean if self.intercept else None)
        b, start = of(self.target[outside].sum(axis=0)) / total, self.start[outside].sum(axis=0) / total
        square = np.ones(len(self.y))
        if self.intercept:
            b -= np.outer(start, mean)
            square = np.maximum(square - start**2, 0.0)
        return Products(gram, b, square), mean, start

    def losses(self, fold: int, weights: F64, start: F64, criterion: Literal["error", "risk"]) -> F64:
        S, R, K, N = weights.shape
        held = self.folds[fold]
        truth, y, w = self.rows.labels[held], self.y[:, held].T, self.rows.weights[held]
        losses = np.empty((S, R))
        for i in range(S):
            flat = np.ascontiguousarray(weights[i].reshape(R * K, N).T)
            scores = self.cells[fold].scores(np.ascontiguousarray(self.dictionary.cell_scores(flat)))
            F = scores.reshape(len(held), R, K) + start[i]
            for t in range(R):
                loss = elected(F[:, t]) != truth if criterion == "error" else ((y - F[:, t]) ** 2).sum(axis=1)
                losses[i, t] = np.average(loss, weights=w)
        return losses


# --- all scores -------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class QuadRun(BoostingRun):
    """The runs of all scores, which advance together."""

    target: ScoreTargets
    pools: Sequence[Pool]  # one for each run, or one shared by all
    runs: Sequence[ScoreRun]
    candidate: Callable[[int, int], Candidate]  # by the number of its run, and its number in the run
    rounds_at_once: int = 1
    most: int = 0  # rounds in all
    count: float = 0.0  # of rows that the row weights stand for

    @classmethod
    def on_products(
        cls, pool: StumpPool, target: ScoreTargets, penalty: Penalty, schedule: Schedule, n_threads: int
    ) -> QuadRun:
        products = products_of(pool.cells, pool.dictionary, target, n_threads)
        runs = [
            GramRun(products.gram, b, square, penalty, schedule)
            for b, square in zip(products.b, products.square.tolist(), strict=True)
        ]
        return cls(target, [pool] * len(runs), runs, lambda k, j: pool.listed(j), GREEDY_ROUNDS)

    @classmethod
    def on_residuals(cls, pools: Sequence[Pool], target: ScoreTargets, penalty: Penalty, schedule: Schedule) -> QuadRun:
        runs = [
            ResidualRun(pool, y, target.weights, penalty, schedule, intercept=target.intercept)
            for pool, y in zip(pools, target.y, strict=True)
        ]
        return cls(target, pools, runs, lambda k, j: runs[k].candidates[j])

    def has_next(self) -> bool:
        return not all(run.finished for run in self.runs)

    def advance(self) -> None:
        for run in self.runs:
            run.advance(min(self.rounds_at_once, self.most - self.n_rounds))
        self.n_rounds = max([self.n_rounds, *(len(run.history) for run in self.runs)])

    def keep(self, record: FitRecord) -> None:
        for run in self.runs:
            run.keep(record)

    def training_risks(self, n_rounds: int) -> F64:
        """Return the unpenalised risk, summed over scores, after 0, 1, ... rounds, ``(n_rounds + 1,)``."""
        decreases = np.zeros((n_rounds, len(self.runs)))
        for k, run in enumerate(self.runs):
            some = run.decreases[:n_rounds]
            decreases[: len(some), k] = some
        start = np.array([run.scale**2 for run in self.runs])
        risks: F64 = start.sum() - np.concatenate([[0.0], np.cumsum(decreases.sum(axis=1))])
        return risks

    def committee(self, n_rounds: int) -> tuple[Voters, F64, F64]:
        """Return the voters, weights and intercepts ``(K,)`` after `n_rounds` rounds."""
        candidates: list[Candidate] = []
        weights, output, start = [], [], np.zeros(self.target.n_outputs)
        for k, run in enumerate(self.runs):
            voter, alpha = run.history.after(n_rounds)
            counts = alpha != 0.0
            voter, alpha = voter[counts], alpha[counts]
            of_run = [self.candidate(k, j) for j in voter.tolist()]
            if self.target.intercept:
                means = np.array([one.mean for one in of_run])
                start[k] = self.target.weights @ self.target.y[k] - alpha @ means
            candidates += of_run
            weights.append(alpha)
            output.append(np.full(len(voter), k))
        pool, weight, of_score = self.pools[0], np.concatenate(weights), np.concatenate(output)
        if not candidates:
            candidates, weight, of_score = [pool.stand_in(self.target.weights)], np.zeros(1), np.zeros(1, dtype=np.intp)
        if pool.has_complements:
            candidates = [
                replace(one, sign=-1) if alpha < 0.0 else one
                for one, alpha in zip(candidates, weight.tolist(), strict=True)
            ]
            weight = np.abs(weight)
        target = self.target
        voters = pool.voters(candidates, *((None, 2) if target.labels else (of_score, target.n_outputs)))
        return voters, weight, start
