"""Boosted scores in the leaves of model trees: steps by cross-validation, and pruning by held-out errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee._core import GrownTree
from committee.data.number_types import F64
from committee.learners.trees.newton_boost import SCORE_CAP, JointLikelihood
from committee.voters.model_forest import LeafRows, LinkName

I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
BoostedScores: TypeAlias = tuple[F64, F64, F64, I32, F64]
"""Intercepts, coefficients, scores of the rows, path and risk by step, as `_core.linear_boost` returns them.

Without `LeafBoosting.record` the path is empty, and the risk is that after the last step."""

CANDIDATES = (1, 2, 5, 10, 20, 50, 100)  # numbers of steps that cross-validation chooses among
N_FOLDS = 5
ROUNDING = 1e-12  # errors that differ by less than this share of the weight are equal


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
        """Boost every score by at most `n_steps` steps; leaf l has ``rows[start[l]:start[l + 1]]``."""
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
        """Return the weight of each row that a score misclassifies, else 0, ``(m, O)``.

        If `joint`, every score misclassifies the rows whose largest score is of another class.
        """
        if self.joint and self.n_outputs > 1:
            others = (scores.argmax(axis=1) != self.labels[rows]) * self.weights[rows]
            return np.repeat(others[:, None], self.n_outputs, axis=1)
        classes = np.ones(1) if self.n_outputs == 1 else np.arange(self.n_outputs)
        wrong = (self.labels[rows][:, None] == classes) != (scores > 0.0)
        return np.where(wrong, self.weights[rows].reshape(len(rows), -1), 0.0)


def leaf_losses(link: LinkName, F: F64, labels: NDArray[np.uint16], joint: bool) -> F64:
    """Return the loss of "class k or not", ``(n, O)``, by each score alone; if `joint`, by P(k) from all scores."""
    n_scores = F.shape[1]
    positive = labels[:, None] == (np.ones(1) if n_scores == 1 else np.arange(n_scores))
    if joint and n_scores > 1:
        L = JointLikelihood(link).log_shares(F)
        others = np.log(np.maximum(-np.expm1(L), np.finfo(np.float64).tiny))
        return np.where(positive, -L, -others)
    losses: F64 = _core.newton_terms(link, np.where(positive, F, -F).ravel())[2].reshape(-1, n_scores)
    return losses


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
    """Return the fewest steps of least held-out error among the candidates, for each score of each leaf, ``(L, O)``.

    As in logistic model trees (Landwehr, Hall and Frank 2005), but each score of each leaf has a number of its own. A
    leaf of one class has the least candidate. Equation: leaf-steps (docs/theory.md).
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
    least = error <= error.min(axis=0) * (1.0 + ROUNDING)
    steps: I64 = np.array(CANDIDATES)[least.argmax(axis=0)]
    return steps


def folds(leaf: I64, labels: NDArray[np.uint16], seed: int) -> I64:
    order = np.lexsort((np.random.default_rng(seed).random(len(leaf)), labels, leaf))
    first = np.searchsorted(leaf[order], leaf[order])
    fold = np.empty(len(leaf), dtype=np.int64)
    fold[order] = (np.arange(len(leaf)) - first) % N_FOLDS
    return fold


def without_each_fold(rows: I32, leaf: I64, fold: I64) -> tuple[I32, I64, I64]:
    """Return, for each pair of a leaf and a fold, the rows of the leaf in other folds: all rows and their starts.

    The third array ``(m,)`` numbers the pair of each row. Each leaf has rows of at least two folds.
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


# --- reduced-error pruning --------------------------------------------------------------------------------------------

HELD_OUT = 1 / 3
N_STEPS = 20  # boosting steps of a node's score, which reach most of the gain of a leaf's own steps
N_STEPS_OF_MANY = 10  # with more classes than `LeafBoosting.most_classes`
MOST_ROWS = 1_000  # most rows that the score of a node is boosted on


def rows_by_leaf(leaf: NDArray[np.integer], n_leaves: int) -> I64:
    # numbers of 16 bits are sorted by counting, in a tenth of the time
    return np.argsort(leaf.astype(np.uint16) if n_leaves <= 1 << 16 else leaf, kind="stable")


@dataclass(frozen=True, eq=False)
class RowsOfNodes:
    """Rows of a tree, ordered by leaf: those of node i are ``rows[begin[i]:end[i]]``."""

    rows: I32
    begin: I64
    end: I64

    @classmethod
    def of(cls, tree: GrownTree, drawn: I32) -> RowsOfNodes:
        leaf, left = tree.leaf_of_row[drawn], tree.left.tolist()
        size = np.bincount(leaf, minlength=len(left)).tolist()
        begin = [0] * len(left)
        for node in range(len(left) - 1, -1, -1):  # children come after their parents
            if left[node] >= 0:
                size[node] = size[left[node]] + size[left[node] + 1]
        for node, child in enumerate(left):
            if child >= 0:
                begin[child], begin[child + 1] = begin[node], begin[node] + size[child]
        first = np.array(begin, dtype=np.int64)
        rank = np.empty(len(first), dtype=np.int64)
        rank[np.argsort(first, kind="stable")] = np.arange(len(first))
        return cls(drawn[rows_by_leaf(rank[leaf], len(first))], first, first + np.array(size, dtype=np.int64))


def pruned(
    tree: GrownTree,
    D: F64,
    labels: NDArray[np.uint16],
    weights: F64,
    drawn: I32,
    n_outputs: int,
    link: LinkName,
    seed: int,
    n_threads: int,
    most_classes: int = 0,
) -> GrownTree:
    """Return the tree without splits below which scores err more than the node's own (Quinlan 1987).

    Scores are boosted in every node on two thirds of its rows, at most `MOST_ROWS`, and evaluated on the other third.
    `weights` ``(n,)`` are those of the data, not of the round of boosting, as late rounds put most of the weight on few
    rows.

    Equation: reduced-error (docs/theory.md).
    """
    if tree.left[0] < 0:
        return tree
    rows = RowsOfNodes.of(tree, drawn)
    held_out = (np.random.default_rng(seed).random(len(D)) < HELD_OUT).astype(np.uint8)
    n_steps = N_STEPS_OF_MANY if n_outputs > most_classes > 0 else N_STEPS
    errors = _core.held_out_errors(
        D, rows.rows, rows.begin, rows.end, labels, weights, held_out, n_outputs, link, n_steps, SCORE_CAP[link],
        MOST_ROWS, n_threads, most_classes,
    )  # fmt: skip
    return cut(tree, kept_splits(tree.left, errors, ROUNDING * float(weights[drawn].sum())))


def kept_splits(left: I32, errors: F64, rounding: float = 0.0) -> NDArray[np.bool_]:
    """Return a mask of the splits whose kept leaves together err no more than the node alone."""
    least, keep = errors.tolist(), left >= 0
    for node in range(len(least) - 1, -1, -1):  # children come after their parents
        if keep[node]:
            below = least[left[node]] + least[left[node] + 1]
            keep[node] = below <= least[node] + rounding
            least[node] = min(below, least[node])
    return keep


def cut(tree: GrownTree, keep: NDArray[np.bool_]) -> GrownTree:
    feature, bin, left, missing_left, offset, bits, gain, count, sums = tree.nodes()
    reached = np.zeros(len(left), dtype=bool)
    reached[0] = True
    over = np.arange(len(left))  # the node itself, or the leaf that it is now part of
    for node, child in enumerate(left.tolist()):
        if child >= 0:
            reached[child : child + 2] = reached[node] and keep[node]
            if not reached[child]:
                over[child : child + 2] = over[node]
    split = keep & reached
    number = np.cumsum(reached) - 1
    words = np.where(split, np.diff(offset), 0)
    nodes = (
        np.where(split, feature, -1)[reached],
        np.where(split, bin, -1)[reached],
        np.where(split, number[left], -1).astype(np.int32)[reached],
        np.where(split, missing_left, 0).astype(np.uint8)[reached],
        np.concatenate([[0], np.cumsum(words[reached])]).astype(np.int64),
        bits[np.repeat(split, np.diff(offset))],
        np.where(split, gain, 0.0)[reached],
        count[reached],
        np.ascontiguousarray(sums[reached]),
    )
    leaf = np.where(tree.leaf_of_row < 0, -1, number[over[tree.leaf_of_row]]).astype(np.int32)
    return GrownTree(nodes, leaf)
