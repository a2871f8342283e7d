"""Limits of a model tree's growth and of the boosting in its leaves; where they are left open they follow the rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, log2
from typing import Any, Literal, Self

from committee.voters.growing import GrowthLimits
from committee.voters.model_forest import LinkName

LEAST_DEPTH = 6
"""Depth of trees of few rows; the paper's for all."""
SPARE_LEVELS = 1
"""Levels beyond those of even splits down to the least leaves."""


@dataclass(frozen=True)
class ModelTreeLimits:
    """Limits of a model tree's growth, and of the boosting in its leaves."""

    growth: GrowthLimits
    n_leaf_steps: int | Literal["cv"]
    leaf_steps: Literal["newton", "gradient"]
    link: LinkName
    tree: Literal["shared", "per_class"]
    selection: Literal["error", "likelihood"]
    tol: float
    pruned: bool
    """Cut back by held-out errors, in place of a limit on the gain of a split."""

    @classmethod
    def of(cls, learner: Any, n_rows: int) -> Self:
        """Return a learner's limits for trees of `n_rows` rows."""
        growth, pruned = GrowthLimits.of(learner), learner.min_impurity_decrease == "auto"
        if learner.max_depth == "auto":
            growth = replace(growth, max_depth=depth_for(n_rows, growth.min_samples_leaf))
        if pruned:
            growth = replace(growth, min_impurity_decrease=0.0)
        return cls(
            growth, learner.n_leaf_steps, learner.leaf_steps, learner.link, learner.tree, learner.selection,
            learner.tol, pruned,
        )  # fmt: skip


def check_leaf_steps(learner: Any) -> None:
    """Refuse parameters of a learner that boosting along the gradient in leaves has no use for.

    Raises
    ------
    ValueError
        If trees are per class, or columns are chosen by likelihood.
    """
    if learner.leaf_steps == "newton":
        return
    for name, needed in (("tree", "shared"), ("selection", "error")):
        if getattr(learner, name) != needed:
            raise ValueError(
                f"leaf_steps='gradient' boosts the scores of all classes together, along the gradient, and {name} is "
                f"{getattr(learner, name)!r}. Set {name}={needed!r}, or leaf_steps='newton'."
            )


def depth_for(n_rows: int, min_samples_leaf: int) -> int:
    """Depth of even splits down to the least leaves and a level more; not less than the paper's.

    Examples
    --------
    >>> from committee.learners.trees.model_tree_limits import depth_for
    >>> depth_for(150, 20), depth_for(5_000, 20), depth_for(40_000, 20)
    (6, 9, 12)
    """
    return max(LEAST_DEPTH, ceil(log2(max(1.0, n_rows / min_samples_leaf))) + SPARE_LEVELS)
