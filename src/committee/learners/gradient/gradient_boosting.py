"""Gradient boosting with penalised leaves: classes by any loss of classes, numbers by any loss of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from numbers import Real
from typing import Any, Literal

import numpy as np

from committee.data.number_types import F64
from committee.learners.base import shared_parameters as shared
from committee.learners.base.estimator import BaseClassifier, BaseRegressor
from committee.learners.base.parameters import FRACTION, NOT_NEGATIVE, parameter, with_parameters
from committee.learners.gradient.fit import LEAF_L2, OF_THE_TREE, GradientBoosting
from committee.learners.gradient.rounds import TreeVoters
from committee.objectives.losses import Loss, LossChoice, Quantile, Quantiles, classification_loss, regression_loss
from committee.vote.committee import Committee, RegressionCommittee


@with_parameters
class GradientBoostingClassifier(BaseClassifier, GradientBoosting):
    r"""Gradient boosting of trees for classes.

    Each round computes the gradients g and hessians h of the loss at the scores F, grows trees on them, and moves F
    along them: F <- F + a b(x), with the step a = `learning_rate` [1]_, [2]_. With G and H the sums of g and h in a
    leaf [3]_, its weight is

        w = -sign(G) max(|G| - leaf_l1, 0) / (H + leaf_l2),

    or exactly 0 if its gain, s = max(|G| - leaf_l1, 0)^2 / (2 (H + leaf_l2)), does not exceed leaf_l0. Splits gain
    V_left + V_right - V_parent with V = max(0, s - leaf_l0) (see `LeafPenalty`).

    Attributes
    ----------
    committee_ : Committee
        The rounds b_t, their steps a_t as weights, and the best constant score as intercept.

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

    loss: LossChoice = parameter(
        "log_loss",
        """Loss that is boosted, and with it the link from scores to probabilities. Two classes have one score,
        positive for the second; more have one each. Or a `committee.objectives.losses.Loss`, or a function
        ``(y, F) -> (gradient, hessian)`` (see `committee.objectives.losses.Derivatives`).""",
        *(str, Loss, callable),
        type_words='{"log_loss", "exponential", "probit", "squared_hinge"}, Loss or callable',
    )
    _: KW_ONLY
    tree: Literal["per_class", "shared"] = parameter(
        "per_class",
        """With more than two classes: a tree for each of them in every round, or one whose leaves hold a number for
        each. Shared trees cost less; trees of their own fit each class better.""",
        after="line_search",
    )

    def _chosen_loss(self) -> Loss:
        return classification_loss(self.loss)

    @property
    def _n_classes(self) -> int | None:
        return len(self.classes_)

    @property
    def _shared_tree(self) -> bool:
        return self.tree == "shared"

    def _vote(self, voters: TreeVoters, weights: F64, loss: Loss, intercept: F64) -> dict[str, Any]:
        link: Any = loss.link
        return {
            "classes_": self.classes_,
            "committee_": Committee(voters, weights, self.classes_, link, self.table_, intercept),
        }


@with_parameters
class GradientBoostingRegressor(BaseRegressor, GradientBoosting):
    r"""Gradient boosting of trees for numbers: means, medians, counts, amounts, and quantiles that do not cross.

    `y` may have several columns, and predictions as many. Then losses add up, each over the dispersion of its target
    (the variance, of the squared error), so that units do not matter; penalties are of scores in units of its root.

    The rounds are those of `GradientBoostingClassifier`. For losses without curvature (absolute error, quantiles)
    splits are chosen by gradients alone, and then every leaf that does not abstain gets the constant of least loss for
    its rows.

    Attributes
    ----------
    committee_ : RegressionCommittee
        The rounds b_t, their steps a_t as weights, and the best constant score as intercept.

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

    loss: LossChoice = parameter(
        "squared_error",
        """"squared_error" (mean), "absolute_error" (median), "quantile", "huber"; "poisson" (counts), "gamma" (amounts)
        and "tweedie" (amounts that may be 0) predict means exp(F). Or a `committee.objectives.losses.Loss`, for other
        numbers than the defaults (``Huber(delta=5.0)``) or a loss of your own; or a function
        ``(y, F) -> (gradient, hessian)`` (see `committee.objectives.losses.Derivatives`).""",
        *(str, Loss, callable),
        type_words="str, Loss or callable",
    )
    _: KW_ONLY
    leaf_l2: float = parameter(20.0, LEAF_L2, NOT_NEGATIVE)
    max_features: int | float | str | None = shared.max_features(more=OF_THE_TREE)
    quantile: float | Sequence[float] = parameter(
        0.5,
        """For ``loss="quantile"`` or "quantiles": which quantile. Several, in rising order, are predicted at once, as
        columns: each round is one tree whose leaves hold a number for each, and the numbers of a row are put in order,
        so that they never cross.""",
        FRACTION,
        "array-like",
        type_words="float or sequence of float",
        after="line_search",
    )

    tree: Literal["auto", "shared", "per_target"] = parameter(
        "auto",
        """With several targets or quantiles: one tree in every round, whose leaves hold a number for each, or a tree
        for each of them, which fits each better. "auto": shared for quantiles, per_target for targets.""",
        after="line_search",
    )

    _takes_several_targets = True
    _n_classes = None

    def _chosen_loss(self) -> Loss:
        if self.loss not in ("quantile", "quantiles"):
            return regression_loss(self.loss)
        if isinstance(self.quantile, Real):
            if self.loss == "quantile":
                return Quantile(float(self.quantile))
            if self.quantile != self.declared_parameters["quantile"].default:
                raise ValueError(
                    f"loss='quantiles' predicts several, and quantile={self.quantile!r} is one; give a sequence of "
                    "them, or loss='quantile'."
                )
            return Quantiles()
        levels = tuple(np.asarray(self.quantile, dtype=np.float64).tolist())
        return Quantile(*levels) if len(levels) == 1 else Quantiles(levels)

    @property
    def _shared_tree(self) -> bool:
        return self.tree == "shared" or (self.tree == "auto" and self._chosen_loss().n_scores() > 1)

    def _vote(self, voters: TreeVoters, weights: F64, loss: Loss, intercept: F64) -> dict[str, Any]:
        link: Any = loss.link
        return {"committee_": RegressionCommittee(voters, weights, link, self.table_, intercept)}
