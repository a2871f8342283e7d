"""Gradient boosting over any regressor: classes by any loss of classes, numbers by any loss of numbers."""

from __future__ import annotations

from typing import Any

from committee.data.number_types import F64
from committee.learners.base.estimator import BaseClassifier, BaseRegressor
from committee.learners.base.parameters import parameter, with_parameters
from committee.learners.gradient.functional_fit import FunctionalGradientBoosting
from committee.objectives.losses import Loss, LossChoice, classification_loss, regression_loss
from committee.vote.committee import Committee
from committee.vote.regression import RegressionCommittee
from committee.voters.regressor_rounds import RegressorRounds
from committee.voters.regressors import RegressorVoters


@with_parameters
class FunctionalGradientBoostingClassifier(BaseClassifier, FunctionalGradientBoosting):
    r"""Gradient boosting for classes over any regressor: trees, lines, splines, whatever fits numbers.

    Each round takes the gradients g of the loss at the scores F, fits a base learner to minus these by least squares,

        b_t = argmin_b sum_i w_i (b(x_i) + g_i)^2,

    and moves F along it, F <- F + a b_t(x), as far as a line search says, times `learning_rate` [1]_, [2]_. With more
    than two classes a round has a base learner for each, and one step for all. `GradientBoostingClassifier` grows trees
    by Newton's steps, which is quicker and usually better where trees are what is wanted.

    Attributes
    ----------
    committee_ : Committee
        The rounds, each a voter with a base learner for each score, their steps as weights, and the best constant
        score as intercept.

    References
    ----------
    .. [1] J. Friedman (2001). Greedy function approximation: a gradient boosting machine. Annals of Statistics 29(5).
    .. [2] P. Buehlmann, T. Hothorn (2007). Boosting algorithms: regularization, prediction and model fitting.
       Statistical Science 22(4).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import SplineTransformer
    >>> from committee import FunctionalGradientBoostingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> splines = make_pipeline(SplineTransformer(n_knots=4), Ridge())
    >>> model = FunctionalGradientBoostingClassifier(base=splines, n_estimators=30).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.94
    True
    """

    loss: LossChoice = parameter(
        "log_loss",
        """Loss that is boosted, and with it the link from scores to probabilities. Two classes have one score,
        positive for the second; more have one each. A `committee.objectives.losses.Loss` of your own will do, or, with
        ``line_search=False``, a function ``(y, F) -> (gradient, hessian)``, whose hessians are not used.""",
        str,
        Loss,
        callable,
        type_words='{"log_loss", "exponential", "probit", "squared_hinge"}, Loss or callable',
    )

    def _chosen_loss(self) -> Loss:
        return classification_loss(self.loss)

    @property
    def _n_classes(self) -> int | None:
        return len(self.classes_)

    def _vote(self, voters: RegressorVoters | RegressorRounds, weights: F64, loss: Loss, intercept: F64) -> Committee:
        link: Any = loss.link
        return Committee(voters, weights, self.classes_, link, self.table_, intercept)


@with_parameters
class FunctionalGradientBoostingRegressor(BaseRegressor, FunctionalGradientBoosting):
    r"""Gradient boosting for numbers over any regressor: trees, lines, splines, whatever fits numbers.

    The rounds are those of `FunctionalGradientBoostingClassifier`; the loss says what is predicted. With the squared
    error each base learner is fitted to the residuals: L2Boost [1]_. `y` may have several columns, with a base learner
    for each in every round; then losses add up, each over the dispersion of its target.

    Attributes
    ----------
    committee_ : RegressionCommittee
        The rounds, each a voter with a base learner for each score, their steps as weights, and the best constant
        score as intercept.

    References
    ----------
    .. [1] P. Buehlmann, B. Yu (2003). Boosting with the L2 loss. JASA 98.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import LinearRegression
    >>> from committee import FunctionalGradientBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = FunctionalGradientBoostingRegressor("absolute_error", LinearRegression(), 50).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.4
    True
    """

    loss: LossChoice = parameter(
        "squared_error",
        """"squared_error" (mean), "absolute_error" (median), "quantile" (the median; ``Quantile(0.9)`` for another),
        "huber"; "poisson" (counts), "gamma" (amounts) and "tweedie" (amounts that may be 0) predict means exp(F). Or a
        `committee.objectives.losses.Loss`, or, with ``line_search=False``, a function
        ``(y, F) -> (gradient, hessian)``, whose hessians are not used.""",
        str,
        Loss,
        callable,
        type_words="str, Loss or callable",
    )

    _takes_several_targets = True

    def _chosen_loss(self) -> Loss:
        return regression_loss(self.loss)

    @property
    def _n_classes(self) -> int | None:
        return None

    def _vote(
        self, voters: RegressorVoters | RegressorRounds, weights: F64, loss: Loss, intercept: F64
    ) -> RegressionCommittee:
        link: Any = loss.link
        return RegressionCommittee(voters, weights, link, self.table_, intercept)
