"""Some trees of a forest cut to a limit of nodes, and the rows that speak of their leaves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64, Index, Mask
from committee.learners.trained.leaf_regression import LeafColumns, LeafRegression
from committee.learners.trained.tree_nodes import (
    TreeNodes,
    highest_levels,
    leaf_weight,
    node_votes,
    shares_of_classes,
    shrunk_votes,
    weakest_links,
)
from committee.learners.trained.vote_loss import LOGISTIC, VoteLoss
from committee.voters.forest import Forest

SHRINKAGES = (10.0, 50.0)
"""Versions of the nodes' votes beside their own: shrunk as if each node had these many rows of its parent's vote."""

LEAST_SHARE = 0.01
"""Of a class in a shrunk vote, before its logarithm is taken."""


@dataclass(frozen=True, eq=False)
class LeafRows:
    """Rows in the leaves of T trees."""

    leaf: NDArray[np.signedinteger]
    """``(n, T)``: node of each tree that each row reaches, numbered through all trees."""
    unseen: Mask | None
    """``(n, T)``: trees that have not seen the row; None: all count as such."""
    y: Index | F64
    """``(n,)``: class numbers, or numbers."""
    weight: F64 | None
    """``(n,)``: row weights."""
    target: F64 | None = None
    """``(n, K)``: shares of the classes, or numbers in other units, that votes are fitted to; None: `y`."""
    loss: VoteLoss = LOGISTIC
    """What votes are fitted with."""

    def __len__(self) -> int:
        return len(self.y)

    def select(self, rows: Index) -> LeafRows:
        """Some of the rows."""
        unseen = None if self.unseen is None else self.unseen[rows]
        weight = None if self.weight is None else self.weight[rows]
        target = None if self.target is None else self.target[rows]
        return LeafRows(self.leaf[rows], unseen, self.y[rows], weight, target, self.loss)

    def towards(self, probability: F64, of_classes: F64) -> LeafRows:
        """The same rows, to be fitted to probabilities ``(n, K)`` in place of their labels.

        Weights of classes ``(K,)``, which are part of the rows' weights by their labels, then weigh the shares.
        """
        share = probability * of_classes
        total = share.sum(axis=1)
        weight = np.ones(len(self)) if self.weight is None else self.weight
        weight = weight / of_classes[np.asarray(self.y, dtype=np.intp)] * total
        return replace(self, weight=weight, target=share / total[:, None])

    @property
    def aim(self) -> Index | F64:
        """What votes are fitted to: class numbers ``(n,)``, shares of the classes ``(n, K)``, or numbers ``(n, 1)``."""
        return self.y if self.target is None else self.target


@dataclass(frozen=True, eq=False)
class LeafCut:
    """Some trees of a forest, cut to a limit of nodes."""

    trees: Index
    """``(K,)``: numbers of the trees."""
    offset: NDArray[np.int64]
    """``(T + 1,)``: nodes of the forest's trees."""
    stands: Index
    """``(N,)``: node that stands for each node of the forest."""
    is_leaf: Mask
    """``(N,)``: nodes that are leaves now."""
    versions: F64
    """``(V, N, D)``: versions of the votes of the forest's nodes, times the weight of their tree."""
    n_nodes: int
    """Nodes that are left."""

    @cached_property
    def columns(self) -> LeafColumns:
        """The leaves that are left, tree by tree."""
        stay = np.flatnonzero(self.is_leaf)
        ends = np.searchsorted(stay, self.offset[self.trees])
        return LeafColumns.of(
            [stay[a:b] for a, b in zip(ends, np.searchsorted(stay, self.offset[self.trees + 1]), strict=True)],
            len(self.stands),
        )

    def reached(self, rows: LeafRows) -> NDArray[np.int32]:
        """The leaves that are left and that the rows reach, ``(n, K)``."""
        leaf: NDArray[np.int32] = self.stands.astype(np.int32)[rows.leaf[:, self.trees]]
        return leaf

    def unseen(self, rows: LeafRows) -> Mask | None:
        """Which of the trees have not seen the rows, ``(n, K)``."""
        return None if rows.unseen is None else rows.unseen[:, self.trees]

    def score(self, rows: LeafRows, value: F64) -> F64:
        """Mean of the nodes' values ``(N, D)`` over the trees that have not seen a row, ``(n, D)``."""
        return self.columns.mean(self.reached(rows), self.unseen(rows), self.columns.values(value))

    def judges(self, rows: LeafRows) -> Mask:
        """Rows that at least one of the trees has not seen, ``(n,)``."""
        if rows.unseen is None:
            return np.ones(len(rows), dtype=bool)
        return np.asarray(rows.unseen[:, self.trees].any(axis=1))

    def regression(self, rows: LeafRows, n_threads: int = 1) -> LeafRegression:
        """New votes of the leaves by these rows; those that all of the trees have seen have no part in it."""
        judging = self.judges(rows)
        if not judging.all():
            rows = rows.select(np.flatnonzero(judging))
        reached, unseen = self.reached(rows), self.unseen(rows)
        return LeafRegression(self.columns, reached, unseen, self.versions, rows.aim, rows.weight, n_threads, rows.loss)


@dataclass(frozen=True, eq=False)
class LeafCutter:
    """Cuts of one forest of T trees and N nodes, which share its votes and weights."""

    forest: Forest
    """The trees."""
    mass: F64
    """``(N,)``: training weight of the leaves."""
    versions: F64
    """``(V, N, D)``: versions of the nodes' votes, times their tree's weight: their own, and shrunk by `SHRINKAGES`; of
    votes that are shares of classes the logarithms of the shrunk ones too, or for two classes their log-odds."""
    from_below: bool = False
    """Whether the lowest levels of all trees go, in place of their weakest sub-trees."""

    @classmethod
    def of(cls, forest: Forest, weights: F64, from_below: bool = False) -> LeafCutter:
        """The cutter of trees with weights ``(T,)`` in their committee."""
        nodes = TreeNodes.of(forest)
        own, mass = node_votes(forest, nodes), leaf_weight(forest, nodes)
        weight = nodes.upwards(mass)
        shrunk = [shrunk_votes(own, weight, nodes, strength) for strength in SHRINKAGES]
        versions = [own, *shrunk]
        if shares_of_classes(forest):
            versions += [_logarithms(votes) for votes in shrunk]
        return cls(forest, mass, np.stack(versions) * np.repeat(weights, forest.n_nodes)[:, None], from_below)

    def cut(self, order: Index, max_nodes: int, growth: float) -> LeafCut:
        """Cut the first trees of an order, those that have `growth` times `max_nodes` nodes together, to `max_nodes`.

        Their weakest sub-trees go, by the votes of their leaves and the rows that made them, or their lowest levels; no
        label is looked at, so that a cut can be judged by any rows. With `growth` 1 the trees stay whole, but for a
        first one that is too large alone.
        """
        trees = order[: trees_within(self.forest.n_nodes[order], max_nodes, growth)]
        part = self.forest[trees]
        # the place in the whole forest of each of the part's nodes
        numbers = np.arange(part.offset[-1]) + np.repeat(self.forest.offset[trees] - part.offset[:-1], part.n_nodes)
        nodes = TreeNodes.of(part)
        if self.from_below:
            split = highest_levels(nodes, max_nodes)
        else:
            split = weakest_links(nodes, self.versions[0, numbers], self.mass[numbers], max_nodes)
        local = nodes.stand_ins(split)
        stands = np.arange(len(self.mass))
        stands[numbers] = numbers[local]
        stays = local == np.arange(len(local))
        is_leaf = np.zeros(len(stands), dtype=bool)
        is_leaf[numbers] = stays & ~split
        return LeafCut(trees, self.forest.offset, stands, is_leaf, self.versions, int(stays.sum()))


def trees_within(n_nodes: NDArray[np.int64], max_nodes: int, growth: float) -> int:
    """Number of first trees that have at most `growth` times `max_nodes` nodes together; one, if the first has more.

    No more than a third of `max_nodes`, so that every tree can keep a split.
    """
    within = int(np.searchsorted(np.cumsum(n_nodes), growth * max_nodes, side="right"))
    return max(1, min(within, max_nodes // 3))


def _logarithms(votes: F64) -> F64:
    """Of shares of classes ``(N, K)``; of the second share less the first ``(N, 1)`` their log-odds."""
    if votes.shape[1] > 1:
        return np.log(np.maximum(votes, LEAST_SHARE))
    second = np.clip((1.0 + votes) / 2.0, LEAST_SHARE, 1.0 - LEAST_SHARE)
    return np.log(second / (1.0 - second))
