"""DOOM II: boosting down the gradient of a sigmoid cost of the normalised margins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from math import ceil
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

from committee.data.number_types import F64
from committee.learners.base.parameters import COUNT, POSITIVE, SHARE, parameter, with_parameters
from committee.learners.margin_boosting.margin_boosting import NO_EDGE, MarginBoosting, VotingRun, by_round
from committee.learners.pools.dictionaries import DistinctRows
from committee.learners.pools.pool import Candidate, Pool
from committee.vote.links.probability import Link, Logistic

GRID, MOST = 8, 1024  # least and most points of the grid of steps
PER_SLOPE = 4  # points of the grid within the slope of a row's cost, whose width is one over the steepness


class DOOMRun(VotingRun):
    """The rounds for one class against the rest. Equation: doom (docs/theory.md)."""

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

    A single voter is a local minimum: its margins are all -1 or +1, where the slope of c is the same, so that the best
    next voter is the first again. So the descent starts from the vote of a few rounds of AdaBoost, as in DOOM.

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
        200, "Most rounds, those of AdaBoost among them; fewer when the cost can decrease no further.", COUNT
    )
    n_start: int = parameter(
        20,
        """Rounds of AdaBoost at the start. With 1 the vote of stumps and trees is a single one. As many as
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
    """Return (1 - tanh^2(z)) e^(2 least), from 1 - tanh^2(z) = 4 e / (1 + e)^2 with e = exp(-2 |z|)."""
    size = np.abs(z)
    value: F64 = 4.0 * np.exp(-2.0 * (size - least)) / (1.0 + np.exp(-2.0 * size)) ** 2
    return value
