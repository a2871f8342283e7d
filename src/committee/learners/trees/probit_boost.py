"""ProbitBoost and LogitBoost: additive scores by Newton or gradient steps, in lines or in stumps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from committee import _core
from committee.data.number_types import F64
from committee.data.parallel import n_threads
from committee.data.rows import Rows
from committee.data.table_schema import TableSchema
from committee.learners.base import shared_parameters as shared
from committee.learners.base.boosting import Boosting
from committee.learners.base.early_stopping import EarlyStopping, HeldOutVotes
from committee.learners.base.fit_record import FitRecord, RecordedGrower
from committee.learners.base.parameters import COUNT, parameter, with_parameters
from committee.learners.base.predictors import BaseClassifier
from committee.learners.trees.newton_boost import (
    MAX_HALVINGS,
    ROUNDING,
    SCORE_CAP,
    Boosted,
    JointLikelihood,
    JointLineRun,
    JointRun,
    LineRun,
    NewtonBoost,
    NewtonRun,
)
from committee.vote.committee import Committee
from committee.vote.links.probability import Link, Logistic, Probit
from committee.voters.forest import Forest
from committee.voters.growing import GrowthLimits, forest_from_grown, leaf_means, tree_grower
from committee.voters.model_forest import LinearScores, LinkName

MAX_CUTS = 10  # cuts of the stumps of scores that would pass the cap; the last leaves them out


# --- stumps -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Stump:
    output: int
    tree: _core.GrownTree
    value: F64  # that its nodes add to the score
    column: int  # of the table; -1: a constant, -2: no step


class StumpScore:
    def __init__(self, boost: NewtonBoost, growing: _core.Grower, rows: Rows, output: int) -> None:
        self.boost: NewtonBoost = boost
        self.output: int = output
        self.growing: _core.Grower | RecordedGrower = growing
        self.sign: F64 = boost.signs(rows.labels)[:, output]
        self.v = rows.weights / rows.weights.sum()
        self.f = np.zeros(len(self.v))
        self.risks: list[float] = [boost.risk_of(self.f, self.sign, self.v)]
        self.ended = False

    def grown(self, target: F64, w: F64) -> tuple[_core.GrownTree, F64, F64]:
        tree = self.growing.grow_targets(target, w, None, 0)
        leaf = tree.leaf_of_row
        value = leaf_means(leaf, len(tree.feature), w, target)
        tree.forget_rows()
        return tree, value, value[leaf]

    def step(self) -> Stump:
        gradient, curvature, _ = _core.newton_terms(self.boost.link, self.sign * self.f)
        tree, value, at_rows = self.grown(self.sign * gradient / curvature, self.v * curvature)
        f, risk, share = self.boost.shortened(self.f, at_rows, self.sign, self.v, self.risks[-1])
        decrease = self.risks[-1] - risk
        if decrease <= ROUNDING * risk or decrease < self.boost.tol or np.abs(f).max() > SCORE_CAP[self.boost.link]:
            self.ended = True
            return Stump(self.output, tree, np.zeros_like(value), -2)
        self.f = f
        self.risks.append(risk)
        return Stump(self.output, tree, share * value, int(tree.feature[0]))


class StumpRun(NewtonRun):
    def __init__(self, boost: NewtonBoost, rows: Rows, table: TableSchema) -> None:
        super().__init__(boost, rows)
        self.binned = rows.binned(table, boost.max_bins, boost.threads)
        growing = tree_grower(self.binned, "squared_error", boost.n_classes, GrowthLimits(max_depth=1), boost.threads)
        self.scores: list[StumpScore] = [StumpScore(boost, growing, rows, k) for k in range(boost.n_outputs)]
        self.rounds: list[list[Stump]] = []

    def keep(self, record: FitRecord) -> None:
        for score in self.scores:
            score.growing = RecordedGrower(score.growing, self.binned, record)

    def advance(self) -> None:
        stumps = [score.step() for score in self.scores if not score.ended]
        # a committee needs a voter, even one that adds nothing
        self._add([stump for stump in stumps if stump.column > -2 or not self.rounds])

    def _add(self, stumps: list[Stump]) -> None:
        self.finished: bool = not stumps
        if stumps:
            self.rounds.append(stumps)
            self.n_rounds += 1

    def staged_votes(self, X: F64) -> Callable[[int], F64]:
        return lambda t: self._voters(self.rounds[t - 1]).tally(X)

    def boosted(self, n_rounds: int) -> Boosted:
        rounds = self.rounds[:n_rounds]
        path = np.full((len(self.scores), len(rounds)), -2, dtype=np.int32)
        for b, stumps in enumerate(rounds):
            for stump in stumps:
                path[stump.output, b] = stump.column
        risk = np.array([[s.risks[min(b, len(s.risks) - 1)] for b in range(len(rounds) + 1)] for s in self.scores])
        return Boosted(self._voters([stump for stumps in rounds for stump in stumps]), path, risk)

    def _voters(self, stumps: list[Stump]) -> Forest:
        K = self.boost.n_outputs
        value = [stump.value[:, None] * (np.arange(K) == stump.output) for stump in stumps]
        weight = [stump.tree.sums[:, 0] for stump in stumps]  # the other sums are of the weighted response
        trees, n_classes = [stump.tree for stump in stumps], self.boost.n_classes
        return forest_from_grown(trees, self.binned.bins, n_classes, value=value, weight=weight)


@dataclass(frozen=True, eq=False)
class Direction:
    stump: Stump
    at_rows: F64
    gain: float  # first-order decrease of the risk along it

    def times(self, share: float) -> Direction:
        stump = replace(self.stump, value=share * self.stump.value)
        return Direction(stump, share * self.at_rows, share * self.gain)


class JointStumpRun(JointRun, StumpRun):
    def __init__(self, boost: NewtonBoost, rows: Rows, table: TableSchema) -> None:
        super().__init__(boost, rows, table)
        self.likelihood: JointLikelihood = JointLikelihood(boost.link)
        self.v = rows.weights / rows.weights.sum()
        self.F = np.zeros((len(self.v), boost.n_outputs))
        self.risk = self.likelihood.risk(self.F, rows.labels, self.v)
        for score in self.scores:
            score.risks = [self.risk / len(self.scores)]

    def advance(self) -> None:
        gradient = self.likelihood.gradient(self.F, self.rows.labels)
        nearest = [self._nearest(score, gradient[:, score.output].copy()) for score in self.scores]
        stumps = self._moved(nearest)
        ended = not stumps
        if not stumps and not self.rounds:  # a committee needs a voter, even one that adds nothing
            stumps = [replace(each.stump, value=np.zeros_like(each.stump.value), column=-2) for each in nearest]
        self._add(stumps)
        self.finished = ended

    def _nearest(self, score: StumpScore, r: F64) -> Direction:
        tree, value, at_rows = score.grown(r, self.v)
        return Direction(Stump(score.output, tree, value, int(tree.feature[0])), at_rows, float(self.v @ (r * at_rows)))

    def _moved(self, nearest: list[Direction]) -> list[Stump]:
        # the stump of a score that would pass the cap is halved up to nine times, then left out
        for cut in range(MAX_CUTS + 1):
            d, gain = np.zeros_like(self.F), sum(each.gain for each in nearest)
            for each in nearest:
                d[:, each.stump.output] = each.at_rows
            F, risk, eta = self._shortened(d, gain)
            over = np.abs(F).max(axis=0) > SCORE_CAP[self.boost.link]
            if not over.any():
                break
            share = 0.5 if cut + 1 < MAX_CUTS else 0.0
            nearest = [each.times(share) if over[each.stump.output] else each for each in nearest]
        decrease = self.risk - risk
        if decrease <= ROUNDING * self.risk or decrease < self.boost.tol or over.any():
            return []
        self.F = F
        self.risk = risk
        part = {each.stump.output: each.gain / gain for each in nearest}
        for score in self.scores:
            score.risks.append(score.risks[-1] - part[score.output] * decrease)
        return [each.times(eta).stump for each in nearest]

    def _shortened(self, d: F64, gain: float) -> tuple[F64, float, float]:
        # Fisher's step along d, halved until the risk decreases
        information = float(self.v @ self.likelihood.information(self.F, d))
        # in single precision: sums of rows that are repeated, not weighed, differ in their last digits, and so would
        # the choice among equally good stumps of the next step
        with np.errstate(over="ignore"):
            full = float(np.float32(gain / information)) if gain > 0.0 and information > 0.0 else 0.0
        full = full if np.isfinite(full) else 0.0
        for halvings in range(MAX_HALVINGS + 1):
            eta = full * 0.5**halvings
            F = self.F + eta * d
            risk = self.likelihood.risk(F, self.rows.labels, self.v)
            if risk <= self.risk * (1.0 + ROUNDING):
                break
        return F, risk, eta


# --- learners ---------------------------------------------------------------------------------------------------------

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
