"""Gradient boosting of the scores of all classes together, one line or one stump for each class at a step.

Zheng and Liu's gradient ProbitBoost: the steps of all classes go along the gradient of one likelihood, where Newton's
answer "class k or not?" for each class by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.frames import TableSchema
from committee.data.number_types import F64
from committee.data.rows import Rows
from committee.learners.trees.joint_likelihood import JointLikelihood
from committee.learners.trees.model_tree_table import SCORE_CAP
from committee.learners.trees.newton_boost import (
    MAX_HALVINGS,
    ROUNDING,
    Boosted,
    LineRun,
    NewtonBoost,
    NewtonRun,
    Stump,
    StumpRun,
    StumpScore,
    linear_voters,
)
from committee.voters.growing import leaf_means

MOST_CUTS = 10
"""Cuts of the stumps of scores that would pass the cap; the last leaves them out."""


class JointRun(NewtonRun):
    """What runs of lines and of stumps have in common: the likelihood that held-out rows are judged by."""

    def _risk_of(self, held_out: Rows) -> Callable[[F64], float]:
        likelihood = JointLikelihood(self.boost.link)
        return lambda F: likelihood.risk(F, held_out.labels, held_out.weights)


class JointLineRun(JointRun, LineRun):
    """Every step adds to each class's score the line that is nearest to its gradient."""

    def _boosted(self, n_steps: int) -> Boosted:
        boost, rows = self.boost, self.rows
        n, cap = len(rows.labels), SCORE_CAP[boost.link]
        intercept, coefficient, _, path, risk, lines = _core.joint_boost(
            self.D, np.arange(n, dtype=np.int32), np.array([0, n]), rows.labels, rows.weights, boost.n_outputs,
            boost.link, n_steps, boost.tol, cap, boost.threads,
        )  # fmt: skip
        self.lines = lines[0]
        # a score that takes no steps is a constant: no row is of its class
        still = (path[0] == -2).all(axis=1)
        self.lines[still, 0, 0] = intercept[0, still]
        return linear_voters(boost, rows, self.design, self.D, intercept[0], coefficient[0], path[0], risk[0])

    def _walk(self) -> Iterator[tuple[NDArray[np.int32], F64, F64]]:
        for step in range(self.all.path.shape[1]):
            yield self.all.path[:, step], self.lines[:, step, 0], self.lines[:, step, 1]


@dataclass(frozen=True, eq=False)
class Direction:
    """The stump that is nearest to the gradient of one score, and what it says of the training rows."""

    stump: Stump
    at_rows: F64
    gain: float
    """First-order decrease of the risk along it."""

    def times(self, share: float) -> Direction:
        """Return a part of it."""
        stump = replace(self.stump, value=share * self.stump.value)
        return Direction(stump, share * self.at_rows, share * self.gain)


class JointStumpRun(JointRun, StumpRun):
    """Every step adds to each class's score the regression stump that is nearest to its gradient."""

    def __init__(self, boost: NewtonBoost, rows: Rows, table: TableSchema) -> None:
        super().__init__(boost, rows, table)
        self.likelihood: JointLikelihood = JointLikelihood(boost.link)
        self.v = rows.weights / rows.weights.sum()
        self.F = np.zeros((len(self.v), boost.n_outputs))
        self.risk = self.likelihood.risk(self.F, rows.labels, self.v)
        for score in self.scores:
            score.risks = [self.risk / len(self.scores)]

    def advance(self) -> None:
        """Grow a stump for each score, and move all by one step."""
        gradient = self.likelihood.gradient(self.F, self.rows.labels)
        nearest = [self._nearest(score, gradient[:, score.output].copy()) for score in self.scores]
        stumps = self._moved(nearest)
        self.finished: bool = not stumps
        if not stumps and not self.rounds:  # a committee needs a voter, even one that adds nothing
            stumps = [replace(each.stump, value=np.zeros_like(each.stump.value), column=-2) for each in nearest]
        if stumps:
            self.rounds.append(stumps)
            self.n_rounds += 1

    def _nearest(self, score: StumpScore, r: F64) -> Direction:
        tree = score.growing.grow_targets(r, self.v, None, 0)
        leaf = tree.leaf_of_row
        value = leaf_means(leaf, len(tree.feature), self.v, r)
        tree.forget_rows()
        at_rows = value[leaf]
        return Direction(Stump(score.output, tree, value, int(tree.feature[0])), at_rows, float(self.v @ (r * at_rows)))

    def _moved(self, nearest: list[Direction]) -> list[Stump]:
        """Move the scores and return what they moved by; nothing if the risk does not decrease.

        The stump of a score that would pass the cap is halved, and after ten times left out.
        """
        for cut in range(MOST_CUTS + 1):
            d, gain = np.zeros_like(self.F), sum(each.gain for each in nearest)
            for each in nearest:
                d[:, each.stump.output] = each.at_rows
            F, risk, eta = self._shortened(d, gain)
            over = np.abs(F).max(axis=0) > SCORE_CAP[self.boost.link]
            if not over.any():
                break
            share = 0.5 if cut + 1 < MOST_CUTS else 0.0
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
        """Scores after a step along d, their mean risk, and the step: Fisher's, halved until the risk decreases."""
        information = float(self.v @ self.likelihood.information(self.F, d))
        # in single precision: sums of rows that are repeated, not weighed, differ in their last digits, and so would
        # the choice among equally good stumps of the next step
        with np.errstate(over="ignore"):
            eta = float(np.float32(gain / information)) if gain > 0.0 and information > 0.0 else 0.0
        eta = eta if np.isfinite(eta) else 0.0
        for _ in range(MAX_HALVINGS + 1):
            F = self.F + eta * d
            risk = self.likelihood.risk(F, self.rows.labels, self.v)
            if risk <= self.risk * (1.0 + ROUNDING):
                break
            eta *= 0.5
        return F, risk, eta
