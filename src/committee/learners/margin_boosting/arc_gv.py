"""Arc-gv: AdaBoost with steps shortened by the margin reached, so that the least margin tends to its maximum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64
from committee.learners.base import shared_parameters as shared
from committee.learners.base.parameters import with_parameters
from committee.learners.margin_boosting.margin_boosting import (
    NO_EDGE,
    MarginBoosting,
    VotingRun,
    by_round,
    depth_of_voters,
)
from committee.learners.pools.dictionaries import DistinctRows
from committee.learners.pools.pool import Candidate, Pool


class ArcGVRun(VotingRun):
    """The rounds for one class against the rest. Equation: arc-gv (docs/theory.md)."""

    # `bound` is the least of the largest edges of all rounds: if under some row weights no voter has a larger edge,
    # no vote has a larger minimum margin

    def __init__(self, model: Any, pool: Pool, rows: DistinctRows, positive: int, count: float) -> None:
        super().__init__(model, pool, rows, positive, count)
        self.edges: list[float] = []
        self.minimum_margins: list[float] = []
        self.alphas: list[float] = []
        self.bound = self._edge = np.inf
        self._margins = np.zeros(len(self.y))
        self._u = self.share

    def _search(self, least: float) -> list[Candidate]:
        signed = self._u * self.y
        edge, found = self.pool.largest(signed, signed, least, 1, set())
        self.bound = min(self.bound, edge)
        self._edge = edge
        return found

    def _join(self, signed: NDArray[np.int8]) -> None:
        votes = signed[0]
        reached = max(0.0, self.minimum_margins[-1]) if self.minimum_margins else 0.0
        self.edges.append(self._edge)
        self.useless: bool = self._edge <= NO_EDGE
        if self.useless or (votes > 0).all():
            self.alphas.append(1.0 if self.useless else np.inf)
            self.minimum_margins.append(float(votes.min()))
            self.finished = True
            return
        self.alphas.append(float(np.arctanh(min(self._edge, 1.0 - NO_EDGE)) - np.arctanh(reached)))
        self._margins += self.alphas[-1] * votes
        lowest = float(self._margins.min())
        self.minimum_margins.append(lowest / sum(self.alphas))
        self.least_edge: float = max(0.0, self.minimum_margins[-1]) + NO_EDGE
        u = self.share * np.exp(lowest - self._margins)
        self._u = u / u.sum()

    def weights_after(self, n_rounds: int) -> F64:
        alpha = np.array(self.alphas[:n_rounds])
        perfect = np.isinf(alpha)
        weights: F64 = perfect.astype(np.float64) if perfect.any() else alpha / alpha.sum()
        return weights


@with_parameters
class ArcGVClassifier(MarginBoosting):
    """Arc-gv (Breiman 1999): boosting towards the largest minimum margin.

    As in AdaBoost a row's weight u_i is proportional to exp(-y_i F(x_i)), F = sum_t alpha_t h_t. The step depends on
    the edge of the voter, g_t = sum_i u_i y_i h_t(x_i), and on the least normalised margin so far,
    r_t = max(0, min_i y_i F(x_i) / sum_s alpha_s):

        alpha_t = 1/2 ln((1 + g_t) / (1 - g_t)) - 1/2 ln((1 + r_t) / (1 - r_t)).

    While some training row is misclassified, r_t = 0, and this is AdaBoost. From then on the steps are shorter. If
    every voter has the largest edge of all, the least margin tends to the largest of any vote over the dictionary [1]_
    [2]_, the value of LPBoost's program without slack; AdaBoost may stay at half of that. A large minimum margin need
    not mean a small test error [3]_, as noisy rows count as much as any.

    With more than two classes each has a vote of its own against the rest; the largest mean vote is elected.

    Attributes
    ----------
    committee_ : Committee
        The voters h_t; weights alpha_t / sum_s alpha_s, for each class where there are more than two.
    edges_ : float64 array (P, rounds)
        g_t; P = 1 for two classes, else n_classes. NaN after the last round of a class.
    minimum_margins_ : float64 array (P, rounds)
        The least normalised margin of the training rows after each round.
    estimator_weights_ : float64 array (P, rounds)
        alpha_t; infinite for a voter that is right on all rows, which is then the whole vote; 1 for the only voter if
        it does not beat chance; 0 after the end.
    duality_gap_ : float64 array (P,)
        The least of the rounds' largest edges, minus the minimum margin: upper bound on the gain of any other vote
        over the stumps. NaN for given classifiers, deeper trees and ``min_samples_leaf > 1``, whose largest edge is
        unknown.

    Warns
    -----
    UserWarning
        If no voter beats chance.

    References
    ----------
    .. [1] L. Breiman (1999). Prediction games and arcing algorithms. Neural Computation 11.
    .. [2] R. Meir, G. Rätsch (2003). An introduction to boosting and leveraging. Advanced Lectures on Machine
       Learning, LNAI 2600.
    .. [3] L. Reyzin, R. Schapire (2006). How boosting the margin can also boost classifier complexity. ICML.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from committee import ArcGVClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = ArcGVClassifier(200).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.95, bool(model.minimum_margins_[0, -1] > 0.05)
    (True, True)
    """

    _run_type = ArcGVRun
    stored_attributes: ClassVar[tuple[str, ...]] = (
        *("edges_", "minimum_margins_", "estimator_weights_", "duality_gap_"),
        *MarginBoosting.stored_attributes,
    )

    n_estimators: int = shared.n_estimators(100, "a voter is perfect, or none has an edge above the margin reached")
    _: KW_ONLY
    max_depth: int | None = depth_of_voters("the one with the largest edge, so that the limit is the largest margin")

    def _figures(self, runs: Sequence[ArcGVRun], n_rounds: int) -> dict[str, Any]:
        margins = by_round([run.minimum_margins for run in runs], n_rounds)
        bound = np.array([run.bound if run.pool.exhaustive else np.nan for run in runs])
        return {
            "edges_": by_round([run.edges for run in runs], n_rounds, np.nan),
            "minimum_margins_": margins,
            "estimator_weights_": by_round([run.alphas for run in runs], n_rounds, 0.0),
            "duality_gap_": np.maximum(0.0, bound - margins[:, -1]),
        }
