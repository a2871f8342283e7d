"""Some trees of a forest cut to a limit of nodes, and the rows that give their leaves new votes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from committee.learners.trained.leaf_refit import TOLERANCE, LeafDesign, refit_leaves
from committee.learners.trained.tree_cuts import weakest_links
from committee.learners.trained.tree_nodes import TreeNodes, leaf_weight, node_votes, shrunk_votes
from committee.voters.forest import Forest

F64 = NDArray[np.float64]
Index = NDArray[np.intp]
Mask = NDArray[np.bool_]

SHRINKAGES = (10.0, 50.0)
"""Versions of the nodes' votes beside their own: shrunk as if each node had these many rows of its parent's vote."""


@dataclass(frozen=True, eq=False)
class LeafRows:
    """Rows in the leaves of T trees.

    Parameters
    ----------
    leaf : int array (n, T)
        Node of each tree that each row reaches, numbered through all trees.
    unseen : bool array (n, T) or None
        Trees that have not seen the row, of whose leaves alone it speaks; None: all.
    y : intp array (n,)
        Class numbers.
    weight : float64 array (n,) or None
        Row weights.
    """

    leaf: NDArray[np.signedinteger]
    unseen: Mask | None
    y: Index
    weight: F64 | None

    def __len__(self) -> int:
        return len(self.y)

    def select(self, rows: Index) -> LeafRows:
        """Some of the rows."""
        unseen = None if self.unseen is None else self.unseen[rows]
        weight = None if self.weight is None else self.weight[rows]
        return LeafRows(self.leaf[rows], unseen, self.y[rows], weight)


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
        Versions of the votes of the forest's nodes, times the weight of their tree.
    n_nodes : int
        Nodes that are left.
    """

    n_classes: int
    trees: Index
    stands: Index
    votes: F64
    n_nodes: int

    def design(self, rows: LeafRows) -> LeafDesign:
        """The rows' columns in a regression on the leaves."""
        unseen = None if rows.unseen is None else rows.unseen[:, self.trees]
        return LeafDesign(self.stands[rows.leaf[:, self.trees]], unseen, self.votes)

    def judges(self, rows: LeafRows) -> Mask:
        """Rows that at least one of the trees has not seen, ``(n,)``."""
        if rows.unseen is None:
            return np.ones(len(rows), dtype=bool)
        some: Mask = np.asarray(rows.unseen[:, self.trees].any(axis=1))
        return some

    def refit(self, rows: LeafRows, C: float, tol: float = TOLERANCE) -> F64:
        """New votes of the nodes ``(N, D)``; rows that all of the trees have seen have no part in them."""
        rows = rows.select(np.flatnonzero(self.judges(rows)))
        return refit_leaves(self.design(rows), rows.y, self.n_classes, C, rows.weight, tol)


@dataclass(frozen=True, eq=False)
class LeafCutter:
    """Cuts of one forest, which share its votes and weights.

    Parameters
    ----------
    forest : Forest
        T trees of N nodes.
    mass : float64 array (N,)
        Training weight of the leaves.
    votes : float64 array (N, V)
        Versions of the nodes' votes, times the weight of their tree: their own, and shrunk by `SHRINKAGES`.
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
        """Cut the first trees of an order, those that have `growth` times `max_nodes` nodes together, to `max_nodes`.

        Their weakest sub-trees go, by the votes of their leaves and the rows that made them; no label is looked at, so
        that a cut can be judged by any rows. With `growth` 1 the trees stay whole, but for a first one that is too
        large alone.
        """
        trees = order[: trees_within(self.forest.n_nodes[order], max_nodes, growth)]
        part = self.forest[trees]
        # the place in the whole forest of each of the part's nodes
        numbers = np.arange(part.offset[-1]) + np.repeat(self.forest.offset[trees] - part.offset[:-1], part.n_nodes)
        nodes = TreeNodes.of(part)
        own = self.votes[numbers, : self.votes.shape[1] // (1 + len(SHRINKAGES))]
        local = nodes.stand_ins(weakest_links(nodes, own, self.mass[numbers], max_nodes))
        stands = np.arange(len(self.mass))
        stands[numbers] = numbers[local]
        n_nodes = int((local == np.arange(len(local))).sum())
        return LeafCut(self.forest.n_classes, trees, stands, self.votes, n_nodes)


def trees_within(n_nodes: NDArray[np.int64], max_nodes: int, growth: float) -> int:
    """Number of first trees that have at most `growth` times `max_nodes` nodes together; one, if the first has more.

    No more than `max_nodes`, as every tree keeps its root.
    """
    within = int(np.searchsorted(np.cumsum(n_nodes), growth * max_nodes, side="right"))
    return min(max(1, within), max_nodes)
