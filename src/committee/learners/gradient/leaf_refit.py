"""Leaves fitted again: by the constants of losses that a Newton step does not serve, or on other rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.number_types import F64
from committee.learners.gradient.leaf import LeafPenalty
from committee.learners.gradient.scores import Target
from committee.objectives.losses import Loss


def refits(loss: Loss) -> bool:
    """Tell whether the loss has a best constant of its own for the rows of a leaf."""
    return loss.leaf_constant(np.zeros(1), None) is not None


def refitted(
    target: Target, value: F64, bounds: F64, leaf: NDArray[np.int32], residual: F64, w: F64 | None, first: int = 0
) -> F64:
    """The leaf values ``(N, D)`` that are best for the leaves' rows, by the `leaf_constant` of the target's loss.

    Penalties choose the splits, and which leaves abstain: a value of 0 stays 0. The others are not shrunk, but stay
    within the node's bounds ``(N, 2)``, so that monotone constraints hold. Of each row are given its leaf, its
    residuals ``(D, m)`` and its weight; score `first` is the first of the D.
    """
    # 16 bits are enough for the leaves of most trees, and are sorted in linear time
    order = np.argsort(leaf.astype(np.int16) if len(value) < 1 << 15 else leaf, kind="stable")
    end = np.cumsum(np.bincount(leaf, minlength=len(value)))
    new = value.copy()
    weights = None if w is None else w[order]
    for k, part in enumerate(residual):
        ordered = part[order]
        for i in np.flatnonzero(value[:, k]).tolist():
            rows = slice(end[i - 1] if i else 0, end[i])
            if rows.start < rows.stop:
                best: Any = target.leaf_constant(ordered[rows], None if weights is None else weights[rows], first + k)
                new[i, k] = min(max(best, bounds[i, 0]), bounds[i, 1])
    return new


def leaf_terms(gradient: F64, hessian: F64, w: F64 | None) -> F64:
    """What a leaf's weight is made of, ``(2 D, n)`` or with weights ``(2 D + 1, n)``: what is summed over its rows."""
    terms = [*np.atleast_2d(gradient), *np.atleast_2d(hessian)]
    return np.stack(terms if w is None else [*terms, w])


def node_sums(terms: F64, leaf: NDArray[np.int32], n_nodes: int) -> F64:
    """Sums of terms ``(k, n)`` over the rows of each leaf, ``(n_nodes, k)``; in any order of the rows the same.

    Equation: order-free-sum (docs/kernels.md).
    """
    largest = np.abs(terms).max(axis=1)
    return _core.sums_of_limbs(_core.node_sums(terms, leaf, n_nodes, largest), largest)


def refitted_tree(
    tree: _core.GradientTree, sums: F64, count: NDArray[np.integer], penalty: LeafPenalty, *, weighted: bool
) -> _core.GradientTree:
    """The tree with the leaf weights and the counts of other rows than it was grown on.

    Parameters
    ----------
    tree : GradientTree
        The tree; weights stay within its nodes' bounds, so that monotone constraints hold.
    sums : float64 array (N, 2 D) or (N, 2 D + 1)
        Sums of gradients and hessians over the rows of each leaf, and if `weighted` of their weights. A leaf that none
        reaches weighs 0.
    count : array (N,)
        Number of rows of each leaf.
    penalty : LeafPenalty
        Penalty of the leaf weights.
    weighted : bool
        Whether rows have weights.
    """
    D = tree.value.shape[1]
    lower, upper = tree.bounds[:, :1], tree.bounds[:, 1:]
    value = np.where(
        tree.feature[:, None] < 0, penalty.weight(sums[:, :D], sums[:, D : 2 * D], lower, upper), tree.value
    )
    count, weight = count.copy(), sums[:, 2 * D].copy() if weighted else None
    left = tree.left
    for i in np.flatnonzero(left >= 0)[::-1].tolist():  # children stand after their parent
        children = slice(left[i], left[i] + 2)
        count[i] = count[children].sum()
        if weight is not None:
            weight[i] = weight[children].sum()
    feature, bin, left, missing_left, category_offset, category_bits, gain, _, of_growth = tree.nodes()
    nodes = feature, bin, left, missing_left, category_offset, category_bits, gain, count.astype(np.int64), of_growth
    return _core.GradientTree(nodes, value, tree.bounds, weight)
