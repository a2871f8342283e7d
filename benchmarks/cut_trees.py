"""Trees cut short, with votes of their own: what the programs that `bench_pruning` compares hand back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class CutTrees:
    """A sum of leaves' votes."""

    stands: Index
    """Node that stands for each of the forest's, counted through over all trees ``(N,)``: itself, or the one that has
    become a leaf."""
    value: F64
    """What a leaf adds to the score ``(N,)``; 0 in trees that are gone."""
    intercept: float
    n_nodes: int
    """Nodes that are left; a tree that is cut to its root is a constant, and costs none."""

    def score(self, leaf: Index) -> F64:
        """Scores of rows by the forest's leaves that they fall into ``(n, T)``; positive: the second class."""
        total: F64 = self.value[self.stands[leaf]].sum(axis=1) + self.intercept
        return total
