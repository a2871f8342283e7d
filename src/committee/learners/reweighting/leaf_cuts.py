"""Nodes of a forest: sums over leaves, votes of inner nodes, and trees cut to a limit of nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64, Index, Mask
from committee.learners.reweighting.leaf_regression import LOGISTIC, LeafColumns, LeafRegression, VoteLoss
from committee.vote.weighted_votes import WeightedVotes
from committee.voters.forest import Forest
from committee.voters.rounds import Rounds
from committee.voters.shared_forest import SharedForest

HALVINGS = 60  # bisections of the price of a node; each visits all nodes


@dataclass(frozen=True, eq=False)
class TreeNodes:
    """The N nodes of T trees, numbered across all trees."""

    offset: Index  # (T + 1,): tree t owns nodes offset[t]:offset[t + 1]; the first is its root
    left: Index  # (N,): left child; the right one is its neighbour. -1 for a leaf
    parent: Index  # (N,): -1 for a root
    levels: tuple[Index, ...]  # the inner nodes at each depth, roots first

    @classmethod
    def of(cls, forest: Forest) -> TreeNodes:
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
        """Return sums over the leaves below each node, ``(N,)`` or ``(N, D)``."""
        total = leaves.copy()
        for level in reversed(self.levels):
            children = self.left[level]
            total[level] = total[children] + total[children + 1]
        return total

    def downwards(self) -> Iterator[tuple[Index, Index]]:
        for level in self.levels:
            children = self.left[level]
            yield np.concatenate([children, children + 1]), np.concatenate([level, level])

    def stand_ins(self, split: Mask) -> Index:
        """Return for each node itself, or the ancestor that becomes a leaf if only the nodes `split` ``(N,)`` split."""
        stands = np.arange(len(self), dtype=np.intp)
        for node, parent in self.downwards():
            gone = (stands[parent] != parent) | ~split[parent]
            stands[node[gone]] = stands[parent[gone]]
        return stands

    def n_left(self, split: Mask) -> int:
        return int((self.stand_ins(split) == np.arange(len(self))).sum())


def shares_of_classes(forest: Forest) -> bool:
    if forest.label is not None:
        return True
    leaf = forest.node_votes[forest.left < 0]
    sums = leaf.sum(axis=1)
    return leaf.shape[1] == forest.n_classes and bool((leaf >= 0.0).all()) and bool(np.abs(sums - 1.0).max() < 1e-9)


def node_votes(forest: Forest, nodes: TreeNodes) -> F64:
    """Return the votes ``(N, D)`` of all nodes; an inner node's is the mean of its leaves by training weight."""
    vote = forest.node_votes
    if forest.n_classes == 2 and vote.shape[1] == 2:
        vote = vote[:, 1:] - vote[:, :1]  # second class minus first
    weight = leaf_weight(forest, nodes)
    total = nodes.upwards(weight)
    mean: F64 = nodes.upwards(vote * weight[:, None]) / total[:, None]
    leaf = nodes.left < 0
    mean[leaf] = vote[leaf]
    return mean


def leaf_weight(forest: Forest, nodes: TreeNodes) -> F64:
    """Return the training weight of the leaves ``(N,)``, 0 at inner nodes."""
    weight = np.where(nodes.left < 0, np.maximum(forest.weight, 0.0), 0.0)
    recorded = np.add.reduceat(weight, nodes.offset[:-1]) > 0.0
    missing = np.repeat(~recorded, np.diff(nodes.offset))
    weight[missing & (nodes.left < 0)] = 1.0
    # a leaf that no row reached has almost no weight, but means above it must not divide by 0
    return np.where(nodes.left < 0, np.maximum(weight, 1e-9 * weight.max()), 0.0)


def shrunk_votes(votes: F64, weight: F64, nodes: TreeNodes, strength: float) -> F64:
    """Shrink votes ``(N, D)`` towards those of the nodes above (hierarchical shrinkage).

    With the nodes 0, 1, ..., d on the path to node d, their votes v and training weights n,

        s_d = v_0 + sum_j (v_j - v_(j-1)) / (1 + strength / n_(j-1)).

    A. Agarwal, Y. S. Tan, O. Ronen, C. Singh, B. Yu (2022), Hierarchical shrinkage, ICML.
    """
    shrunk = votes.copy()
    for node, parent in nodes.downwards():
        step = 1.0 / (1.0 + strength / weight[parent])
        shrunk[node] = shrunk[parent] + (votes[node] - votes[parent]) * step[:, None]
    return shrunk


# --- pruning ---------------------------------------------------------------------------------------------------------


def weakest_links(nodes: TreeNodes, votes: F64, weight: F64, max_nodes: int) -> Mask:
    """Return the nodes ``(N,)`` that stay split in joint cost-complexity pruning of trees (L. Breiman et al. 1984)."""
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
    """Return the nodes ``(N,)`` that stay split if trees are cut at one depth, or a level deeper in the first ones."""
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
    leaf = nodes.left < 0
    mass = np.where(leaf, weight, 0.0)
    total = np.maximum(nodes.upwards(mass), np.finfo(float).tiny)
    root = np.repeat(nodes.offset[:-1], np.diff(nodes.offset))
    # centred at each tree's mean, so that differences of squares keep their digits
    off = votes - (nodes.upwards(votes * mass[:, None]) / total[:, None])[root]
    sums = nodes.upwards(off * mass[:, None])
    spread = nodes.upwards((off**2).sum(axis=1) * mass) - (sums**2).sum(axis=1) / total
    return np.where(leaf, 0.0, np.maximum(spread, 0.0))


def _best(nodes: TreeNodes, change: F64, price: float) -> Mask:
    # from the leaves up, the cheaper of a leaf (its change) and a split (two more nodes); ties are cut
    cost = np.zeros(len(nodes))
    split = np.zeros(len(nodes), dtype=bool)
    for level in reversed(nodes.levels):
        children = nodes.left[level]
        below = cost[children] + cost[children + 1] + 2.0 * price
        split[level] = below < change[level]
        cost[level] = np.minimum(below, change[level])
    return split


def cut_forest(forest: Forest, stands: Index, value: F64) -> Forest:
    """Return the forest without replaced nodes (see `TreeNodes.stand_ins`), with the node values ``(N, D)``."""
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


SHRINKAGES = (10.0, 50.0)  # strengths of the shrunk versions of the nodes' votes
LEAST_SHARE = 0.01  # least class share in a shrunk vote whose logarithm is taken


@dataclass(frozen=True, eq=False)
class LeafRows:
    leaf: NDArray[np.signedinteger]  # (n, T): leaf of each row in each tree, numbered across all trees
    unseen: Mask | None  # (n, T): trees that count for the row, as they have not seen it; `None` if all do
    y: Index | F64  # (n,): class numbers, or targets of regression
    weight: F64 | None
    target: F64 | None = None  # (n, D): class shares, or standardised numbers, fitted in place of `y`
    loss: VoteLoss = LOGISTIC

    def __len__(self) -> int:
        return len(self.y)

    def select(self, rows: Index) -> LeafRows:
        unseen = None if self.unseen is None else self.unseen[rows]
        weight = None if self.weight is None else self.weight[rows]
        target = None if self.target is None else self.target[rows]
        return LeafRows(self.leaf[rows], unseen, self.y[rows], weight, target, self.loss)

    def towards(self, probability: F64, of_classes: F64) -> LeafRows:
        """Return the rows with targets ``(n, K)``; weights of classes ``(K,)`` move from rows to class shares."""
        share = probability * of_classes
        total = share.sum(axis=1)
        weight = np.ones(len(self)) if self.weight is None else self.weight
        weight = weight / of_classes[np.asarray(self.y, dtype=np.intp)] * total
        return replace(self, weight=weight, target=share / total[:, None])


@dataclass(frozen=True, eq=False)
class LeafCut:
    """Some trees of a forest, cut to a limit of nodes."""

    trees: Index  # (K,)
    offset: NDArray[np.int64]  # (T + 1,): first nodes of the forest's trees
    stands: Index  # (N,): node that replaces each node of the forest, or itself
    is_leaf: Mask  # (N,): leaves after the cut
    versions: F64  # (V, N, D), see `LeafCutter`
    n_nodes: int

    @cached_property
    def columns(self) -> LeafColumns:
        stay = np.flatnonzero(self.is_leaf)
        ends = np.searchsorted(stay, self.offset[self.trees])
        return LeafColumns.of(
            [stay[a:b] for a, b in zip(ends, np.searchsorted(stay, self.offset[self.trees + 1]), strict=True)],
            len(self.stands),
        )

    def reached(self, rows: LeafRows) -> NDArray[np.int32]:
        return np.asarray(self.stands.astype(np.int32)[rows.leaf[:, self.trees]])

    def unseen(self, rows: LeafRows) -> Mask | None:
        return None if rows.unseen is None else rows.unseen[:, self.trees]

    def has_oob_tree(self, rows: LeafRows) -> Mask:
        unseen = self.unseen(rows)
        return np.ones(len(rows), dtype=bool) if unseen is None else np.asarray(unseen.any(axis=1))

    def regression(self, rows: LeafRows, n_threads: int = 1) -> LeafRegression:
        usable = self.has_oob_tree(rows)
        if not usable.all():
            rows = rows.select(np.flatnonzero(usable))
        reached, unseen = self.reached(rows), self.unseen(rows)
        y = rows.y if rows.target is None else rows.target
        return LeafRegression(self.columns, reached, unseen, self.versions, y, rows.weight, n_threads, rows.loss)


@dataclass(frozen=True, eq=False)
class LeafCutter:
    """Cuts of a forest of T trees and N nodes."""

    forest: Forest
    mass: F64  # (N,): training weight of the leaves
    versions: F64  # (V, N, D): votes of the nodes times tree weights: own, shrunk, and of class shares their logarithms
    from_below: bool = False  # cut the lowest levels of all trees, not the weakest sub-trees

    @classmethod
    def of(cls, forest: Forest, weights: F64, from_below: bool = False) -> LeafCutter:
        nodes = TreeNodes.of(forest)
        own, mass = node_votes(forest, nodes), leaf_weight(forest, nodes)
        weight = nodes.upwards(mass)
        shrunk = [shrunk_votes(own, weight, nodes, strength) for strength in SHRINKAGES]
        versions = [own, *shrunk]
        if shares_of_classes(forest):
            versions += [_logarithms(votes) for votes in shrunk]
        return cls(forest, mass, np.stack(versions) * np.repeat(weights, forest.n_nodes)[:, None], from_below)

    def cut(self, order: Index, max_nodes: int, growth: float) -> LeafCut:
        """Cut the first trees of an order, with up to `growth` times `max_nodes` nodes together, to `max_nodes`."""
        trees = order[: trees_within(self.forest.n_nodes[order], max_nodes, growth)]
        part = self.forest[trees]
        # the number in the whole forest of each of the part's nodes
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
    """Return the number of first trees with at most `growth` times `max_nodes` nodes together, at least one."""
    within = int(np.searchsorted(np.cumsum(n_nodes), growth * max_nodes, side="right"))
    return max(1, min(within, max_nodes // 3))  # so that every tree can keep a split


def _logarithms(votes: F64) -> F64:
    if votes.shape[1] > 1:
        return np.log(np.maximum(votes, LEAST_SHARE))
    second = np.clip((1.0 + votes) / 2.0, LEAST_SHARE, 1.0 - LEAST_SHARE)
    return np.log(second / (1.0 - second))


def score_trees(committee: WeightedVotes) -> tuple[Forest, F64]:
    voters = committee.voters
    if isinstance(voters, Rounds):
        forest, K = voters.forest, voters.n_outputs
        assert forest.value is not None
        score = np.repeat(np.arange(len(forest)) % K, forest.n_nodes)
        value = np.zeros((len(score), K))
        value[np.arange(len(score)), score] = forest.value[:, 0]
        return replace(forest, n_classes=K, value=value), np.repeat(committee.weights, K)
    if not isinstance(voters, Forest):
        raise TypeError(
            f"ensemble has {type(voters).__name__} for voters, and only trees with constant leaf votes can be cut; "
            "drop whole voters with prune(..., level='voter')."
        )
    return voters, committee.weights


def share_subtrees(committee: Any) -> Any:
    voters = committee.voters
    if type(voters) is Forest:
        return replace(committee, voters=SharedForest.with_record(voters))
    if isinstance(voters, Rounds) and type(voters.forest) is Forest:
        return replace(committee, voters=replace(voters, forest=SharedForest.with_record(voters.forest)))
    return committee
