"""QuadBoost: boosting of the quadratic loss, its weights held down in the L1, L2 or Linf norm."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.data.frames import TableSchema
from committee.data.number_types import F64
from committee.data.rows import Rows, TargetRows, scored_classes
from committee.learners.base import shared_parameters as shared
from committee.learners.base.estimator import BaseClassifier, BaseRegressor
from committee.learners.base.parameters import NOT_NEGATIVE, POSITIVE, parameter, with_parameters
from committee.learners.quadboost.quad_fit import QuadBoost
from committee.learners.quadboost.quad_voters import ScoreTargets
from committee.vote.committee import Committee
from committee.vote.links.mean import Identity
from committee.vote.links.probability import Truncated
from committee.vote.regression import RegressionCommittee


@with_parameters
class QuadBoostClassifier(BaseClassifier, QuadBoost):
    """QuadBoost: a vote fitted by least squares, one voter at a time, with its weights held down.

    Each round takes the voter whose correlation with the residual, mu - M = (1/n) sum_i h(x_i) (y_i - F(x_i)), lowers
    the penalised quadratic risk most, to the weight that is best for it; with eta = (1/n) sum_i h(x_i)^2:

    ====== =============================================================
    none   (mu - M) / eta
    l1     soft(mu - M, lambda) / eta
    l2     (mu - M) / (eta + lambda)
    linf   (mu - M) / eta, within +-alpha_max
    kl     a tanh(v), eta a tanh(v) + lambda a v = mu - M, with a = alpha_max
    ====== =============================================================

    No row weights change and nothing is exponential, which makes rounds cheap: over a finite dictionary they do not
    look at the rows at all, but at products of voters. More than two classes: each against the rest, over one
    dictionary. `QuadBoostClassifierCV` chooses the strength, `quadboost_path` shows all of them.

    Attributes
    ----------
    committee_ : Committee
        The voters, with positive weights (a voter of negative weight is turned round; a user's estimator keeps its
        sign). Two classes: voters name classes. More: scores -1, 0, +1 in the column of the class they speak of.
        Regressors have scores that are numbers.
    training_risks_ : float64 array (rounds + 1,)
        Quadratic risk before the first round and after each one, summed over the classes; without the penalty.
    validation_risks_ : float64 array or None
        Quadratic risk of the held-out rows before the first round and after each one, with early stopping.

    Warns
    -----
    UserWarning
        If no voter has any weight, as when `alpha` is too large.
    ConvergenceWarning
        If a re-weighting ends before its optimum.

    Notes
    -----
    Probabilities are (1 + F)/2, cut off at what n rows cannot tell from 0 and 1: the quadratic loss has
    p_1 - p_0 as its minimiser.

    References
    ----------
    L. Fortier-Dubois, F. Laviolette, M. Marchand, L.-E. Robitaille, J.-F. Roy. Efficient learning of ensembles with
    QuadBoost. Sections 3 and 3.1.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from committee import QuadBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = QuadBoostClassifier(alpha=0.02).fit(X[::2], y[::2])
    >>> model.committee_.n_voters, model.score(X[1::2], y[1::2]) > 0.9
    (31, True)
    """

    _: KW_ONLY
    random_state: Any = shared.random_state('the held-out rows, the members and the signs behind ``alpha="theory"``')

    def target_of(self, rows: Rows) -> ScoreTargets:
        """Signs of the classes that have a score of their own."""
        y = signs_of(rows.labels, len(self.classes_))
        return ScoreTargets(y, rows.weights / rows.weights.sum(), self.fit_intercept, labels=len(y) == 1)

    def committee_of(self, voters: Any, weights: F64, start: F64, count: float) -> Committee:
        """Committee of weighted voters, trained on `count` rows."""
        intercept = start if self.fit_intercept else None
        return classes_committee(self.classes_, voters, weights, intercept, count, self.table_)

    def link_of(self, count: float) -> Truncated:
        """Link of a committee that was trained on `count` rows."""
        return class_link(count, len(self.classes_))


def signs_of(labels: NDArray[np.uint16], n_classes: int) -> F64:
    """Targets -1 and +1: of the second of two classes, or of each class against the rest, ``(K, n)``."""
    return np.where(labels == np.array(scored_classes(n_classes))[:, None], 1.0, -1.0)


def classes_committee(
    classes: NDArray[Any], voters: Any, weights: F64, start: F64 | None, count: float, table: TableSchema
) -> Committee:
    """Committee of a classifier that was trained on `count` rows."""
    intercept = start
    if start is not None and len(start) == 1 and voters.kind == "label":
        intercept = np.array([-0.5, 0.5]) * start
    return Committee(voters, weights, classes, class_link(count, len(classes)), table, intercept)


def class_link(count: float, n_classes: int) -> Truncated:
    """Link of a classifier.

    Scores are differences of probabilities. None of these is called less than what `count` rows cannot tell from zero,
    Laplace's estimate of a class that none of them has.
    """
    return Truncated(floor=0.5 / (count + n_classes))


@with_parameters
class QuadBoostRegressor(BaseRegressor, QuadBoost):
    """QuadBoost on numbers: voters of -1 and +1, or regressors, weighted to fit the target by penalised least squares.

    The rounds of `QuadBoostClassifier`, with real targets: F(x) = F_0 + sum_t alpha_t h_t(x). With stumps this is an
    additive model, a step function of each column.

    Attributes
    ----------
    committee_ : RegressionCommittee
        The voters, with positive weights.
    training_risks_ : float64 array (rounds + 1,)
        Mean squared residual before the first round and after each one; without the penalty.
    validation_risks_ : float64 array or None
        Mean squared residual of the held-out rows before the first round and after each one, with early stopping.

    References
    ----------
    P. Buehlmann, B. Yu (2003). Boosting with the L2 loss. JASA 98. The penalties are those of `QuadBoostClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from committee import QuadBoostRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = QuadBoostRegressor(alpha=2.0).fit(X[::2], y[::2])
    >>> model.committee_.n_voters, model.score(X[1::2], y[1::2]) > 0.4
    (28, True)
    """

    _: KW_ONLY
    alpha: float = parameter(
        0.01,
        """The paper's lambda, >= 0, of "l1" and "l2"; that of "kl", > 0. "l1" keeps a voter whose correlation with the
        residual exceeds it: its lambda is in units of the target, and for targets of another scale than 1 it should be
        scaled with them. The lambda of "l2" and of "kl" has no units.""",
        NOT_NEGATIVE,
    )
    alpha_max: float = parameter(
        0.3,
        """Most that a round may give a voter, > 0, in units of the target, with ``penalty="linf"`` and "kl"; unless
        ``reweight="none"`` most that it has. For targets of another scale than 1 it should be scaled with them.""",
        POSITIVE,
    )

    def target_of(self, rows: TargetRows) -> ScoreTargets:
        """Numbers to predict."""
        if len(rows) < 2:
            raise ValueError(f"n_samples={len(rows)}: X holds one row of any weight; voters need at least two to part.")
        weights = rows.weights / rows.weights.sum()
        return ScoreTargets(rows.target[None], weights, self.fit_intercept, labels=False)

    def committee_of(self, voters: Any, weights: F64, start: F64, count: float) -> RegressionCommittee:
        """Committee of weighted voters."""
        intercept = start if self.fit_intercept else None
        return RegressionCommittee(voters, weights, self.link_of(count), self.table_, intercept)

    def link_of(self, count: float) -> Identity:
        """Link of a committee that was trained on `count` rows."""
        return Identity()
