"""Scores boosted in the leaves of a model tree, by a given number of steps or by one that cross-validation chooses.

The SBPMT paper boosts every leaf by the same number of steps. Logistic model trees (Landwehr, Hall and Frank 2005)
choose it by the error in cross-validation; here each score of each leaf has a number of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.number_types import F64
from committee.voters.model_forest import LinkName
from committee.voters.training_record import LeafRows

CANDIDATES = (1, 2, 5, 10, 20, 50, 100)
"""Numbers of steps that cross-validation chooses among."""
N_FOLDS = 5
"""Parts that the rows of a leaf are dealt into; of fewer rows, as many."""

ROUNDING = 1e-12
"""Errors that differ by less than this share are equal: sums of the same weights."""

BoostedScores: TypeAlias = tuple[F64, F64, F64, NDArray[np.int32], F64]
"""Intercepts, coefficients, scores of the rows, path and risk by step, as `_core.linear_boost` has them.

Without a record there is no path, and of the risk the last."""


@dataclass(frozen=True, eq=False)
class LeafBoosting:
    """What the boosting in leaves looks at, and its limits."""

    D: F64
    labels: NDArray[np.uint16]
    weights: F64
    """Of rows ``(n,)``, or of rows for each score ``(n, O)``."""
    n_outputs: int
    link: LinkName
    tol: float
    cap: float
    by_likelihood: bool
    n_threads: int
    joint: bool = False
    """All scores of a leaf together, along the gradient of their likelihood."""
    record: bool = True
    """Path and risk of every step are asked for; of `joint` they are always there."""

    def boosted(self, rows: NDArray[np.int32], start: NDArray[np.int64], n_steps: int) -> BoostedScores:
        """Boost every score by so many steps, or until it ends; leaf l has ``rows[start[l]:start[l + 1]]``."""
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
        intercept, coefficient, scores, path, risk = (
            np.concatenate([score[i] for score in each], axis=1) for i in range(5)
        )
        return intercept, coefficient, scores, path, risk

    def _boosted(
        self,
        rows: NDArray[np.int32],
        start: NDArray[np.int64],
        n_steps: int,
        labels: NDArray[np.uint16],
        weights: F64,
        n_outputs: int,
    ) -> BoostedScores:
        return _core.linear_boost(
            self.D, rows, start, labels, weights, n_outputs, self.link, n_steps, self.tol, self.cap,
            self.by_likelihood, self.record, self.n_threads,
        )  # fmt: skip

    def errors(self, rows: NDArray[np.int32], scores: F64) -> F64:
        """Weight of each row where the sign of a score is not its class's, else 0, ``(m, O)``.

        Of scores that are boosted together, where they elect another class: the same for each.
        """
        if self.joint and self.n_outputs > 1:
            others = (scores.argmax(axis=1) != self.labels[rows]) * self.weights[rows]
            return np.repeat(others[:, None], self.n_outputs, axis=1)
        classes = np.ones(1) if self.n_outputs == 1 else np.arange(self.n_outputs)
        wrong = (self.labels[rows][:, None] == classes) != (scores > 0.0)
        return np.where(wrong, self.weights[rows].reshape(len(rows), -1), 0.0)


def boosted_leaves(boosting: LeafBoosting, leaves: LeafRows, n_steps: int | Literal["cv"], seed: int) -> BoostedScores:
    """Scores of all leaves, boosted by `n_steps` or by the numbers of `chosen_steps`.

    Path and risk of a score that is boosted by fewer steps go on as those of one that ended early.
    """
    if n_steps != "cv":
        return boosting.boosted(leaves.rows, leaves.start, n_steps)
    steps = chosen_steps(boosting, leaves, seed)
    intercept, coefficient, scores, path, risk = boosting.boosted(leaves.rows, leaves.start, max(CANDIDATES))
    for fewer in np.unique(steps[steps < max(CANDIDATES)]).tolist():
        # the first steps of a long run are those of a short one
        a, b, f, _, _ = boosting.boosted(leaves.rows, leaves.start, fewer)
        chosen = steps == fewer
        intercept[chosen], coefficient[chosen] = a[chosen], b[chosen]
        scores = np.where(leaves.spread_out(chosen), f, scores)
        path[chosen, fewer:] = -2
        risk[chosen, fewer + 1 :] = risk[chosen, fewer][:, None]
    return intercept, coefficient, scores, path, risk


def chosen_steps(boosting: LeafBoosting, leaves: LeafRows, seed: int) -> NDArray[np.int64]:
    """Choose the number of steps of each score of each leaf, ``(L, O)``: the candidate of least error on held-out rows.

    Among equals it is the least. A leaf of one class needs no steps, and has the least candidate.

    Equation: leaf-steps (docs/theory.md).
    """
    leaf = np.repeat(np.arange(len(leaves.start) - 1), np.diff(leaves.start))
    fold = folds(leaf, boosting.labels[leaves.rows], seed)
    judging = leaves.spread_out(~of_one_class(leaves, boosting.labels))
    rows, start, place = without_each_fold(leaves.rows[judging], leaf[judging], fold[judging])
    held_out = leaves.rows[judging]
    D = boosting.D[held_out]
    error = np.zeros((len(CANDIDATES), len(leaves.start) - 1, boosting.n_outputs))
    for c, n_steps in enumerate(CANDIDATES if judging.any() else ()):
        intercept, coefficient, _, _, _ = boosting.boosted(rows, start, n_steps)
        scores = intercept[place]
        for o in range(boosting.n_outputs):  # not by BLAS, whose sums depend on its threads
            scores[:, o] += np.einsum("ij,ij->i", D, coefficient[place, o])
        np.add.at(error[c], leaf[judging], boosting.errors(held_out, scores))
    least = error <= error.min(axis=0) * (1.0 + ROUNDING)
    steps: NDArray[np.int64] = np.array(CANDIDATES)[least.argmax(axis=0)]
    return steps


def of_one_class(leaves: LeafRows, labels: NDArray[np.uint16]) -> NDArray[np.bool_]:
    """Tell which leaves hold rows of one class only."""
    of_rows = labels[leaves.rows]
    other = of_rows != leaves.spread_out(of_rows[leaves.start[:-1]])
    return ~np.logical_or.reduceat(other, leaves.start[:-1])


def folds(leaf: NDArray[np.int64], labels: NDArray[np.uint16], seed: int) -> NDArray[np.int64]:
    """Deal the rows of each leaf into `N_FOLDS` parts, one class after the other, each in random order.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.learners.trees.leaf_steps import folds
    >>> np.bincount(folds(np.zeros(12, dtype=np.int64), np.zeros(12, dtype=np.uint16), seed=0)).tolist()
    [3, 3, 2, 2, 2]
    """
    order = np.lexsort((np.random.default_rng(seed).random(len(leaf)), labels, leaf))
    first = np.searchsorted(leaf[order], leaf[order])
    fold = np.empty(len(leaf), dtype=np.int64)
    fold[order] = (np.arange(len(leaf)) - first) % N_FOLDS
    return fold


def without_each_fold(
    rows: NDArray[np.int32], leaf: NDArray[np.int64], fold: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """For each fold the rows of each leaf that are not in it, and for each row the place of the fold that it is in.

    Returns rows and ``start``, as of leaves, one for each leaf and fold that has rows of it. Each leaf has rows of two
    folds at least.
    """
    own = leaf * N_FOLDS + fold
    problems = np.unique(own)
    row, other = np.nonzero(fold[:, None] != np.arange(N_FOLDS))
    trained = leaf[row] * N_FOLDS + other
    there = np.isin(trained, problems)
    row, trained = row[there], trained[there]
    order = np.argsort(trained, kind="stable")
    start = np.searchsorted(trained[order], problems)
    return rows[row[order]], np.append(start, len(order)), np.searchsorted(problems, own)
