"""A regression tree on the native kernels."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils import check_random_state

from committee.data.binning import Binned
from committee.data.parallel import N_JOBS, n_threads
from committee.data.rows import TargetRows
from committee.learners.base.estimator import CommitteeRegressor
from committee.vote.links.mean import Identity
from committee.vote.regression import RegressionCommittee
from committee.voters.forest import Forest
from committee.voters.growing import GROWTH_CONSTRAINTS, GrowthLimits, forest_of, grower, leaf_means


class TreeRegressor(CommitteeRegressor):
    """A regression tree: a leaf predicts the weighted mean of its training rows.

    Splits maximise the fall of the weighted squared error,

        sum_left w (y - mean_left)^2 + sum_right w (y - mean_right)^2,

    over at most `max_bins` thresholds a column; missing values learn their side, and categories are split into
    the best two sets, which lie apart in the order of their mean targets [1]_.

    Parameters
    ----------
    max_depth : int or None, default=None
        Most splits between root and leaf; None: no limit.
    max_leaf_nodes : int or None, default=None
        Most leaves; the split that gains most is made first. None: no limit.
    min_samples_leaf : int, default=1
        Fewest training rows of a leaf.
    min_weight_leaf : float, default=0.0
        Least share of the total weight of a leaf, in [0, 0.5].
    min_impurity_decrease : float, default=0.0
        A split must lower the mean squared error over all rows by more than this.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Features that each node looks at, drawn anew; None: all.
    max_bins : int, default=255
        Most bins of a column. A column with fewer distinct values is split exactly.
    categorical_features : "from_dtype", None, list or mask, default="from_dtype"
        Which columns are categories; "from_dtype": text, categorical and boolean columns of a data frame.
    random_state : int, RandomState or None, default=None
        Draws features when `max_features` is below their number; otherwise not used.
    n_jobs : int or None, default=None
        Threads; the tree does not depend on it.

    Attributes
    ----------
    committee_ : RegressionCommittee
        A committee of one.
    table_ : TableSchema

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

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **GROWTH_CONSTRAINTS,
        "categorical_features": "no_validation",
        "random_state": ["random_state"],
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        *,
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_leaf: int = 1,
        min_weight_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        max_features: int | float | str | None = None,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_leaf = min_weight_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.max_features = max_features
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : table or array-like (n, p)
            Training rows; NaN is a value of its own.
        y : array-like (n,)
            Numbers to predict.
        sample_weight : array-like (n,), default=None
            Row weights; 0 means absent, k means repeated k times.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If `y` holds what is no finite number, a column holds infinity or what can be no feature, or a parameter
            is out of its range.
        """
        context = self._init_callback_context()
        rows = self._rows(X, y, sample_weight)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        binned = rows.binned(self.table_, self.max_bins, n_threads(self.n_jobs))
        self.committee_ = RegressionCommittee(self._tree(rows, binned), np.ones(1), Identity(), self.table_)
        context.call_on_fit_task_end(estimator=self, X=X, y=y, reconstruction_attributes={})
        return self

    def _tree(self, rows: TargetRows, binned: Binned) -> Forest:
        """The tree alone."""
        limits = GrowthLimits(
            self.max_depth,
            self.max_leaf_nodes,
            self.min_samples_leaf,
            self.min_weight_leaf,
            self.min_impurity_decrease,
            self.max_features,
        )
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        growing = grower(binned, "squared_error", 1, limits, n_threads(self.n_jobs))
        tree = growing.grow_targets(rows.target, rows.weights, None, seed)
        value = leaf_means(tree.leaf_of_row, len(tree.feature), rows.weights, rows.target)
        # a regression tree's sums are its weight and its weighted target
        return forest_of([tree], binned.bins, 1, value=[value[:, None]], weight=[tree.sums[:, 0]])
