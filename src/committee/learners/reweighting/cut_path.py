"""Cuts of one forest from many nodes to few, each evaluated by cross-validation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter, methodcaller
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold

from committee.data.number_types import F64, Index, Mask
from committee.data.packages import require_package
from committee.learners.reweighting.leaf_cuts import LeafCut, LeafCutter, LeafRows
from committee.learners.reweighting.out_of_bag_votes import Halves, extrapolate_to_all, split_voters
from committee.learners.reweighting.pruning_metrics import (
    LossPath,
    PruningMetric,
    RowLoss,
    finite_mean,
    isotonic_losses,
    mean_and_error,
)
from committee.vote.links.probability import Softmax

if TYPE_CHECKING:
    import polars as pl

Fold = tuple[Index, Index]  # numbers of the training and of the test rows

LINK = Softmax()  # refitted scores are log-odds of two classes, and logarithms of the shares of several
SELECTION_TOLERANCE = 1e-5  # tolerance of the votes that only choose a cut


def shuffled_folds(y: NDArray[Any], n_folds: int, seed: int, *, stratify: bool = True) -> KFold | StratifiedKFold:
    """Return a splitter into shuffled folds, stratified if `stratify` and each class has at least `n_folds` rows."""
    stratify = stratify and int(np.unique(y, return_counts=True)[1].min()) >= n_folds
    return (StratifiedKFold if stratify else KFold)(min(n_folds, len(y)), shuffle=True, random_state=seed)


# --- criteria --------------------------------------------------------------------------------------------------------


class SelectionCriterion(ABC):
    """Row losses that choose `growth` and `C`, row scores that `min_gain` compares, and the metric of `max_loss`.

    Scores and targets are standardised by `centre` and `unit`.
    """

    loss_name: ClassVar[str]
    score_name: str
    metric: PruningMetric
    centre: float
    unit: float

    @abstractmethod
    def loss_and_score(self, score: F64, rows: LeafRows) -> F64:
        """Return loss and score of each row ``(2, n)`` from the vote's scores ``(n, D)``."""

    @abstractmethod
    def predictions(self, score: F64) -> F64:
        """Return probabilities ``(n, K)``, or numbers ``(n,)``."""


@dataclass(frozen=True)
class ClassCriterion(SelectionCriterion):
    metric: PruningMetric
    centre: float = 0.0
    unit: float = 1.0
    loss_name: ClassVar[str] = "log_loss"
    score_name = "accuracy"

    def loss_and_score(self, score: F64, rows: LeafRows) -> F64:
        share = LINK.probability(score)
        labels = np.asarray(rows.y, dtype=np.intp)
        logs = np.log(np.maximum(share, np.finfo(float).tiny))
        loss = -logs[np.arange(len(rows)), labels] if rows.target is None else -(rows.target * logs).sum(axis=1)
        return np.stack([loss, share.argmax(axis=1) == labels])

    def predictions(self, score: F64) -> F64:
        return LINK.probability(score)


@dataclass(frozen=True)
class NumberCriterion(SelectionCriterion):
    """Squared error or pinball loss, and one minus its ratio to that of the best constant, `constant_loss`."""

    centre: float
    unit: float
    loss: RowLoss
    constant_loss: float
    metric: PruningMetric
    score_name: str
    loss_name: ClassVar[str] = "loss"

    def loss_and_score(self, score: F64, rows: LeafRows) -> F64:
        assert rows.target is not None
        loss = self.loss(rows.target[:, 0], score[:, 0])
        explained = 1.0 - loss / self.constant_loss if self.constant_loss > 0.0 else np.zeros_like(loss)
        return np.stack([loss, explained])

    def predictions(self, score: F64) -> F64:
        return self.centre + self.unit * score[:, 0]


# --- the path --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LeafStep:
    """A cut on the path, evaluated on the test rows of the folds.

    Rows for which some cut that was tried at this limit has no out-of-bag tree are NaN.
    """

    cut: LeafCut
    growth: float
    C: float
    loss: float  # mean loss, extrapolated to votes of all trees
    scores: F64  # score of each row, extrapolated likewise
    score: float
    """Mean score. After the first step, the first step's score less the mean difference on the rows that both evaluate:
    small cuts are evaluated on few rows, which may be easy."""
    statistics: F64  # (d, rows), see `PruningMetric.statistics`
    score_error: float = 0.0  # standard error of the difference to the first step's score
    lost: float = np.nan  # loss increase against the whole ensemble; NaN if unknown
    lost_error: float = np.nan  # standard error of `lost`


@dataclass(frozen=True, eq=False, repr=False)
class LeafPath(LossPath):
    """The best cut at each limit of nodes, the largest limit first."""

    steps: tuple[LeafStep, ...]
    criterion: SelectionCriterion

    def chosen(self, min_gain: float | None) -> int:
        """Return the number of the smallest cut that scores less than `min_gain` below the best; `None`: 0.

        Scores are made monotone by isotonic regression, as among many small cuts some score well by chance, and their
        standard errors are subtracted.
        """
        if min_gain is None:
            return 0
        errors = [step.score_error for step in self.steps]
        sure = -isotonic_losses([-step.score for step in self.steps], errors) - errors
        return max(i for i, score in enumerate(sure) if max(sure) - score < min_gain or i == 0)

    def table(self) -> pl.DataFrame:
        require_package("polars", "the table of a path")
        import polars as pl

        columns: dict[str, Any] = {
            "n_nodes": [step.cut.n_nodes for step in self.steps],
            "n_trees": [len(step.cut.trees) for step in self.steps],
        }
        score = self.criterion.score_name
        words = {"loss": self.criterion.loss_name, "score": score, "score_error": f"{score}_error"}
        for name in ("growth", "C", "loss", "score", "score_error", "lost", "lost_error"):
            columns[words.get(name, name)] = [getattr(step, name) for step in self.steps]
        columns["lost_joined"] = self.lost()
        return pl.DataFrame(columns)


# --- the search ------------------------------------------------------------------------------------------------------


class CutFold:
    """Evaluation of a cut in a fold: leaf votes are fitted to the training rows, and scored on the `usable` test rows.

    Out of bag a test row is scored by its m out-of-bag trees of K, a new row by all K. The part of the loss that varies
    with the trees is about b / m. b follows from the losses by all m trees and by either half of them, and with it the
    loss at m = K; the score and the metric are extrapolated likewise.
    """

    def __init__(self, rows: LeafRows, fold: Fold, cut: LeafCut, usable: Mask, criterion: SelectionCriterion) -> None:
        train, test = fold
        self._criterion = criterion
        self._cut, self._usable, self._held = cut, usable, rows.select(test[usable])
        self._regression = cut.regression(rows.select(train))

    def evaluate(self, C: float) -> tuple[F64, F64]:
        """Return loss and score ``(2, rows)`` and statistics ``(d, rows)`` of the test rows; NaN if not usable."""
        usable = self._usable
        if not usable.any():
            return np.full((2, len(usable)), np.nan), np.full((1, len(usable)), np.nan)
        value = self._regression.votes(C, SELECTION_TOLERANCE)
        unseen = self._cut.unseen(self._held)
        score = self._score(value, unseen)
        found = self._criterion.loss_and_score(score, self._held)
        halves: Halves = None
        if unseen is not None:
            parts = [self._score(value, half) for half in split_voters(unseen)]
            by_first, by_second = (self._criterion.loss_and_score(part, self._held) for part in parts)
            found = extrapolate_to_all(unseen, found, by_first, by_second)
            halves = self._criterion.predictions(parts[0]), self._criterion.predictions(parts[1])
        predicted = self._criterion.predictions(score)
        statistics = self._criterion.metric.statistics(self._held.y, predicted, halves, unseen)
        return with_nan(found, usable), with_nan(statistics, usable)

    def _score(self, value: F64, trees: Mask | None) -> F64:
        return self._cut.columns.mean(self._cut.reached(self._held), trees, self._cut.columns.values(value))


def with_nan(found: F64, rows: Mask) -> F64:
    """Return the values ``(d, m)`` of some of n rows as ``(d, n)``, with NaN for the others."""
    every = np.full((len(found), len(rows)), np.nan)
    every[:, rows] = found
    return every


@dataclass(frozen=True, eq=False)
class LeafSearch:
    """Search for the best `growth` and `C` at each limit of nodes.

    The order of the trees and the leaf votes of a fold are computed without its test rows.
    """

    cutter: LeafCutter
    rows: LeafRows
    folds: Sequence[Fold]
    orders: Sequence[Index]  # trees, the best first: by all rows, and by the training rows of each fold
    growth: tuple[float, ...]
    C: tuple[float, ...]  # increasing
    criterion: SelectionCriterion
    whole: F64 | None  # statistics of the whole ensemble on all rows (d, n); `None` without a fair comparison

    def path(self, limits: tuple[int, ...], n_threads: int = 1, max_loss: float | None = None) -> LeafPath:
        """Return the cut of least loss at each limit of nodes.

        With `max_loss` the path ends after two consecutive steps that lose more: a longer search among small cuts,
        which are evaluated on few rows, would find some that score well by chance.
        """
        steps: list[LeafStep] = []
        with ThreadPoolExecutor(n_threads) as pool:
            for limit in limits:
                best = self._best_within(limit, pool)
                if best is None:
                    break
                steps.append(self._compared(best, steps[0] if steps else None))
                if max_loss is not None and len(steps) > 1 and min(steps[-1].lost, steps[-2].lost) > max_loss:
                    break
        if not steps:
            raise ValueError(
                f"a cut to {limits[0]} nodes has no out-of-bag rows in X to evaluate it; give more "
                "rows, or a larger max_nodes."
            )
        return LeafPath(tuple(steps), self.criterion)

    def _best_within(self, limit: int, pool: Executor) -> LeafStep | None:
        cuts = [[self.cutter.cut(order, limit, growth) for order in self.orders] for growth in self.growth]
        # the same rows evaluate all growths: those with an out-of-bag tree in every cut
        usable = []
        for i, (_, test) in enumerate(self.folds, start=1):
            held = self.rows.select(test)
            usable.append(np.logical_and.reduce([of_growth[i].has_oob_tree(held) for of_growth in cuts]))
        if not any(mask.any() for mask in usable):
            return None
        tried = []
        for growth, (of_all, *of_folds) in zip(self.growth, cuts, strict=True):
            make = partial(CutFold, self.rows, criterion=self.criterion)
            folds = list(pool.map(make, self.folds, of_folds, usable))
            tried.append(self._best_step(partial(self._evaluated, growth, of_all, folds, pool)))
        return min(tried, key=attrgetter("loss"))

    def _best_step(self, evaluate: Callable[[float], LeafStep]) -> LeafStep:
        # the loss decreases along C and then increases: step up or down from the middle
        middle = len(self.C) // 2
        best = evaluate(self.C[middle])
        for towards in (self.C[middle + 1 :], self.C[:middle][::-1]):
            start = best
            for C in towards:
                step = evaluate(C)
                if step.loss >= best.loss:
                    break
                best = step
            if best is not start:
                break
        return best

    def _evaluated(self, growth: float, cut: LeafCut, folds: list[CutFold], pool: Executor, C: float) -> LeafStep:
        found, statistics = zip(*pool.map(methodcaller("evaluate", C), folds), strict=True)
        (loss, scores), weight = np.concatenate(found, axis=1), self._weight
        d = max(map(len, statistics))  # a fold without usable rows has a single line of NaN
        every = np.concatenate([part if len(part) == d else np.tile(part, (d, 1)) for part in statistics], axis=1)
        return LeafStep(cut, growth, C, finite_mean(loss, weight), scores, finite_mean(scores, weight), every)

    @property
    def _tested(self) -> Index:
        return np.concatenate([test for _, test in self.folds])

    @property
    def _weight(self) -> F64:
        return np.ones(len(self._tested)) if self.rows.weight is None else self.rows.weight[self._tested]

    def _compared(self, step: LeafStep, first: LeafStep | None) -> LeafStep:
        tested, weight = self._tested, self._weight
        if self.whole is not None:
            y, whole = self.rows.y[tested], self.whole[:, tested]
            lost, error = self.criterion.metric.loss_increase(y, step.statistics, whole, weight)
            step = replace(step, lost=lost, lost_error=error)
        if first is None:
            return step
        mean, error = mean_and_error(first.scores - step.scores, weight)
        return replace(step, score=first.score - mean, score_error=error)
