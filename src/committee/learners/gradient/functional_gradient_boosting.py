"""Gradient boosting over any regressor: least squares to the antigradient of any loss, then a step."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
from sklearn.utils import Tags, get_tags
from sklearn.utils._param_validation import HasMethods

from committee.data.number_types import F64
from committee.data.parallel import n_threads
from committee.data.rows import Rows, TargetRows
from committee.learners.base import shared_parameters as shared
from committee.learners.base.boosting import BoostingRun
from committee.learners.base.estimator import voter_template, weight_argument
from committee.learners.base.parameters import SHARE, parameter, with_parameters
from committee.learners.base.row_sampling import RowUnits
from committee.learners.boosting.pool import Clones
from committee.learners.gradient.leaf_values import LeafPenalty
from committee.learners.gradient.rounds import Draws, LineSearch
from committee.learners.gradient.target import LossBoosting, OffsetClassifier, OffsetRegressor, Target
from committee.learners.trees.tree import TreeRegressor
from committee.objectives.losses import Loss, LossChoice, classification_loss, regression_loss
from committee.voters.estimators import RegressorRounds, RegressorVoters, predict_numbers

LARGEST = 1e150  # upper limit of antigradients, as base learners square them

RoundVoters: TypeAlias = RegressorVoters | RegressorRounds


@dataclass(eq=False)
class FunctionalRun(BoostingRun):
    """Rounds of regressors fitted to the antigradient. Equation: functional-gradient (docs/theory.md)."""

    target: Target
    X: F64
    clones: Clones
    draws: Draws
    intercept: F64
    weighted: bool
    learning_rate: float
    search: LineSearch | None
    n_classes: int
    n_threads: int
    n_earlier = 0
    _idle = False

    def __post_init__(self) -> None:
        self.F = self.target.first_scores(self.intercept) if self.search is None else self.search.F
        self.members: list[Any] = []
        self.spreads: list[float] = []
        self.steps: list[float] = []

    def has_next(self) -> bool:
        return not self._idle

    def advance(self) -> None:
        rows, weights = self.draws.rows_of_round(self.n_rounds)
        if weights is None:
            weights = self.target.w
        used: Any = slice(None) if rows is None else rows
        X, w = self.X[used], weights[used] if self.weighted and weights is not None else None
        members = [self.clones.trained(X, each[used], w) for each in self._antigradient()]
        along = np.stack([predict_numbers(member, self.X) for member in members])
        direction = along if len(along) > 1 else along[0]
        if self.search is None:
            step = self.learning_rate
            self.F += step * direction
        else:
            step = self.search.step(direction, [], self.learning_rate)
        self._idle = not self.draws.any and (step == 0.0 or not direction.any())
        if self._idle and self.steps:
            return
        self.members += members
        self.spreads += np.abs(along).max(axis=1).tolist()
        self.steps.append(step)
        self.n_rounds += 1

    def _antigradient(self) -> F64:
        gradient, hessian = np.empty_like(self.F), np.empty_like(self.F)
        self.target.write_gradients(self.F, None, gradient, hessian, self.n_threads)
        descent = -np.atleast_2d(gradient)
        if self.target.scale is not None:
            descent *= self.target.scale[:, None]
        if not (np.abs(descent) < LARGEST).all():
            t = self.n_rounds + 1
            if self.n_rounds and self.search is None:
                raise ValueError(f"the scores overflow in round {t}; lower learning_rate, or set line_search=True.")
            raise ValueError(
                f"a gradient of the loss in round {t} is NaN, or {LARGEST} or more in size; give smaller targets and "
                "offsets, or choose another loss."
            )
        return descent

    def voters(self, first: int, end: int) -> RoundVoters:
        D = len(self.intercept)
        some = slice(first * D, end * D)
        output = np.tile(np.arange(D), end - first)
        voters = RegressorVoters(self.members[some], output, np.array(self.spreads[some]), D, self.n_classes)
        return voters if D == 1 else RegressorRounds(voters)

    def weights(self, first: int, end: int) -> F64:
        return np.array(self.steps[first:end], dtype=np.float64)

    def committee(self, n_rounds: int) -> tuple[RoundVoters, F64]:
        moved = np.flatnonzero(self.weights(0, n_rounds))
        if not len(moved):
            return self.voters(0, 1), self.weights(0, 1)
        return self.voters(0, n_rounds)[moved], self.weights(0, n_rounds)[moved]


@with_parameters
class FunctionalGradientBoosting(LossBoosting):
    voter_kinds: ClassVar[tuple[str, ...] | None] = ("regressors", "regressor_rounds")

    base: Any = parameter(
        None,
        """Base learner: a scikit-learn regressor, of which each round fits a clone for each score. If rows weigh
        differently its ``fit`` must take ``sample_weight``, of a pipeline that of its last step. Up to 16
        categories of a column are given as their codes. None: a `TreeRegressor` of depth 3.""",
        HasMethods(["fit", "predict"]),
        None,
        type_words="regressor or None",
    )
    n_estimators: int = shared.n_estimators(100, "early stopping ends the run, or a round on all rows changes nothing")
    _: KW_ONLY
    learning_rate: float = shared.learning_rate(0.1)
    line_search: bool = parameter(
        True,
        """Step along each round's base learners to the least loss of all training rows, but no further than Newton's
        step along them where the loss has a curvature of its own, times `learning_rate`; the loss then never rises.
        False: the step is `learning_rate`.""",
    )
    subsample: float = parameter(
        1.0, "Share of the rows of each round, drawn anew without replacement: each with this probability.", SHARE
    )
    categorical_features: Any = shared.categorical_features()
    early_stopping: bool = shared.early_stopping("loss", "rounds up to the best one")
    random_state: Any = shared.random_state("the held-out rows, the rows of rounds and the base learners")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if self.base is not None and hasattr(self.base, "__sklearn_tags__"):
            tags.input_tags.allow_nan = get_tags(self.base).input_tags.allow_nan
        return tags

    def _no_checkpoint(self, X: Any) -> str | None:
        return f"the rounds of a {type(self).__name__} are those of its base learner, which cannot be kept"

    @property
    def _draws_rows(self) -> bool:
        return self.subsample < 1.0

    def _run(self, rows: Rows | TargetRows, random: np.random.RandomState) -> FunctionalRun:
        given = TreeRegressor(max_depth=3) if self.base is None else self.base
        base, threads = voter_template("base", given, self.table_, numbers=True), n_threads(self.n_jobs)
        target, seed = Target.of(self._chosen_loss(), rows), int(random.randint(2**31 - 1))
        takes_weights = weight_argument(base) is not None
        if not (takes_weights or rows.equal_weights):
            raise ValueError(
                f"rows weigh differently, and base={self.base!r} takes no weights: its fit has no sample_weight. "
                "Choose another base, or give all rows equal weights."
            )
        intercept = target.best_constant(target.n_scores(self._n_classes))
        units = RowUnits.of(rows, seed, threads) if self.subsample < 1.0 else None
        n_features = rows.X.shape[1]
        search = None
        if self.line_search:
            search = LineSearch(target, LeafPenalty(), target.first_scores(intercept), threads, newton=False)
        return FunctionalRun(
            target,
            rows.dense,
            Clones(base, np.random.RandomState(seed)),
            Draws(seed, n_features, self.subsample, n_features, by_node=False, units=units),
            intercept,
            weighted=takes_weights and not (rows.equal_weights and units is None),
            learning_rate=self.learning_rate,
            search=search,
            n_classes=self._n_classes or len(intercept),
            n_threads=threads,
        )


@with_parameters
class FunctionalGradientBoostingClassifier(OffsetClassifier, FunctionalGradientBoosting):
    r"""Gradient boosting for classes over any regressor: trees, lines, splines.

    Each round computes the gradients g of the loss at the scores F, fits a base learner to -g, one of least squares by

        b_t = argmin_b sum_i w_i (b(x_i) + g_i)^2,

    and moves F along it, F <- F + a b_t(x), with the step a of a line search times `learning_rate` [1]_, [2]_. With
    more than two classes a round has a base learner for each, and one step for all. `GradientBoostingClassifier` grows
    trees by Newton steps, which is faster and usually better where trees are wanted.

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
        positive for the second; more have one each. Or a `committee.objectives.losses.Loss`, or, with
        ``line_search=False``, a function ``(y, F) -> (gradient, hessian)``, whose hessians are not used.""",
        *(str, Loss, callable),
        type_words='{"log_loss", "exponential", "probit", "squared_hinge"}, Loss or callable',
    )

    def _chosen_loss(self) -> Loss:
        return classification_loss(self.loss)


@with_parameters
class FunctionalGradientBoostingRegressor(OffsetRegressor, FunctionalGradientBoosting):
    r"""Gradient boosting for numbers over any regressor: trees, lines, splines.

    The rounds are those of `FunctionalGradientBoostingClassifier`. With the squared error each base learner is fitted
    to the residuals: L2Boost [1]_. `y` may have several columns, with a base learner for each in every round; then
    losses add up, each over the dispersion of its target.

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
        ``(y, F) -> (gradient, hessian)``, whose hessians serve only the dispersion of several targets.""",
        *(str, Loss, callable),
        type_words="str, Loss or callable",
    )

    _takes_several_targets = True

    def _chosen_loss(self) -> Loss:
        return regression_loss(self.loss)
