"""ProbitBoost and LogitBoost: additive scores by Newton steps, in lines or in stumps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from committee.data.number_types import F64
from committee.data.parallel import n_threads
from committee.data.rows import Rows
from committee.data.table_schema import TableSchema
from committee.learners.base import shared_parameters as shared
from committee.learners.base.boosting import Boosting
from committee.learners.base.early_stopping import EarlyStopping, HeldOutVotes
from committee.learners.base.parameters import COUNT, parameter, with_parameters
from committee.learners.base.predictors import BaseClassifier
from committee.learners.trees.newton_boost import JointLineRun, JointStumpRun, LineRun, NewtonBoost, NewtonRun, StumpRun
from committee.vote.committee import Committee
from committee.vote.links.probability import Link, Logistic, Probit
from committee.voters.model_forest import LinearScores, LinkName

RUNS: dict[tuple[str, str], Callable[[NewtonBoost, Rows, TableSchema], NewtonRun]] = {
    ("newton", "line"): LineRun,
    ("newton", "stump"): StumpRun,
    ("gradient", "line"): JointLineRun,
    ("gradient", "stump"): JointStumpRun,
}


@with_parameters
class ScoreBoostClassifier(Boosting, BaseClassifier):
    _loss: ClassVar[LinkName]
    _link: ClassVar[Link]
    voter_kinds: ClassVar[tuple[str, ...] | None] = ("forest", "linear_scores")
    stored_attributes: ClassVar[tuple[str, ...]] = (
        *("feature_path_", "risk_path_", "validation_risks_", "validation_scores_", "evals_result_", "best_iteration_"),
    )

    _tol_is_of_training = True

    n_estimators: int = parameter(100, "Most boosting steps B of each score.", COUNT)
    _: KW_ONLY
    learner: Literal["line", "stump"] = parameter(
        "line",
        """Function that a step adds. Lines make a linear model; categories are 0/1 columns, and a missing value is the
        column's mean, with a 0/1 column of its own. Stumps make a sum of step functions; categories are split into
        subsets, and missing values learn their side.""",
    )
    steps: Literal["newton", "gradient"] = parameter(
        "newton",
        """"newton": a score for each class by itself ("class k or not"), by Newton steps. "gradient": the scores of all
        classes together, by steps along the gradient of their joint likelihood.""",
    )
    selection: Literal["error", "likelihood"] = shared.selection(
        'For stumps, and for steps along the gradient, only "error".'
    )
    tol: float = shared.newton_tol("Boosting")
    max_bins: int = shared.max_bins("For stumps.")
    categorical_features: Any = shared.categorical_features()
    early_stopping: bool = shared.early_stopping("risk", "steps up to the best one")

    def _most_tasks(self, X: Any) -> int:
        return 0 if self.learner == "line" else self.n_estimators  # the kernel takes all steps of lines at once

    def _check_parameters(self) -> None:
        if self.learner == "stump" and self.selection != "error":
            raise ValueError(
                f"selection={self.selection!r} chooses among lines; a stump is the one of least squared error. "
                "Set selection='error', or learner='line'."
            )
        if self.steps == "gradient" and self.selection != "error":
            raise ValueError(
                f"selection={self.selection!r} chooses among Newton steps; steps='gradient' takes the line nearest to "
                "the gradient. Set selection='error', or steps='newton'."
            )

    def _run(self, rows: Rows, random: np.random.RandomState) -> NewtonRun:
        by_likelihood, threads = self.selection == "likelihood", n_threads(self.n_jobs)
        limits = self.n_estimators, by_likelihood, self.tol, self.max_bins, threads
        boost = NewtonBoost(len(self.classes_), self._loss, *limits)
        return RUNS[self.steps, self.learner](boost, rows, self.table_)

    def _early_stopping(self, run: NewtonRun, held_out: Rows) -> EarlyStopping:
        return EarlyStopping(run.held_out_risk(held_out), self.n_iter_no_change)

    def _held_out_votes(self, run: NewtonRun, held_out: Rows) -> HeldOutVotes:
        return HeldOutVotes(run.held_out_risk(held_out).after, float, self._link)

    def _fitted(self, run: NewtonRun, n_rounds: int, losses: F64 | None) -> dict[str, Any]:
        boosted = run.boosted(n_rounds)
        ones = np.ones(len(boosted.voters))
        return {
            "committee_": Committee(boosted.voters, ones, self.classes_, self._link, self.table_),
            "feature_path_": boosted.path,
            "risk_path_": boosted.risk,
            "validation_risks_": losses,
        }

    @property
    def coef_(self) -> F64:
        """Coefficients ``(n_outputs, n_design_columns)`` in the columns' own units."""
        return np.array(self._line().coefficient[0])

    @property
    def intercept_(self) -> F64:
        """Intercepts ``(n_outputs,)``."""
        return np.array(self._line().intercept[0])

    @property
    def design_names_(self) -> list[str]:
        """Name of each design column: a column, one of its categories, or an indicator of missing values."""
        return self._line().design.names(self.table_)

    @property
    def feature_importances_(self) -> F64:
        """Share of each column in the decrease of the risk (lines) or in the stumps' split gain, ``(p,)``."""
        check_is_fitted(self)
        record = getattr(self.committee_.voters, "record", None)
        if record is None:
            return self.committee_.feature_importances_
        earned: F64 = record.risk_decrease.sum(axis=0)
        total = earned.sum()
        return earned / total if total > 0 else earned

    def _line(self) -> LinearScores:
        check_is_fitted(self)
        if not isinstance(self.committee_.voters, LinearScores):
            raise AttributeError(
                "coef_, intercept_ and design_names_ are those of lines; this model has stumps, or one class. Train "
                "one with learner='line' on two classes or more."
            )
        return self.committee_.voters


@with_parameters
class ProbitBoostClassifier(ScoreBoostClassifier):
    """ProbitBoost: an additive probit model by component-wise Newton boosting.

    The score F(x) starts at zero and models P(y = 1 | x) = Phi(F(x)), y = +-1. Each step lowers the risk
    sum_i v_i Q(y_i F(x_i)), Q(u) = -ln Phi(u), by one Newton step: with lambda = phi / Phi and u = y F,

        w = v lambda(u) (u + lambda(u)),        z = y / (u + lambda(u))

    are the working weights and responses. ``learner="line"`` regresses z on (1, x_j) for every design column j
    and adds the line of the one that fits best, so that F stays one linear score, ``intercept_ + coef_ . x``,
    with few coefficients if the steps are few [1]_. ``learner="stump"`` adds a regression stump [2]_. More
    than two classes: one score for each ("class k or not"), P(k) = Phi(F_k) / sum_j Phi(F_j).

    ``steps="gradient"`` is gradient ProbitBoost [2]_: it maximises the likelihood of that P(k) in all scores together,
    which is not concave. The gradient of a row of class y is r_k = lambda(F_k) ([y = k] - P(k)), for two classes
    y lambda(y F). For each class the line or stump d_k that is nearest to it joins, and all by one step of Fisher
    scoring, eta = sum v r . d / sum v Var_P(lambda d), halved until the risk -ln P(y) decreases.

    Attributes
    ----------
    committee_ : Committee
        Its score is F, its link `Probit`. Lines: one voter, whose vote is the linear score; stumps: each is a
        voter, in the order of steps and classes.
    coef_ : float64 array (n_outputs, n_design_columns)
        Lines: coefficients in the columns' own units. One output for two classes (positive: ``classes_[1]``),
        otherwise one for each class.
    intercept_ : float64 array (n_outputs,)
        Lines: intercepts.
    design_names_ : list of str
        Names of the design columns.
    feature_path_ : int32 array (n_outputs, steps)
        Design column (lines) or column of the table (stumps) of every step; -1: a constant; -2: no step was taken.
    risk_path_ : float64 array (n_outputs, steps + 1)
        Mean risk before and after every step; it never rises. With ``steps="gradient"`` the sum over the outputs is the
        risk, and each output's decrease is in proportion to sum v r_k d_k.
    validation_risks_ : float64 array or None
        Held-out risk after each step, also those after the best one: summed over the outputs, or with
        ``steps="gradient"`` the joint one. None without held-out rows, or with `scoring`.

    Notes
    -----
    With enough steps lines reach the maximum likelihood fit of probit regression, if it is unique; fewer steps shrink
    it. Separable classes have none: steps that would take a training score past +-20 are not taken. A step that
    overshoots is halved until the risk decreases.

    References
    ----------
    .. [1] T. Qin, W.-M. Huang. On subbagging boosted probit model trees, section 3.
    .. [2] S. Zheng, W. Liu (2012). Functional gradient ascent for probit regression. Pattern Recognition 45.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from committee import ProbitBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = ProbitBoostClassifier(n_estimators=10).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.95
    True
    """

    _loss = "probit"
    _link = Probit()


@with_parameters
class LogitBoostClassifier(ScoreBoostClassifier):
    """LogitBoost: additive logistic regression by component-wise Newton boosting.

    The loop of `ProbitBoostClassifier` with the logistic loss [1]_: F(x) starts at zero and models the log-odds,
    P(y = 1 | x) = sigma(F(x)) = 1 / (1 + exp(-F(x))), y = +-1. Each step lowers sum_i v_i ln(1 + exp(-u_i)),
    u = y F, by one Newton step, with p = sigma(F) and working weights and responses

        w = v p (1 - p),        z = y / sigma(u).

    ``learner="line"`` regresses z on (1, x_j) for every design column j and adds the line of the one that fits
    best; ``learner="stump"`` adds a regression stump. More than two classes: one score for each ("class k or
    not"), P(k) = sigma(F_k) / sum_j sigma(F_j).

    Attributes
    ----------
    committee_ : Committee
        Its score is F, the log-odds; its link is ``Logistic(scale=1)``. Lines: one voter; stumps: each is a voter.
    coef_, intercept_, design_names_, feature_path_, risk_path_, validation_risks_
        As in `ProbitBoostClassifier`.

    Notes
    -----
    The scores of more than two classes are fitted one against the rest, or with ``steps="gradient"`` by the likelihood
    of P(k); Friedman et al. constrain their sum to zero instead. Steps that would take a training score past +-40 are
    not taken.

    References
    ----------
    .. [1] J. Friedman, T. Hastie, R. Tibshirani (2000). Additive logistic regression: a statistical view of
       boosting. Annals of Statistics 28(2).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from committee import LogitBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LogitBoostClassifier(learner="stump").fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.95
    True
    """

    _loss = "logit"
    _link = Logistic(scale=1.0)
