"""Scores of rows while they are boosted: their loss, and trees added to them.

Scores are ``(n,)``, or ``(D, n)`` where each row has D > 1 of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.number_types import F64
from committee.data.rows import Rows, TargetRows, rounded_scale
from committee.learners.gradient.line_fit import add_lines
from committee.objectives.losses import Loss, write_gradients
from committee.voters.forest import Forest
from committee.voters.linear_leaves import LinearLeaves
from committee.voters.protocol import Voters
from committee.voters.rounds import Rounds


@dataclass(frozen=True, eq=False)
class Target:
    """A loss, the targets (or class numbers) of n rows, and their weights; None weighs all alike.

    Targets are ``(n,)``, or ``(D, n)`` where each of D scores has one of its own. Then losses add up, each divided by
    the square of the score's `scale`: what boosting sees is the loss of scores in units of it.
    """

    loss: Loss
    y: NDArray[np.generic]
    w: F64 | None
    scale: F64 | None = None
    """Unit of each score, ``(D,)``, where each has a target of its own."""

    @classmethod
    def of(cls, loss: Loss, rows: Rows | TargetRows, scale: F64 | None = None) -> Self:
        """Take targets and weights from rows; `scale` is that of other rows, if it is known.

        Raises
        ------
        ValueError
            If the loss does not take such targets.
        """
        y = rows.labels if isinstance(rows, Rows) else rows.target
        loss.check_target(y)
        if y.ndim == 2 and (n_scores := loss.n_scores()) > 1:
            raise ValueError(
                f"the {loss.name} loss predicts {n_scores} numbers of one target, and y has {y.shape[1]} columns; "
                "choose a loss of one number, or wrap the learner in sklearn.multioutput.MultiOutputRegressor."
            )
        targets, w = np.ascontiguousarray(y.T), None if rows.uniform else rows.weights
        if y.ndim == 2 and scale is None:
            scale = np.array([_scale(loss, target, rows.weights) for target in targets])
        return cls(loss, targets, w, scale)

    @property
    def total(self) -> float:
        """Weight of all rows."""
        return float(self.y.shape[-1] if self.w is None else self.w.sum())

    def n_scores(self, n_classes: int | None) -> int:
        """Number of scores of a row, of so many classes or None."""
        return len(self.y) if self.y.ndim == 2 else self.loss.n_scores(n_classes)

    def of_rows(self, rows: NDArray[np.integer], w: F64 | None) -> Self:
        """The same loss of some rows, with weights of their own."""
        return replace(self, y=self.y[..., rows], w=w)

    def part(self, rows: slice) -> Self:
        """The same loss of some rows, with their weights."""
        return replace(self, y=self.y[..., rows], w=None if self.w is None else self.w[rows])

    def best_constant(self, n_scores: int) -> F64:
        """Scores ``(n_scores,)`` that are best if all rows have the same."""
        if self.y.ndim == 2:
            return np.array([self.loss.best_constant(y, self.w, 1).item() for y in self.y])
        best = self.loss.best_constant(self.y, self.w, n_scores)
        return np.asarray(best, dtype=np.float64).reshape(n_scores)

    def mean_loss(self, F: F64) -> float:
        """Mean loss of scores ``(n,)`` or ``(D, n)``."""
        shares = None if self.w is None else self.w / self.w.sum()  # a large loss times a large weight is no number
        if self.scale is None:
            return float(np.average(self.loss.value(self.y, F), weights=shares))
        each = [np.average(self.loss.value(y, f), weights=shares) for y, f in zip(self.y, F, strict=True)]
        return float((np.array(each) / self.scale**2).sum())

    def write_gradients(self, F: F64, w: F64 | None, gradient: F64, hessian: F64, n_threads: int) -> None:
        """Write gradients and hessians at the scores, of rows that weigh w, by scores in their units."""
        write_gradients(self.loss, self.y, F, w, gradient, hessian, n_threads)
        if self.scale is not None:
            gradient /= self.scale[:, None]

    def in_units(self, scores: F64) -> F64:
        """Scores ``(D, n)``, or ``(n,)`` of one, in their units."""
        return scores if self.scale is None else scores / self.scale[:, None]

    def leaf_constant(self, residual: F64, w: F64 | None, score: int) -> float | None:
        """The best constant to add to one of the scores in a leaf; None where a Newton step is as good."""
        return self.loss.leaf_constant(residual, w, score if self.y.ndim == 1 else 0)


def _scale(loss: Loss, y: NDArray[np.generic], w: F64) -> float:
    """Root of the dispersion of a target about its best constant: sum of w g^2 over the sum of w h.

    It is the standard deviation for the squared error, whatever the scale of the target; 1 for the absolute one.
    """
    constant = np.asarray(loss.best_constant(y, w, 1), dtype=np.float64).reshape(1)
    gradient, hessian = loss.gradient_hessian(y, np.repeat(constant, len(y)), None)
    share = w / w.sum()
    return rounded_scale(float((share * gradient**2).sum()) / float((share * hessian).sum()))


def add_tree(F: F64, leaf: NDArray[np.int32], value: F64, step: float, first: int, n_threads: int) -> None:
    """F <- F + step b(x) for one tree b, in place.

    Row i of F, ``(n,)`` or ``(D, n)``, has reached node ``leaf[i]``; `value` ``(N, k)`` is what the nodes add to k of
    the scores, `first` and those after it.
    """
    if F.ndim == 1:
        _core.add_leaf_values(F, leaf, step * value[:, 0], n_threads)
        return
    for k in range(value.shape[1]):
        _core.add_leaf_values(F[first + k], leaf, step * value[:, k], n_threads)


def scores_after(voters: Voters, weights: F64, F: F64, X: F64, n_threads: int) -> None:
    """Add rounds with steps `weights` to scores F of encoded rows X, in place, to the bit as when they were grown.

    The voters are a `Forest`, `Rounds` or `LinearLeaves`; others have no leaves.
    """
    for t, step in enumerate(weights.tolist()):
        one = voters[t]
        forest = one.forest if isinstance(one, (Rounds, LinearLeaves)) else one
        assert isinstance(forest, Forest) and forest.value is not None
        leaves = np.ascontiguousarray(forest.apply(X, n_threads).T)
        for k, (leaf, value) in enumerate(zip(leaves, np.split(forest.value, forest.offset[1:-1]), strict=True)):
            add_tree(F, leaf, value, step, k, n_threads)
            if isinstance(one, LinearLeaves):
                nodes = np.arange(*forest.offset[k : k + 2])
                add_lines(F, one.lines.take(nodes), X, leaf, step, k, n_threads)
