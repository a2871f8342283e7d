"""Paths of ever smaller votes, by cuts of trees or by fewer voters, each evaluated by cross-validation."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from operator import attrgetter, methodcaller
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, StratifiedKFold

from committee.data.number_types import F64, Index, Mask
from committee.data.packages import require_package
from committee.data.parallel import one_blas_thread
from committee.learners.reweighting.leaf_cuts import LeafCut, LeafCutter, LeafRows
from committee.learners.reweighting.pruning_metrics import (
    LossPath,
    PruningMetric,
    SelectionCriterion,
    finite_mean,
    isotonic_losses,
    mean_and_error,
)
from committee.learners.reweighting.unseen_rows import Halves, extrapolate_to_all, oob_probabilities, split_voters
from committee.objectives.margins.objective import Objective
from committee.objectives.programs.margin_matrix import MarginMatrix
from committee.vote.committee import Committee
from committee.vote.links.probability import Link, Share, Softmax

if TYPE_CHECKING:
    import polars as pl

Fold = tuple[Index, Index]  # numbers of the training and of the test rows

SELECTION_TOLERANCE = 1e-5  # tolerance of the votes that only choose a cut

SHRINK = 0.8  # share of the voters that each step of a path keeps: about twenty steps from a hundred voters to one

N_FOLDS = 5


def shuffled_folds(y: NDArray[Any], n_folds: int, seed: int, *, stratify: bool = True) -> KFold | StratifiedKFold:
    stratify = stratify and int(np.unique(y, return_counts=True)[1].min()) >= n_folds
    return (StratifiedKFold if stratify else KFold)(min(n_folds, len(y)), shuffle=True, random_state=seed)


def with_nan(found: F64, rows: Mask) -> F64:
    every = np.full((len(found), len(rows)), np.nan)
    every[:, rows] = found
    return every


# --- cuts of trees ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LeafStep:
    cut: LeafCut
    growth: float
    C: float
    loss: float  # mean loss, extrapolated to votes of all trees
    scores: F64  # score of each row, extrapolated likewise
    score: float  # mean score; after the first step by the mean difference on the rows that both steps evaluate
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
        """Return the index of the smallest cut that scores less than `min_gain` below the best."""
        if min_gain is None:
            return 0
        # among many small cuts, some score well by chance
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


class CutFold:
    """Evaluation of a cut in a fold: leaf votes are fitted to its training rows and scored on `usable` test rows."""

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
        columns = self._cut.columns
        return columns.means(self._cut.reached(self._held), trees, [columns.values(value)])[0]


@dataclass(frozen=True, eq=False)
class LeafSearch:
    """Search for the best `growth` and `C` at each limit of nodes."""

    cutter: LeafCutter
    rows: LeafRows
    folds: Sequence[Fold]
    orders: Sequence[Index]  # trees, the best first: by all rows, and by the training rows of each fold
    growth: tuple[float, ...]
    C: tuple[float, ...]  # increasing
    criterion: SelectionCriterion
    whole: F64 | None  # statistics of the whole ensemble on all rows (d, n); `None` without a fair comparison

    def path(self, limits: tuple[int, ...], n_threads: int = 1, max_loss: float | None = None) -> LeafPath:
        steps: list[LeafStep] = []
        with ThreadPoolExecutor(n_threads) as pool:
            for limit in limits:
                best = self._best_within(limit, pool)
                if best is None:
                    break
                steps.append(self._compared(best, steps[0] if steps else None))
                # a longer search among small cuts, evaluated on few rows, finds some that score well by chance
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


# --- fewer voters -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PrunedVote:
    voters: NDArray[np.intp]
    weights: F64  # (k,)
    accuracy: float  # weighted share of rows with a positive margin; a margin of 0 counts half
    mean_margin: float
    least_margin: float
    n_nodes: int
    nbytes: int
    lost: float = np.nan  # loss increase against the whole ensemble; NaN without `max_loss`
    lost_error: float = np.nan


@dataclass(frozen=True, eq=False, repr=False)
class PruningPath(LossPath):
    """Committees from all voters of nonzero weight to a single one, largest first.

    Parameters
    ----------
    steps : tuple of PrunedVote
        Each with fewer voters than the one before.
    before : PrunedVote
        The ensemble with its own weights.
    metric : str, default=""
        Metric of `max_loss`; empty without one.
    max_loss : float, default=None
        Largest loss increase.
    """

    steps: tuple[PrunedVote, ...]
    before: PrunedVote
    metric: str = ""
    max_loss: float | None = None

    def chosen(
        self, max_voters: int | None = None, min_gain: float | None = None, max_nodes: float | None = None
    ) -> int:
        """Return the place in `steps` of the largest committee within the limits, or one that `min_gain` chooses.

        Parameters
        ----------
        max_voters : int, default=None
            Most voters.
        min_gain : float, default=None
            Decrease of accuracy that is too large: the smallest committee is chosen whose accuracy is less than this
            below the best.
        max_nodes : float or int, default=None
            Most tree nodes: a share (0, 1] of the ensemble's, or a whole number. A single voter is always allowed.
        """
        most = np.inf if max_nodes is None else max_nodes
        if not isinstance(most, Integral) and most <= 1.0:
            most *= self.before.n_nodes
        allowed = [
            i
            for i, step in enumerate(self.steps)
            if (max_voters is None or len(step.voters) <= max_voters) and step.n_nodes <= most
        ] or [len(self.steps) - 1]
        if min_gain is None:
            return allowed[0]
        best = max(self.steps[i].accuracy for i in allowed)
        return max(i for i in allowed if best - self.steps[i].accuracy < min_gain or i == allowed[0])

    def within(self, max_loss: float, max_voters: int | None = None, max_nodes: float | None = None) -> int | None:
        smallest = super().within(max_loss)
        allowed = smallest is not None and smallest >= self.chosen(max_voters, None, max_nodes)
        return smallest if allowed else None

    def table(self) -> pl.DataFrame:
        """Return the path as a table: a row for each committee, the ensemble first."""
        require_package("polars", "the table of a path")
        import polars as pl

        names: tuple[str, ...] = ("accuracy", "mean_margin", "least_margin", "n_nodes", "nbytes")
        every = (self.before, *self.steps)
        columns: dict[str, Any] = {"n_voters": [len(step.voters) for step in every]}
        if any(np.isfinite(step.lost) for step in self.steps):
            names = (*names, "lost", "lost_error")
        columns |= {name: [getattr(step, name) for step in every] for name in names}
        return pl.DataFrame({"committee": ["own weights"] + ["re-weighted"] * len(self.steps), **columns})


def pruning_path(
    committee: Committee, lines: MarginMatrix, weights: F64, *, objective: Objective | None = None
) -> PruningPath:
    """Return the path that drops voters of least weight, from the weights ``(T,)`` on, until one is left."""
    stay = np.flatnonzero(weights)
    now = weights[stay]
    steps = [_figures(committee, lines, stay, now)]
    while len(stay) > 1:
        size = min(len(stay) - 1, int(np.ceil(SHRINK * len(stay))))
        left = np.sort(np.argsort(-np.abs(now), kind="stable")[:size])
        stay, now = stay[left], now[left] / np.abs(now[left]).sum()
        if objective is not None and len(stay) > 1:
            solved = _solved_or_kept(objective, lines.select(stay, np.abs(now)), now)
            stay, now = stay[solved != 0.0], solved[solved != 0.0]
        steps.append(_figures(committee, lines, stay, now))
    return PruningPath(tuple(steps), _figures(committee, lines, np.arange(lines.n_voters), lines.own))


def _solved_or_kept(objective: Objective, lines: MarginMatrix, weights: F64) -> F64:
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning), one_blas_thread():
        try:
            return objective.solve(lines).weights
        except ValueError:
            return weights


def _figures(committee: Committee, lines: MarginMatrix, voters: NDArray[np.intp], weights: F64) -> PrunedVote:
    every = np.zeros(lines.n_voters)
    every[voters] = weights
    margins, row_weight = lines.judged(every)
    right = np.where(np.abs(margins) < 1e-12, 0.5, margins > 0.0)
    part = committee.voters[voters]
    return PrunedVote(
        voters,
        weights,
        float(row_weight @ right),
        float(row_weight @ margins),
        float(margins.min()),
        int(part.n_nodes.sum()),
        int(part.nbytes),
    )


def reweighted(committee: Committee, voters: NDArray[np.intp], weights: F64) -> Committee:
    """Return the committee of some voters; weights ``(k,)``, which include spreads, are scaled to its absolute sum."""
    spread = committee.voters.spread
    total = float(np.abs(committee.weights) @ spread)
    each = weights * total / np.abs(weights).sum()
    each = np.divide(each, spread[voters], out=np.zeros(len(voters)), where=spread[voters] > 0.0)
    link: Link | None = Softmax() if isinstance(committee.link, Share) and (each < 0.0).any() else None
    chosen = committee.select(voters, each, link=link)
    if committee.intercept is None:
        return chosen
    # as in the margin matrix, where every voter or its negation has the intercept: less where weights cancel
    sign = np.where(committee.weights[voters] < 0.0, -1.0, 1.0)
    return replace(chosen, intercept=committee.intercept * (float(weights @ sign) / float(np.abs(weights).sum())))


def evaluate_path(
    path: PruningPath,
    committee: Committee,
    lines: MarginMatrix,
    data: Any,
    labels: Index,
    metric: PruningMetric,
    objective: Objective,
    n_threads: int,
) -> PruningPath:
    """Return the path with cross-validated loss increases; `data` has the encoded rows of `lines`."""

    def statistics(vote: PrunedVote, rows: Index) -> F64:
        small = reweighted(committee, vote.voters, vote.weights * lines.sign[vote.voters])
        unseen = None if lines.unseen is None else lines.unseen[np.ix_(rows, vote.voters)]
        usable = np.ones(len(rows), dtype=bool) if unseen is None else np.asarray(unseen.any(axis=1))
        unseen = None if unseen is None else unseen[usable]
        some = rows[usable]
        predicted, halves = oob_probabilities(small, data[some], unseen, n_threads)
        return with_nan(metric.statistics(labels[some], predicted, halves, unseen), usable)

    folds = list(shuffled_folds(labels, N_FOLDS, 0).split(labels, labels))
    of_steps: list[list[F64]] = [[] for _ in path.steps]
    for train, test in folds:
        weight = np.zeros(len(labels))
        weight[train] = lines.row_weight[train]
        part = lines.weighted(weight)
        steps = pruning_path(committee, part, _solved_or_kept(objective, part, part.own)).steps
        for found, step in zip(of_steps, path.steps, strict=True):
            alike = next((s for s in steps if len(s.voters) <= len(step.voters)), steps[-1])
            found.append(statistics(alike, test))
    tested = np.concatenate([test for _, test in folds])
    whole = statistics(path.before, np.arange(len(labels)))[:, tested]
    evaluated = []
    for step, parts in zip(path.steps, of_steps, strict=True):
        of_step = np.concatenate(parts, axis=1)
        lost, error = metric.loss_increase(labels[tested], of_step, whole, lines.row_weight[tested])
        evaluated.append(replace(step, lost=lost, lost_error=error))
    return replace(path, steps=tuple(evaluated))
