"""Boosted trees of another library in one form, whichever library it is."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from committee.data.frames import TableSchema
from committee.data.number_types import F64, Index
from committee.vote.adapters.linked_trees import LinkedTrees
from committee.vote.links.mean import MeanLink
from committee.voters.forest import Forest
from committee.voters.leaf_lines import LeafLines
from committee.voters.linear_leaves import LinearLeaves
from committee.voters.node_order import breadth_first
from committee.voters.rounds import Rounds


@dataclass(frozen=True, eq=False)
class BoostedModel:
    """Trees with leaf scores, the scores they add to, and where these start.

    Parameters
    ----------
    trees : LinkedTrees
        All trees that count.
    score : intp array (T,)
        The score that each tree adds to; as many trees for one as for another. Not looked at where leaves have a number
        for each score.
    intercept : float64 array (D,)
        Where the scores start. D = 1: the log-odds of the second of two classes (over `sigmoid`); else one score for
        each class.
    table : TableSchema
        The columns.
    one_vs_rest : bool, default=False
        The scores answer "this class or another", each its own question.
    sigmoid : float, default=1.0
        What a score is multiplied by before it is a log-odds.
    averaged : bool, default=False
        The scores are means over the rounds, not sums.
    number_link : MeanLink or None, default=None
        How the number that is predicted follows from the score; None: classes are.
    lines : LeafLines or None, default=None
        Lines of the nodes of `trees`; None: they have none.

    Examples
    --------
    ``xgboost_model(booster).voters`` are the trees of a booster of XGBoost.
    """

    trees: LinkedTrees
    score: Index
    intercept: F64
    table: TableSchema
    one_vs_rest: bool = False
    sigmoid: float = 1.0
    averaged: bool = False
    number_link: MeanLink | None = None
    lines: LeafLines | None = None

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        return max(2, len(self.intercept))

    @property
    def voters(self) -> Forest | Rounds | LinearLeaves:
        """A voter for each tree; with several scores one for each round, which has a tree for every score."""
        D = len(self.intercept)
        if self.trees.value.ndim == 2:
            return self.trees.forest(n_classes=D, n_categories=self.table.n_categories)
        # the t-th trees of all scores are a round, in whatever order they are stored
        rounds = np.argsort(self.score, kind="stable").reshape(D, -1).T
        trees = replace(self.trees, root=self.trees.root[rounds.ravel()])
        of_two = D == 1 and self.number_link is None
        forest = trees.forest(n_classes=2 if of_two else 1, n_categories=self.table.n_categories)
        if self.lines is not None:
            order, _, _ = breadth_first(trees.left, trees.right, trees.feature >= 0, trees.root)
            return LinearLeaves(forest, self.lines.take(order), D)
        return forest if D == 1 else Rounds(forest, D)
