"""Random forests: deep trees on bootstrap draws, of as many as their own out-of-bag error asks for."""

from __future__ import annotations

from dataclasses import KW_ONLY
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval

from committee.data.binning import Binned
from committee.data.parallel import n_threads
from committee.data.rows import Rows, TargetRows, have_weight
from committee.learners.bagging.forest_fit import ForestEstimator
from committee.learners.bagging.forest_trees import BalancedTrees, ClassTrees, RowDraw, TargetTrees
from committee.learners.bagging.oob_curve import OutOfBag, OutOfBagClasses, OutOfBagTargets
from committee.learners.bagging.reserve import Reserve, refuse_learned_weights
from committee.learners.base import shared_parameters as shared
from committee.learners.base.calibration import CalibratedClassifier
from committee.learners.base.estimator import BaseRegressor
from committee.learners.base.fit_tasks import FitTasks
from committee.learners.base.parameters import parameter, with_parameters
from committee.vote.committee import Committee
from committee.vote.links.mean import Average
from committee.vote.links.probability import Share
from committee.vote.regression import RegressionCommittee
from committee.voters.forest import Forest


@with_parameters
class RandomForestClassifier(ForestEstimator[Rows], CalibratedClassifier):
    """Random forest of classification trees.

    Tree t is grown on rows drawn with replacement; each of its nodes looks at `max_features` columns, drawn anew,
    and takes the best split among them [1]_. Leaves hold the shares of the classes, and trees vote with them:

        p_k(x) = 1/T sum_t W_tk(x) / W_t(x),

    with W_tk(x) the weight of class k in the leaf of tree t that x falls into, or with ``voting="hard"`` 1 for the
    class of the largest and 0 for others; `predict_proba` tempers these shares (`calibrate`). Trees are grown on at
    most `max_bins` bins of each column, with exact sums of weights: the forest has the same bits for any `n_jobs`.

    Attributes
    ----------
    committee_ : Committee
        The trees, each of weight 1.
    oob_curve_ : float64 array
        Out-of-bag error after 1, 2, ... trees, of all that were grown: the weighted share of wrong rows among those
        that at least one of the trees did not see, the reserve not among them.
    oob_score_ : float
        Out-of-bag accuracy of the forest, the reserve included.
    oob_decision_function_ : float64 array (n, n_classes)
        Mean class shares by the trees that did not see a row; NaN where there is none, and for rows of zero weight.
    reserved_rows_ : int64 array
        Numbers of the rows that no tree could draw, ascending; with `reserve` alone.

    Notes
    -----
    With ``n_estimators="oob"`` trees are grown until the curve E(T) of out-of-bag errors is flat: after every 25
    trees the rows' losses are compared with those 25 trees ago, over the rows that had a vote then. The batch has
    gained nothing if the mean of the paired differences d_i is no more than its standard error

        se = sqrt(sum_i w_i^2 (d_i - mean)^2) / sum_i w_i,

    and two such batches in a row end the growth. The larger the table, the smaller a gain this sees, and the more
    trees it grows. T counts as a candidate once 99% of the rows have a vote. "minimum" keeps the candidate of lowest
    error, T_min. "one_standard_error" keeps the smallest candidate T for which the mean of loss_i(T) - loss_i(T_min),
    over the rows with a vote after T trees, is no more than its standard error. If there is no candidate all trees
    stay. The error at a T chosen on the same rows is a little too good.

    Every draw is a function of `random_state` and the tree's number alone, so that a forest of 100 trees begins with
    the forest of 50 trees. Rows of zero weight are left out; other weights count in splits, leaves and errors, while
    a row is drawn or not drawn as a whole. A leaf's shares take 8 bytes a class, a node 53 bytes more: with many
    classes `min_samples_leaf` or `max_leaf_nodes` keep a forest small.

    With `reserve` a share of the rows is drawn before the first tree, without a look at their labels. The forest is
    that of the other rows - of their bins, their categories, their out-of-bag curve - and all of it is new to the
    reserve: ``certify(forest, X, y, on="oob")`` bounds its error by the plain test-set bound. Out-of-bag votes are then
    counted even without `oob_score`.

    References
    ----------
    .. [1] L. Breiman (2001). Random forests. Machine Learning 45(1).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from committee import RandomForestClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> forest = RandomForestClassifier(oob_score=True, random_state=0).fit(X, y)
    >>> forest.oob_score_ > 0.95
    True
    """

    stored_attributes: ClassVar[tuple[str, ...]] = (
        "oob_score_",
        "oob_curve_",
        "oob_decision_function_",
        "reserved_rows_",
        "temperature_",
        "seed_",
    )

    _: KW_ONLY
    criterion: Literal["gini", "entropy"] = parameter("gini", "Impurity that a split lowers.")
    max_features: int | float | str | None = shared.max_features(
        "sqrt", "Columns that do not vary in the node do not count. They are among those of `max_features_tree`."
    )
    voting: Literal["soft", "hard"] = parameter(
        "soft",
        """"soft": leaves vote with the shares of their classes, which gives the better probabilities. "hard": with one
        vote for their heaviest class, as Breiman's forests; such trees take less memory.""",
        after="max_features_tree",
    )
    reserve: float = parameter(
        0.0,
        "Share of the rows that no tree may draw; they certify the forest. See Notes, and `committee.certify`.",
        Interval(Real, 0.0, 1.0, closed="left"),
        after="max_estimators",
    )
    class_weight: Any = shared.class_weight_of_draws()

    def _reserved(
        self, rows: Rows, sample_weight: ArrayLike | None, random: np.random.RandomState
    ) -> tuple[Rows, Reserve | None]:
        if not self.reserve:
            return rows, None
        refuse_learned_weights(self.class_weight, self.reserve)
        rows, reserve, table = Reserve.draw(
            rows, self.reserve, self.table_, self.classes_, have_weight(sample_weight, len(rows)), random
        )
        self.table_ = table
        return rows, reserve

    def _trees(self, rows: Rows, binned: Binned, draw: RowDraw) -> ClassTrees:
        n_classes, threads = len(self.classes_), n_threads(self.n_jobs)
        kind = BalancedTrees if self.class_weight == "balanced_subsample" else ClassTrees
        settings = (draw, self.criterion, n_classes, self._limits())
        hard = self.voting == "hard"
        return kind(rows, binned, *settings, hard=hard, judged=self._judged(draw), n_threads=threads)

    def _out_of_bag(self, rows: Rows) -> OutOfBagClasses:
        return OutOfBagClasses(rows.labels, rows.weights, len(self.classes_))

    def _vote_of(self, voters: list[Forest]) -> Committee:
        return Committee(Forest.concatenate(voters), np.ones(len(voters)), self.classes_, Share(), self.table_)

    def _judged_last(
        self, fitted: dict[str, Any], rows: Rows, oob: OutOfBag | None, random: np.random.RandomState, tasks: FitTasks
    ) -> dict[str, Any]:
        if not self._calibrates:
            return fitted
        if oob is None:
            return self._finished(fitted, rows, None, random, tasks)
        return self._calibrated_out_of_bag(fitted, rows, oob.tally, oob.n_votes, random, tasks)

    def _oob_attributes(self, rows: Rows, oob: OutOfBag, votes: NDArray[np.float64]) -> dict[str, Any]:
        return {"oob_score_": 1.0 - oob.curve[-1], "oob_decision_function_": votes}


@with_parameters
class RandomForestRegressor(ForestEstimator[TargetRows], BaseRegressor):
    """Random forest of regression trees.

    As `RandomForestClassifier`, whose page says more of draws, bins and ``n_estimators="oob"``: splits lower the
    weighted squared error, leaves hold the weighted mean of their rows, and the forest predicts the mean of its
    trees [1]_,

        f(x) = 1/T sum_t mean_t(x).

    `y` may have several columns. Then each tree is grown on all of them: leaves hold the mean of each target, and a
    split lowers the sum of their squared errors, each over the target's variance, so that units do not matter.
    scikit-learn's forests do so where targets have been standardised.

    Attributes
    ----------
    committee_ : RegressionCommittee
        The trees, each of weight 1, with the average link.
    oob_curve_ : float64 array
        Out-of-bag error after 1, 2, ... trees, of all that were grown: the weighted mean squared error over the rows
        that at least one of the trees did not see; of several targets each over its variance, summed.
    oob_score_ : float
        Out-of-bag coefficient of determination R^2, as in scikit-learn; of several targets the mean.
    oob_prediction_ : float64 array (n,) or (n, q)
        Mean prediction by the trees that did not see a row; NaN where there is none, and for rows of zero weight.

    References
    ----------
    .. [1] L. Breiman (2001). Random forests. Machine Learning 45(1).

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from committee import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(oob_score=True, random_state=0).fit(X, y)
    >>> forest.oob_score_ > 0.4
    True
    """

    stored_attributes: ClassVar[tuple[str, ...]] = ("oob_score_", "oob_curve_", "oob_prediction_", "seed_")

    _: KW_ONLY
    _takes_several_targets = True

    criterion: Literal["squared_error"] = parameter("squared_error", "Error that a split lowers.")
    min_impurity_decrease: float = shared.min_impurity_decrease(
        of="mean squared error over the drawn weight", classes=False
    )
    max_features: int | float | str | None = shared.max_features(
        1.0,
        """Breiman's third takes a third of the time, but loses much where few columns matter; all of them lose little
        anywhere.""",
    )

    def _trees(self, rows: TargetRows, binned: Binned, draw: RowDraw) -> TargetTrees:
        threads = n_threads(self.n_jobs)
        return TargetTrees(
            rows,
            binned,
            draw,
            self.criterion,
            rows.n_targets,
            self._limits(),
            judged=self._judged(draw),
            n_threads=threads,
        )

    def _out_of_bag(self, rows: TargetRows) -> OutOfBagTargets:
        return OutOfBagTargets(rows.target, rows.weights, rows.scale)

    def _vote_of(self, voters: list[Forest]) -> RegressionCommittee:
        return RegressionCommittee(Forest.concatenate(voters), np.ones(len(voters)), Average(), self.table_)

    def _oob_attributes(self, rows: TargetRows, oob: OutOfBag, votes: NDArray[np.float64]) -> dict[str, Any]:
        from sklearn.metrics import r2_score  # models that predict need no metric

        judged = oob.judged
        several = judged.sum() > 1
        predicted = oob.mean_vote[judged]
        weights = rows.weights[judged]
        score = float(r2_score(rows.target[judged], predicted, sample_weight=weights)) if several else np.nan
        return {"oob_score_": score, "oob_prediction_": votes if rows.n_targets > 1 else votes[:, 0]}
