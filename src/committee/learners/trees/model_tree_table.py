"""Fitting model trees on a table that is made ready once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from committee._core import GrownTree
from committee.data.binning import Binned
from committee.data.design import Design
from committee.data.frames import TableSchema
from committee.data.number_types import F64
from committee.data.rows import Rows
from committee.learners.trees.joint_likelihood import leaf_losses
from committee.learners.trees.leaf_steps import LeafBoosting, boosted_leaves
from committee.learners.trees.model_tree_limits import ModelTreeLimits
from committee.learners.trees.reduced_error_pruning import pruned
from committee.voters.growing import grower
from committee.voters.model_forest import LinkName
from committee.voters.training_record import LeafRows

SCORE_CAP: dict[LinkName, float] = {"probit": 20.0, "logit": 40.0}
"""No training score passes this. A separable leaf runs up to it; much lower, and a few rows far out would stop the
boosting of a leaf whose other rows still gain (with 8 for probit, balance_scale loses 4 points)."""


@dataclass(frozen=True, eq=False)
class BoostedTree:
    """A grown tree with boosted scores in its leaves.

    Parameters
    ----------
    tree : GrownTree
    leaves : LeafRows
        Training rows, leaves by node number.
    weights : float64 array (m,)
        Their weights in the round of boosting.
    intercept, coefficient : float64 arrays (L, O), (L, O, q)
    scores : float64 array (m, O)
    risk : float64 array (L, O)
        Mean risk of each leaf's scores.
    """

    tree: GrownTree
    leaves: LeafRows
    weights: F64
    intercept: F64
    coefficient: F64
    scores: F64
    risk: F64


@dataclass(frozen=True, eq=False)
class ModelTree:
    """A fitted model tree, its linear scores of the rows it was trained on, and its leaves' mean risk.

    It has one tree, or one for each class. The risk is ``(L, O, B + 1)``, before and after every step, or without a
    record of them ``(L, O, 1)``, in the end.
    """

    trees: tuple[BoostedTree, ...]
    drawn: NDArray[np.int32]
    scores: F64
    risk: F64

    @property
    def predicted(self) -> NDArray[np.int64]:
        """Class number that the tree gives each training row."""
        one = self.scores.shape[1] == 1
        return (self.scores[:, 0] > 0.0 if one else self.scores.argmax(axis=1)).astype(np.int64)


class ModelTreeTable:
    """Training rows made ready once, for any number of model trees on any of the rows and weights."""

    def __init__(self, rows: Rows, table: TableSchema, n_classes: int, max_bins: int, threads: int) -> None:
        self.labels: NDArray[np.uint16] = rows.labels
        self.n_classes: int = n_classes
        self.threads: int = threads
        self.binned: Binned = rows.binned(table, max_bins, threads)
        self.design: Design = Design.of_table(rows.dense, rows.weights, table, rows.room)
        self.D = rows.designed(self.design)
        self.weights: F64 = rows.weights

    def fit(
        self,
        limits: ModelTreeLimits,
        weights: F64,
        drawn: NDArray[np.int32],
        seed: int,
        of_scores: F64 | None = None,
        *,
        record: bool = False,
    ) -> ModelTree:
        """One model tree on the drawn rows, whose weights ``(n,)`` are positive; if `record`, with the risk by step.

        With `of_scores` ``(n, K)`` the score of class k is boosted by the weights in its column, and a tree of its own
        is grown by them.

        Equation: model-tree (docs/theory.md).
        """
        if limits.tree == "shared" or self.n_classes == 2:
            return self._shared(limits, weights, drawn, seed, self.labels, self.n_classes, of_scores, record=record)
        by_class = np.repeat(weights[:, None], self.n_classes, axis=1) if of_scores is None else of_scores
        one_class = [
            self._shared(
                limits, by_class[:, k].copy(), drawn, seed, (self.labels == k).astype(np.uint16), 2, record=record
            )
            for k in range(self.n_classes)
        ]
        return ModelTree(
            tuple(tree.trees[0] for tree in one_class),
            drawn,
            np.concatenate([tree.scores for tree in one_class], axis=1),
            np.concatenate([tree.risk for tree in one_class]),
        )

    def _shared(
        self,
        limits: ModelTreeLimits,
        weights: F64,
        drawn: NDArray[np.int32],
        seed: int,
        labels: NDArray[np.uint16],
        n_classes: int,
        of_scores: F64 | None = None,
        *,
        record: bool,
    ) -> ModelTree:
        growing = grower(self.binned, "gini", n_classes, limits.growth, self.threads)
        tree = growing.grow_classes(labels, weights, drawn, seed)
        n_outputs = 1 if n_classes == 2 else n_classes
        if limits.pruned:
            tree = pruned(
                tree, self.D, labels, self.weights, drawn, n_outputs=n_outputs, link=limits.link,
                cap=SCORE_CAP[limits.link], seed=seed, n_threads=self.threads,
            )  # fmt: skip
        leaf = tree.leaf_of_row[drawn]
        tree.forget_rows()
        order = np.argsort(leaf, kind="stable")
        inside = drawn[order]
        size = np.bincount(leaf)
        leaves = LeafRows(inside, np.concatenate([[0], np.cumsum(size[size > 0])]))
        joint = limits.leaf_steps == "gradient"
        boosting = LeafBoosting(
            self.D, labels, weights if of_scores is None or joint else of_scores, n_outputs, limits.link, limits.tol,
            SCORE_CAP[limits.link], limits.selection == "likelihood", self.threads, joint,
            record or limits.n_leaf_steps == "cv",
        )  # fmt: skip
        intercept, coefficient, scores, _, risk = boosted_leaves(boosting, leaves, limits.n_leaf_steps, seed)
        w, in_the_end = weights[inside], risk[:, :, -1]
        if n_outputs > 1 and (joint or of_scores is not None):  # their risk is another, or in other weights
            losses = leaf_losses(limits.link, scores, labels[inside], joint)
            in_the_end = leaves.sums(w[:, None] * losses) / leaves.sums(w[:, None])
        in_order = np.empty_like(scores)
        in_order[order] = scores
        boosted = BoostedTree(tree, leaves, w, intercept, coefficient, scores, in_the_end)
        return ModelTree((boosted,), drawn, in_order, risk)
