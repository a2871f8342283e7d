"""A cut whose leaves' votes are fitted to the rows of other folds, and judged by those of its own."""

from __future__ import annotations

import numpy as np

from committee.data.number_types import F64, Index, Mask
from committee.learners.trained.contract_metric import Halves
from committee.learners.trained.few_trees import as_if_all_had_not, halves_of
from committee.learners.trained.leaf_cut import LeafCut, LeafRows
from committee.learners.trained.vote_judge import VoteJudge

Split = tuple[Index, Index]

CHOOSING = 1e-5
"""Tolerance of the votes that only choose."""


class CutFold:
    """One fold of a cut.

    A row is judged by the trees that have not seen it, K_i of K, while a new row has the vote of all. The mean of few
    trees varies more, so that K_i of them call for more caution than K do. What varies so costs about b / m where m
    trees vote: with the loss by all K_i trees, and by either half of them, b is known, and the loss at 1 / K follows.
    So does whatever else is asked of a row.

    Parameters
    ----------
    rows : LeafRows
        The rows of all folds.
    fold : tuple of intp arrays
        Numbers of the rows that are fitted to, and of those of the fold.
    cut : LeafCut
        The trees, in an order that the fold's rows had no part in.
    judging : bool array
        Which of the fold's rows judge: at least one of the trees has not seen them.
    judge : VoteJudge
        What is asked of each row.
    """

    def __init__(self, rows: LeafRows, fold: Split, cut: LeafCut, judging: Mask, judge: VoteJudge) -> None:
        train, test = fold
        self._judge = judge
        self._cut, self._judging, self._held = cut, judging, rows.select(test[judging])
        self._regression = cut.regression(rows.select(train))

    def judged(self, C: float) -> tuple[F64, F64]:
        """Figures of the fold's rows ``(2, rows)`` and what a contract keeps of them ``(d, rows)``; see `VoteJudge`.

        NaN for rows that do not judge.
        """
        judging = self._judging
        if not judging.any():
            return np.full((2, len(judging)), np.nan), np.full((1, len(judging)), np.nan)
        value = self._regression.votes(C, CHOOSING)
        unseen = self._cut.unseen(self._held)
        score = self._score(value, unseen)
        figures = self._judge.figures(score, self._held)
        halves: Halves = None
        if unseen is not None:
            parts = [self._score(value, half) for half in halves_of(unseen)]
            by_first, by_second = (self._judge.figures(part, self._held) for part in parts)
            figures = as_if_all_had_not(unseen, figures, by_first, by_second)
            halves = self._judge.predictions(parts[0]), self._judge.predictions(parts[1])
        kept = self._judge.contract.kept(self._held.y, self._judge.predictions(score), halves, unseen)
        return _spread(figures, judging), _spread(kept, judging)

    def _score(self, value: F64, trees: Mask | None) -> F64:
        """Scores of the rows by the mean of some trees ``(n, K)``."""
        return self._cut.columns.mean(self._cut.reached(self._held), trees, self._cut.columns.values(value))


def _spread(found: F64, judging: Mask) -> F64:
    """Figures of the rows that judge, ``(d, n)``, with NaN for the others."""
    every = np.full((len(found), len(judging)), np.nan)
    every[:, judging] = found
    return every
