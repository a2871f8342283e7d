"""A classification tree on the native kernels."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions

from committee._core import Grower
from committee.data.binning import Binned
from committee.data.parallel import N_JOBS, n_threads
from committee.learners.base.estimator import CommitteeClassifier
from committee.vote.committee import Committee
from committee.vote.links.probability import Share
from committee.voters.growing import GROWTH_CONSTRAINTS, GrowthLimits, class_shares, forest_of, grower


class TreeVoter(CommitteeClassifier):
    """A classification tree: the usual voter, and a classifier of its own.

    Splits maximise the fall of the weighted impurity over at most `max_bins` thresholds a column; missing
    values learn their side, categories are split into subsets without one-hot columns. With two classes the
    best subset is found exactly (Breiman et al. 1984, Theorem 4.5), with more the best prefix over the
    orderings by each class's share.

    Parameters
    ----------
    criterion : {"gini", "entropy"}, default="gini"
        Impurity: 1 - sum p_k^2, or -sum p_k ln p_k.
    max_depth : int or None, default=None
        Most splits between root and leaf; None: no limit.
    max_leaf_nodes : int or None, default=None
        Most leaves; the split that gains most is made first. None: no limit.
    min_samples_leaf : int, default=1
        Fewest training rows of a leaf.
    min_weight_leaf : float, default=0.0
        Least share of the total weight of a leaf, in [0, 0.5].
    min_impurity_decrease : float, default=0.0
        A split must lower the impurity, as a share of the total weight, by more than this.
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
    committee_ : Committee
        A committee of one.
    classes_ : array (n_classes,)
    table_ : TableSchema

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

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "criterion": [StrOptions({"gini", "entropy"})],
        **GROWTH_CONSTRAINTS,
        "categorical_features": "no_validation",
        "random_state": ["random_state"],
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        *,
        criterion: Literal["gini", "entropy"] = "gini",
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
        self.criterion = criterion
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
            Class labels.
        sample_weight : array-like (n,), default=None
            Row weights; 0 means absent, k means repeated k times.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If `y` holds fewer than two classes, a column holds infinity or what can be no feature, or a
            parameter is out of its range.
        """
        context = self._init_callback_context()
        rows = self._rows(X, y, sample_weight)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        threads = n_threads(self.n_jobs)
        binned = rows.binned(self.table_, self.max_bins, threads)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        tree = self.grower(binned, len(self.classes_), threads).grow_classes(rows.labels, rows.weights, None, seed)
        voters = forest_of([tree], binned.bins, len(self.classes_), value=[class_shares(tree)])
        self.committee_ = Committee(voters, np.ones(1), self.classes_, Share(), self.table_)
        context.call_on_fit_task_end(estimator=self, X=X, y=y, reconstruction_attributes={})
        return self

    def grower(self, binned: Binned, n_classes: int, n_threads: int) -> Grower:
        """The kernel that grows trees with this voter's parameters on a binned table."""
        limits = GrowthLimits(
            self.max_depth,
            self.max_leaf_nodes,
            self.min_samples_leaf,
            self.min_weight_leaf,
            self.min_impurity_decrease,
            self.max_features,
        )
        return grower(binned, self.criterion, n_classes, limits, n_threads)
