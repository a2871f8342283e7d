"""Votes that optimise all margins: DOOM II a mean sigmoid cost, MDBoost the mean less a multiple of the variance."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import KW_ONLY
from math import ceil
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval

from committee.data.number_types import F64
from committee.data.text import warn_user
from committee.learners.base import shared_parameters as shared
from committee.learners.base.fit_record import FitRecord
from committee.learners.base.parameters import COUNT, POSITIVE, SHARE, parameter, with_parameters
from committee.learners.boosting.dictionaries import DistinctRows
from committee.learners.boosting.margin_boosting import (
    NO_EDGE,
    ClassRuns,
    MarginBoosting,
    VotingRun,
    by_round,
    depth_of_voters,
)
from committee.learners.boosting.pool import Candidate, Pool
from committee.objectives.programs.simplex_quadratic import simplex_minimum
from committee.objectives.programs.soft_margin import VOTERS_AT_ONCE
from committee.vote.links.probability import Link, Logistic

GRID, MOST = 8, 1024  # least and most points of the grid of steps
PER_SLOPE = 4  # points of the grid within the slope of a row's cost, whose width is one over the steepness


class DOOMRun(VotingRun):
    """Rounds of DOOM II for one class against the rest. Equation: doom (docs/theory.md)."""

    def __init__(self, model: Any, pool: Pool, rows: DistinctRows, positive: int, count: float) -> None:
        super().__init__(model, pool, rows, positive, count)
        self.steepness: float = model.steepness
        self.n_start: int = model.n_start
        self.learning_rate: float = model.learning_rate
        self.costs: list[float] = []
        self.steps: list[float] = []  # s; of AdaBoost alpha_t / (alpha_1 + ... + alpha_t)
        self._margins = np.zeros(len(self.y))
        self._total = 0.0
        self._edge = 0.0
        self._starting = True
        self._u = self.share

    def _cost(self, margins: F64) -> float:
        return float(self.share @ (2.0 * expit(-2.0 * self.steepness * margins)))  # 1 - tanh(z) = 2 sigma(-2 z)

    def _search(self, least: float) -> list[Candidate]:
        signed = self._u * self.y
        self._edge, found = self.pool.largest(signed, signed, least, 1, set())
        if found or not self._starting:
            return found
        self._descend()  # AdaBoost has ended by itself
        return [] if self.finished else self._search(self.least_edge)

    def _join(self, signed: NDArray[np.int8]) -> None:
        votes = signed[0]
        if not self.steps:
            self.useless: bool = self._edge <= NO_EDGE
            self.finished = self.useless or bool((votes > 0).all())
        if self._starting:
            alpha = float(np.arctanh(min(self._edge, 1.0 - NO_EDGE))) if not self.finished else 1.0
            self._total += alpha
            step = alpha / self._total
        else:
            step = self._best_step(votes - self._margins)
            self.finished: bool = step == 0.0
        self._margins += step * (votes - self._margins)
        self.steps.append(step)
        self.costs.append(self._cost(self._margins))
        if len(self.steps) < self.n_start and self._starting:
            exponent = self._total * self._margins
            u = self.share * np.exp(exponent.min() - exponent)
            self._u = u / u.sum()
        else:
            self._descend()

    def _descend(self) -> None:
        self._starting = False
        flatness = np.abs(self.steepness * self._margins)
        slope = self.share * sech_squared(flatness, flatness.min())
        self._u = slope / slope.sum()
        self.least_edge: float = float(self._u @ self._margins) + NO_EDGE

    def _best_step(self, toward: F64) -> float:
        def cost(s: float) -> float:
            return self._cost(self._margins + s * toward)

        def slope(s: float) -> float:
            return -float((self.share * sech_squared(self.steepness * (self._margins + s * toward))) @ toward)

        # not convex: first a grid finer than the slope of any row's cost, then the minimum next to its best point
        slopes = self.steepness * self.learning_rate * float(np.abs(toward).max())
        n = min(max(GRID, ceil(PER_SLOPE * slopes)), MOST)
        grid = (self.learning_rate * np.arange(n + 1) / n).tolist()
        at = [cost(s) for s in grid]
        best = int(np.argmin(at))
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, n)]
        if slope(low) < 0.0 < slope(high):
            bottom = float(brentq(slope, low, high, xtol=1e-15, disp=False))
            if cost(bottom) <= at[best]:
                return bottom
        return float(grid[best])

    def weights_after(self, n_rounds: int) -> F64:
        steps = np.array(self.steps[:n_rounds])
        left = np.append(np.cumprod(1.0 - steps[:0:-1])[::-1], 1.0)
        weights: F64 = steps * left
        return weights


@with_parameters
class DOOMBoostClassifier(MarginBoosting):
    """DOOM II (Mason, Bartlett, Baxter & Frean 2000): functional gradient steps on a sigmoid cost of the margins.

    Minimised over votes F = sum_t w_t h_t, w >= 0, sum_t w_t = 1, whose margins are m_i = y_i F(x_i), is the mean of

        c(m_i) = 1 - tanh(lambda m_i),

    which for large lambda is close to twice the share of misclassified rows, and flat for very negative margins:
    outliers lose their weight, whereas AdaBoost and arc-gv raise it [1]_. Row weights are the slopes of the cost,
    u_i ~ 1 - tanh^2(lambda m_i); the voter with the largest edge sum_i u_i y_i h(x_i) joins by

        F <- (1 - s) F + s h,   0 < s <= learning_rate, the s of least cost,

    and the run ends when no voter has a larger edge than F itself. These steps never raise the cost; it is not convex,
    so that the run may end at a local minimum.

    A single voter without abstentions is a local minimum: its margins are all -1 or +1, where the slope of c is the
    same, so that the best next voter is the first again. So the descent starts from the vote of a few rounds of
    AdaBoost, as in DOOM.

    With more than two classes each has a vote of its own against the rest.

    Attributes
    ----------
    committee_ : Committee
        The voters h_t; weights w_t, which add up to one, for each class where there are more than two. With
        ``calibrate=None`` and two classes the probability of a row's own class is 1 - c(m_i) / 2.
    costs_ : float64 array (P, rounds)
        Mean cost of the training rows after each round, those of AdaBoost first, in which it may rise; P = 1 for two
        classes, else n_classes, each against the rest.

    Warns
    -----
    UserWarning
        If no voter beats chance.

    References
    ----------
    .. [1] L. Mason, J. Baxter, P. Bartlett, M. Frean (2000). Functional gradient techniques for combining hypotheses.
       Advances in Large Margin Classifiers, MIT Press.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from committee import DOOMBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = DOOMBoostClassifier().fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.94, bool(model.costs_[0, -1] < model.costs_[0, 19])
    (True, True)
    """

    _run_type = DOOMRun
    stored_attributes: ClassVar[tuple[str, ...]] = ("costs_", *MarginBoosting.stored_attributes)

    steepness: float = parameter(
        10.0,
        """lambda. The larger, the closer the cost is to twice the share of misclassified rows, and the sooner outliers
        lose their weight. Usually chosen between 2 and 20 on a validation set.""",
        POSITIVE,
    )
    _: KW_ONLY
    n_estimators: int = parameter(
        200,
        "Most rounds, also of AdaBoost; fewer when the cost cannot decrease, or early stopping ends the run.",
        COUNT,
    )
    n_start: int = parameter(
        20,
        """Rounds of AdaBoost at the start. With 1 the vote stays a single stump or tree. As many as
        `n_estimators`: AdaBoost alone.""",
        COUNT,
        after="n_estimators",
    )
    learning_rate: float = parameter(
        0.1, "Largest share s of the vote that a voter of the descent may get, in (0, 1].", SHARE, after="n_start"
    )

    def _link(self, count: float) -> Link:
        return Logistic(scale=2.0 * self.steepness)  # 1 - tanh(z) = 2 sigma(-2 z)

    def _figures(self, runs: Sequence[DOOMRun], n_rounds: int) -> dict[str, Any]:
        return {"costs_": by_round([run.costs for run in runs], n_rounds)}


def sech_squared(z: F64, least: float = 0.0) -> F64:
    """Return sech^2(z) exp(2 least)."""
    size = np.abs(z)
    value: F64 = 4.0 * np.exp(-2.0 * (size - least)) / (1.0 + np.exp(-2.0 * size)) ** 2
    return value


class MDRun(VotingRun):
    """Rounds of MDBoost for one class against the rest. Equation: mdboost (docs/theory.md)."""

    # `means`, `variances` and `gaps` are mean(m), s^2(m) and the duality gap after each round;
    # `u` is 1 - A rho of the distinct rows, times their shares of the weight

    def __init__(self, model: Any, pool: Pool, rows: DistinctRows, positive: int, count: float) -> None:
        super().__init__(model, pool, rows, positive, count)
        self.price: float = model.total_weight * count / (count - 1.0)
        self.tol: float = model.tol
        self.means: list[float] = []
        self.variances: list[float] = []
        self.gaps: list[float] = []
        self.u = self.share
        self._correction = count / (count - 1.0)
        self._signed = np.empty((0, len(self.y)), dtype=np.int8)
        self._mean_votes = np.empty(0)
        self._covariance = np.empty((0, 0))
        self._weights: list[F64] = []
        self._known: set[Hashable] = set()
        self._of_vote = 0.0
        self._record: FitRecord | None = None

    def _search(self, least: float) -> list[Candidate]:
        most = max(1, min(VOTERS_AT_ONCE, self.most - len(self.voters)))
        signed = self.u * self.y  # below zero where a row is to be wrong
        edge, found = self.pool.largest(signed, signed, least, most, self._known)
        if self.voters:
            self.gaps.append(max(0.0, edge - self._of_vote))
        else:
            self.useless: bool = edge <= NO_EDGE
        self._known.update(one.key for one in found)
        return found

    def _join(self, signed: NDArray[np.int8]) -> None:
        # votes stay int8: one voter at a time becomes float64
        before, self._signed = len(self._signed), np.concatenate([self._signed, signed])
        self._mean_votes = np.append(self._mean_votes, [float(self.share @ votes) for votes in signed])
        self._covariance = np.pad(self._covariance, (0, len(signed)))
        for j in range(before, len(self._signed)):
            away = self.share * (self._signed[j] - self._mean_votes[j])
            products = [float(away @ votes) for votes in self._signed[: j + 1]]
            self._covariance[j, : j + 1] = self._covariance[: j + 1, j] = products
        # at first the voter with the largest edge, which is the largest mean margin
        last = self._weights[-1] if self._weights else np.ones(1)
        start = np.pad(last, (0, len(self._signed) - len(last)))

        def optimum() -> F64:
            return simplex_minimum(self.price * self._covariance, self._mean_votes, start)

        record = self._record
        w = optimum() if record is None else record.array("weights", (self._mean_votes, start), optimum)
        self._weights.append(w)
        margins = np.zeros(len(self.y))
        for j in np.flatnonzero(w).tolist():
            margins += w[j] * self._signed[j]
        mean = float(self.share @ margins)
        away = margins - mean
        self.means.append(mean)
        self.variances.append(self._correction * float(self.share @ away**2))
        self.u = self.share * (1.0 - self.price * away)
        self._of_vote = float(self.u @ margins)
        self.least_edge: float = self._of_vote + self.tol + NO_EDGE

    def keep(self, record: FitRecord) -> None:
        self._record = record

    def weights_after(self, n_rounds: int) -> F64:
        return self._weights[min(n_rounds, len(self._weights)) - 1]


@with_parameters
class MDBoostClassifier(MarginBoosting):
    """Margin-distribution boosting (Shen & Li 2010): the vote with the best mean and variance of its margins.

    With rho_i = y_i sum_j w_j h_j(x_i), of all votes over a dictionary of voters h_j this one has [1]_

        min  1/2 rho' A rho - 1' rho,   A = I - (11' - I) / (n - 1),   s.t.  w >= 0, sum_j w_j = D.

    rho' A rho is n times the sample variance, so with the normalised margins m = rho / D it maximises

        mean(m) - D/2 s^2(m):

    D is the price of variance. Column generation: the rows weigh u = 1 - A rho, which is negative for margins far above
    the mean; the voters with the largest edges sum_i u_i y_i h(x_i) join (a tree is trained with weights abs(u_i) and
    labels sign(u_i) y_i); the quadratic program of all that joined is solved; and the run ends when no voter of the
    dictionary has an edge above that of the vote, as then none can improve it.

    With more than two classes each has a program of its own against the rest; the largest mean vote is elected.

    Attributes
    ----------
    committee_ : Committee
        The voters of positive weight; weights w / D, for each class where there are more than two.
    objective_ : float64 array (P,)
        mean(m) - D/2 s^2(m) of each program; P = 1 for two classes, else n_classes.
    mean_margin_, margin_variance_ : float64 array (P,)
        mean(m) and s^2(m) of the training rows.
    duality_gap_ : float64 array (P,)
        Upper bound on what another vote over the dictionary could add to `objective_`; for given classifiers, deeper
        trees and ``min_samples_leaf > 1``, over the voters that were found.

    Warns
    -----
    ConvergenceWarning
        If `n_estimators` ends the run before the optimum, without early stopping.
    UserWarning
        If no voter beats chance.

    References
    ----------
    .. [1] C. Shen, H. Li (2010). Boosting through optimization of margin distributions. IEEE Transactions on Neural
       Networks 21.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from committee import MDBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MDBoostClassifier(20).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.9, bool(model.duality_gap_[0] < 1e-6)
    (True, True)
    """

    _run_type = MDRun
    stored_attributes: ClassVar[tuple[str, ...]] = (
        *("objective_", "mean_margin_", "margin_variance_", "duality_gap_"),
        *MarginBoosting.stored_attributes,
    )

    total_weight: float = parameter(
        10.0,
        "D. The smaller, the more the mean counts, which a single voter makes largest; the larger, the more voters.",
        POSITIVE,
    )
    _: KW_ONLY
    n_estimators: int = shared.program_n_estimators("many")
    max_depth: int | None = depth_of_voters("those with the largest edges, so that no voter is missed")
    tol: float = parameter(
        1e-6,
        """A voter joins while its edge, as a share of the rows' weight, exceeds that of the vote by more than this,
        which bounds the distance of the objective from its maximum.""",
        Interval(Real, 0.0, 1.0, closed="left"),
    )

    _share_of_rounds = 1.0  # a vote of fewer voters is far from the optimum
    _tol_is_of_training = True

    def _figures(self, runs: Sequence[MDRun], n_rounds: int) -> dict[str, Any]:
        means = by_round([run.means for run in runs], n_rounds)[:, -1]
        variances = by_round([run.variances for run in runs], n_rounds)[:, -1]
        return {
            "objective_": means - 0.5 * self.total_weight * variances,
            "mean_margin_": means,
            "margin_variance_": variances,
            "duality_gap_": by_round([run.gaps for run in runs], n_rounds)[:, -1],
        }

    def _warn(self, run: ClassRuns, fitted: dict[str, Any]) -> None:
        super()._warn(run, fitted)
        if any(one.cut_short for one in run.runs) and not self.early_stopping:
            warn_user(
                f"n_estimators={self.n_estimators} ended the run: the objective is {fitted['objective_'].min():.3g}, "
                f"and another vote of the voters searched may have up to {fitted['duality_gap_'].max():.3g} more. "
                "Raise n_estimators, or tol.",
                ConvergenceWarning,
            )
