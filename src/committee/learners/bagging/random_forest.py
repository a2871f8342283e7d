"""Random forests: deep trees on bootstrap draws, their number chosen by the out-of-bag error if wanted."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, replace
from itertools import islice, zip_longest
from numbers import Real
from typing import Any, ClassVar, Generic, Literal, TypeVar

import numpy as np
from joblib import delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval

from committee.data.number_types import Index
from committee.data.parallel import n_threads
from committee.data.rows import Rows, TargetRows, nonzero_sample_weights
from committee.data.text import warn_user
from committee.learners.bagging.forest_trees import (
    ClassOobCurve,
    ClassTrees,
    ForestTrees,
    GrowingForest,
    OobCurve,
    Reserve,
    Rule,
    TargetOobCurve,
    TargetTrees,
    drawn_tree_codec,
)
from committee.learners.bagging.subsamples import GroupedRows, RowDraw, scatter_rows, warn_without_vote
from committee.learners.base import shared_parameters as shared
from committee.learners.base.calibration import CalibratedClassifier
from committee.learners.base.fit_tasks import FitTasks
from committee.learners.base.parameters import COUNT, fitted, parameter, required, with_parameters
from committee.learners.base.predictors import BaseRegressor, WarmStart
from committee.vote.committee import Committee, RegressionCommittee
from committee.vote.links.mean import Average
from committee.vote.links.probability import Share
from committee.voters.forest import Forest
from committee.voters.growing import DeepCriterion, GrowthLimits, TargetCriterion, check_target_criterion

R = TypeVar("R", Rows, TargetRows)


@with_parameters
class ForestEstimator(WarmStart, GroupedRows, Generic[R]):
    reserve = 0.0  # a parameter of the classifier
    _takes_sparse = True
    voters_called = "trees"
    first_parameters: ClassVar[tuple[str, ...]] = (
        *("max_features", "min_samples_leaf", "oob_score", "random_state", "n_jobs"),
    )

    seed_: int = fitted("With `warm_start`: the seed by which further fits draw the same rows.", "int")

    n_estimators: int | Literal["oob"] = parameter(
        100, """Number of trees. "oob": chosen by the out-of-bag error, at most `max_estimators`.""", COUNT
    )
    _: KW_ONLY
    criterion: DeepCriterion = required("Measure that a split lowers.")
    max_depth: int | None = shared.max_depth()
    max_leaf_nodes: int | None = shared.max_leaf_nodes(more="Limited trees are grown by another, slower kernel.")
    min_samples_leaf: int = shared.min_samples_leaf(more="A row that is drawn several times counts once.")
    min_weight_leaf: float = shared.min_weight_leaf("drawn weight")
    min_impurity_decrease: float = shared.min_impurity_decrease(of="mean impurity over the drawn weight")
    max_features: int | float | str | None = shared.max_features("sqrt")
    max_features_tree: int | float | str | None = shared.max_features(of="tree")
    feature_weights: Any = shared.feature_weights()
    bootstrap: bool = shared.bootstrap(True, "A row drawn k times has k times its weight.")
    max_samples: float | int | None = shared.max_samples(
        None, "None: as many as there are, which without replacement is all."
    )
    max_bins: int = shared.max_bins()
    oob_score: bool = shared.oob_score("""Implied by ``n_estimators="oob"``.""")
    oob_rule: Rule = parameter(
        "one_standard_error",
        """Trees that ``n_estimators="oob"`` keeps: the number with the least out-of-bag error ("minimum"), or the
        fewest whose error is within a standard error of that.""",
    )
    max_estimators: int = parameter(1000, """Most trees that ``n_estimators="oob"`` grows.""", COUNT)
    warm_start: bool = parameter(
        False,
        """Continue with the trees of the last `fit`, up to `n_estimators` in all; with "oob" they are not grown again.
        On the same rows, with the same integer `random_state`, that gives the same bits as one fit. On other
        rows the earlier trees are unchanged, but have no out-of-bag votes: set ``oob_score=False``, and for classes
        ``calibrate=None``.""",
    )
    categorical_features: Any = shared.categorical_features()
    random_state: Any = shared.random_state("the rows and columns that trees draw")
    n_jobs: int | None = shared.n_jobs("Trees grown at the same time, one thread each")

    @property
    def _most_trees(self) -> int:
        return self.max_estimators if self.n_estimators == "oob" else self.n_estimators

    def _most_tasks(self, X: Any) -> int:
        earlier = self._earlier_committee()
        return max(0, self._most_trees - (earlier.n_voters if earlier else 0))

    def _train(self, rows: R, tasks: FitTasks) -> dict[str, Any]:
        random = self._random(tasks.random(rows), rows) if self.warm_start else tasks.random(rows)
        earlier = self._earlier_trees(rows)
        group = self._drawn_groups(rows, tasks)
        rows, reserve = self._reserved(rows, tasks.sample_weight, random)
        draw = self._draw(len(rows), group)
        binned = rows.binned(self.table_, self.max_bins, n_threads(self.n_jobs))
        seeds = random.randint(2**31 - 1, size=self._most_trees)
        needs_oob = draw.leaves_out and (self._wants_oob or self._calibrates)
        oob = self._oob_curve(rows) if needs_oob else None
        forest = GrowingForest(oob, self.oob_rule if oob is not None and self.n_estimators == "oob" else None)
        grow = self._trees(
            rows,
            binned=binned,
            draw=draw,
            criterion=self.criterion,
            limits=self._limits(),
            out_of_bag=needs_oob,
            n_threads=n_threads(self.n_jobs),
            has_earlier=bool(earlier),
        )
        form = drawn_tree_codec(len(rows), rows.X.shape[1], grow.n_classes)
        jobs = (delayed(grow)(int(seed), tree) for seed, tree in zip_longest(seeds, earlier[: len(seeds)]))
        with tasks.in_parallel(jobs, self.n_jobs, form) as grown:
            growing = forest.trees(grown)
            before: list[Forest] = list(islice(growing, len(earlier)))
            trees = before + tasks.each("voter", growing, lambda new: {"committee_": self._vote_of(before + new)})
        trees, best = forest.best(trees, (draw.left_out(int(seed)) for seed in seeds))
        committee = self._vote_of(trees)
        found: dict[str, Any] = {"committee_": committee}
        if group is not None:
            found["n_groups_"] = draw.n
        if best is not None and self._wants_oob:
            found["oob_curve_"] = np.array([] if oob is None else oob.curve)
            if self.oob_score or self.n_estimators == "oob":
                warn_without_vote(~best.has_vote, "")
            sample_weight = tasks.sample_weight if reserve is None else reserve.others
            found |= self._oob_attributes(rows, best, scatter_rows(best.mean_vote, sample_weight))
        if reserve is not None:
            assert isinstance(committee, Committee)
            found |= reserve.attributes(committee, best, found.get("oob_decision_function_"))
        return self._finished_out_of_bag(found, rows, best, random, tasks)

    def _earlier_trees(self, rows: R) -> list[Forest]:
        # the trees that a warm start continues; other attributes of the last fit are removed
        earlier = self._earlier_committee()
        for name in self.stored_attributes:
            if name != "seed_":
                self.__dict__.pop(name, None)
        if earlier is None:
            return []
        if isinstance(rows, TargetRows):
            self._check_earlier(earlier, **{"number of targets": (earlier.voters.n_outputs, rows.n_targets)})
        else:
            self._check_earlier(earlier)
        if earlier.n_voters == self.n_estimators:
            warn_user(
                f"warm_start with n_estimators={self.n_estimators} adds no trees to those of the last fit; raise it.",
            )
        voters = earlier.voters
        assert isinstance(voters, Forest)
        return [voters[t] for t in range(len(voters))]

    @property
    def _wants_oob(self) -> bool:
        return self.oob_score or self.n_estimators == "oob" or self.reserve > 0.0

    def _finished_out_of_bag(
        self, fitted: dict[str, Any], rows: R, oob: OobCurve | None, random: np.random.RandomState, tasks: FitTasks
    ) -> dict[str, Any]:
        return fitted

    def _draw(self, n: int, group: Index | None) -> RowDraw:
        if group is not None and self.reserve:
            raise ValueError(
                f"reserve={self.reserve} is drawn row by row, and rows of one group, or copies of a row, would be on "
                "both sides; set reserve=0.0 and hold groups back yourself, or give each row once."
            )
        draw = RowDraw.of(n, self.max_samples, self.bootstrap, group)
        # a reserve can replace out-of-bag votes, but not choose the number of trees
        if not draw.leaves_out and (self.n_estimators == "oob" or (self.oob_score and not self.reserve)):
            asks = "n_estimators='oob'" if self.n_estimators == "oob" else "oob_score=True"
            raise ValueError(
                f"{asks} needs out-of-bag rows, but bootstrap={self.bootstrap} and max_samples={self.max_samples} draw "
                "them all; set bootstrap=True or max_samples below 1.0."
            )
        return draw

    def _limits(self) -> GrowthLimits:
        limits = GrowthLimits.of(self)
        # all columns are drawn too, in a random order, so that the first does not win every tie of a small node
        return replace(limits, max_features=1.0) if limits.max_features is None else limits

    def _reserved(
        self, rows: R, sample_weight: ArrayLike | None, random: np.random.RandomState
    ) -> tuple[R, Reserve | None]:
        return rows, None

    @abstractmethod
    def _trees(self, rows: R, **settings: Any) -> ForestTrees[R]: ...

    @abstractmethod
    def _oob_curve(self, rows: R) -> OobCurve: ...

    @abstractmethod
    def _vote_of(self, voters: list[Forest]) -> Committee | RegressionCommittee:
        """Return the committee of these trees; the list is emptied, so that no tree is in memory twice."""

    @abstractmethod
    def _oob_attributes(self, rows: R, oob: OobCurve, votes: NDArray[np.float64]) -> dict[str, Any]: ...


@with_parameters
class RandomForestClassifier(ForestEstimator[Rows], CalibratedClassifier):
    """Random forest of classification trees.

    Tree t is grown on rows drawn with replacement; each of its nodes draws `max_features` columns anew,
    and takes the best split among them [1]_. Leaves hold the shares of the classes, and trees vote with them:

        p_k(x) = 1/T sum_t W_tk(x) / W_t(x),

    with W_tk(x) the weight of class k in the leaf of tree t that x falls into, or with ``voting="hard"`` 1 for the
    class of most weight and 0 for others; `predict_proba` tempers these shares (`calibrate`).

    Attributes
    ----------
    committee_ : Committee
        The trees, each of weight 1.
    oob_curve_ : float64 array
        Out-of-bag error after 1, 2, ... trees, of all that were grown: the weighted share of wrong rows among those
        with an out-of-bag vote, without the reserve.
    oob_score_ : float
        Out-of-bag accuracy of the forest, the reserve included.
    oob_decision_function_ : float64 array (n, n_classes)
        Mean out-of-bag class shares, or votes with ``voting="hard"``; NaN where there is none, and for rows of zero
        weight. Rows of the reserve have the mean over all trees.
    reserved_rows_ : int64 array
        Numbers of the rows that no tree could draw, ascending; only with `reserve`.

    Notes
    -----
    With ``n_estimators="oob"`` trees are grown until the curve E(T) of out-of-bag errors is flat: two batches of 25
    trees in a row lower the rows' losses by no more than the standard error of the mean difference,

        se = sqrt(sum_i w_i^2 (d_i - mean)^2) / sum_i w_i,

    over the rows that had a vote before the batch. T is a candidate once 99% of the rows have a vote; without one all
    trees stay. "minimum" keeps the candidate of lowest error, T_min; "one_standard_error" the smallest for which the
    mean of loss_i(T) - loss_i(T_min), over the rows with a vote after T trees, is no more than its standard error. The
    error at a T chosen on the same rows is slightly too low.

    A draw depends on `random_state` and the tree's number alone: a forest of 100 trees begins with that of 50. Weights
    count in splits, leaves and errors, but a row is drawn or not drawn as a whole. A node takes 49 bytes and
    8 a class; with more than 8 classes 57, and 10 for each class that a leaf holds; with ``voting="hard"`` 53.

    With `reserve` a share of the rows is drawn before the first tree, independently of their labels; the forest, its
    bins, categories and out-of-bag curve are those of the other rows. ``certify(forest, X, y, on="oob")`` bounds its
    error by the test-set bound on the reserve. Out-of-bag votes are then counted even without `oob_score`.

    References
    ----------
    .. [1] L. Breiman (2001). Random forests. Machine Learning 45(1).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from committee import RandomForestClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> RandomForestClassifier(oob_score=True, random_state=0).fit(X, y).oob_score_ > 0.95
    True
    """

    stored_attributes: ClassVar[tuple[str, ...]] = (
        *("oob_score_", "oob_curve_", "oob_decision_function_", "reserved_rows_", "temperature_", "seed_", "n_groups_"),
    )

    _: KW_ONLY
    criterion: Literal["gini", "entropy"] = parameter("gini", "Impurity that a split lowers.")
    max_features: int | float | str | None = shared.max_features(
        "sqrt", "Drawn are columns of `max_features_tree`; those that do not vary in the node do not count."
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
    class_weight: Any = shared.class_weight(of_draws=True)

    def _reserved(
        self, rows: Rows, sample_weight: ArrayLike | None, random: np.random.RandomState
    ) -> tuple[Rows, Reserve | None]:
        if not self.reserve:
            return rows, None
        return Reserve.draw(self, rows, nonzero_sample_weights(sample_weight, len(rows)), random)

    def _trees(self, rows: Rows, **settings: Any) -> ClassTrees:
        more = {"hard": self.voting == "hard", "class_weight": self.class_weight}
        return ClassTrees(rows, n_classes=len(self.classes_), **more, **settings)

    def _oob_curve(self, rows: Rows) -> ClassOobCurve:
        return ClassOobCurve(rows.labels, rows.weights, len(self.classes_), has_curve=self._wants_oob)

    def _vote_of(self, voters: list[Forest]) -> Committee:
        trees = Forest.joined(voters)
        return Committee(trees, np.ones(len(trees)), self.classes_, Share(), self.table_)

    def _finished_out_of_bag(
        self, fitted: dict[str, Any], rows: Rows, oob: OobCurve | None, random: np.random.RandomState, tasks: FitTasks
    ) -> dict[str, Any]:
        if oob is None or not self._calibrates:
            return self._finished(fitted, rows, None, random, tasks)
        return self._calibrated_out_of_bag(fitted, rows, oob.tally, oob.n_votes, random, tasks)

    def _oob_attributes(self, rows: Rows, oob: OobCurve, votes: NDArray[np.float64]) -> dict[str, Any]:
        return {"oob_score_": 1.0 - oob.curve[-1], "oob_decision_function_": votes}


@with_parameters
class RandomForestRegressor(ForestEstimator[TargetRows], BaseRegressor):
    """Random forest of regression trees.

    As `RandomForestClassifier`, but splits lower the weighted squared error, leaves hold the weighted mean of their
    rows, and the forest predicts the mean of its trees [1]_, f(x) = 1/T sum_t mean_t(x). Other errors of splits are
    those of `criterion`; leaves of "absolute_error" hold the weighted median.

    `y` may have several columns. Then each tree is grown on all of them: leaves hold the mean of each target, and a
    split lowers the sum of the errors of all targets, in units of their standard deviations.

    Attributes
    ----------
    committee_ : RegressionCommittee
        The trees, each of weight 1, with the average link.
    oob_curve_ : float64 array
        Out-of-bag error after 1, 2, ... trees, of all that were grown: the weighted mean squared error over the rows
        with an out-of-bag vote; of several targets each over its variance, summed.
    oob_score_ : float
        Out-of-bag coefficient of determination R^2, as in scikit-learn; of several targets the mean.
    oob_prediction_ : float64 array (n,) or (n, q)
        Mean out-of-bag prediction; NaN where there is none, and for rows of zero weight.

    References
    ----------
    .. [1] L. Breiman (2001). Random forests. Machine Learning 45(1).

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from committee import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> RandomForestRegressor(oob_score=True, random_state=0).fit(X, y).oob_score_ > 0.4
    True
    """

    stored_attributes: ClassVar[tuple[str, ...]] = ("oob_score_", "oob_curve_", "oob_prediction_", "seed_", "n_groups_")

    _: KW_ONLY
    _takes_several_targets = True

    criterion: TargetCriterion = shared.target_criterion()
    min_impurity_decrease: float = shared.min_impurity_decrease(of="mean error over the drawn weight", classes=False)
    max_features: int | float | str | None = shared.max_features(
        1.0,
        """Breiman's third takes a third of the time, but loses much where few columns matter; all of them lose little
        anywhere.""",
    )

    def _trees(self, rows: TargetRows, **settings: Any) -> TargetTrees:
        check_target_criterion(self.criterion, rows.target, self.max_leaf_nodes)
        return TargetTrees(rows, n_classes=rows.n_targets, **settings)

    def _oob_curve(self, rows: TargetRows) -> TargetOobCurve:
        return TargetOobCurve(rows.target, rows.weights, rows.scale)

    def _vote_of(self, voters: list[Forest]) -> RegressionCommittee:
        trees = Forest.joined(voters)
        return RegressionCommittee(trees, np.ones(len(trees)), Average(), self.table_)

    def _oob_attributes(self, rows: TargetRows, oob: OobCurve, votes: NDArray[np.float64]) -> dict[str, Any]:
        from sklearn.metrics import r2_score  # models that predict need no metric

        voted = oob.has_vote
        several = voted.sum() > 1
        predicted = oob.mean_vote[voted]
        weights = rows.weights[voted]
        score = float(r2_score(rows.target[voted], predicted, sample_weight=weights)) if several else np.nan
        return {"oob_score_": score, "oob_prediction_": votes if rows.n_targets > 1 else votes[:, 0]}
