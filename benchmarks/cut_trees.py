"""Trees cut short, with votes of their own: what the programs that `bench_pruning` compares hand back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

F64 = NDArray[np.float64]
Index = NDArray[np.intp]

BLOCK = 256
"""Rows whose scores are summed at a time."""


@dataclass(frozen=True, eq=False)
class CutTrees:
    """A sum of leaves' votes, for two classes in one score, for K in one for each class against the others."""

    stands: Index
    """Node that stands for each of the forest's, counted through over all trees ``(N,)``: itself, or the one that has
    become a leaf."""
    value: F64
    """What a leaf adds to the scores ``(N, D)``; 0 in trees that are gone."""
    intercept: F64
    """``(D,)``."""
    n_nodes: int
    """Nodes that are left; a tree that is cut to its root is a constant, and costs none."""
    scores: Literal["log-odds", "labels"]
    """What a score is: log-odds of a class against the others, or an estimate of its label, -1 or 1."""

    def probabilities(self, leaf: Index) -> F64:
        """Probabilities of the classes ``(n, K)`` of rows by the forest's leaves that they fall into ``(n, T)``."""
        scores = np.empty((len(leaf), len(self.intercept)))
        for at in range(0, len(leaf), BLOCK):
            scores[at : at + BLOCK] = self.value[self.stands[leaf[at : at + BLOCK]]].sum(axis=1) + self.intercept
        share = expit(scores) if self.scores == "log-odds" else np.clip((1.0 + scores) / 2.0, 0.0, 1.0)
        if share.shape[1] == 1:
            return np.hstack([1.0 - share, share])
        total = share.sum(axis=1, keepdims=True)
        found: F64 = np.divide(share, total, out=np.full_like(share, 1.0 / share.shape[1]), where=total > 0.0)
        return found


def signs(y: Index, n_classes: int) -> F64:
    """Labels as numbers ``(n, D)``: 1 for the class of the score, the second of two, -1 for another."""
    if n_classes == 2:
        return np.where(y == 1, 1.0, -1.0)[:, None]
    return np.where(y[:, None] == np.arange(n_classes), 1.0, -1.0)
