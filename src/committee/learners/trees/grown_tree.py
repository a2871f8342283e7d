"""Parameters of a tree that is a learner of its own."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

from committee.learners.base import shared_parameters as shared
from committee.learners.base.parameters import with_parameters


@with_parameters
class GrownTree:
    """Parameters of trees of classes and of numbers."""

    _: KW_ONLY
    max_depth: int | None = shared.max_depth()
    max_leaf_nodes: int | None = shared.max_leaf_nodes()
    min_samples_leaf: int = shared.min_samples_leaf()
    min_weight_leaf: float = shared.min_weight_leaf()
    min_impurity_decrease: float = shared.min_impurity_decrease()
    max_features: int | float | str | None = shared.max_features()
    max_bins: int = shared.max_bins()
    categorical_features: Any = shared.categorical_features()
    random_state: Any = shared.random_state("the features of `max_features`")
    n_jobs: int | None = shared.n_jobs()
