"""Cuts of one forest from many nodes to few, each judged by rows that had no part in it."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter, methodcaller
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data.extras import needed
from committee.data.number_types import F64, Index, Mask
from committee.learners.trained.cut_fold import CutFold, Split
from committee.learners.trained.leaf_cut import LeafCut, LeafCutter, LeafRows
from committee.learners.trained.mean_and_error import increasing, mean_and_error, mean_of_known
from committee.learners.trained.vote_judge import VoteJudge

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False)
class LeafStep:
    """A cut on the path, and how well it does."""

    cut: LeafCut
    """Which trees, and which of their nodes."""
    growth: float
    """How many times too large the trees were before."""
    C: float
    """Penalty of the leaves' new votes, see `LeafRegression`."""
    loss: float
    """Log loss of rows of other folds, or for numbers the loss that votes are fitted with, as if all trees were new to
    them (see `CutFold`); left out are rows that all trees of a cut with the same limit have seen."""
    scores: F64
    """Which of these rows were right, 1 or 0 as judged by the trees that have not seen them, and from there to what all
    trees would say; for numbers 1 less the part of a constant's loss; NaN for those left out."""
    score: float
    """Accuracy, or for numbers R^2: that of the path's first cut, less what this one loses on the rows that both judge,
    as small cuts judge few, which may be easy ones."""
    kept: F64
    """What the contract's metric keeps of these rows, judged so, ``(d, rows)``; NaN for those left out."""
    score_error: float = 0.0
    """Standard error of what is lost of the score; 0 for the first."""
    lost: float = np.nan
    """How much the mean loss is above the whole ensemble's, for numbers as a share of that, on rows that both judge;
    NaN where that is not known."""
    lost_error: float = np.nan
    """Standard error of that."""


@dataclass(frozen=True, eq=False)
class LeafPath:
    """Cuts of decreasing size.

    Parameters
    ----------
    steps : tuple of LeafStep
        The best at each limit of nodes, the largest limit first.
    judge : VoteJudge
        What they were judged by.
    """

    steps: tuple[LeafStep, ...]
    judge: VoteJudge

    def chosen(self, min_gain: float | None) -> int:
        """The smallest whose score is less than `min_gain` below the best; None: the first.

        What scores fall is joined by `increasing`, as of many small cuts some are lucky, and counts with its standard
        error, as these are judged by few rows.
        """
        if min_gain is None:
            return 0
        errors = np.array([step.score_error for step in self.steps])
        sure = -increasing(np.array([-step.score for step in self.steps]), errors) - errors
        return max(i for i, score in enumerate(sure) if max(sure) - score < min_gain or i == 0)

    def lost(self) -> F64:
        """What the cuts lose against the whole ensemble, ``(steps,)``, estimates that increase as they get smaller.

        They are joined by `increasing`; NaN where no rows tell.
        """
        return increasing(
            np.array([step.lost for step in self.steps]), np.array([step.lost_error for step in self.steps])
        )

    def within(self, max_loss: float) -> int | None:
        """The smallest that loses at most so much, its standard error added, against the whole; None if none does."""
        kept = np.flatnonzero(self.lost() + [step.lost_error for step in self.steps] <= max_loss)
        return int(kept[-1]) if len(kept) else None

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
        score = self.judge.score_name
        words = {"loss": self.judge.loss_name, "score": score, "score_error": f"{score}_error"}
        for name in ("growth", "C", "loss", "score", "score_error", "lost", "lost_error"):
            columns[words.get(name, name)] = [getattr(step, name) for step in self.steps]
        columns["lost_joined"] = self.lost()
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
    """Values to try, C increasing; see `LeafCutter.cut` and `LeafRegression`."""
    judge: VoteJudge
    """What is asked of each row."""
    whole: F64 | None
    """What a contract keeps of the whole ensemble, on all rows ``(d, n)``; None where it has seen them."""

    def path(self, limits: tuple[int, ...], n_threads: int = 1, max_loss: float | None = None) -> LeafPath:
        """Return the cut of least loss at each limit of nodes; folds are fitted `n_threads` at a time.

        With `max_loss` the path ends where two cuts in a row lose more: the smallest ones are judged by few rows, and
        of many some are lucky.
        """
        steps: list[LeafStep] = []
        with ThreadPoolExecutor(n_threads) as pool:
            for limit in limits:
                best = self._best_within(limit, pool)
                if best is None:
                    break
                step = self._beside_whole(best)
                steps.append(self._against(steps[0], step) if steps else step)
                if max_loss is not None and len(steps) > 1 and min(steps[-1].lost, steps[-2].lost) > max_loss:
                    break
        if not steps:
            raise ValueError(
                f"no row of X can judge a cut to {limits[0]} nodes, as all trees of one way or another to cut have "
                "seen it; give more rows, or a larger max_nodes."
            )
        return LeafPath(tuple(steps), self.judge)

    def _best_within(self, limit: int, pool: Executor) -> LeafStep | None:
        """The least loss that some growth and C reach with so many nodes; None if no row can judge them."""
        ways = [[self.cutter.cut(order, limit, growth) for order in self.orders] for growth in self.growth]
        judging = self._judging(ways)
        if not any(mask.any() for mask in judging):
            return None
        tried = []
        for growth, cuts in zip(self.growth, ways, strict=True):
            make = partial(CutFold, self.rows, judge=self.judge)
            folds = list(pool.map(make, self.folds, cuts[1:], judging))
            tried.append(self._best_step(partial(self._judged, growth, cuts[0], folds, pool)))
        return min(tried, key=attrgetter("loss"))

    def _best_step(self, judge: partial[LeafStep]) -> LeafStep:
        """Step up or down from the middle C while the loss, which decreases along C and increases again, decreases."""
        middle = len(self.C) // 2
        best = judge(self.C[middle])
        for towards in (self.C[middle + 1 :], self.C[:middle][::-1]):
            start = best
            for C in towards:
                step = judge(C)
                if step.loss >= best.loss:
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
            masks.append(judging)
        return masks

    def _judged(self, growth: float, cut: LeafCut, folds: list[CutFold], pool: Executor, C: float) -> LeafStep:
        """The step of one growth and C, by all folds."""
        figures, kept = zip(*pool.map(methodcaller("judged", C), folds), strict=True)
        (loss, scores), weight = np.concatenate(figures, axis=1), self._weight
        known = max(map(len, kept))  # a fold that judges nothing has no more than that to say
        every = np.concatenate([part if len(part) == known else np.tile(part, (known, 1)) for part in kept], axis=1)
        return LeafStep(cut, growth, C, mean_of_known(loss, weight), scores, mean_of_known(scores, weight), every)

    @property
    def _tested(self) -> Index:
        """Rows that folds test, one fold after the other."""
        return np.concatenate([test for _, test in self.folds])

    @property
    def _weight(self) -> F64:
        """Weights of the rows that folds test."""
        return np.ones(len(self._tested)) if self.rows.weight is None else self.rows.weight[self._tested]

    def _beside_whole(self, step: LeafStep) -> LeafStep:
        """The step with what it loses against the whole ensemble."""
        if self.whole is None:
            return step
        tested = self._tested
        y, whole = self.rows.y[tested], self.whole[:, tested]
        lost, error = self.judge.contract.lost(y, step.kept, whole, self._weight)
        return replace(step, lost=lost, lost_error=error)

    def _against(self, first: LeafStep, step: LeafStep) -> LeafStep:
        """The step with its score by the rows that the first one judges too, as differences in pairs."""
        mean, error = mean_and_error(first.scores - step.scores, self._weight)
        return replace(step, score=first.score - mean, score_error=error)
