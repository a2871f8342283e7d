"""All nodes of a forest, level by level: sums over leaves, votes of inner nodes, and trees cut back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from committee.data.number_types import F64, Index, Mask
from committee.voters.forest import Forest

HALVINGS = 60
"""Bisections of the price of a node; each is a walk over all nodes."""


@dataclass(frozen=True, eq=False)
class TreeNodes:
    """The N nodes of T trees, counted through."""

    offset: Index
    """``(T + 1,)``: tree t owns nodes ``offset[t]:offset[t + 1]``; the first is its root."""
    left: Index
    """``(N,)``: left child; the right one is its neighbour. -1 for a leaf."""
    parent: Index
    """``(N,)``: -1 for a root."""
    levels: tuple[Index, ...]
    """The inner nodes at each depth, roots first."""

    @classmethod
    def of(cls, forest: Forest) -> TreeNodes:
        """The nodes of a forest."""
        offset = forest.offset.astype(np.intp)
        start = np.repeat(offset[:-1], np.diff(offset))
        split = forest.left >= 0
        left = np.where(split, forest.left + start, -1)
        parent = np.full(len(left), -1, dtype=np.intp)
        inner = np.flatnonzero(split)
        parent[left[inner]] = parent[left[inner] + 1] = inner
        levels, level = [], offset[:-1]
        while len(level := level[split[level]]):
            levels.append(level)
            level = np.column_stack([left[level], left[level] + 1]).ravel()
        return cls(offset, left, parent, tuple(levels))

    def __len__(self) -> int:
        return len(self.left)

    def upwards(self, leaves: F64) -> F64:
        """Sums over the leaves below each node, ``(N,)`` or ``(N, D)``; values of inner nodes do not count."""
        total = leaves.copy()
        for level in reversed(self.levels):
            children = self.left[level]
            total[level] = total[children] + total[children + 1]
        return total

    def downwards(self) -> Iterator[tuple[Index, Index]]:
        """Nodes and their parents, a level at a time from the roots' children on."""
        for level in self.levels:
            children = self.left[level]
            yield np.concatenate([children, children + 1]), np.concatenate([level, level])

    def stand_ins(self, split: Mask) -> Index:
        """The node that stands for each ``(N,)`` if only some stay split: itself, or an ancestor that is now a leaf."""
        stands = np.arange(len(self), dtype=np.intp)
        for node, parent in self.downwards():
            gone = (stands[parent] != parent) | ~split[parent]
            stands[node[gone]] = stands[parent[gone]]
        return stands

    def n_left(self, split: Mask) -> int:
        """Number of nodes that are left when only some stay split."""
        stays = np.zeros(len(self), dtype=bool)
        stays[self.offset[:-1]] = True
        for node, parent in self.downwards():
            stays[node] = stays[parent] & split[parent]
        return int(stays.sum())


def leaf_votes(forest: Forest) -> F64:
    """Votes of the leaves as numbers ``(N, D)``: their values, or 1 for the class that they name."""
    if forest.value is not None:
        return np.array(forest.value)
    assert forest.label is not None
    named: F64 = (forest.label[:, None] == np.arange(forest.n_classes)).astype(np.float64)
    return named


def shares_of_classes(forest: Forest) -> bool:
    """Whether the votes of the leaves are shares of the classes, which sum to one, and no scores."""
    if forest.value is None:
        return True
    leaf = forest.value[forest.left < 0]
    sums = leaf.sum(axis=1)
    return leaf.shape[1] == forest.n_classes and bool((leaf >= 0.0).all()) and bool(np.abs(sums - 1.0).max() < 1e-9)


def node_votes(forest: Forest, nodes: TreeNodes) -> F64:
    """Votes of all nodes: at a leaf its own, above the mean of its leaves by their training weight.

    Returns
    -------
    float64 array (N, D)
        Two classes: D = 1, second class minus first. Otherwise D = K.
    """
    vote = leaf_votes(forest)
    if forest.n_classes == 2 and vote.shape[1] == 2:
        vote = vote[:, 1:] - vote[:, :1]
    weight = leaf_weight(forest, nodes)
    total = nodes.upwards(weight)
    mean: F64 = nodes.upwards(vote * weight[:, None]) / total[:, None]
    leaf = nodes.left < 0
    mean[leaf] = vote[leaf]
    return mean


def leaf_weight(forest: Forest, nodes: TreeNodes) -> F64:
    """Training weight of the leaves ``(N,)``, 0 at inner nodes; 1 each in trees that recorded none."""
    weight = np.where(nodes.left < 0, np.maximum(forest.weight, 0.0), 0.0)
    recorded = np.add.reduceat(weight, nodes.offset[:-1]) > 0.0
    missing = np.repeat(~recorded, np.diff(nodes.offset))
    weight[missing & (nodes.left < 0)] = 1.0
    # a leaf that no row reached keeps its vote, but next to no weight: means above it must not divide by 0
    return np.where(nodes.left < 0, np.maximum(weight, 1e-9 * weight.max()), 0.0)


def shrunk_votes(votes: F64, weight: F64, nodes: TreeNodes, strength: float) -> F64:
    """Votes ``(N, D)`` drawn towards those of the nodes above, the more the fewer rows ``(N,)`` these had.

    With the nodes 0, 1, ..., d on the way to node d, their votes v and their rows n, hierarchical shrinkage is

        s_d = v_0 + sum_j (v_j - v_(j-1)) / (1 + strength / n_(j-1)).

    References
    ----------
    A. Agarwal, Y. S. Tan, O. Ronen, C. Singh, B. Yu (2022). Hierarchical shrinkage: improving the accuracy and
    interpretability of tree-based models. ICML.
    """
    shrunk = votes.copy()
    for node, parent in nodes.downwards():
        step = 1.0 / (1.0 + strength / weight[parent])
        shrunk[node] = shrunk[parent] + (votes[node] - votes[parent]) * step[:, None]
    return shrunk


# -- trees cut back -----------------------------------------------------------------------------------------


def weakest_links(nodes: TreeNodes, votes: F64, weight: F64, max_nodes: int) -> Mask:
    """Cut T trees to at most `max_nodes` nodes together, with the least change of what their leaves say.

    A node that becomes a leaf says the weighted mean of its leaves. The change is the sum over leaves of weight
    ``(N,)`` times squared distance of the votes ``(N, D)`` to what stands for them; for every price of a node the cut
    that is cheapest in change and price is found exactly, from the leaves up, and the price is the least that meets the
    limit (cost-complexity pruning of all trees at once [1]_, with the votes themselves in place of the labels). Roots
    stay, so that the limit is at least T.

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


def highest_levels(nodes: TreeNodes, max_nodes: int) -> Mask:
    """Cut all trees at one depth, the first of them a level deeper as far as the nodes stay within a limit.

    Roots stay, so that the limit is at least T.

    Returns
    -------
    bool array (N,)
        Nodes that stay split.
    """
    split = np.zeros(len(nodes), dtype=bool)
    left = max_nodes - (len(nodes.offset) - 1)
    for level in nodes.levels:
        if 2 * len(level) > left:
            split[np.sort(level)[: max(0, left // 2)]] = True
            break
        split[level] = True
        left -= 2 * len(level)
    return split


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
    """Return the trees as far as their nodes stand for themselves (`TreeNodes.stand_ins`), as score voters.

    Rows reach the leaf that stands for the one they reached; `value` ``(N, D)`` has the new votes of the nodes.
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
