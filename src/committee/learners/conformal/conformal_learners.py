"""Conformal prediction sets of class labels, and prediction intervals of numbers."""

from __future__ import annotations

from copy import copy
from dataclasses import KW_ONLY
from typing import Any, ClassVar, Literal, Self, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import _num_samples

from committee.data.labels import label_vector, target_vector
from committee.data.number_types import F64, Index, check_array, check_range
from committee.data.typed_json import field
from committee.files.documents import Document, Tensors
from committee.files.kinds import describe_model, rebuild_member
from committee.learners.bagging.random_forest import RandomForestRegressor
from committee.learners.base.estimator import seeded
from committee.learners.base.parameters import fitted, parameter, with_parameters
from committee.learners.base.stored_learner import (
    StoredLearner,
    describe_attributes,
    describe_unfitted,
    rebuild_unfitted,
)
from committee.learners.blend.committees import CommitteeClassifier, CommitteeRegressor
from committee.learners.conformal.calibration_scores import (
    CalibrationScores,
    LabelScore,
    covered,
    covering_rank,
    interval_scores,
    intervals,
    label_scores,
    order_statistic,
    outward,
    random_shares,
    row_hashes,
    uncrossed,
)
from committee.learners.conformal.conformal import Conformal
from committee.learners.conformal.out_of_sample import (
    MAX_CELLS,
    N_FOLDS,
    LeaveOut,
    OutOfSample,
    Source,
    TrainingRows,
    fit_on_folds,
    fit_out_of_bag,
    folds_of_rows,
    has_out_of_bag_rows,
    predictions_of,
)
from committee.learners.gradient.target import OffsetClassifier, OffsetRegressor


class StoredConformal(Conformal):
    def to_document(self, tensors: Tensors) -> Document:
        if not hasattr(self, "known_"):
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet; call fit before it is saved.")
        inside = self.committee_
        if hasattr(self.estimator_, "to_document"):
            inside = copy(self.estimator_)
            if isinstance(inside, StoredLearner):
                inside.table_ = self.table_  # with the number formats of files, which the command line adds
        document = {
            **describe_unfitted(self, left_out=self.trained_parameters),
            "trained_before": self._trained is not None,
            **self._named_columns(),
            "model": describe_model(inside, tensors.member(0)),
            "attributes": describe_attributes(self.stored_values(), tensors.part("attributes")),
        }
        if hasattr(self, "difficulty_"):
            document["difficulty"] = describe_model(self.difficulty_, tensors.member(1))
        if hasattr(self, "fold_models_"):
            models = enumerate(self.fold_models_, start=2)
            document["folds"] = [describe_model(model, tensors.member(number)) for number, model in models]
        return document

    @classmethod
    def from_document(cls, document: Document, tensors: Tensors) -> Self:
        model: Any = rebuild_unfitted(document, tensors.depth)
        model._validate_params()
        inside = rebuild_member(field(document, "model", dict), tensors.member(0))
        frozen = field(document, "trained_before", bool)
        if hasattr(inside, "fit"):
            model.estimator = FrozenEstimator(inside) if frozen else clone(inside)
        else:
            model.estimator = inside  # a committee
        model._take_model(inside)
        model._read_named_columns(document)
        if "difficulty" in document:
            model.difficulty_ = rebuild_member(field(document, "difficulty", dict), tensors.member(1))
        if "folds" in document:
            models = field(document, "folds", list)
            if not all(isinstance(one, dict) for one in models):
                raise ValueError("folds are not all models")
            model.fold_models_ = [rebuild_member(one, tensors.member(k)) for k, one in enumerate(models, start=2)]
        model._read_attributes(document, tensors)
        model._from_file()
        rebuilt: Self = model
        return rebuilt

    def _from_file(self) -> None:
        held = vars(self)

        def check(name: str, kind: type, *shape: int) -> NDArray[Any]:
            array: NDArray[Any] = field(held, name, np.ndarray)
            check_array(name, array, kind, shape)
            return array

        n = len(field(held, "scores_", np.ndarray))
        check("scores_", np.float64, n)
        if field(held, "groups_", list, None) == []:
            raise ValueError("groups_ is an empty list")
        check_range("row_categories_", check("row_categories_", np.int64, n), 0, len(self.row_categories) - 1)
        if "score_weights_" in held:
            weights = check("score_weights_", np.float64, n)
            if not (np.isfinite(weights) & (weights >= 0.0)).all() or not weights.any():
                raise ValueError("score_weights_ are not finite numbers of at least 0, some above 0")
        if held.get("source_") not in get_args(Source):
            raise ValueError(f"source_ is {held.get('source_')!r}; it must be one of {', '.join(get_args(Source))}")
        if not 0.0 < field(held, "alpha_", float) < 1.0:
            raise ValueError(f"alpha_ is {held['alpha_']!r}; it must be above 0 and below 1")
        if "seed_" in held:
            field(held, "seed_", int)
        if "fold_of_rows_" in held or "fold_models_" in held:
            models = field(held, "fold_models_", list)
            check_range("fold_of_rows_", check("fold_of_rows_", np.int64, n), -1, len(models) - 1)
        if "unseen_" in held:
            check("unseen_", np.uint8, n, (self.committee_.n_voters + 7) // 8)
        one_class = len(getattr(self, "classes_", (0, 1))) == 1  # no votes of it are kept out of bag
        if self.method == "plus" and self.leave_out_ is None and not one_class:
            raise ValueError("method is 'plus', and there are no models without some rows")
        self._sort_scores()


@with_parameters
class ConformalClassifier(StoredConformal, OffsetClassifier):
    """Prediction sets around any classifier, which contain the true label of about a share 1 - alpha of new rows.

    A label's score is its nonconformity with a row. The true labels of the rows of `fit` are scored by voters that have
    not seen the row, and a label is in a new row's set if more than a share `alpha` of these scores, the row itself
    counted, are at least as large. docs/conformal.md has what is proved.

    `predict`, `predict_proba` and `contributions` are those of the estimator, `decision_function` that of `committee_`.

    Attributes
    ----------
    committee_ : Committee
        The estimator's committee; if it has none, a committee whose only voter is the estimator.
    classes_ : array (n_classes,)
        The estimator's classes.

    Notes
    -----
    `class_weight` is for the fit of the estimator; scores count by `sample_weight` alone.

    References
    ----------
    M. Sadinle, J. Lei, L. Wasserman (2019). Least ambiguous set-valued classifiers with bounded error levels. JASA
    114(525). Y. Romano, M. Sesia, E. J. Candès (2020). Classification with valid and adaptive coverage. NeurIPS.
    V. Vovk (2015). Cross-conformal predictors. Annals of Mathematics and Artificial Intelligence 74.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from committee import ConformalClassifier, RandomForestClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = ConformalClassifier(RandomForestClassifier(random_state=0), alpha=0.05).fit(X[::2], y[::2])
    >>> inside = model.predict_set(X[1::2])
    >>> inside.shape, bool(inside[range(89), y[1::2]].mean() > 0.9)
    ((89, 3), True)
    """

    _default_estimator: ClassVar[type] = CommitteeClassifier

    _: KW_ONLY
    nonconformity: LabelScore = parameter(
        "lac",
        """Score of a label: one minus its probability ("lac", the smallest sets on average), or the total probability
        of all more probable labels ("aps": larger sets where classes overlap, and never an empty one with
        ``method="base"`` unless `randomised`).""",
    )
    randomised: bool = parameter(
        False,
        """With "aps", add a random share of the label's own probability, equal for equal rows, from the row's content
        and `random_state`. Sets are smaller, some are empty, and the coverage is exact where rows differ.""",
    )
    per_class: bool = parameter(
        False,
        """Compare a label with rows of the same class alone, so that at most a share `alpha` of each class may be
        missed.""",
    )

    # --- fit -----------------------------------------------------------------------------------------------------

    def _targets(self, y: ArrayLike | None) -> NDArray[Any]:
        if self.randomised and self.nonconformity != "aps":
            raise ValueError(
                f"randomised=True is for nonconformity='aps', and nonconformity is {self.nonconformity!r}; set "
                "randomised=False, or nonconformity='aps'."
            )
        return np.asarray(label_vector(y))

    def _scores_of(self, found: OutOfSample, training: TrainingRows, random: np.random.RandomState) -> F64:
        if self.randomised:
            self.seed_ = int(random.randint(2**31 - 1))
        labels = self._class_numbers(training)
        scores = label_scores(found.predicted, self.nonconformity, self._random_shares(training.X))
        return scores[np.arange(len(labels)), labels]

    def _random_shares(self, X: Any) -> F64 | None:
        return random_shares(row_hashes(X, self.table_), self.seed_) if self.randomised else None

    # --- new rows ------------------------------------------------------------------------------------------------

    def predict_set(
        self, X: Any, alpha: float | None = None, *, groups: Any = None, offset: ArrayLike | str | None = None
    ) -> NDArray[np.bool_]:
        """Return the prediction set of each row.

        Warns if a group is new, or there are too few scored rows for another `alpha` than that of the fit.

        Parameters
        ----------
        X : table or array-like (n, p)
            Rows.
        alpha : float, default=None
            Share of rows that may be missed; None: the parameter.
        groups : array-like (n,) or str, default=None
            Group of each row, or the name of their column, if `fit` was given groups. None: the column `group_by`, or
            the one that `fit` was given by its name.
        offset : array-like (n,) or (n, D) or str, default=None
            Offset of each row, or the name of its column, for an estimator that takes one.

        Returns
        -------
        bool array (n, n_classes)
            Labels in the set, in the order of ``classes_``. Empty sets mostly belong to rows between classes.

        Raises
        ------
        ValueError
            If `alpha` is not between 0 and 1, or groups are missing or unexpected.
        """
        level = self._checked_alpha(alpha)
        return covered(self.p_values(X, groups=groups, offset=offset), level)

    def p_values(self, X: Any, *, groups: Any = None, offset: ArrayLike | str | None = None) -> F64:
        """Return the p-value of each label: the share of scores, its own included, that are at least as large.

        `X`, `groups` and `offset` are those of `predict_set`. A label is in the set at alpha if its p-value is larger.

        Returns
        -------
        float64 array (n, n_classes)
        """
        X, groups, offsets = self._rows_of(X, groups, offset)
        p = predictions_of(self.estimator_, X, offsets)
        categories, shape = self.row_categories, p.shape
        category = categories.numbers(self._groups_of(X, groups), np.arange(shape[1])[None, :])
        category = np.broadcast_to(category[:, None] if category.ndim == 1 else category, shape)
        own = self._random_shares(X)
        if self.leave_out_ is None:
            known: CalibrationScores = self.known_
            return known.p_values(label_scores(p, self.nonconformity, own), category)
        weights = self._score_counts
        below = np.zeros(shape)
        for rows, without in self.leave_out_.predictions(X, offsets):
            some = CalibrationScores.of(self.scores_[rows], self.row_categories_[rows], len(categories), weights[rows])
            below += some.weight_below(label_scores(without, self.nonconformity, own), category)
        total = np.append(self.known_.count, 0.0)[category]
        return np.asarray((total - below + 1.0) / (total + 1.0))

    def predict_proba(self, X: Any, *, offset: ArrayLike | str | None = None) -> F64:
        """Return the class probabilities of the estimator, ``(n, n_classes)``."""
        X, _, offsets = self._rows_of(X, offset=offset)
        return predictions_of(self.estimator_, X, offsets)


NumberScore: TypeAlias = Literal["absolute", "normalised", "quantile"]

LEAST_UNIT_SHARE = 0.1  # share of the mean error that is added to expected errors, so that no unit is near 0


@with_parameters
class ConformalRegressor(StoredConformal, OffsetRegressor):
    """Prediction intervals around any regressor, which contain the target of about a share 1 - alpha of new rows.

    The errors of the rows of `fit` are those of voters that have not seen the row. An interval reaches as far from the
    prediction as the smallest error that a share 1 - alpha of the rows, the new one counted, do not exceed.
    docs/conformal.md has what is proved.

    `predict` and `contributions` are those of the estimator.

    Attributes
    ----------
    committee_ : RegressionCommittee
        The estimator's committee; if it has none, a committee whose only voter is the estimator.

    References
    ----------
    U. Johansson, H. Boström, T. Löfström, H. Linusson (2014). Regression conformal prediction with random forests.
    Machine Learning 97. R. F. Barber, E. J. Candès, A. Ramdas, R. J. Tibshirani (2021). Predictive inference with the
    jackknife+. Annals of Statistics 49(1). B. Kim, C. Xu, R. F. Barber (2020). Predictive inference is free with the
    jackknife+-after-bootstrap. NeurIPS. Y. Romano, E. Patterson, E. J. Candès (2019). Conformalized quantile
    regression. NeurIPS.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from committee import ConformalRegressor, RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ConformalRegressor(RandomForestRegressor(random_state=0), alpha=0.2).fit(X[::2], y[::2])
    >>> low, high = model.predict_interval(X[1::2]).T
    >>> bool(0.7 < ((low <= y[1::2]) & (y[1::2] <= high)).mean() < 0.9)
    True
    """

    stored_attributes: ClassVar[tuple[str, ...]] = (*Conformal.stored_attributes, "least_unit_")
    _default_estimator: ClassVar[type] = CommitteeRegressor

    difficulty_: Any = fitted('With ``nonconformity="normalised"``: the regressor of the errors.', "regressor")
    least_unit_: float = fitted("Number added to the predictions of `difficulty_`: a tenth of the mean error.", "float")

    _: KW_ONLY
    nonconformity: NumberScore = parameter(
        "absolute",
        """Score of a number: its distance from the prediction ("absolute"), in units of the error that `difficulty`
        expects ("normalised"), or its signed distance from the interval between two quantiles ("quantile"), the least
        and the greatest of the numbers that the estimator predicts.""",
    )
    difficulty: Any = parameter(
        None,
        """With "normalised": a regressor to be fitted to the absolute errors on rows that the voters have not seen.
        None: a random forest of 100 trees.""",
        HasMethods(["fit", "predict"]),
        None,
        type_words="regressor or None",
    )

    # --- fit -----------------------------------------------------------------------------------------------------

    def _targets(self, y: ArrayLike | None) -> NDArray[Any]:
        if self.difficulty is not None and self.nonconformity != "normalised":
            raise ValueError(
                f"difficulty is for nonconformity='normalised', and nonconformity is {self.nonconformity!r}; leave "
                "difficulty out, or set nonconformity='normalised'."
            )
        if self.method == "plus" and self.nonconformity == "normalised":
            raise ValueError(
                'method="plus" would need the expected errors without each row; give method="base", or '
                'nonconformity="absolute".'
            )
        return target_vector(y)

    def _scores_of(self, found: OutOfSample, training: TrainingRows, random: np.random.RandomState) -> F64:
        low, high = self._ends(found.predicted)
        if self.nonconformity != "normalised":
            return interval_scores(training.y, low, high, 1.0)
        errors, seed = np.abs(training.y - low), int(random.randint(2**31 - 1))
        return interval_scores(training.y, low, high, self._fit_difficulty(training, errors, seed))

    def _fit_difficulty(self, training: TrainingRows, errors: F64, seed: int) -> F64:
        known = np.flatnonzero(np.isfinite(errors) & training.counted)
        if len(known) < 2:
            raise ValueError(
                f'nonconformity="normalised" is fitted to errors, and there are {len(known)} of them; score more rows, '
                'or use "absolute".'
            )
        weights = None if training.weights is None else training.weights[known]
        some = TrainingRows(_safe_indexing(training.X, known), errors[known], weights)
        template = RandomForestRegressor(100, min_samples_leaf=5) if self.difficulty is None else self.difficulty
        estimator = seeded(clone(template), seed)
        found = fit_out_of_bag(estimator, some) if has_out_of_bag_rows(estimator) else None
        if found is None:
            fold = folds_of_rows(N_FOLDS, some.X, some.y, None)
            found = fit_on_folds(estimator, some, fold, self.n_jobs, leave_out=False)
        self.difficulty_ = found.model
        self.least_unit_ = LEAST_UNIT_SHARE * float(np.average(some.y, weights=weights))
        units = np.full(len(errors), np.nan)
        units[known] = self._units(found.predicted)
        return units

    def _units(self, expected: F64) -> F64:
        # 1 if all errors are 0
        least = self.least_unit_ if self.least_unit_ > 0.0 else 1.0
        return np.asarray(np.maximum(expected[:, 0], 0.0) + least)

    def _ends(self, predicted: F64) -> tuple[F64, F64]:
        n = predicted.shape[1]
        if self.nonconformity == "quantile" and n < 2:
            raise ValueError(
                'nonconformity="quantile" needs an estimator that predicts a lower and an upper quantile, such as '
                'GradientBoostingRegressor(loss="quantile", quantile=[0.05, 0.95]); this one predicts a number.'
            )
        if self.nonconformity != "quantile" and n != 1:
            raise ValueError(
                f"estimator predicts {n} numbers of each row; nonconformity={self.nonconformity!r} is for one. Use "
                '"quantile" for quantiles.'
            )
        return predicted.min(axis=1), predicted.max(axis=1)

    # --- new rows ------------------------------------------------------------------------------------------------

    def predict_interval(
        self, X: Any, alpha: float | None = None, *, groups: Any = None, offset: ArrayLike | str | None = None
    ) -> F64:
        """Return the prediction interval of each row.

        Parameters, errors and warnings are those of `ConformalClassifier.predict_set`.

        Returns
        -------
        float64 array (n, 2)
            Lower and upper ends; infinite with too few scored rows for `alpha`, or in a new group.
        """
        level = self._checked_alpha(alpha)
        X, groups, offsets = self._rows_of(X, groups, offset)
        category = self.row_categories.numbers(self._groups_of(X, groups), None)
        if (leave_out := self.leave_out_) is not None:
            return self._plus_intervals(X, offsets, leave_out, category, level)
        low, high = self._ends(predictions_of(self.estimator_, X, offsets))
        threshold = np.append(self.known_.thresholds(level), np.inf)[category]
        unit = self._units(predictions_of(self.difficulty_, X)) if self.nonconformity == "normalised" else 1.0
        return intervals(low, high, unit, threshold)

    def _plus_intervals(self, X: Any, offset: F64 | None, leave_out: LeaveOut, category: Index, alpha: float) -> F64:
        # CV+ and jackknife+: order statistics of the ends of an interval for each scored row
        weights = self._score_counts
        m, step = _num_samples(X), max(1, MAX_CELLS // len(self.scores_))
        category = np.broadcast_to(category, m)
        found = np.column_stack([np.full(m, -np.inf), np.full(m, np.inf)])
        for a in range(0, m, step):
            block = np.arange(a, min(m, a + step))
            low, high = np.full((2, len(block), len(self.scores_)), np.nan)
            of_block = None if offset is None else offset[block]
            for rows, without in leave_out.predictions(_safe_indexing(X, block), of_block):
                ends = self._ends(without)
                low[:, rows] = -outward(-ends[0][:, None], self.scores_[rows])
                high[:, rows] = outward(ends[1][:, None], self.scores_[rows])
            for c in np.unique(category[block][category[block] >= 0]):
                here, alike = category[block] == c, (self.row_categories_ == c) & np.isfinite(self.scores_)
                rank = float(covering_rank(alpha, weights[alike].sum(keepdims=True))[0])
                found[block[here], 0] = -order_statistic(-low[np.ix_(here, alike)], weights[alike], rank)
                found[block[here], 1] = order_statistic(high[np.ix_(here, alike)], weights[alike], rank)
        return uncrossed(found)
