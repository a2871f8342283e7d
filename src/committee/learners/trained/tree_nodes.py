"""All nodes of a forest, level by level: sums over leaves, votes of inner nodes, leaves of cut trees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from committee.voters.forest import Forest

F64 = NDArray[np.float64]
Index = NDArray[np.intp]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class TreeNodes:
    """The N nodes of T trees, counted through.

    Parameters
    ----------
    offset : intp array (T + 1,)
        Tree t owns nodes ``offset[t]:offset[t + 1]``; the first is its root.
    left : intp array (N,)
        Left child; the right one is its neighbour. -1 for a leaf.
    parent : intp array (N,)
        -1 for a root.
    levels : tuple of intp arrays
        The inner nodes at each depth, roots first.
    """

    offset: Index
    left: Index
    parent: Index
    levels: tuple[Index, ...]

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
    """Votes drawn towards those of the nodes above, the more the fewer rows these had: hierarchical shrinkage.

    With the nodes 0, 1, ..., d on the way to node d, their votes v and their rows n,

        s_d = v_0 + sum_j (v_j - v_(j-1)) / (1 + strength / n_(j-1)).

    Parameters
    ----------
    votes : float64 array (N, D)
        From `node_votes`.
    weight : float64 array (N,)
        Rows at each node, n.
    nodes : TreeNodes
    strength : float
        Rows that a node's own vote is worth.

    Returns
    -------
    float64 array (N, D)

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
