"""Trees cut short, with votes of their own: what the programs that `bench_pruning` compares hand back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class CutTrees:
    """A sum of leaves' votes.

    Parameters
    ----------
    stands : intp array (N,)
        Node that stands for each of the forest's, counted through over all trees: itself, or the one that has become a
        leaf.
    value : float64 array (N,)
        What a leaf adds to the score; 0 in trees that are gone.
    intercept : float
    n_nodes : int
        Nodes that are left; a tree that is cut to its root is a constant, and costs none.
    """

    stands: Index
    value: F64
    intercept: float
    n_nodes: int

    def score(self, leaf: Index) -> F64:
        """Scores of rows by the forest's leaves that they fall into ``(n, T)``; positive: the second class."""
        total: F64 = self.value[self.stands[leaf]].sum(axis=1) + self.intercept
        return total
