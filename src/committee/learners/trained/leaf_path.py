"""From many nodes to few: cuts of one forest, and how each does on rows that had no part in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.learners.trained.leaf_cut import LeafCut, LeafCutter, Rows
from committee.vote.links.probability import Logistic

if TYPE_CHECKING:
    import polars as pl

F64 = NDArray[np.float64]
Index = NDArray[np.intp]
Mask = NDArray[np.bool_]
Fold = tuple[Index, Index]

CHOOSING = 1e-3
"""Tolerance of the votes that only choose; ten times less moves them by a thousandth."""

LINK = Logistic(scale=1.0)
"""Refitted scores are log-odds."""


@dataclass(frozen=True, eq=False)
class LeafStep:
    """A cut on the path, and what it does.

    Parameters
    ----------
    cut : LeafCut
        Which trees, and which of their nodes.
    growth : float
        How many times too large the trees were before.
    C : float
        Of the leaves' new votes.
    log_loss : float
        Of rows of other folds, each judged by the trees that have not seen it; rows that a cut with the same limit has
        no tree to ask about are left out.
    right : float64 array
        Which of these rows were right, 1 or 0; NaN for those left out.
    accuracy : float
        That of the path's first cut, less what this one loses on the rows that both judge: small cuts judge few, which
        may be easy ones.
    accuracy_error : float
        Standard error of what is lost; 0 for the first.
    """

    cut: LeafCut
    growth: float
    C: float
    log_loss: float
    right: F64
    accuracy: float
    accuracy_error: float = 0.0


@dataclass(frozen=True, eq=False)
class LeafPath:
    """Cuts of falling size.

    Parameters
    ----------
    steps : tuple of LeafStep
        The best at each limit of nodes, the largest limit first.
    """

    steps: tuple[LeafStep, ...]

    def chosen(self, min_gain: float | None) -> int:
        """The smallest that is less than `min_gain` of accuracy below the best; None: the first.

        Accuracies count less their standard errors, as the smallest cuts are judged by few rows.
        """
        if min_gain is None:
            return 0
        sure = [step.accuracy - step.accuracy_error for step in self.steps]
        return max(i for i, accuracy in enumerate(sure) if max(sure) - accuracy < min_gain or i == 0)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.table()})"

    def table(self) -> pl.DataFrame:
        """The path as a table, a row for each limit of nodes."""
        import polars as pl

        columns: dict[str, Any] = {
            "n_nodes": [step.cut.n_nodes for step in self.steps],
            "n_trees": [len(step.cut.trees) for step in self.steps],
        }
        for name in ("growth", "C", "log_loss", "accuracy", "accuracy_error"):
            columns[name] = [getattr(step, name) for step in self.steps]
        return pl.DataFrame(columns)


def leaf_path(
    cutter: LeafCutter,
    orders: Sequence[Index],
    rows: Rows,
    limits: tuple[int, ...],
    growth: tuple[float, ...],
    C: tuple[float, ...],
    folds: Sequence[Fold],
    n_threads: int = 1,
) -> LeafPath:
    """For each limit of nodes the cut whose refitted votes have the least log loss on other folds.

    In each fold the trees are chosen and their votes fitted without it; on rows that a tree has not seen, the loss then
    flatters nothing. Along C it falls and rises again: from the middle C on, its neighbours are tried for as long as
    they are better.

    Parameters
    ----------
    cutter : LeafCutter
        The forest.
    orders : sequence of intp arrays
        Trees as they are taken: in the end, and in each fold.
    rows : Rows
        The rows that choose and refit.
    limits : tuple of int
        Nodes that may stay.
    growth, C : tuples of float
        What to try, C rising; see `LeafCutter.cut` and `refit_leaves`.
    folds : sequence of (train, test)
        Numbers of rows; those that no fold tests judge nothing, and those that several test count once for each.
    n_threads : int, default=1
        Folds that are fitted at a time; the result does not depend on it.
    """
    with ThreadPoolExecutor(n_threads) as pool:
        steps = []
        for limit in limits:
            ways = [_Way(each, [cutter.cut(order, limit, each) for order in orders]) for each in growth]
            judging = _judging(ways, rows, folds)
            tried = [_walk([partial(_judged, way, rows, folds, judging, c, pool) for c in C]) for way in ways]
            steps.append(min(tried, key=lambda step: step.log_loss))
    weight = _weights(rows, folds)
    return LeafPath((steps[0], *(_beside(steps[0], step, weight) for step in steps[1:])))


def _weights(rows: Rows, folds: Sequence[Fold]) -> F64:
    tested = np.concatenate([test for _, test in folds])
    return np.ones(len(tested)) if rows.weight is None else rows.weight[tested]


def _beside(first: LeafStep, step: LeafStep, weight: F64) -> LeafStep:
    """The step with its accuracy told by the rows that the first one judges too."""
    lost = first.right - step.right
    mean = _mean(lost, weight)
    share = np.where(np.isfinite(lost), weight, 0.0) / weight[np.isfinite(lost)].sum()
    error = float(np.sqrt(np.nansum((share * (lost - mean)) ** 2)))
    return replace(step, accuracy=first.accuracy - mean, accuracy_error=error)


def _mean(values: F64, weight: F64) -> float:
    """Weighted mean of the values that are there."""
    there = np.isfinite(values)
    return float(np.average(values[there], weights=weight[there]))


class _Way(NamedTuple):
    """How much too large trees are taken, and their cuts: in the end, and in each fold."""

    growth: float
    cuts: list[LeafCut]


def _judging(ways: list[_Way], rows: Rows, folds: Sequence[Fold]) -> list[Mask]:
    """Rows of each fold that every way has a tree to ask about; of others the smallest committee knows nothing."""
    masks = []
    for i, (_, test) in enumerate(folds):
        held = rows.select(test)
        judging = np.logical_and.reduce([way.cuts[1 + i].judges(held) for way in ways])
        masks.append(judging if judging.any() else ~judging)
    return masks


def _judged(
    way: _Way, rows: Rows, folds: Sequence[Fold], judging: list[Mask], C: float, pool: ThreadPoolExecutor
) -> LeafStep:
    """What a way with one C does on the folds."""
    held_out = pool.map(partial(_held_out, rows, C), folds, way.cuts[1:], judging)
    loss, right = (np.concatenate(part) for part in zip(*held_out, strict=True))
    weight = _weights(rows, folds)
    return LeafStep(way.cuts[0], way.growth, C, _mean(loss, weight), right, _mean(right, weight))


def _held_out(rows: Rows, C: float, fold: Fold, cut: LeafCut, judging: Mask) -> tuple[F64, F64]:
    """Log loss of a fold's rows by the votes that the others give, and which are right; NaN where none judges."""
    train, test = fold
    held = rows.select(test[judging])
    value = cut.refit(rows.select(train), C, CHOOSING)
    probability = LINK.probability(cut.design(held).score(value))
    loss, right = np.full((2, len(test)), np.nan)
    loss[judging] = -np.log(np.maximum(probability[np.arange(len(held)), held.y], np.finfo(float).tiny))
    right[judging] = probability.argmax(axis=1) == held.y
    return loss, right


def _walk(ways: list[Callable[[], LeafStep]]) -> LeafStep:
    """The lowest loss that steps from the middle lead to."""
    at = len(ways) // 2
    best = ways[at]()
    for direction in (1, -1):
        start = at
        while 0 <= at + direction < len(ways):
            step = ways[at + direction]()
            if step.log_loss >= best.log_loss:
                break
            at, best = at + direction, step
        if at != start:
            break
    return best
