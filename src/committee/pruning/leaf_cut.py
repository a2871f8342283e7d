"""Trees cut to a limit of nodes and their leaves refitted, and how well that would do on rows not used for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from committee.pruning.leaf_refit import TOLERANCE, LeafDesign, refit_leaves
from committee.pruning.tree_nodes import TreeNodes, leaf_weight, node_votes, shrunk_votes
from committee.pruning.weakest_links import weakest_links
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


def trees_within(forest: Forest, max_nodes: int, growth: float) -> int:
    """How many of the first trees have at most `growth` times `max_nodes` nodes together; one, if the first has more.

    No more than `max_nodes`, as every tree keeps its root.
    """
    within = int(np.searchsorted(forest.offset[1:], growth * max_nodes, side="right"))
    return min(max(1, within), max_nodes)


@dataclass(frozen=True, eq=False)
class LeafCut:
    """The first K trees of a forest, cut to a limit of nodes.

    Where the cuts go is up to what the trees say and the rows that made them; rows that they have not seen have no part
    in it, and can judge it.

    Parameters
    ----------
    n_classes : int
        Number of classes.
    n_trees : int
        Number of trees K.
    stands : intp array (N,)
        Node that stands for each of their nodes.
    votes : float64 array (N, V)
        Versions of what the nodes say, times the weight of their tree: as it is, and shrunk by `SHRINKAGES`.
    """

    n_classes: int
    n_trees: int
    stands: Index
    votes: F64

    @classmethod
    def of(cls, forest: Forest, weights: F64, max_nodes: int, growth: float = 1.0) -> LeafCut:
        """The first trees that have at most `growth` times `max_nodes` nodes, cut to `max_nodes`.

        Parameters
        ----------
        forest : Forest
            T trees, in the order in which they are taken.
        weights : float64 array (T,)
            Their weights in the committee.
        max_nodes : int
            Nodes to stay; at least 1.
        growth : float, default=1.0
            1 keeps the first trees whole, if the first alone is not too large.
        """
        K = trees_within(forest, max_nodes, growth)
        part = forest[:K]
        nodes = TreeNodes.of(part)
        own = node_votes(part, nodes)
        mass = leaf_weight(part, nodes)
        per_node = np.repeat(weights[:K], part.n_nodes)[:, None]
        stands = nodes.stand_ins(weakest_links(nodes, own * per_node, mass, max_nodes))
        weight = nodes.upwards(mass)
        versions = [own, *(shrunk_votes(own, weight, nodes, strength) for strength in SHRINKAGES)]
        return cls(forest.n_classes, K, stands, np.hstack(versions) * per_node)

    @property
    def n_nodes(self) -> int:
        """Nodes that are left."""
        return int((self.stands == np.arange(len(self.stands))).sum())

    def design(self, rows: Rows) -> LeafDesign:
        """The rows as a regression on the leaves sees them."""
        asked = None if rows.asked is None else rows.asked[:, : self.n_trees]
        return LeafDesign(self.stands[rows.leaf[:, : self.n_trees]], asked, self.votes)

    def refit(self, rows: Rows, C: float, tol: float = TOLERANCE) -> F64:
        """New votes of the nodes ``(N, D)``; rows that none of the trees may be asked about have no part in it."""
        if rows.asked is not None:
            rows = rows.select(np.flatnonzero(rows.asked[:, : self.n_trees].any(axis=1)))
        return refit_leaves(self.design(rows), rows.y, self.n_classes, C, rows.weight, tol)
