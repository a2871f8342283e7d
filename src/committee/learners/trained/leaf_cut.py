"""Trees cut to a limit of nodes and their leaves refitted, and how well that would do on rows not used for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from committee.learners.trained.leaf_refit import TOLERANCE, LeafDesign, refit_leaves
from committee.learners.trained.tree_nodes import TreeNodes, leaf_weight, node_votes, shrunk_votes
from committee.learners.trained.weakest_links import weakest_links
from committee.voters.forest import Forest

F64 = NDArray[np.float64]
Index = NDArray[np.intp]
Mask = NDArray[np.bool_]

SHRINKAGES = (10.0, 50.0)
"""Versions of the nodes' votes beside their own: shrunk as if each node had these many rows of its parent's vote."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows that leaves are refitted on.

    Parameters
    ----------
    leaf : int array (n, T)
        Node of each tree that each row falls into, counted through over all trees.
    asked : bool array (n, T) or None
        Trees that have not seen the row; None: all may be asked.
    y : intp array (n,)
        Class numbers.
    weight : float64 array (n,) or None
        Row weights.
    """

    leaf: NDArray[np.signedinteger]
    asked: Mask | None
    y: Index
    weight: F64 | None

    def __len__(self) -> int:
        return len(self.y)

    def select(self, rows: Index) -> Rows:
        """Some of the rows."""
        return Rows(
            self.leaf[rows],
            None if self.asked is None else self.asked[rows],
            self.y[rows],
            None if self.weight is None else self.weight[rows],
        )


@dataclass(frozen=True, eq=False)
class LeafCut:
    """Some trees of a forest, cut to a limit of nodes.

    Parameters
    ----------
    n_classes : int
        Number of classes.
    trees : intp array (K,)
        Numbers of the trees.
    stands : intp array (N,)
        Node that stands for each node of the forest.
    votes : float64 array (N, V)
        Versions of what the forest's nodes say, times the weight of their tree.
    n_nodes : int
        Nodes that are left.
    """

    n_classes: int
    trees: Index
    stands: Index
    votes: F64
    n_nodes: int

    def design(self, rows: Rows) -> LeafDesign:
        """The rows as a regression on the leaves sees them."""
        asked = None if rows.asked is None else rows.asked[:, self.trees]
        return LeafDesign(self.stands[rows.leaf[:, self.trees]], asked, self.votes)

    def judges(self, rows: Rows) -> Mask:
        """Rows that at least one of the trees may be asked about, ``(n,)``."""
        if rows.asked is None:
            return np.ones(len(rows), dtype=bool)
        some: Mask = np.asarray(rows.asked[:, self.trees].any(axis=1))
        return some

    def refit(self, rows: Rows, C: float, tol: float = TOLERANCE) -> F64:
        """New votes of the nodes ``(N, D)``; rows that none of the trees may be asked about have no part in it."""
        rows = rows.select(np.flatnonzero(self.judges(rows)))
        return refit_leaves(self.design(rows), rows.y, self.n_classes, C, rows.weight, tol)


@dataclass(frozen=True, eq=False)
class LeafCutter:
    """What the cuts of one forest share.

    Parameters
    ----------
    forest : Forest
        T trees of N nodes.
    mass : float64 array (N,)
        Training weight of the leaves.
    votes : float64 array (N, V)
        Versions of what the nodes say, times the weight of their tree: as it is, and shrunk by `SHRINKAGES`.
    """

    forest: Forest
    mass: F64
    votes: F64

    @classmethod
    def of(cls, forest: Forest, weights: F64) -> LeafCutter:
        """The cutter of trees with weights ``(T,)`` in their committee."""
        nodes = TreeNodes.of(forest)
        own, mass = node_votes(forest, nodes), leaf_weight(forest, nodes)
        weight = nodes.upwards(mass)
        versions = [own, *(shrunk_votes(own, weight, nodes, strength) for strength in SHRINKAGES)]
        return cls(forest, mass, np.hstack(versions) * np.repeat(weights, forest.n_nodes)[:, None])

    def cut(self, order: Index, max_nodes: int, growth: float) -> LeafCut:
        """The first trees that have at most `growth` times `max_nodes` nodes, their weakest sub-trees cut off.

        Where the cuts go is up to what the trees say and the rows that made them. With `growth` 1 the trees stay whole,
        but for a first one that is too large alone.

        Parameters
        ----------
        order : intp array
            Trees, in the order in which they are taken.
        max_nodes : int
            Nodes to stay; at least 1.
        growth : float
            At least 1.
        """
        trees = order[: trees_within(self.forest.n_nodes[order], max_nodes, growth)]
        part = self.forest[trees]
        numbers = np.arange(part.offset[-1]) + np.repeat(self.forest.offset[trees] - part.offset[:-1], part.n_nodes)
        nodes = TreeNodes.of(part)
        own = self.votes[numbers, : self.votes.shape[1] // (1 + len(SHRINKAGES))]
        local = nodes.stand_ins(weakest_links(nodes, own, self.mass[numbers], max_nodes))
        stands = np.arange(len(self.mass))
        stands[numbers] = numbers[local]
        n_nodes = int((local == np.arange(len(local))).sum())
        return LeafCut(self.forest.n_classes, trees, stands, self.votes, n_nodes)


def trees_within(n_nodes: NDArray[np.int64], max_nodes: int, growth: float) -> int:
    """How many of the first trees have at most `growth` times `max_nodes` nodes together; one, if the first has more.

    No more than `max_nodes`, as every tree keeps its root.
    """
    within = int(np.searchsorted(np.cumsum(n_nodes), growth * max_nodes, side="right"))
    return min(max(1, within), max_nodes)
