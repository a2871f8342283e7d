"""MDBoost: a large mean of the margins and a small variance, solved for exactly by column generation."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import KW_ONLY
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval

from committee.data.number_types import F64
from committee.data.user_warnings import warn_user
from committee.learners.base import shared_parameters as shared
from committee.learners.base.fit_record import FitRecord
from committee.learners.base.parameters import POSITIVE, parameter, with_parameters
from committee.learners.margin_boosting.margin_boosting import (
    NO_EDGE,
    ClassRuns,
    MarginBoosting,
    VotingRun,
    by_round,
    depth_of_voters,
)
from committee.learners.pools.dictionaries import DistinctRows
from committee.learners.pools.pool import Candidate, Pool
from committee.objectives.programs.simplex_quadratic import simplex_minimum
from committee.objectives.programs.soft_margin import VOTERS_AT_ONCE


class MDRun(VotingRun):
    """The rounds for one class against the rest. Equation: mdboost (docs/theory.md)."""

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
        self._extend(signed)
        start = np.zeros(len(self._signed))
        if self._weights:
            start[: len(self._weights[-1])] = self._weights[-1]
        else:
            start[0] = 1.0  # the voter with the largest edge, which is the largest mean margin
        w = self._solved(start)
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

    def _solved(self, start: F64) -> F64:
        def compute() -> F64:
            return simplex_minimum(self.price * self._covariance, self._mean_votes, start)

        return compute() if self._record is None else self._record.array("weights", (self._mean_votes, start), compute)

    def _extend(self, signed: NDArray[np.int8]) -> None:
        # votes stay int8: one voter at a time becomes float64
        before, self._signed = len(self._signed), np.concatenate([self._signed, signed])
        self._mean_votes = np.append(self._mean_votes, [float(self.share @ votes) for votes in signed])
        covariance = np.empty((len(self._signed), len(self._signed)))
        covariance[:before, :before] = self._covariance
        for j in range(before, len(self._signed)):
            away = self.share * (self._signed[j] - self._mean_votes[j])
            products = [float(away @ votes) for votes in self._signed[: j + 1]]
            covariance[j, : j + 1] = covariance[: j + 1, j] = products
        self._covariance = covariance

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

    _one_blas_thread = True
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

    def _warn(self, run: ClassRuns[MDRun], fitted: dict[str, Any]) -> None:
        super()._warn(run, fitted)
        if any(one.cut_short for one in run.runs) and not self.early_stopping:
            warn_user(
                f"n_estimators={self.n_estimators} ended the run: the objective is {fitted['objective_'].min():.3g}, "
                f"and another vote of the voters searched may have up to {fitted['duality_gap_'].max():.3g} more. "
                "Raise n_estimators, or tol.",
                ConvergenceWarning,
            )
