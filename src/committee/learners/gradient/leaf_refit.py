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


def refitted_tree(
    tree: _core.GradientTree, leaf: NDArray[np.int32], gradient: F64, hessian: F64, penalty: LeafPenalty
) -> _core.GradientTree:
    """The tree with the leaf weights and the counts of other rows than it was grown on.

    Of each of them are given its leaf, and gradients and hessians ``(n,)`` or ``(D, n)``. Weights stay within the
    nodes' bounds, so that monotone constraints hold. A leaf that none of the rows reaches weighs 0.
    """
    G, H = (
        np.column_stack([np.bincount(leaf, part, len(tree.feature)) for part in np.atleast_2d(terms)])
        for terms in (gradient, hessian)
    )
    lower, upper = tree.bounds[:, :1], tree.bounds[:, 1:]
    value = np.where(tree.feature[:, None] < 0, penalty.weight(G, H, lower, upper), tree.value)
    count = np.bincount(leaf, minlength=len(tree.feature))
    for i in np.flatnonzero(tree.left >= 0)[::-1].tolist():  # children stand after their parent
        count[i] = count[tree.left[i]] + count[tree.left[i] + 1]
    feature, bin, left, missing_left, category_offset, category_bits, gain, _, sums = tree.nodes()
    nodes = feature, bin, left, missing_left, category_offset, category_bits, gain, count.astype(np.int64), sums
    return _core.GradientTree(nodes, value, tree.bounds)
