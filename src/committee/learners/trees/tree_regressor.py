"""A regression tree on the native kernels."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from committee.data.binning import Binned
from committee.data.parallel import n_threads
from committee.data.rows import TargetRows
from committee.learners.base import shared_parameters as shared
from committee.learners.base.estimator import BaseRegressor
from committee.learners.base.fit_tasks import FitTasks
from committee.learners.base.parameters import with_parameters
from committee.learners.trees.tree import TreeParameters
from committee.vote.links.mean import Identity
from committee.vote.regression import RegressionCommittee
from committee.voters.forest import Forest
from committee.voters.growing import GrowthLimits, forest_of, grower, leaf_means


@with_parameters
class TreeRegressor(BaseRegressor, TreeParameters):
    """A regression tree: a leaf predicts the weighted mean of its training rows.

    Splits maximise the decrease of the weighted squared error,

        sum_left w (y - mean_left)^2 + sum_right w (y - mean_right)^2,

    over at most `max_bins` thresholds a column; missing values learn their side, and categories are split into
    the best two sets, which lie apart in the order of their mean targets [1]_. `y` may have several columns: then
    squared errors, each over its target's variance, are summed, and categories tried in the order of each one's means.

    Attributes
    ----------
    committee_ : RegressionCommittee
        A committee of one.

    References
    ----------
    .. [1] L. Breiman, J. Friedman, R. Olshen, C. Stone (1984). Classification and Regression Trees. For the order
       of categories: W. Fisher (1958). On grouping for maximum homogeneity. JASA 53.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from committee import TreeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> tree = TreeRegressor(max_depth=2).fit(X, y)
    >>> tree.committee_.n_nodes, round(tree.score(X, y), 2)
    (7, 0.43)
    """

    _takes_several_targets = True

    _: KW_ONLY
    min_impurity_decrease: float = shared.min_impurity_decrease(of="mean squared error over all rows", classes=False)

    @property
    def _takes_sparse(self) -> bool:
        return True

    def _train(self, rows: TargetRows, tasks: FitTasks) -> dict[str, Any]:
        binned = rows.binned(self.table_, self.max_bins, n_threads(self.n_jobs))
        return {"committee_": RegressionCommittee(self._tree(rows, binned), np.ones(1), Identity(), self.table_)}

    def _tree(self, rows: TargetRows, binned: Binned) -> Forest:
        """Grow the tree alone."""
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        growing = grower(binned, "squared_error", 1, GrowthLimits.of(self), n_threads(self.n_jobs))
        tree = growing.grow_targets(rows.comparable, rows.weights, None, seed)
        value = leaf_means(tree.leaf_of_row, len(tree.feature), rows.weights, rows.target)
        # a regression tree's sums are its weight and its weighted targets
        q = rows.n_targets
        return forest_of([tree], binned.bins, q, value=[value.reshape(-1, q)], weight=[tree.sums[:, 0]])
