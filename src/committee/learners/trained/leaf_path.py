"""Cuts of one forest from many nodes to few, each judged by rows that had no part in it."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data.extras import needed
from committee.data.number_types import F64, Index, Mask
from committee.learners.trained.leaf_cut import LeafCut, LeafCutter, LeafRows
from committee.vote.links.probability import Logistic

if TYPE_CHECKING:
    import polars as pl

Split = tuple[Index, Index]

CHOOSING = 1e-4
"""Tolerance of the votes that only choose."""

LINK = Logistic(scale=1.0)
"""Refitted scores are log-odds."""


@dataclass(frozen=True, eq=False)
class LeafStep:
    """A cut on the path, and how well it does."""

    cut: LeafCut
    """Which trees, and which of their nodes."""
    growth: float
    """How many times too large the trees were before."""
    C: float
    """Penalty of the leaves' new votes, see `refit_leaves`."""
    log_loss: float
    """That of rows of other folds, each judged by the trees that have not seen it; left out are rows that all trees of
    a cut with the same limit have seen."""
    right: F64
    """Which of these rows were right, 1 or 0; NaN for those left out."""
    accuracy: float
    """That of the path's first cut, less what this one loses on the rows that both judge: small cuts judge few, which
    may be easy ones."""
    accuracy_error: float = 0.0
    """Standard error of what is lost; 0 for the first."""


@dataclass(frozen=True, eq=False)
class LeafPath:
    """Cuts of decreasing size.

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
        needed("polars", "the table of a path")
        import polars as pl

        columns: dict[str, Any] = {
            "n_nodes": [step.cut.n_nodes for step in self.steps],
            "n_trees": [len(step.cut.trees) for step in self.steps],
        }
        for name in ("growth", "C", "log_loss", "accuracy", "accuracy_error"):
            columns[name] = [getattr(step, name) for step in self.steps]
        return pl.DataFrame(columns)


@dataclass(frozen=True, eq=False)
class LeafSearch:
    """The search for the best cut at each limit of nodes: how much to cut away, and how far votes may deviate.

    The trees of a fold are ordered and their votes fitted without its rows, and a row is scored by the trees alone that
    have not seen it, so that the loss on it flatters neither trees nor votes.
    """

    cutter: LeafCutter
    """The forest."""
    rows: LeafRows
    """The rows that choose and refit."""
    folds: Sequence[Split]
    """Numbers of rows; those that no fold tests judge nothing, and those that several test count once for each."""
    orders: Sequence[Index]
    """Trees as they are taken: by all rows, and by those of each fold."""
    growth: tuple[float, ...]
    C: tuple[float, ...]
    """Values to try, C increasing; see `LeafCutter.cut` and `refit_leaves`."""

    def path(self, limits: tuple[int, ...], n_threads: int = 1) -> LeafPath:
        """Return the cut of least log loss at each limit of nodes; folds are fitted `n_threads` at a time."""
        with ThreadPoolExecutor(n_threads) as pool:
            first, *others = (self._best_within(limit, pool) for limit in limits)
        return LeafPath((first, *(self._against(first, step) for step in others)))

    def _best_within(self, limit: int, pool: Executor) -> LeafStep:
        """The least log loss that some growth and C reach with so many nodes."""
        ways = [[self.cutter.cut(order, limit, growth) for order in self.orders] for growth in self.growth]
        judging = self._judging(ways)
        tried = [
            self._best_step(partial(self._judged, growth, cuts, judging, pool))
            for growth, cuts in zip(self.growth, ways, strict=True)
        ]
        return min(tried, key=attrgetter("log_loss"))

    def _best_step(self, judge: partial[LeafStep]) -> LeafStep:
        """Step up or down from the middle C while the loss, which decreases along C and increases again, decreases."""
        middle = len(self.C) // 2
        best = judge(self.C[middle])
        for towards in (self.C[middle + 1 :], self.C[:middle][::-1]):
            start = best
            for C in towards:
                step = judge(C)
                if step.log_loss >= best.log_loss:
                    break
                best = step
            if best is not start:
                break  # lower on this side, so not on the other
        return best

    def _judging(self, ways: list[list[LeafCut]]) -> list[Mask]:
        """Rows of each fold that judge all ways to cut alike: those that some tree of every cut has not seen."""
        masks = []
        for i, (_, test) in enumerate(self.folds):
            held = self.rows.select(test)
            judging = np.logical_and.reduce([cuts[1 + i].judges(held) for cuts in ways])
            masks.append(judging if judging.any() else ~judging)
        return masks

    def _judged(self, growth: float, cuts: list[LeafCut], judging: list[Mask], pool: Executor, C: float) -> LeafStep:
        """The step of one growth and C, by all folds."""
        held_out = pool.map(partial(self._held_out, C), self.folds, cuts[1:], judging)
        loss, right = map(np.concatenate, zip(*held_out, strict=True))
        return LeafStep(cuts[0], growth, C, _mean(loss, self._weight), right, _mean(right, self._weight))

    def _held_out(self, C: float, fold: Split, cut: LeafCut, judging: Mask) -> tuple[F64, F64]:
        """Log loss of a fold's rows by the votes that the others give, and which are right; NaN where none judges."""
        train, test = fold
        held = self.rows.select(test[judging])
        value = cut.refit(self.rows.select(train), C, CHOOSING)
        probability = LINK.probability(cut.design(held).score(value))
        loss, right = np.full((2, len(test)), np.nan)
        loss[judging] = -np.log(np.maximum(probability[np.arange(len(held)), held.y], np.finfo(float).tiny))
        right[judging] = probability.argmax(axis=1) == held.y
        return loss, right

    @property
    def _weight(self) -> F64:
        """Weights of the rows that folds test, one fold after the other."""
        tested = np.concatenate([test for _, test in self.folds])
        return np.ones(len(tested)) if self.rows.weight is None else self.rows.weight[tested]

    def _against(self, first: LeafStep, step: LeafStep) -> LeafStep:
        """The step with its accuracy by the rows that the first one judges too, as differences in pairs."""
        lost, weight = first.right - step.right, self._weight
        mean = _mean(lost, weight)
        share = np.where(np.isfinite(lost), weight, 0.0) / weight[np.isfinite(lost)].sum()
        error = float(np.sqrt(np.nansum((share * (lost - mean)) ** 2)))
        return replace(step, accuracy=first.accuracy - mean, accuracy_error=error)


def _mean(values: F64, weight: F64) -> float:
    """Weighted mean of the values that are there."""
    there = np.isfinite(values)
    return float(np.average(values[there], weights=weight[there]))
