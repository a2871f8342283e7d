"""Conformal prediction intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import _num_samples

from committee.data.labels import target_vector
from committee.data.number_types import F64, Index
from committee.learners.bagging.random_forest import RandomForestRegressor
from committee.learners.base.estimator import BaseRegressor
from committee.learners.base.parameters import fitted, parameter, with_parameters
from committee.learners.base.user_voter import seeded
from committee.learners.conformal.calibration_scores import covering_rank, indexable_rows, row_counts
from committee.learners.conformal.conformal import Conformal
from committee.learners.conformal.out_of_sample import (
    MAX_CELLS,
    N_FOLDS,
    LeaveOut,
    OutOfSample,
    TrainingRows,
    fit_on_folds,
    fit_out_of_bag,
    folds_of_rows,
    has_out_of_bag_rows,
    predictions_of,
)

NumberScore: TypeAlias = Literal["absolute", "normalised", "quantile"]

LEAST_UNIT_SHARE = 0.1
"""Share of the mean error that is added to expected errors, so that no unit is near 0."""

ROUNDED = 4.0 * float(np.finfo(np.float64).eps)
"""Relative error of the larger of two numbers whose rounded difference is scaled and added again."""


@with_parameters
class ConformalRegressor(Conformal, BaseRegressor):
    """Prediction intervals around any regressor, which contain the target of a share 1 - alpha of new rows.

    The errors of the training rows are those of voters that have not seen the row. An interval reaches as far from the
    prediction as the smallest of them that a share 1 - alpha of the rows, the new one counted, does not exceed.
    docs/conformal.md has what is proved.

    `predict` and all else are those of the estimator.

    Attributes
    ----------
    committee_ : RegressionCommittee
        The estimator's; of an unknown kind, one whose only voter is the estimator.

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

    difficulty_: Any = fitted('With ``nonconformity="normalised"``: the regressor of the errors.', "regressor")
    least_unit_: float = fitted("Added to its predictions: a tenth of the mean error.", "float")

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

    @property
    def _default(self) -> Any:
        from committee.learners.blend.committees import CommitteeRegressor

        return CommitteeRegressor()

    def _targets(self, y: ArrayLike | None) -> NDArray[Any]:
        if self.difficulty is not None and self.nonconformity != "normalised":
            raise ValueError(f"difficulty is for nonconformity='normalised', and it is {self.nonconformity!r}.")
        if self.method == "plus" and self.nonconformity == "normalised":
            raise ValueError(
                'method="plus" would need the expected errors without each row; give method="base", or '
                'nonconformity="absolute".'
            )
        return target_vector(y)

    def _class_categories(self, training: TrainingRows) -> tuple[Sequence[Any] | None, Index | None]:
        return None, None

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
                'GradientBoostingRegressor("quantile", quantile=[0.05, 0.95]); this one predicts a number.'
            )
        if self.nonconformity != "quantile" and n != 1:
            raise ValueError(
                f"estimator predicts {n} numbers of each row; nonconformity={self.nonconformity!r} is for one. Use "
                '"quantile" for quantiles.'
            )
        return predicted.min(axis=1), predicted.max(axis=1)

    # --- new rows ------------------------------------------------------------------------------------------------

    def predict_interval(self, X: Any, alpha: float | None = None, *, groups: Any = None) -> F64:
        """Return the prediction interval of each row.

        Parameters
        ----------
        X : table or array-like (n, p)
            Rows.
        alpha : float, default=None
            Share of rows that may be missed; None: the parameter.
        groups : array-like (n,), default=None
            Group of each row, if `fit` was given groups.

        Returns
        -------
        float64 array (n, 2)
            Lower and upper ends; infinite with too few scored rows for `alpha`.

        Raises
        ------
        ValueError
            If `alpha` is not between 0 and 1, or groups are missing or unexpected.

        Warns
        -----
        UserWarning
            If a group is new, or there are too few scored rows for another `alpha` than that of the fit.
        """
        level, X = self._checked_alpha(alpha), indexable_rows(X)
        category = self.row_categories.numbers(self._groups_of(X, groups), None)
        if (leave_out := self.leave_out_) is not None:
            return self._plus_intervals(X, leave_out, category, level)
        low, high = self._ends(predictions_of(self.estimator_, X))
        threshold = np.append(self.known_.thresholds(level), np.inf)[category]
        unit = self._units(predictions_of(self.difficulty_, X)) if self.nonconformity == "normalised" else 1.0
        return intervals(low, high, unit, threshold)

    def _plus_intervals(self, X: Any, leave_out: LeaveOut, category: Index, alpha: float) -> F64:
        # CV+ and jackknife+: order statistics of the ends of an interval for each scored row
        weights = row_counts(getattr(self, "score_weights_", np.ones(len(self.scores_))))
        m, step = _num_samples(X), max(1, MAX_CELLS // len(self.scores_))
        category = np.broadcast_to(category, m)
        found = np.column_stack([np.full(m, -np.inf), np.full(m, np.inf)])
        for a in range(0, m, step):
            block = np.arange(a, min(m, a + step))
            low, high = np.full((2, len(block), len(self.scores_)), np.nan)
            for rows, without in leave_out.predictions(_safe_indexing(X, block)):
                ends = self._ends(without)
                low[:, rows] = -outward(-ends[0][:, None], self.scores_[rows])
                high[:, rows] = outward(ends[1][:, None], self.scores_[rows])
            for c in np.unique(category[block][category[block] >= 0]):
                here, alike = category[block] == c, (self.row_categories_ == c) & np.isfinite(self.scores_)
                rank = float(covering_rank(alpha, weights[alike].sum(keepdims=True))[0])
                found[block[here], 0] = -_order_statistic(-low[np.ix_(here, alike)], weights[alike], rank)
                found[block[here], 1] = _order_statistic(high[np.ix_(here, alike)], weights[alike], rank)
        return _uncrossed(found)


# --- scores of numbers -----------------------------------------------------------------------------------------------


def interval_scores(y: F64, low: F64, high: F64, unit: F64 | float) -> F64:
    """Return the distances of numbers to an interval in units, negative inside (Y. Romano et al. (2019)).

    >>> interval_scores(np.array([3.0, 0.5]), np.array([1.0, 0.0]), np.array([1.0, 2.0]), 2.0).tolist()
    [1.0, -0.25]
    """
    return np.asarray(np.maximum(low - y, y - high) / unit)


def intervals(low: F64, high: F64, unit: F64 | float, threshold: F64) -> F64:
    """Return the intervals ``(n, 2)`` of numbers whose score is at most the threshold; the middle if there are none.

    >>> intervals(np.array([1.0, 0.0]), np.array([1.0, 2.0]), 1.0, np.array([0.5, -3.0])).round(9).tolist()
    [[0.5, 1.5], [1.0, 1.0]]
    """
    wide = threshold * unit
    return _uncrossed(np.column_stack([-outward(-low, wide), outward(high, wide)]), (low + high) / 2.0)


def outward(end: F64, wide: F64) -> F64:
    """Return `end + wide` and some units of its last digit, so that a number at this distance is inside.

    >>> y, f = np.array([0.9]), np.array([0.2])
    >>> bool((f + (y - f) >= y).all()), bool((outward(f, y - f) >= y).all())
    (False, True)
    """
    little = ROUNDED * np.maximum(np.abs(end), np.abs(wide))
    return np.asarray(end + wide + little)


def _uncrossed(ends: F64, middle: F64 | None = None) -> F64:
    crossed = ends[:, 0] > ends[:, 1]
    middles = ends[crossed].mean(axis=1) if middle is None else middle[crossed]
    ends[crossed] = middles[:, None]
    return ends


def _order_statistic(values: F64, weights: F64, rank: float) -> F64:
    # the smallest value of each line up to which there is this weight
    if weights.sum() < rank:
        return np.full(len(values), np.inf)
    if (weights == 1.0).all():
        k = int(np.ceil(rank)) - 1
        return np.asarray(np.partition(values, k, axis=1)[:, k])
    order = np.argsort(values, axis=1, kind="stable")
    reached = np.cumsum(weights[order], axis=1) >= rank
    return np.asarray(np.take_along_axis(values, order, axis=1)[np.arange(len(values)), reached.argmax(axis=1)])
