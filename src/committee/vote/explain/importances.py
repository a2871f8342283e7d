"""Importances of the features of a model tree: their shares in the decrease of the training risk.

The risk of a tree is the mean over its training rows, in the weights it was trained with, of the link's loss
-ln P(y | score), summed over the outputs. A node without a model can do no better than a constant score, whose risk is
the entropy h of its class shares (for each output: h(p) = -p ln p - (1 - p) ln(1 - p), p the share of its class). So

    h(root) - risk(tree) = sum over splits [h(node) - h(children)]  +  sum over leaves [h(leaf) - risk(leaf)]

in nats, where each term is multiplied by its node's share of the weight. A split's term belongs to its feature. A
leaf's term is divided like the variance of its linear score F = a + sum_c b_c d_c: column c accounts for
b_c Cov(d_c, F), and these add up to Var(F). A negative term, or negative sum of a feature, counts as zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from committee.data.design import Design
from committee.data.number_types import F64
from committee.voters.forest import Forest
from committee.voters.model_forest import LeafRows, ModelForest


def is_faster_by_covariance(n_scores: int, n_columns: int) -> bool:
    return n_scores > max(32, n_columns)


def class_entropy(sums: F64, n_outputs: int) -> F64:
    """Least log loss of a constant score at each node, ``(nodes, O)``, from class weights ``(nodes, K)``."""
    share = sums / sums.sum(axis=1, keepdims=True)
    if n_outputs == 1:
        share = share[:, 1:2]
    return np.asarray(entr(share) + entr(1.0 - share))


def split_decreases(forest: Forest, sums: F64, n_outputs: int) -> F64:
    """Decrease of each tree's mean risk by the splits on each feature, ``(T, p)``, from `sums` ``(N, K)``."""
    tree = np.repeat(np.arange(len(forest)), forest.n_nodes)
    root = forest.offset[tree]
    weight = sums.sum(axis=1)
    h = weight / weight[root] * class_entropy(sums, n_outputs).sum(axis=1)
    split = np.flatnonzero(forest.feature >= 0)
    left = root[split] + forest.left[split]
    # rounding may leave a split that gains nothing below zero
    decrease = np.maximum(h[split] - h[left] - h[left + 1], 0.0)
    return sums_by_column(tree[split], forest.feature[split], decrease, (len(forest), forest.n_features))


def leaf_decreases(leaves: LeafRows, D: F64, w: F64, scores: F64 | None, coefficient: F64, decrease: F64) -> F64:
    """Distribute the risk decrease ``(L, O)`` of each leaf over the design columns, ``(L, q)``."""
    if scores is None:
        apart = D[leaves.rows] - leaves.repeat_by_leaf(leaves.centre(D, w))
        covariance = leaves.sums((w[:, None] * apart)[:, :, None] * apart[:, None])  # of the columns, (L, q, q)
        part = np.einsum("loc,lcd->lod", coefficient, covariance)
    else:
        mean = leaves.sums(w[:, None] * scores) / leaves.sums(w)[:, None]
        part = leaves.products(D, w[:, None] * (scores - leaves.repeat_by_leaf(mean)))
    part *= coefficient  # b_c Cov(d_c, F), whose sum over the columns is the variance of F
    variance = part.sum(axis=2)
    worth = np.divide(decrease, variance, out=np.zeros_like(decrease), where=variance > 0.0)
    return np.asarray(np.einsum("lo,loq->lq", worth, part))


def risk_decreases(
    forest: Forest,
    sums: F64,
    design: Design,
    leaves: LeafRows,
    D: F64,
    w: F64,
    scores: F64 | None,
    coefficient: F64,
    risk: F64,
) -> F64:
    """Decrease of each tree's mean training risk by feature, in nats, ``(T, p)``.

    `sums` ``(N, K)`` are class weights of nodes, `scores` ``(m, O)`` of rows, `risk` ``(L, O)`` mean risks of leaves.
    """
    n_outputs, end = risk.shape[1], forest.feature < 0
    tree = np.repeat(np.arange(len(forest)), forest.n_nodes)[end]
    weight = sums[end].sum(axis=1) / sums[forest.offset[:-1]].sum(axis=1)[tree]
    # boosting that was stopped before it beat the best constant has gained nothing
    decrease = weight[:, None] * np.maximum(class_entropy(sums[end], n_outputs) - risk, 0.0)
    earned = leaf_decreases(leaves, D, w, scores, coefficient, decrease)
    earned = np.add.reduceat(earned, np.searchsorted(tree, np.arange(len(forest))))
    every_tree = np.arange(len(forest))[:, None]
    by_feature = sums_by_column(every_tree, design.source[None], earned, (len(forest), forest.n_features))
    return split_decreases(forest, sums, n_outputs) + by_feature


def sums_by_column(row: NDArray[Any], column: NDArray[Any], values: F64, shape: tuple[int, int]) -> F64:
    place = np.broadcast_to(row * shape[1] + column, values.shape)
    return np.bincount(place.ravel(), values.ravel(), shape[0] * shape[1]).reshape(shape).astype(np.float64)


def feature_importances(voters: ModelForest, weights: F64) -> F64:
    """Share of each feature in the decrease of the trees' training risk, ``(p,)``."""
    if voters.record is None:  # an AttributeError makes hasattr false
        raise AttributeError("feature_importances_ needs the record of the training rows, which these trees lack.")
    decrease = voters.record.risk_decrease
    earned: F64 = np.maximum(np.repeat(np.abs(weights), voters.trees_per_voter) @ decrease, 0.0)
    total = earned.sum()
    return earned / total if total > 0.0 else np.zeros(len(earned))
