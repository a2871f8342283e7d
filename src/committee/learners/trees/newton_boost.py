"""Boosting of linear scores or stumps on the whole table, by Newton steps per class or joint gradient steps.

Scores are ``(n, O)``: O = 1 for two classes, otherwise K.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit, log_ndtr

from committee import _core
from committee.data.design import Design
from committee.data.labels import scored_classes
from committee.data.number_types import F64
from committee.data.rows import Rows
from committee.data.table_schema import TableSchema
from committee.learners.base.boosting import BoostingRun
from committee.learners.base.early_stopping import StagedLoss
from committee.learners.base.fit_record import FitRecord, RecordedGrower
from committee.voters.forest import Forest
from committee.voters.growing import GrowthLimits, forest_from_grown, leaf_means, tree_grower
from committee.voters.model_forest import LinearScores, LinkName, TrainingRecord

I32 = NDArray[np.int32]
LineStep: TypeAlias = tuple[I32, F64, F64]  # design column, intercept and slope of a step of every output, (O,) each

SCORE_CAP: dict[LinkName, float] = {"probit": 20.0, "logit": 40.0}
"""Limit of training scores, which a separable leaf reaches; with a much lower one outliers would stop the boosting of a
leaf whose other rows still gain."""
MAX_HALVINGS = 30  # A step that overshoots is halved at most so often
ROUNDING = 1e-14  # A relative change of the risk below this is rounding: boosting has converged
MAX_CUTS = 10  # cuts of the stumps of scores that would pass the cap; the last leaves them out


# --- losses -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class JointLikelihood:
    """ln P of the classes of rows, P(k | x) = Psi(F_k) / sum_j Psi(F_j), Psi = Phi or sigma, and its derivatives.

    For two classes P(1 | x) = Psi(F).
    """

    link: LinkName

    def log_shares(self, F: F64) -> F64:
        curve = log_ndtr if self.link == "probit" else log_expit
        if F.shape[1] == 1:
            return np.concatenate([curve(-F), curve(F)], axis=1)
        L: F64 = curve(F)
        L -= L.max(axis=1, keepdims=True)
        L -= np.log(np.exp(L).sum(axis=1, keepdims=True))
        return L

    def losses(self, F: F64, labels: NDArray[np.uint16]) -> F64:
        losses: F64 = -self.log_shares(F)[np.arange(len(F)), labels]
        return losses

    def risk(self, F: F64, labels: NDArray[np.uint16], v: F64) -> float:
        return float(v @ self.losses(F, labels) / v.sum())

    def gradient(self, F: F64, labels: NDArray[np.uint16]) -> F64:
        """Return the gradient of ln P(y | x), ``(n, O)``: lambda(F_k) ([y = k] - P(k)), lambda = Psi' / Psi.

        For two classes it is y lambda(y F), y = +-1.

        Equation: joint-gradient (docs/theory.md).
        """
        if F.shape[1] == 1:
            sign = np.where(labels == 1, 1.0, -1.0)[:, None]
            return np.asarray(sign * self._rates(sign * F))
        own = labels[:, None] == np.arange(F.shape[1])
        gradient: F64 = self._rates(F) * (own - np.exp(self.log_shares(F)))
        return gradient

    def information(self, F: F64, d: F64) -> F64:
        """Return the expected squared derivative of ln P(y | x) along d ``(n, O)`` by row: Var_P(lambda(F_k) d_k)."""
        if F.shape[1] == 1:
            return (self._rates(F) * self._rates(-F) * d**2)[:, 0]
        P, slope = np.exp(self.log_shares(F)), self._rates(F) * d
        mean = (P * slope).sum(axis=1, keepdims=True)
        variance: F64 = (P * (slope - mean) ** 2).sum(axis=1)
        return variance

    def _rates(self, F: F64) -> F64:
        return _core.newton_terms(self.link, np.ascontiguousarray(F).ravel())[0].reshape(F.shape)


# --- runs -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NewtonBoost:
    n_classes: int
    link: LinkName
    n_steps: int
    by_likelihood: bool
    tol: float
    max_bins: int
    threads: int

    @property
    def n_outputs(self) -> int:
        return len(scored_classes(self.n_classes))

    def signs(self, labels: NDArray[np.uint16]) -> F64:
        return np.where(labels[:, None] == np.array(scored_classes(self.n_classes)), 1.0, -1.0)

    def risk_of(self, f: F64, sign: F64, v: F64) -> float:
        return float(v @ _core.newton_terms(self.link, sign * f)[2] / v.sum())

    def shortened(self, f: F64, step: F64, sign: F64, v: F64, risk: float) -> tuple[F64, float, float]:
        for halvings in range(MAX_HALVINGS + 1):  # a full step may overshoot where curvatures vanish
            share = 0.5**halvings
            after = f + share * step
            mean = self.risk_of(after, sign, v)
            if mean <= risk * (1.0 + ROUNDING):
                break
        return after, mean, share


@dataclass(frozen=True, eq=False)
class Boosted:
    voters: LinearScores | Forest  # one linear score, or the stumps in the order of their steps and outputs
    path: I32
    """``(O, B)``: design column (lines) or column of the table (stumps) of every step; -1: a constant, -2: no step."""
    risk: F64  # (O, B + 1): mean training loss before and after every step


class NewtonRun(BoostingRun):
    finished = False

    def __init__(self, boost: NewtonBoost, rows: Rows) -> None:
        self.boost: NewtonBoost = boost
        self.rows: Rows = rows

    def has_next(self) -> bool:
        return not self.finished

    @abstractmethod
    def staged_votes(self, X: F64) -> Callable[[int], F64]:
        """Return a function of t = 1, 2, ... for the votes ``(n, O)`` of step t on X; it is called once for each t."""

    @abstractmethod
    def boosted(self, n_rounds: int) -> Boosted: ...

    def held_out_risk(self, held_out: Rows) -> StagedLoss:
        start = np.zeros((len(held_out.labels), self.boost.n_outputs))
        return StagedLoss(self.staged_votes(held_out.dense), self._risk_of(held_out), start)

    def _risk_of(self, held_out: Rows) -> Callable[[F64], float]:
        signs = self.boost.signs(held_out.labels)

        def risk(F: F64) -> float:
            return sum(self.boost.risk_of(f, s, held_out.weights) for f, s in zip(F.T, signs.T, strict=True))

        return risk


class JointRun(NewtonRun):
    def _risk_of(self, held_out: Rows) -> Callable[[F64], float]:
        likelihood = JointLikelihood(self.boost.link)
        return lambda F: likelihood.risk(F, held_out.labels, held_out.weights)


# --- lines ------------------------------------------------------------------------------------------------------------


class LineRun(NewtonRun):
    """Lines of design columns, all by one kernel call; for held-out losses the steps are computed again one by one."""

    one_by_one = False

    def __init__(self, boost: NewtonBoost, rows: Rows, table: TableSchema) -> None:
        super().__init__(boost, rows)
        self.design: Design = Design.of_table(rows.dense, rows.weights, table, rows.room)
        self.D = rows.designed(self.design)

    def advance(self) -> None:
        if not self.n_rounds:
            self.all: Boosted = self._boosted(self.boost.n_steps)
        n_steps = self.all.path.shape[1]
        self.n_rounds = self.n_rounds + 1 if self.one_by_one else n_steps
        self.finished = self.n_rounds == n_steps

    def staged_votes(self, X: F64) -> Callable[[int], F64]:
        self.one_by_one = True
        D, steps = self.design.matrix(X), self._line_steps()

        def votes(_: int) -> F64:
            column, intercept, slope = next(steps)
            return intercept + slope * np.where(column < 0, 0.0, D[:, np.maximum(column, 0)])

        return votes

    def boosted(self, n_rounds: int) -> Boosted:
        return self.all if n_rounds == self.all.path.shape[1] else self._boosted(n_rounds)

    def _boosted(self, n_steps: int) -> Boosted:
        boost, rows, n = self.boost, self.rows, len(self.rows.labels)
        intercept, coefficient, _, path, risk = _core.linear_boost(
            self.D, np.arange(n, dtype=np.int32), np.array([0, n]), rows.labels, rows.weights, boost.n_outputs,
            boost.link, n_steps, boost.tol, SCORE_CAP[boost.link], boost.by_likelihood, True, boost.threads,
        )  # fmt: skip
        return self._voters(intercept[0], coefficient[0], path[0], risk[0])

    def _voters(self, intercept: F64, coefficient: F64, path: I32, risk: F64) -> Boosted:
        boost, rows, design = self.boost, self.rows, self.design
        class_weight: F64 = np.bincount(rows.labels, rows.weights, boost.n_classes).astype(np.float64)
        taken = max(1, int((path > -2).sum(axis=1).max()))  # steps that some score has taken
        path, risk = path[:, :taken].copy(), risk[:, : taken + 1].copy()
        first = self.D[0]  # means are taken about it, so that a column far from 0 loses no digits
        centre = first + np.average(self.D - first, axis=0, weights=rows.weights)
        chosen = path >= 0
        decrease = (risk[:, :-1] - risk[:, 1:])[chosen]
        of_columns = np.bincount(design.source[path[chosen]], decrease, len(design.fill)).astype(np.float64)
        record = TrainingRecord(rows.weights.sum(keepdims=True), centre[None], of_columns[None])
        voters = LinearScores.single_leaf(
            design, intercept, coefficient, boost.link, SCORE_CAP[boost.link], class_weight, len(rows.labels), record
        )
        return Boosted(voters, path, risk)

    def _line_steps(self) -> Iterator[LineStep]:
        # the kernel returns the sum of its steps alone; their columns determine the rest
        boost, v, signs = self.boost, self.rows.weights, self.boost.signs(self.rows.labels)
        F = np.zeros_like(signs)
        for step in range(self.all.path.shape[1]):
            column = self.all.path[:, step]
            intercept, slope = np.zeros((2, boost.n_outputs))
            for k in np.flatnonzero(column > -2).tolist():
                x = self.D[:, column[k]] if column[k] >= 0 else np.zeros(len(self.D))
                unit = float(np.abs(x).max()) or 1.0  # so that squares do not overflow
                x = x / unit
                gradient, curvature, _ = _core.newton_terms(boost.link, signs[:, k] * F[:, k])
                w, response = v * curvature, signs[:, k] * gradient / curvature
                w /= w.sum()
                centre, level = np.average(x, weights=w), np.average(response, weights=w)
                spread = w @ (x - centre) ** 2
                b = w @ ((x - centre) * response) / spread if spread > 0 else 0.0
                risk = self.all.risk[k, step]
                F[:, k], _, share = boost.shortened(F[:, k], level + b * (x - centre), signs[:, k], v, risk)
                intercept[k], slope[k] = share * (level - b * centre), share * b / unit
            yield column, intercept, slope


class JointLineRun(JointRun, LineRun):
    def _boosted(self, n_steps: int) -> Boosted:
        boost, rows, n = self.boost, self.rows, len(self.rows.labels)
        intercept, coefficient, _, path, risk, lines = _core.joint_boost(
            self.D, np.arange(n, dtype=np.int32), np.array([0, n]), rows.labels, rows.weights, boost.n_outputs,
            boost.link, n_steps, boost.tol, SCORE_CAP[boost.link], boost.threads,
        )  # fmt: skip
        self.lines = lines[0]
        # a score that takes no steps is a constant: no row is of its class
        still = (path[0] == -2).all(axis=1)
        self.lines[still, 0, 0] = intercept[0, still]
        return self._voters(intercept[0], coefficient[0], path[0], risk[0])

    def _line_steps(self) -> Iterator[LineStep]:
        for step in range(self.all.path.shape[1]):
            yield self.all.path[:, step], self.lines[:, step, 0], self.lines[:, step, 1]


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
