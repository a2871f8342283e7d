"""ForestPrune, as its paper describes it: a rival for `bench_pruning`.

B. Liu, R. Mazumder (2023). ForestPrune: compact depth-pruned tree ensembles. AISTATS. Each tree is cut at a depth of
its own, 0 for trees that go. The depths least

    mean_i (y_i - mean_t f_t,d_t(x_i))^2 + price sum_t nodes_t(d_t),

by block coordinate descent: one tree's depth after the other is made the best beside those of all others, until none
changes, with one price after the other. What is left is polished by a ridge regression on the trees. All training rows
speak of all trees. Several classes have a label each, and what is squared is summed over them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import RidgeCV

from benchmarks.cut_trees import F64, CutTrees, Index, signs
from committee.learners.reweighting.leaf_cuts import TreeNodes

SWEEPS = 30
HALVINGS = 12
"""Of the range of prices, on a logarithmic scale, for each limit."""
CHEAPEST = 1e-9
"""Least price of a node, beside the mean squared error of no trees."""
RIDGES = tuple(10.0 ** np.arange(-3, 4))


def forest_prune(
    nodes: TreeNodes, votes: F64, leaf: Index, y: Index, n_classes: int, limits: Sequence[int]
) -> list[CutTrees]:
    """The forest cut to each limit of nodes.

    Parameters
    ----------
    nodes : TreeNodes
        Of T trees.
    votes : float64 array (N, D)
        What the nodes say, from -1 to 1 for two classes, as shares for several; an inner node what its training rows
        say.
    leaf : intp array (n, T)
        Leaves of the training rows.
    y : intp array (n,)
        Class numbers.
    n_classes : int
        K.
    limits : sequence of int
        Decreasing.
    """
    depth = _depths(nodes)
    at_depth = _at_each_depth(nodes, votes, leaf, depth)
    sizes = _sizes(nodes, depth)
    label = signs(y, n_classes)
    target = (label - label.mean(axis=0)).ravel()
    chosen = np.full(_count(nodes), sizes.shape[1] - 1)
    found = []
    for limit in limits:
        chosen = _depths_within(at_depth, sizes, target, chosen, limit)
        found.append(_polished(nodes, votes, leaf, label, depth, chosen, int(_total(sizes, chosen))))
    return found


def _count(nodes: TreeNodes) -> int:
    """Number of trees."""
    return len(nodes.offset) - 1


def _depths(nodes: TreeNodes) -> Index:
    depth = np.zeros(len(nodes), dtype=np.intp)
    for children, parents in nodes.downwards():
        depth[children] = depth[parents] + 1
    return depth


def _sizes(nodes: TreeNodes, depth: Index) -> Index:
    """Nodes of each tree when it ends at each depth, ``(T, depths)``; none at depth 0."""
    tree = np.repeat(np.arange(_count(nodes)), np.diff(nodes.offset))
    depths = int(depth.max()) + 1
    sizes: Index = np.bincount(tree * depths + depth, minlength=_count(nodes) * depths).reshape(-1, depths).cumsum(1)
    sizes[:, 0] = 0
    return sizes


def _at_each_depth(nodes: TreeNodes, votes: F64, leaf: Index, depth: Index) -> NDArray[np.float32]:
    """What each tree adds to the mean when it ends at each depth, less what its root says: ``(T, depths, n D)``."""
    node = leaf.T.copy()
    said = np.empty((_count(nodes), int(depth.max()) + 1, len(leaf) * votes.shape[1]), dtype=np.float32)
    for d in range(said.shape[1] - 1, -1, -1):
        node = np.where(depth[node] > d, nodes.parent[node], node)
        said[:, d] = votes[node].reshape(len(said), -1)
    said -= said[:, :1].copy()
    return said / np.float32(_count(nodes))


def _depths_within(said: NDArray[np.float32], sizes: Index, target: F64, start: Index, limit: int) -> Index:
    """The lowest price of a node at which at most `limit` are left, and the depths at it."""
    high = float((target**2).mean())
    low = CHEAPEST * high
    squares = np.einsum("tdi,tdi->td", said, said, dtype=np.float64)
    best, depths = np.zeros_like(start), start
    for _ in range(HALVINGS):
        price = np.sqrt(low * high)
        depths = _descent(said, squares, sizes, target, depths, price)
        if _total(sizes, depths) <= limit:
            high = price
            if _total(sizes, depths) >= _total(sizes, best):
                best = depths
        else:
            low = price
    return best


def _descent(said: NDArray[np.float32], squares: F64, sizes: Index, target: F64, start: Index, price: float) -> Index:
    """Block coordinate descent over the trees in turn."""
    cost = squares + len(target) * price * sizes
    depths = start.copy()
    T = np.arange(len(depths))
    rest = target.astype(np.float32) - said[T, depths].sum(axis=0)
    for _ in range(SWEEPS):
        before = depths.copy()
        for t in T:
            alone = rest + said[t, depths[t]]
            depths[t] = np.argmin(cost[t] - 2.0 * (said[t] @ alone))
            rest = alone - said[t, depths[t]]
        if (depths == before).all():
            break
    return depths


def _total(sizes: Index, depths: Index) -> int:
    return int(sizes[np.arange(len(depths)), depths].sum())


def _polished(
    nodes: TreeNodes, votes: F64, leaf: Index, label: F64, depth: Index, depths: Index, n_nodes: int
) -> CutTrees:
    """Weights of the trees that are left; the score is an estimate of the label, from -1 to 1."""
    n, D = label.shape
    limit = np.repeat(depths, np.diff(nodes.offset))
    stands = nodes.stand_ins((nodes.left >= 0) & (depth < limit))
    value = np.zeros_like(votes)
    kept = np.flatnonzero(depths > 0)
    if not len(kept):
        return CutTrees(stands, value, label.mean(axis=0), n_nodes, "labels")
    said = votes[stands[leaf[:, kept]]].transpose(0, 2, 1)
    centre, mean = said.mean(axis=0), label.mean(axis=0)  # an intercept for each score
    model = RidgeCV(RIDGES, fit_intercept=False).fit((said - centre).reshape(n * D, -1), (label - mean).ravel())
    weight = np.zeros(_count(nodes))
    weight[kept] = model.coef_
    value = np.repeat(weight, np.diff(nodes.offset))[:, None] * votes
    return CutTrees(stands, value, mean - centre @ model.coef_, n_nodes, "labels")
