"""From fitted model trees to the voters of a committee."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from committee.learners.trees.model_tree_table import BoostedTree, ModelTree, ModelTreeTable
from committee.vote.explain.importances import risk_decreases
from committee.voters.growing import forest_of, leaf_labels
from committee.voters.model_forest import LinkName, ModelForest
from committee.voters.training_record import LeafRows, TrainingRecord

CELLS_AT_ONCE = 1_000_000
"""Training rows times design columns of the trees that become voters together: most calls of NumPy cost as much for one
small tree as for ten."""


class ModelTreeVoters:
    """Fitted model trees, one added after the other, as voters with a training record.

    The trees wait until they have `CELLS_AT_ONCE` cells, so that of large ones only one is kept as it was fitted.

    Parameters
    ----------
    table : ModelTreeTable
        What the trees were fitted on.
    link : {"probit", "logit"}
    """

    def __init__(self, table: ModelTreeTable, link: LinkName) -> None:
        self.table = table
        self.link: LinkName = link
        self._waiting: list[BoostedTree] = []
        self._made: list[ModelForest] = []

    def add(self, tree: ModelTree) -> None:
        """Add a voter: a tree, or the trees of all classes."""
        for each in tree.trees:
            self._waiting.append(each)
            if sum(len(one.leaves.rows) for one in self._waiting) * self.table.D.shape[1] >= CELLS_AT_ONCE:
                self._make()

    def voters(self) -> ModelForest:
        """Return the voters, in the order in which they were added; one at least."""
        if self._waiting:
            self._make()
        voters = ModelForest.concatenate(self._made)
        n_classes = self.table.n_classes
        if voters.forest.n_classes == n_classes:
            return voters
        # trees that know two classes each, "class k or not": a voter has one for each class
        return replace(voters, forest=replace(voters.forest, n_classes=n_classes), trees_per_voter=n_classes)

    def _make(self) -> None:
        self._made.append(model_forest(self._waiting, self.table, self.link))
        self._waiting = []


def model_forest(trees: Sequence[BoostedTree], table: ModelTreeTable, link: LinkName) -> ModelForest:
    """Voters of one tree each: bins become thresholds, leaves are numbered, and sums over their rows are recorded."""
    grown = [each.tree for each in trees]
    sums = np.concatenate([tree.sums for tree in grown])
    forest = forest_of(grown, table.binned.bins, sums.shape[1], label=[leaf_labels(tree) for tree in grown])
    leaves = LeafRows.concatenate([each.leaves for each in trees])
    weights, intercept, coefficient, scores, risk = (
        np.concatenate(several)
        for several in zip(
            *((each.weights, each.intercept, each.coefficient, each.scores, each.risk) for each in trees), strict=True
        )
    )
    D, w = table.D[leaves.rows], table.weights[leaves.rows]
    decrease = risk_decreases(forest, sums, table.design, leaves, D, weights, scores, coefficient, risk)
    record = TrainingRecord(leaves.sums(w), leaves.centre(D, w), decrease)
    end = forest.feature < 0
    model = np.where(end, np.cumsum(end) - 1, -1).astype(np.int32)
    return ModelForest(forest, model, intercept, coefficient, table.design, link, record=record)
