"""Scores of rows while they are boosted: their loss, and trees added to them.

Scores are ``(n,)``, or ``(D, n)`` where each row has D > 1 of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.number_types import F64
from committee.data.rows import Rows, TargetRows
from committee.objectives.losses import Loss
from committee.voters.forest import Forest
from committee.voters.protocol import Voters
from committee.voters.rounds import Rounds


@dataclass(frozen=True, eq=False)
class Target:
    """A loss, the targets (or class numbers) of n rows, and their weights; None weighs all alike."""

    loss: Loss
    y: NDArray[np.generic]
    w: F64 | None

    @classmethod
    def of(cls, loss: Loss, rows: Rows | TargetRows) -> Self:
        """Take targets and weights from rows.

        Raises
        ------
        ValueError
            If the loss does not take such targets.
        """
        y = rows.labels if isinstance(rows, Rows) else rows.target
        loss.check_target(y)
        return cls(loss, y, None if rows.uniform else rows.weights)

    @property
    def total(self) -> float:
        """Weight of all rows."""
        return float(len(self.y) if self.w is None else self.w.sum())

    def best_constant(self, n_scores: int) -> F64:
        """Scores ``(n_scores,)`` that are best if all rows have the same."""
        best = self.loss.best_constant(self.y, self.w, n_scores)
        return np.asarray(best, dtype=np.float64).reshape(n_scores)

    def mean_loss(self, F: F64) -> float:
        """Mean loss of scores ``(n,)`` or ``(D, n)``."""
        shares = None if self.w is None else self.w / self.w.sum()  # a large loss times a large weight is no number
        return float(np.average(self.loss.value(self.y, F), weights=shares))


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

    The voters are a `Forest` or `Rounds`; others have no leaves.
    """
    for t, step in enumerate(weights.tolist()):
        one = voters[t]
        forest = one.forest if isinstance(one, Rounds) else one
        assert isinstance(forest, Forest) and forest.value is not None
        leaves = np.ascontiguousarray(forest.apply(X, n_threads).T)
        for k, (leaf, value) in enumerate(zip(leaves, np.split(forest.value, forest.offset[1:-1]), strict=True)):
            add_tree(F, leaf, value, step, k, n_threads)
