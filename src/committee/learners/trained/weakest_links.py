"""Which sub-trees to cut so that what is left is small and says nearly the same."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from committee.learners.trained.tree_nodes import TreeNodes

F64 = NDArray[np.float64]
Mask = NDArray[np.bool_]

HALVINGS = 60
"""Bisections of the price of a node; each is a walk over all nodes."""


def weakest_links(nodes: TreeNodes, votes: F64, weight: F64, max_nodes: int) -> Mask:
    """Cut T trees to at most `max_nodes` nodes together, with the least change of what their leaves say.

    A node that becomes a leaf says the weighted mean of its leaves. The change is the sum over leaves of weight times
    squared distance to what stands for them; for every price of a node the cut that is cheapest in change and price is
    found exactly, from the leaves up, and the price is the least that meets the limit (cost-complexity pruning of all
    trees at once [1]_, with the votes themselves in place of the labels).

    Parameters
    ----------
    nodes : TreeNodes
        The nodes of T trees.
    votes : float64 array (N, D)
        What the leaves say; inner nodes are not looked at.
    weight : float64 array (N,)
        How much each leaf counts; not negative.
    max_nodes : int
        At least T, as roots stay.

    Returns
    -------
    bool array (N,)
        Nodes that stay split, where all above them do.

    References
    ----------
    .. [1] L. Breiman, J. Friedman, R. Olshen, C. Stone (1984). Classification and regression trees.
    """
    change = _change(nodes, votes, weight)
    split = nodes.left >= 0
    if _size(nodes, split) <= max_nodes:
        return split
    low, high = 0.0, float(change.max()) + 1.0
    for _ in range(HALVINGS):
        price = np.sqrt(low * high) if low > 0.0 else high / 1024.0
        if _size(nodes, _best(nodes, change, price)) <= max_nodes:
            high = price
        else:
            low = price
        if low > 0.0 and high < low * (1.0 + 1e-9):
            break
    return _best(nodes, change, high)


def _change(nodes: TreeNodes, votes: F64, weight: F64) -> F64:
    """What it costs to make a leaf of each node: the spread of its leaves' votes."""
    leaf = nodes.left < 0
    mass = np.where(leaf, weight, 0.0)
    total = np.maximum(nodes.upwards(mass), np.finfo(float).tiny)
    root = np.repeat(nodes.offset[:-1], np.diff(nodes.offset))
    # about each tree's mean, so that squares do not drown the differences
    off = votes - (nodes.upwards(votes * mass[:, None]) / total[:, None])[root]
    sums = nodes.upwards(off * mass[:, None])
    spread = nodes.upwards((off**2).sum(axis=1) * mass) - (sums**2).sum(axis=1) / total
    return np.where(leaf, 0.0, np.maximum(spread, 0.0))


def _best(nodes: TreeNodes, change: F64, price: float) -> Mask:
    """The nodes to leave split when every node costs `price`: ties are cut."""
    cost = np.zeros(len(nodes))
    split = np.zeros(len(nodes), dtype=bool)
    for level in reversed(nodes.levels):
        children = nodes.left[level]
        below = cost[children] + cost[children + 1] + 2.0 * price
        split[level] = below < change[level]
        cost[level] = np.minimum(below, change[level])
    return split


def _size(nodes: TreeNodes, split: Mask) -> int:
    """Nodes that are left."""
    stays = np.zeros(len(nodes), dtype=bool)
    stays[nodes.offset[:-1]] = True
    for node, parent in nodes.downwards():
        stays[node] = stays[parent] & split[parent]
    return int(stays.sum())
