"""Boosting of linear scores, on the whole table or in leaves, by Newton steps per class or joint gradient steps."""

# scores are (n, O): O = 1 for two classes, otherwise K

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

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
from committee.voters.forest import Forest
from committee.voters.model_forest import LeafRows, LinearScores, LinkName, TrainingRecord

I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
LineStep: TypeAlias = tuple[I32, F64, F64]  # design column, intercept and slope of a step of every output, (O,) each

# limits of training scores, which separable leaves reach: much lower ones would stop leaves that still gain
SCORE_CAP: dict[LinkName, float] = {"probit": 20.0, "logit": 40.0}
MAX_HALVINGS = 30  # A step that overshoots is halved at most so often
ROUNDING = 1e-14  # A relative change of the risk below this is rounding: boosting has converged


# --- losses -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class JointLikelihood:
    """ln P of the classes, P(k | x) = Psi(F_k) / sum_j Psi(F_j), Psi = Phi or sigma, and its derivatives."""

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
        """Return the gradient of ln P(y | x), ``(n, O)``. Equation: joint-gradient (docs/theory.md)."""
        if F.shape[1] == 1:
            sign = np.where(labels == 1, 1.0, -1.0)[:, None]
            return np.asarray(sign * self._rates(sign * F))
        own = labels[:, None] == np.arange(F.shape[1])
        gradient: F64 = self._rates(F) * (own - np.exp(self.log_shares(F)))
        return gradient

    def information(self, F: F64, d: F64) -> F64:
        """Return each row's expected squared derivative of ln P(y | x) along d ``(n, O)``."""
        if F.shape[1] == 1:
            return (self._rates(F) * self._rates(-F) * d**2)[:, 0]
        P, slope = np.exp(self.log_shares(F)), self._rates(F) * d
        mean = (P * slope).sum(axis=1, keepdims=True)
        variance: F64 = (P * (slope - mean) ** 2).sum(axis=1)
        return variance

    def _rates(self, F: F64) -> F64:
        return _core.newton_terms(self.link, np.ascontiguousarray(F).ravel())[0].reshape(F.shape)


def leaf_losses(link: LinkName, F: F64, labels: NDArray[np.uint16], joint: bool) -> F64:
    """Return the loss of "class k or not" of each score, ``(n, O)``."""
    n_scores = F.shape[1]
    positive = labels[:, None] == (np.ones(1) if n_scores == 1 else np.arange(n_scores))
    if joint and n_scores > 1:
        L = JointLikelihood(link).log_shares(F)
        others = np.log(np.maximum(-np.expm1(L), np.finfo(np.float64).tiny))
        return np.where(positive, -L, -others)
    losses: F64 = _core.newton_terms(link, np.where(positive, F, -F).ravel())[2].reshape(-1, n_scores)
    return losses


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
    path: I32  # (O, B): column of the design (lines) or the table (stumps) of every step; -1: a constant, -2: no step
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
        """Return a function of t for the votes ``(n, O)`` of step t on X, to call for t = 1, 2, ... in turn."""

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


# --- leaves -----------------------------------------------------------------------------------------------------------

# intercepts, coefficients, scores of the rows, path and risk by step
BoostedScores: TypeAlias = tuple[F64, F64, F64, I32, F64]

CANDIDATES = (1, 2, 5, 10, 20, 50, 100)  # numbers of steps that cross-validation chooses among
N_FOLDS = 5
ERROR_ROUNDING = 1e-12  # errors that differ by less than this share of the weight are equal


@dataclass(frozen=True, eq=False)
class LeafBoosting:
    D: F64
    labels: NDArray[np.uint16]
    weights: F64  # Of rows (n,), or of rows for each score (n, O)
    n_outputs: int
    link: LinkName
    tol: float
    cap: float
    by_likelihood: bool
    n_threads: int
    joint: bool = False  # all scores of a leaf together, along the gradient of their likelihood
    record: bool = True  # return path and risk of every step; always if `joint`
    most_classes: int = 0  # leaves of more classes boost each score on a sample of the rows; 0: on all; no record

    def boosted(self, rows: I32, start: I64, n_steps: int) -> BoostedScores:
        """Boost every score of every leaf by at most `n_steps` steps; leaf l has ``rows[start[l]:start[l + 1]]``."""
        if self.joint:
            return _core.joint_boost(
                self.D, rows, start, self.labels, self.weights, self.n_outputs, self.link, n_steps, self.tol, self.cap,
                self.n_threads,
            )[:5]  # fmt: skip
        if self.weights.ndim == 1:
            return self._boosted(rows, start, n_steps, self.labels, self.weights, self.n_outputs)
        each = [
            self._boosted(rows, start, n_steps, (self.labels == k).astype(np.uint16), self.weights[:, k].copy(), 1)
            for k in range(self.n_outputs)
        ]
        found: list[Any] = [np.concatenate([score[i] for score in each], axis=1) for i in range(5)]
        intercept, coefficient, scores, path, risk = found
        return intercept, coefficient, scores, path, risk

    def _boosted(
        self, rows: I32, start: I64, n_steps: int, labels: NDArray[np.uint16], weights: F64, n_outputs: int
    ) -> BoostedScores:
        return _core.linear_boost(
            self.D, rows, start, labels, weights, n_outputs, self.link, n_steps, self.tol, self.cap,
            self.by_likelihood, self.record, self.n_threads, self.most_classes,
        )  # fmt: skip

    def errors(self, rows: I32, scores: F64) -> F64:
        """Return the weight of each row that a score misclassifies, else 0, ``(m, O)``."""
        if self.joint and self.n_outputs > 1:
            others = (scores.argmax(axis=1) != self.labels[rows]) * self.weights[rows]
            return np.repeat(others[:, None], self.n_outputs, axis=1)
        classes = np.ones(1) if self.n_outputs == 1 else np.arange(self.n_outputs)
        wrong = (self.labels[rows][:, None] == classes) != (scores > 0.0)
        return np.where(wrong, self.weights[rows].reshape(len(rows), -1), 0.0)


def boosted_leaves(boosting: LeafBoosting, leaves: LeafRows, n_steps: int | Literal["cv"], seed: int) -> BoostedScores:
    if n_steps != "cv":
        return boosting.boosted(leaves.rows, leaves.start, n_steps)
    steps = chosen_steps(boosting, leaves, seed)
    intercept, coefficient, scores, path, risk = boosting.boosted(leaves.rows, leaves.start, max(CANDIDATES))
    for fewer in np.unique(steps[steps < max(CANDIDATES)]).tolist():
        # the first steps of a long run are those of a short one
        a, b, f, _, _ = boosting.boosted(leaves.rows, leaves.start, fewer)
        chosen = steps == fewer
        intercept[chosen], coefficient[chosen] = a[chosen], b[chosen]
        scores = np.where(leaves.repeat_by_leaf(chosen), f, scores)
        path[chosen, fewer:] = -2
        risk[chosen, fewer + 1 :] = risk[chosen, fewer][:, None]
    return intercept, coefficient, scores, path, risk


def chosen_steps(boosting: LeafBoosting, leaves: LeafRows, seed: int) -> I64:
    """Return the steps of least held-out error of each leaf's scores, ``(L, O)`` (Landwehr, Hall and Frank 2005).

    Equation: leaf-steps (docs/theory.md).
    """
    leaf = np.repeat(np.arange(len(leaves.start) - 1), np.diff(leaves.start))
    fold = folds(leaf, boosting.labels[leaves.rows], seed)
    of_rows = boosting.labels[leaves.rows]
    other = of_rows != leaves.repeat_by_leaf(of_rows[leaves.start[:-1]])
    mixed = leaves.repeat_by_leaf(np.logical_or.reduceat(other, leaves.start[:-1]))
    rows, start, place = without_each_fold(leaves.rows[mixed], leaf[mixed], fold[mixed])
    held_out = leaves.rows[mixed]
    D = boosting.D[held_out]
    error = np.zeros((len(CANDIDATES), len(leaves.start) - 1, boosting.n_outputs))
    for c, n_steps in enumerate(CANDIDATES if mixed.any() else ()):
        intercept, coefficient, _, _, _ = boosting.boosted(rows, start, n_steps)
        scores = intercept[place]
        for o in range(boosting.n_outputs):  # not by BLAS, whose sums depend on its threads
            scores[:, o] += np.einsum("ij,ij->i", D, coefficient[place, o])
        np.add.at(error[c], leaf[mixed], boosting.errors(held_out, scores))
    least = error <= error.min(axis=0) * (1.0 + ERROR_ROUNDING)
    steps: I64 = np.array(CANDIDATES)[least.argmax(axis=0)]
    return steps


def folds(leaf: I64, labels: NDArray[np.uint16], seed: int) -> I64:
    order = np.lexsort((np.random.default_rng(seed).random(len(leaf)), labels, leaf))
    first = np.searchsorted(leaf[order], leaf[order])
    fold = np.empty(len(leaf), dtype=np.int64)
    fold[order] = (np.arange(len(leaf)) - first) % N_FOLDS
    return fold


def without_each_fold(rows: I32, leaf: I64, fold: I64) -> tuple[I32, I64, I64]:
    """Return the leaf's rows in other folds of each pair (leaf, fold), the pairs' starts, and each row's own pair."""
    own = leaf * N_FOLDS + fold
    problems = np.unique(own)
    row, other = np.nonzero(fold[:, None] != np.arange(N_FOLDS))
    trained = leaf[row] * N_FOLDS + other
    there = np.isin(trained, problems)
    row, trained = row[there], trained[there]
    order = np.argsort(trained, kind="stable")
    start = np.searchsorted(trained[order], problems)
    return rows[row[order]], np.append(start, len(order)), np.searchsorted(problems, own)
