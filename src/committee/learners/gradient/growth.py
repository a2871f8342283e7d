"""Growth of boosted trees by the parameters of a gradient boosting learner."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.bins import Binned
from committee.data.column_parameters import check_draws, feature_weights
from committee.learners.gradient import constraints
from committee.learners.gradient.shards import ShardedCodes

DOUBLINGS = 2
"""How often trials may replace a number of leaves by twice as many and one."""
LEAVES_BY_ROWS = ((50_000, 63), (10_000, 31), (0, 15))
"""Least number of rows and number of leaves of a tree, measured in docs/defaults.md."""


def leaves_by_rows(n: float) -> int:
    return next(leaves for rows, leaves in LEAVES_BY_ROWS if n >= rows)


def most_leaves(n: float) -> int:
    """Return the number of leaves after all doublings of trials."""
    return (leaves_by_rows(n) + 1 << DOUBLINGS) - 1


def drawn_feature_weights(learner: Any, of_tree: int, of_node: int) -> NDArray[np.uint32] | None:
    """Return the weights of columns in draws, ``(p,)``, None if the learner has none.

    `of_tree` and `of_node` are the numbers of columns of a tree and a node; 0 means all. Raises ValueError if there are
    weights, but every node has all columns.
    """
    if learner.feature_weights is None:
        return None
    weights = feature_weights(learner.feature_weights, learner.table_)
    check_draws(weights, of_tree, of_node)
    return weights


def gradient_grower(
    learner: Any,
    binned: Binned,
    n_scores: int,
    monotone: NDArray[np.int8] | None,
    drawn: tuple[int, NDArray[np.uint32] | None, float],
    max_leaf_nodes: int,
    threads: int,
) -> _core.GradientGrower:
    """Return the grower of one tree after the other.

    `drawn` holds the number of columns of a node (0: all), the weights of columns, and the share of the trees whose
    nodes draw thresholds.
    """
    max_features, weights, extra_trees = drawn
    more: dict[str, Any] = {} if learner.max_delta_step is None else {"max_weight": float(learner.max_delta_step)}
    more |= {} if weights is None else {"feature_weights": weights}
    limits = constraints.Interactions()
    if learner.interaction_constraints is not None:
        limits = constraints.interactions(learner.interaction_constraints, learner.table_)
    return _core.GradientGrower(
        None if isinstance(binned.codes, ShardedCodes) else binned.codes,
        binned.bins.n_bins,
        binned.bins.categorical,
        n_outputs=n_scores if learner._shared_tree else 1,
        max_depth=learner.max_depth or 0,
        max_leaf_nodes=max_leaf_nodes,
        min_samples_leaf=learner.min_samples_leaf,
        min_hessian_leaf=learner.min_hessian_leaf,
        leaf_l0=learner.leaf_l0,
        leaf_l1=learner.leaf_l1,
        leaf_l2=learner.leaf_l2,
        l0_per_leaf=learner.l0_counts == "leaves",
        min_gain=0.0,
        max_features=max_features,
        growth=learner.growth,
        monotone=monotone,
        max_interaction=limits.most,
        interaction_groups=limits.groups,
        draw_thresholds=extra_trees,
        **more,
        n_threads=threads,
    )
