"""Trees cut back: the sub-trees whose leaves say nearly the same, and the forest without them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from committee.learners.trained.tree_nodes import TreeNodes
from committee.voters.forest import Forest

F64 = NDArray[np.float64]
Index = NDArray[np.intp]
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
    if nodes.n_left(split) <= max_nodes:
        return split
    # the size decreases as a node's price rises: bisect its logarithm, as changes differ by powers of ten
    low, high = 0.0, float(change.max()) + 1.0
    for _ in range(HALVINGS):
        price = np.sqrt(low * high) if low > 0.0 else high / 1024.0
        if nodes.n_left(_best(nodes, change, price)) <= max_nodes:
            high = price
        else:
            low = price
        if low > 0.0 and high < low * (1.0 + 1e-9):
            break
    return _best(nodes, change, high)


def _change(nodes: TreeNodes, votes: F64, weight: F64) -> F64:
    """Cost of making a leaf of each node: the spread of its leaves' votes."""
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
    """The nodes to leave split when every node costs `price`: ties are cut.

    From the leaves up: below a node stands the cheaper of a leaf (its change) and a split (two more nodes to pay for).
    """
    cost = np.zeros(len(nodes))
    split = np.zeros(len(nodes), dtype=bool)
    for level in reversed(nodes.levels):
        children = nodes.left[level]
        below = cost[children] + cost[children + 1] + 2.0 * price
        split[level] = below < change[level]
        cost[level] = np.minimum(below, change[level])
    return split


def cut_forest(forest: Forest, stands: Index, value: F64) -> Forest:
    """Return the trees as far as their nodes stand for themselves.

    Parameters
    ----------
    forest : Forest
        K trees of N nodes.
    stands : intp array (N,)
        Node that stands for each, counted through over all trees; from `TreeNodes.stand_ins`.
    value : float64 array (N, D)
        New votes of the nodes.

    Returns
    -------
    Forest
        Score voters. Rows reach the leaf that stands for the one they reached.
    """
    itself = stands == np.arange(len(stands))
    stays = np.flatnonzero(itself)
    start = np.repeat(forest.offset[:-1], forest.n_nodes)
    place = np.full(len(stands), -1, dtype=np.int64)
    place[stays] = np.arange(len(stays))
    sizes = np.add.reduceat(itself.astype(np.int64), forest.offset[:-1])
    offset = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    first_child = np.where(forest.left >= 0, forest.left + start, 0)
    split = (forest.left >= 0) & (place[first_child] >= 0)
    left = np.where(split, place[first_child] - np.repeat(offset[:-1], forest.n_nodes), -1)
    words = np.where(split, np.diff(forest.category_offset), 0)[stays]
    begin = forest.category_offset[:-1][stays]
    ends = np.concatenate([[0], np.cumsum(words)]).astype(np.int64)
    bits = np.repeat(begin - ends[:-1], words) + np.arange(ends[-1])
    inner = split[stays]
    return Forest(
        n_features=forest.n_features,
        n_classes=forest.n_classes,
        offset=offset,
        feature=np.where(inner, forest.feature[stays], -1).astype(np.int32),
        threshold=np.where(inner, forest.threshold[stays], 0.0),
        left=left[stays].astype(np.int32),
        missing_left=np.where(inner, forest.missing_left[stays], 0).astype(np.uint8),
        category_offset=ends,
        category_bits=forest.category_bits[bits],
        label=None,
        value=np.ascontiguousarray(value[stays]),
        gain=np.where(inner, forest.gain[stays], 0.0),
        weight=forest.weight[stays].copy(),
        count=forest.count[stays].copy(),
    )
