"""A classification tree on the native kernels."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils import check_random_state

from committee._core import Grower
from committee.data.binning import Binned
from committee.data.parallel import n_threads
from committee.data.rows import Rows
from committee.learners.base import shared_parameters as shared
from committee.learners.base.estimator import BaseClassifier
from committee.learners.base.fit_tasks import FitTasks
from committee.learners.base.parameters import parameter, with_parameters
from committee.vote.committee import Committee
from committee.vote.links.probability import Share
from committee.voters.growing import GrowthLimits, class_shares, forest_of, grower


@with_parameters
class TreeParameters:
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


@with_parameters
class TreeVoter(BaseClassifier, TreeParameters):
    """A classification tree: the usual voter, and a classifier of its own.

    Splits maximise the decrease of the weighted impurity over at most `max_bins` thresholds a column; missing
    values learn their side, categories are split into subsets without one-hot columns. With two classes the
    best subset is found exactly (Breiman et al. 1984, Theorem 4.5), with more the best prefix over the
    orderings by each class's share.

    Attributes
    ----------
    committee_ : Committee
        A committee of one.

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen, C. Stone (1984). Classification and Regression Trees.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import TreeVoter
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = TreeVoter(max_depth=2).fit(X, y)
    >>> tree.committee_.n_nodes, round(tree.score(X, y), 2)
    (5, 0.96)
    """

    _: KW_ONLY
    criterion: Literal["gini", "entropy"] = parameter("gini", "Impurity: 1 - sum p_k^2, or -sum p_k ln p_k.")

    @property
    def _takes_sparse(self) -> bool:
        return True

    def _train(self, rows: Rows, tasks: FitTasks) -> dict[str, Any]:
        threads, n_classes = n_threads(self.n_jobs), len(self.classes_)
        binned = rows.binned(self.table_, self.max_bins, threads)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        tree = self.grower(binned, n_classes, threads).grow_classes(rows.labels, rows.weights, None, seed)
        voters = forest_of([tree], binned.bins, n_classes, value=[class_shares(tree)])
        return {"committee_": Committee(voters, np.ones(1), self.classes_, Share(), self.table_)}

    def validated(self) -> Self:
        """Refuse parameters out of their range as `fit` does, where `grower` is used without it."""
        self._validate_params()
        return self

    def grower(self, binned: Binned, n_classes: int, n_threads: int) -> Grower:
        """Return the kernel that grows trees with this voter's parameters on a binned table."""
        return grower(binned, self.criterion, n_classes, GrowthLimits.of(self), n_threads)
