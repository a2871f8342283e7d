"""Gradient boosting with penalised leaves: classes by any loss of classes, numbers by any loss of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from committee.learners.base.estimator import CommitteeClassifier, CommitteeRegressor
from committee.learners.gradient.gradient_fit import GradientBoosting
from committee.objectives.losses import Loss, Quantile, Quantiles, classification_loss, regression_loss
from committee.vote.committee import Committee
from committee.vote.regression import RegressionCommittee
from committee.voters.forest import Forest
from committee.voters.rounds import Rounds

F64 = NDArray[np.float64]

# the defaults of both learners that decide how well they do
_N_ESTIMATORS, _LEARNING_RATE = 100, 0.1
_MAX_LEAF_NODES, _MIN_SAMPLES_LEAF, _MIN_HESSIAN_LEAF = 15, 10, 1e-3
_LEAF_L0, _LEAF_L1, _LEAF_L2 = 0.0, 0.0, 5.0


class GradientBoostingClassifier(CommitteeClassifier, GradientBoosting):
    r"""Gradient boosting of trees for classes.

    Each round takes the gradients g and hessians h of the loss at the scores F, grows trees on them, and moves F
    along: F <- F + a b(x), with the step a = `learning_rate` [1]_, [2]_. With G and H the sums of g and h in a leaf,
    its weight is

        w = -sign(G) max(|G| - leaf_l1, 0) / (H + leaf_l2),

    or exactly 0, where what it gains, s = max(|G| - leaf_l1, 0)^2 / (2 (H + leaf_l2)), does not exceed leaf_l0. Splits
    gain V_left + V_right - V_parent with V = max(0, s - leaf_l0) (see `LeafPenalty`).

    Parameters
    ----------
    loss : {"log_loss", "exponential", "probit", "squared_hinge"} or Loss, default="log_loss"
        What is boosted, and with it the link from scores to probabilities. Two classes have one score, positive for
        the second; more have one each. A `committee.objectives.losses.Loss` of your own will do.
    n_estimators : int, default=100
        Most rounds T; fewer when early stopping says so, or when a round changes nothing.
    learning_rate : float, default=0.1
        Shrinks every step, in (0, 10]; smaller steps need more rounds.
    max_leaf_nodes : int or None, default=15
        Most leaves of a tree. None: no limit.
    max_depth : int or None, default=None
        Depth of the trees. None: no limit.
    growth : {"leaf", "depth"}, default="leaf"
        Which node is split next while `max_leaf_nodes` allows: the one that gains most, or level by level.
    min_samples_leaf : int, default=10
        Fewest training rows of a leaf, whatever they weigh.
    min_hessian_leaf : float, default=0.001
        Least sum of hessians of a leaf. For losses whose hessian is 1 it is a weight of rows.
    leaf_l0, leaf_l1, leaf_l2 : float, default=0.0, 0.0, 5.0
        Penalties of the leaf weights w_j: leaf_l0 for each w_j that is not 0, leaf_l1 times |w_j|, leaf_l2 / 2 times
        w_j^2. With leaf_l0 > 0 a leaf may abstain: weigh exactly 0.
    l0_counts : {"weights", "leaves"}, default="weights"
        What leaf_l0 is the price of: weights that are not 0, or leaves, zero or not (XGBoost's gamma).
    subsample : float, default=1.0
        Share of the rows that a round sees, drawn anew without replacement.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Features that each node looks at, drawn anew among those of the tree; None: all.
    max_features_tree : int, float, "sqrt", "log2" or None, default=None
        Features that each round looks at, drawn anew; None: all.
    line_search : bool, default=False
        Go along each tree as far as the objective (loss and penalties of all training rows) falls, times
        `learning_rate`. The objective then never rises.
    tree : {"per_class", "shared"}, default="per_class"
        With more than two classes: a tree for each of them in every round, or one whose leaves hold a number for
        each. Shared trees cost less and see what classes have in common; trees of their own fit each class better.
    monotonic_constraints : dict of column names, array-like (p,) or None, default=None
        1: the score of the second class never falls as the column rises; -1: never rises; 0: free. Two classes only.
    max_bins : int, default=255
        Most bins of a column. A column with fewer distinct values is split exactly.
    categorical_features : "from_dtype", None, list or mask, default="from_dtype"
        Which columns are categories; "from_dtype": text, categorical and boolean columns of a data frame.
    early_stopping : bool, default=False
        Stop when the loss on held-out rows has not improved for `n_iter_no_change` rounds, and keep the rounds up
        to the best one. Held out are `X_val`, `y_val` of `fit`, or a `validation_fraction`.
    validation_fraction : float, default=0.1
        Share of rows held out when early stopping is on and no validation set is given.
    n_iter_no_change : int, default=10
        Rounds without improvement that end the run.
    warm_start : bool, default=False
        Go on from the committee of the last `fit`, up to `n_estimators` rounds in all. On the same rows, with the
        same integer `random_state`, that gives the bits of one long fit.
    random_state : int, RandomState or None, default=None
        Draws the held-out rows, and rows and features of rounds; otherwise not used.
    n_jobs : int or None, default=None
        Threads; the committee does not depend on it, bit for bit.

    Attributes
    ----------
    committee_ : Committee
        The rounds b_t, their steps a_t as weights, and the best constant score as intercept.
    classes_ : array (n_classes,)
    validation_losses_ : float64 array or None
        Mean held-out loss after each round, when early stopping is on.
    training_objectives_ : float64 array or None
        With line search: the objective over the training weight, before the first and after each round of the last
        call of `fit`.
    table_ : TableSchema
        What the columns are.

    Raises
    ------
    sklearn.utils._param_validation.InvalidParameterError
        At `fit`, naming the parameter, its value and its range.

    References
    ----------
    .. [1] J. Friedman (2001). Greedy function approximation: a gradient boosting machine. Annals of Statistics 29(5).
    .. [2] J. Friedman (2002). Stochastic gradient boosting. Computational Statistics & Data Analysis 38(4).
    .. [3] T. Chen, C. Guestrin (2016). XGBoost: a scalable tree boosting system. KDD.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from committee import GradientBoostingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = GradientBoostingClassifier(early_stopping=True, random_state=0).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.94
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **GradientBoosting._parameter_constraints,
        "tree": [StrOptions({"per_class", "shared"})],
    }

    def __init__(
        self,
        loss: str | Loss = "log_loss",
        n_estimators: int = _N_ESTIMATORS,
        *,
        learning_rate: float = _LEARNING_RATE,
        max_leaf_nodes: int | None = _MAX_LEAF_NODES,
        max_depth: int | None = None,
        growth: Literal["leaf", "depth"] = "leaf",
        min_samples_leaf: int = _MIN_SAMPLES_LEAF,
        min_hessian_leaf: float = _MIN_HESSIAN_LEAF,
        leaf_l0: float = _LEAF_L0,
        leaf_l1: float = _LEAF_L1,
        leaf_l2: float = _LEAF_L2,
        l0_counts: Literal["weights", "leaves"] = "weights",
        subsample: float = 1.0,
        max_features: int | float | str | None = None,
        max_features_tree: int | float | str | None = None,
        line_search: bool = False,
        tree: Literal["per_class", "shared"] = "per_class",
        monotonic_constraints: Any = None,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.loss = loss
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.growth = growth
        self.min_samples_leaf = min_samples_leaf
        self.min_hessian_leaf = min_hessian_leaf
        self.leaf_l0 = leaf_l0
        self.leaf_l1 = leaf_l1
        self.leaf_l2 = leaf_l2
        self.l0_counts = l0_counts
        self.subsample = subsample
        self.max_features = max_features
        self.max_features_tree = max_features_tree
        self.line_search = line_search
        self.tree = tree
        self.monotonic_constraints = monotonic_constraints
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _chosen_loss(self) -> Loss:
        return classification_loss(self.loss)

    @property
    def _n_classes(self) -> int | None:
        return len(self.classes_)

    @property
    def _shared_tree(self) -> bool:
        return self.tree == "shared"

    def _vote(self, voters: Forest | Rounds, weights: F64, loss: Loss, intercept: F64) -> dict[str, Any]:
        link: Any = loss.link
        return {
            "classes_": self.classes_,
            "committee_": Committee(voters, weights, self.classes_, link, self.table_, intercept),
        }


class GradientBoostingRegressor(CommitteeRegressor, GradientBoosting):
    r"""Gradient boosting of trees for numbers: means, medians, counts, amounts, and quantiles that do not cross.

    The rounds are those of `GradientBoostingClassifier`; the loss says what is predicted. Losses without curvature
    (absolute error, quantiles) choose splits by gradients alone, and then every leaf that does not abstain gets the
    constant that is best for its rows.

    Parameters
    ----------
    loss : str or Loss, default="squared_error"
        "squared_error" (mean), "absolute_error" (median), "quantile", "huber"; "poisson" (counts), "gamma" (amounts)
        and "tweedie" (amounts that may be 0) predict means exp(F). Or a `committee.objectives.losses.Loss`, for
        other numbers than the defaults (``Huber(delta=5.0)``) or a loss of your own.
    n_estimators : int, default=100
        Most rounds T; fewer when early stopping says so, or when a round changes nothing.
    learning_rate : float, default=0.1
        Shrinks every step, in (0, 10]; smaller steps need more rounds.
    max_leaf_nodes : int or None, default=15
        Most leaves of a tree. None: no limit.
    max_depth : int or None, default=None
        Depth of the trees. None: no limit.
    growth : {"leaf", "depth"}, default="leaf"
        Which node is split next while `max_leaf_nodes` allows: the one that gains most, or level by level.
    min_samples_leaf : int, default=10
        Fewest training rows of a leaf, whatever they weigh.
    min_hessian_leaf : float, default=0.001
        Least sum of hessians of a leaf. For losses whose hessian is 1 it is a weight of rows.
    leaf_l0, leaf_l1, leaf_l2 : float, default=0.0, 0.0, 5.0
        Penalties of the leaf weights w_j: leaf_l0 for each w_j that is not 0, leaf_l1 times |w_j|, leaf_l2 / 2 times
        w_j^2. With leaf_l0 > 0 a leaf may abstain: weigh exactly 0.
    l0_counts : {"weights", "leaves"}, default="weights"
        What leaf_l0 is the price of: weights that are not 0, or leaves, zero or not (XGBoost's gamma).
    subsample : float, default=1.0
        Share of the rows that a round sees, drawn anew without replacement.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Features that each node looks at, drawn anew among those of the tree; None: all.
    max_features_tree : int, float, "sqrt", "log2" or None, default=None
        Features that each round looks at, drawn anew; None: all.
    line_search : bool, default=False
        Go along each tree as far as the objective (loss and penalties of all training rows) falls, times
        `learning_rate`. The objective then never rises.
    quantile : float or sequence of float, default=0.5
        For ``loss="quantile"``: which quantile. Several, in rising order, are predicted at once, as columns: each
        round is one tree whose leaves hold a number for each, and the numbers of a row are put in order, so that they
        never cross.
    monotonic_constraints : dict of column names, array-like (p,) or None, default=None
        1: predictions never fall as the column rises; -1: never rise; 0: free. Not for several quantiles.
    max_bins : int, default=255
        Most bins of a column. A column with fewer distinct values is split exactly.
    categorical_features : "from_dtype", None, list or mask, default="from_dtype"
        Which columns are categories; "from_dtype": text, categorical and boolean columns of a data frame.
    early_stopping : bool, default=False
        Stop when the loss on held-out rows has not improved for `n_iter_no_change` rounds, and keep the rounds up
        to the best one. Held out are `X_val`, `y_val` of `fit`, or a `validation_fraction`.
    validation_fraction : float, default=0.1
        Share of rows held out when early stopping is on and no validation set is given.
    n_iter_no_change : int, default=10
        Rounds without improvement that end the run.
    warm_start : bool, default=False
        Go on from the committee of the last `fit`, up to `n_estimators` rounds in all. On the same rows, with the
        same integer `random_state`, that gives the bits of one long fit.
    random_state : int, RandomState or None, default=None
        Draws the held-out rows, and rows and features of rounds; otherwise not used.
    n_jobs : int or None, default=None
        Threads; the committee does not depend on it, bit for bit.

    Attributes
    ----------
    committee_ : RegressionCommittee
        The rounds b_t, their steps a_t as weights, and the best constant score as intercept.
    validation_losses_ : float64 array or None
        Mean held-out loss after each round, when early stopping is on.
    training_objectives_ : float64 array or None
        With line search: the objective over the training weight, before the first and after each round of the last
        call of `fit`.
    table_ : TableSchema
        What the columns are.

    Raises
    ------
    sklearn.utils._param_validation.InvalidParameterError
        At `fit`, naming the parameter, its value and its range.

    References
    ----------
    .. [1] J. Friedman (2001). Greedy function approximation: a gradient boosting machine. Annals of Statistics 29(5).
    .. [2] J. Friedman (2002). Stochastic gradient boosting. Computational Statistics & Data Analysis 38(4).
    .. [3] T. Chen, C. Guestrin (2016). XGBoost: a scalable tree boosting system. KDD.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from committee import GradientBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GradientBoostingRegressor("quantile", 50, quantile=[0.1, 0.5, 0.9]).fit(X, y)
    >>> low, middle, high = model.predict(X).T
    >>> bool((low <= middle).all() and (middle <= high).all())
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **GradientBoosting._parameter_constraints,
        "quantile": [Interval(Real, 0.0, 1.0, closed="neither"), "array-like"],
    }

    def __init__(
        self,
        loss: str | Loss = "squared_error",
        n_estimators: int = _N_ESTIMATORS,
        *,
        learning_rate: float = _LEARNING_RATE,
        max_leaf_nodes: int | None = _MAX_LEAF_NODES,
        max_depth: int | None = None,
        growth: Literal["leaf", "depth"] = "leaf",
        min_samples_leaf: int = _MIN_SAMPLES_LEAF,
        min_hessian_leaf: float = _MIN_HESSIAN_LEAF,
        leaf_l0: float = _LEAF_L0,
        leaf_l1: float = _LEAF_L1,
        leaf_l2: float = _LEAF_L2,
        l0_counts: Literal["weights", "leaves"] = "weights",
        subsample: float = 1.0,
        max_features: int | float | str | None = None,
        max_features_tree: int | float | str | None = None,
        line_search: bool = False,
        quantile: float | Sequence[float] = 0.5,
        monotonic_constraints: Any = None,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.loss = loss
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.growth = growth
        self.min_samples_leaf = min_samples_leaf
        self.min_hessian_leaf = min_hessian_leaf
        self.leaf_l0 = leaf_l0
        self.leaf_l1 = leaf_l1
        self.leaf_l2 = leaf_l2
        self.l0_counts = l0_counts
        self.subsample = subsample
        self.max_features = max_features
        self.max_features_tree = max_features_tree
        self.line_search = line_search
        self.quantile = quantile
        self.monotonic_constraints = monotonic_constraints
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _chosen_loss(self) -> Loss:
        if self.loss != "quantile":
            return regression_loss(self.loss)
        if isinstance(self.quantile, Real):
            return Quantile(float(self.quantile))
        levels = tuple(np.asarray(self.quantile, dtype=np.float64).tolist())
        return Quantile(*levels) if len(levels) == 1 else Quantiles(levels)

    @property
    def _n_classes(self) -> int | None:
        return None

    @property
    def _shared_tree(self) -> bool:
        return True

    def _vote(self, voters: Forest | Rounds, weights: F64, loss: Loss, intercept: F64) -> dict[str, Any]:
        link: Any = loss.link
        return {"committee_": RegressionCommittee(voters, weights, link, self.table_, intercept)}
