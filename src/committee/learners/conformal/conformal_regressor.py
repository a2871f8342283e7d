"""Intervals that hold the number as often as asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import _num_samples

from committee.data.number_types import F64, Index
from committee.data.rows import target_vector
from committee.learners.base.estimator import BaseRegressor
from committee.learners.base.parameters import fitted, parameter, with_parameters
from committee.learners.conformal.conformal import Conformal
from committee.learners.conformal.difficulty import default_difficulty, expected_errors, units
from committee.learners.conformal.known_scores import enough, row_counts
from committee.learners.conformal.leave_out import CELLS, LeaveOut
from committee.learners.conformal.number_scores import NumberScore, between, distances, intervals, outward
from committee.learners.conformal.row_content import by_row
from committee.learners.conformal.unseen_answers import Training, UnseenAnswers, answer


@with_parameters
class ConformalRegressor(Conformal, BaseRegressor):
    """Intervals around any regressor, which hold the number for a share 1 - alpha of new rows.

    The errors of the training rows are known, each by voters that have not seen the row. An interval reaches as far
    from the prediction as the smallest of them that a share 1 - alpha of the rows, the new one counted, does not
    exceed. What is proved of that, and what is not, is in docs/conformal.md.

    `predict` and all else are those of the estimator.

    Attributes
    ----------
    committee_ : RegressionCommittee
        That of the estimator; of one that is not known, the estimator as its only voter.
    fold_models_ : list
        With ``method="plus"`` and folds, the fit for each.
    known_ : KnownScores
        The scores, sorted: ``known_.thresholds(alpha)`` and ``known_.count``.

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
    >>> inside = (low <= y[1::2]) & (y[1::2] <= high)
    >>> bool(0.7 < inside.mean() < 0.9)
    True
    """

    stored_attributes: ClassVar[tuple[str, ...]] = (*Conformal.stored_attributes, "least_unit_")

    difficulty_: Any = fitted('What predicts errors, of ``nonconformity="normalised"``.', "regressor")
    least_unit_: float = fitted("What is added to these: a tenth of the mean error.", "float")

    _: KW_ONLY
    nonconformity: NumberScore = parameter(
        "absolute",
        """Score of a number: its distance from the prediction, the same everywhere ("absolute") or in units of what
        errors like that are expected to be ("normalised", by `difficulty`); or how far it is outside of two quantiles
        ("quantile"), the first and the last of several numbers that the estimator predicts.""",
    )
    difficulty: Any = parameter(
        None,
        """Of "normalised": a regressor that is trained on the absolute errors of rows that the voters have not seen.
        None: a random forest of 100 trees.""",
        HasMethods(["fit", "predict"]),
        None,
        type_words="regressor or None",
    )

    # --- the fit -------------------------------------------------------------------------------------------------

    @property
    def _default(self) -> Any:
        from committee.learners.blend.committees import CommitteeRegressor

        return CommitteeRegressor()

    def _targets(self, y: ArrayLike | None) -> NDArray[Any]:
        if self.difficulty is not None and self.nonconformity != "normalised":
            raise ValueError(f"difficulty is of nonconformity='normalised', and it is {self.nonconformity!r}.")
        if self.method == "plus" and self.nonconformity == "normalised":
            raise ValueError(
                'method="plus" would need the expected errors without each row; give method="base", or '
                'nonconformity="absolute".'
            )
        return target_vector(y)

    def _judged_apart(self, training: Training) -> tuple[Sequence[Any] | None, Index | None]:
        return None, None

    def _scores_of(self, unseen: UnseenAnswers, training: Training, random: np.random.RandomState) -> F64:
        low, high = self._ends(unseen.answers)
        if self.nonconformity != "normalised":
            return distances(training.y, low, high, 1.0)
        errors, seed = np.abs(training.y - low), int(random.randint(2**31 - 1))
        template = default_difficulty() if self.difficulty is None else self.difficulty
        model, of_rows, least = expected_errors(template, training, errors, seed, self.n_jobs)
        self.difficulty_, self.least_unit_ = model, least
        return distances(training.y, low, high, of_rows)

    def _ends(self, answers: F64) -> tuple[F64, F64]:
        """Lower and upper end of what is predicted, both the same unless quantiles are."""
        n = answers.shape[1]
        if self.nonconformity == "quantile" and n < 2:
            raise ValueError(
                'nonconformity="quantile" needs an estimator that predicts a lower and an upper quantile, such as '
                'GradientBoostingRegressor("quantile", quantile=[0.05, 0.95]); this one predicts a number.'
            )
        if self.nonconformity != "quantile" and n != 1:
            raise ValueError(
                f"estimator predicts {n} numbers of each row; nonconformity={self.nonconformity!r} is of one. "
                'Quantiles take "quantile".'
            )
        return answers.min(axis=1), answers.max(axis=1)

    # --- new rows ------------------------------------------------------------------------------------------------

    def predict_interval(self, X: Any, alpha: float | None = None, *, groups: Any = None) -> F64:
        """Lower and upper end of each row's interval.

        Parameters
        ----------
        X : table or array-like (n, p)
            Rows.
        alpha : float, default=None
            Share of rows that may be missed; None: the parameter.
        groups : array-like (n,), default=None
            Group of each row, where `fit` was given groups.

        Returns
        -------
        float64 array (n, 2)
            Infinite where scored rows are too few for `alpha`.

        Raises
        ------
        ValueError
            If `alpha` is no number between 0 and 1, or groups are given that `fit` had not, or not given.

        Warns
        -----
        UserWarning
            If a group is new, or scored rows are too few for another `alpha` than that of the fit.
        """
        level, X = self._level(alpha), by_row(X)
        category = self.row_categories.numbers(self._groups_of(X, groups), None)
        if (leave_out := self.leave_out_) is not None:
            return self._without_each(X, leave_out, category, level)
        low, high = self._ends(answer(self.estimator_, X))
        threshold = np.append(self.known_.thresholds(level), np.inf)[category]
        unit = units(self.difficulty_, X, self.least_unit_) if self.nonconformity == "normalised" else 1.0
        return intervals(low, high, unit, threshold)

    def _without_each(self, X: Any, leave_out: LeaveOut, category: Index, alpha: float) -> F64:
        """Intervals of CV+ and the jackknife+: each scored row has one, and enough of their ends lie within."""
        weights = row_counts(getattr(self, "score_weights_", np.ones(len(self.scores_))))
        m, step = _num_samples(X), max(1, CELLS // len(self.scores_))
        category = np.broadcast_to(category, m)
        found = np.empty((m, 2))
        for a in range(0, m, step):
            block = np.arange(a, min(m, a + step))
            low, high = np.full((2, len(block), len(self.scores_)), np.nan)
            for rows, without in leave_out.answers(_safe_indexing(X, block)):
                ends = self._ends(without)
                low[:, rows] = -outward(-ends[0][:, None], self.scores_[rows])
                high[:, rows] = outward(ends[1][:, None], self.scores_[rows])
            found[block] = self._ranked(low, high, category[block], weights, alpha)
        return between(found[:, 0], found[:, 1])

    def _ranked(self, low: F64, high: F64, category: Index, weights: F64, alpha: float) -> F64:
        """Ends ``(m, 2)`` that lie beyond those of enough scored rows of the same group."""
        found = np.column_stack([np.full(len(category), -np.inf), np.full(len(category), np.inf)])
        for c in np.unique(category[category >= 0]):
            here, alike = category == c, (self.row_categories_ == c) & np.isfinite(self.scores_)
            rank = float(enough(alpha, weights[alike].sum(keepdims=True))[0])
            found[here, 0] = -_order_statistic(-low[np.ix_(here, alike)], weights[alike], rank)
            found[here, 1] = _order_statistic(high[np.ix_(here, alike)], weights[alike], rank)
        return found


def _order_statistic(values: F64, weights: F64, rank: float) -> F64:
    """The smallest value of each line up to which there is so much weight; infinite where all have less."""
    if weights.sum() < rank:
        return np.full(len(values), np.inf)
    if (weights == 1.0).all():
        k = int(np.ceil(rank)) - 1
        return np.asarray(np.partition(values, k, axis=1)[:, k])
    order = np.argsort(values, axis=1, kind="stable")
    reached = np.cumsum(weights[order], axis=1) >= rank
    return np.asarray(np.take_along_axis(values, order, axis=1)[np.arange(len(values)), reached.argmax(axis=1)])
