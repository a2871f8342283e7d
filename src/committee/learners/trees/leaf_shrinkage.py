"""Class shares of leaves, shrunk towards those of their ancestors, by a strength chosen on held-out rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from committee._core import GrownTree
from committee.data.number_types import F64
from committee.learners.base.calibration import ENOUGH_ROWS
from committee.voters.flat_trees import inner_levels
from committee.voters.growing import class_shares

STRENGTHS = 2.0 ** (np.arange(-8, 21) / 2)
"""Strengths that are tried, in rows."""


def shrunk_shares(tree: GrownTree, strength: float) -> F64:
    """Return class shares ``(N, K)`` of a tree's nodes, shrunk towards those of their ancestors.

    With P_t the shares of the training rows at node t and W_t their weight, the root keeps its own, and a node t below
    s has q_t = q_s + (P_t - P_s) / (1 + strength / W_s). Every class of the root has a share above 0 in every node.

    A. Agarwal, Y. S. Tan, O. Ronen, C. Singh, B. Yu (2022). Hierarchical shrinkage. ICML.

    Equation: leaf-shrinkage (docs/theory.md).
    """
    return _shrunk(class_shares(tree), tree, np.array([strength]))[:, :, 0]


def _shrunk(shares: F64, tree: GrownTree, strengths: F64) -> F64:
    # (N, K, strengths)
    found = np.repeat(shares[:, :, None], len(strengths), axis=2)
    weight = tree.sums.sum(axis=1)
    for parent, child in inner_levels(tree.left, np.array([0, len(tree.left)])):
        factor = 1.0 / (1.0 + strengths / weight[parent, None])  # (parents, strengths)
        for side in (child, child + 1):
            found[side] = found[parent] + (shares[side] - shares[parent])[:, :, None] * factor[:, None, :]
    return found


@dataclass(frozen=True, eq=False)
class TreeOfFold:
    """A tree grown on the training rows of a fold, and the leaves of its test rows, which count as `n_test` rows."""

    tree: GrownTree
    leaf: NDArray[np.int32]
    labels: NDArray[np.uint16]
    weights: F64
    n_test: int


def best_strength(trees: Iterable[TreeOfFold]) -> float | None:
    """Return the strength of least log loss on the test rows of folds.

    Folds are taken until they have `ENOUGH_ROWS` test rows. Each of these is added once more, with 1 / n_rows of its
    weight and all classes equally likely, so that the smallest strength does not win if all rows are right. None if no
    fold's training rows have all classes.
    """
    total, loss, anywhere, n_rows = 0.0, np.zeros(len(STRENGTHS)), np.zeros(len(STRENGTHS)), 0
    for one in trees:
        shares = class_shares(one.tree)
        if not shares[0].all():
            continue
        leaf, place = np.unique(one.leaf, return_inverse=True)
        surprise = -np.log(_shrunk(shares, one.tree, STRENGTHS)[leaf])
        loss += one.weights @ surprise[place, one.labels]
        anywhere += np.bincount(place, one.weights) @ surprise.mean(axis=1)
        total, n_rows = total + float(one.weights.sum()), n_rows + one.n_test
        if n_rows >= ENOUGH_ROWS:
            break
    return float(STRENGTHS[np.argmin(loss + anywhere / n_rows)]) if total > 0.0 else None
