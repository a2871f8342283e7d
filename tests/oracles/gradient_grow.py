"""Trees for gradient boosting the slow way: every candidate split of a node is a mask over cells, and is scored.

What a node is worth, and its weight, are `LeafPenalty`'s, which tests hold to a search over a grid. A cell is a bin of
one feature; its last one is for missing values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from committee.learners.gradient.leaf_values import LeafPenalty
from tests.oracles.grow import outweighs, part_gap, ratio
from tests.oracles.vote_graph import MASK, STRIDE, scramble

Floats = NDArray[np.float64]
Counts = NDArray[np.integer]
Mask = NDArray[np.bool_]

TIE = 1e-10
"""A later candidate must beat the best so far by this share of it."""
ROUNDING = 1e-12
"""Gains below this share of what the node is worth are rounding, not gain."""


@dataclass
class Node:
    """A node of the naive tree, and its best split."""

    rows: NDArray[np.int64]
    depth: int
    lower: float = -np.inf
    upper: float = np.inf
    gain: float = -np.inf
    feature: int = -1
    goes_left: Mask = field(default_factory=lambda: np.zeros(0, dtype=bool))
    middle: float = 0.0
    """With a monotone split: the mean of the children's weights, which parts what may stand below them."""
    left: int = -1
    used: frozenset[int] = frozenset()
    """Features of the splits above."""
    path: int = 0
    """The way from the root, scrambled: part of the key of what is drawn."""


@dataclass
class GradientTree:
    """The arrays of a grown tree."""

    feature: NDArray[np.int32]
    bin: NDArray[np.int32]
    left: NDArray[np.int32]
    missing_left: NDArray[np.uint8]
    category_offset: NDArray[np.int64]
    category_bits: NDArray[np.uint32]
    gain: Floats
    count: NDArray[np.int64]
    sums: Floats
    value: Floats
    bounds: Floats


class GradientGrower:
    """The arguments and results of the kernel of this name."""

    def __init__(
        self,
        codes: NDArray[np.uint8] | NDArray[np.uint16],
        n_bins: NDArray[np.int32],
        categorical: NDArray[np.uint8],
        *,
        n_outputs: int = 1,
        max_depth: int = 0,
        max_leaf_nodes: int = 0,
        min_samples_leaf: int = 1,
        min_hessian_leaf: float = 0.0,
        leaf_l0: float = 0.0,
        leaf_l1: float = 0.0,
        leaf_l2: float = 0.0,
        l0_per_leaf: bool = False,
        min_gain: float = 0.0,
        max_features: int = 0,
        growth: Literal["leaf", "depth"] = "leaf",
        monotone: NDArray[np.int8] | None = None,
        max_interaction: int = 0,
        interaction_groups: Sequence[NDArray[np.int32]] = (),
        draw_thresholds: bool = False,
        max_weight: float = np.inf,
        n_threads: int = 1,
    ) -> None:
        self.codes, self.n_bins, self.categorical, self.n_outputs = codes, n_bins, categorical, n_outputs
        self.max_depth, self.max_leaf_nodes, self.growth = max_depth, max_leaf_nodes, growth
        self.min_samples_leaf, self.min_hessian_leaf, self.min_gain = min_samples_leaf, min_hessian_leaf, min_gain
        self.penalty = LeafPenalty(leaf_l0, leaf_l1, leaf_l2, l0_per_leaf)
        self.max_features = max_features
        self.max_interaction, self.groups = max_interaction, [frozenset(group.tolist()) for group in interaction_groups]
        self.draw_thresholds, self.max_weight = draw_thresholds, max_weight
        self.directions = np.zeros((1, codes.shape[1]), dtype=np.int8) if monotone is None else monotone
        self.follow(0)

    def follow(self, score: int) -> None:
        """Take the directions of a score."""
        self.monotone = self.directions[score if len(self.directions) > 1 else 0]
        self.bounded = bool(self.monotone.any()) or bool(np.isfinite(self.max_weight))

    def grow(
        self,
        gradient: Floats,
        hessian: Floats,
        rows: NDArray[np.int32] | None = None,
        features: NDArray[np.int32] | None = None,
        seed: int = 0,
        score: int = 0,
        weights: Floats | None = None,
    ) -> GradientTree:
        """One tree; with `rows` the others get their leaf by walking."""
        n, p = self.codes.shape
        self._w = np.ones(n) if weights is None else weights
        self._g: Floats = gradient.reshape(self.n_outputs, n)
        self._h: Floats = hessian.reshape(self.n_outputs, n)
        self._features = np.arange(p) if features is None else features
        self.follow(score)
        self._random, self._seed = np.random.default_rng(seed), seed
        used = np.arange(n) if rows is None else np.sort(rows).astype(np.int64)
        nodes = [Node(used, 0, -self.max_weight, self.max_weight)]
        self._find_split(nodes[0])
        open_nodes, n_leaves = [0], 1
        while open_nodes and not (self.max_leaf_nodes and n_leaves >= self.max_leaf_nodes):
            best = open_nodes[-1]  # without a limit depth-first, left before right
            if self.max_leaf_nodes and self.growth == "leaf":
                best = max(open_nodes, key=lambda i: (nodes[i].gain, -i))
            elif self.max_leaf_nodes:
                best = min(open_nodes, key=lambda i: (nodes[i].depth, i))
            open_nodes.remove(best)
            if nodes[best].feature < 0:
                continue
            open_nodes += [len(nodes) + 1, len(nodes)]
            self._part(nodes, best)
            n_leaves += 1
        self.leaf_of_row = self._walk(nodes)
        return self._tree(nodes)

    # --- one node -----------------------------------------------------------------------------------------------

    def _find_split(self, node: Node) -> None:
        """The first of the best: lowest feature, lowest bin, missing right."""
        if self.max_depth and node.depth >= self.max_depth:
            return
        tried = self._allowed(node.used)
        if 0 < self.max_features < len(self._features):
            drawn = -(-self.max_features * len(tried) // len(self._features))
            tried = np.sort(self._random.choice(tried, drawn, replace=False))
        best = -np.inf
        for j in tried.tolist():
            counts, G, H = self._cells(node.rows, j)
            weight = np.bincount(self.codes[node.rows, j], self._w[node.rows], len(counts))
            masks = self._masks(j, counts, weight, G, H)
            if self.draw_thresholds:
                masks = self._drawn(node, j, counts, masks)
            if not len(masks):
                continue
            for mask, gain in zip(masks, self._gains(node, j, masks, counts, G, H), strict=True):
                if gain > self.min_gain and gain > (best * (1 + TIE) if best > 0 else best):
                    best = node.gain = float(gain)
                    node.feature, node.goes_left = j, mask
                    node.middle = self._middle(node, mask, G, H)
        if node.feature >= 0 and not self.categorical[node.feature]:
            part_gap(node.goes_left, self._cells(node.rows, node.feature)[0])

    def _allowed(self, used: frozenset[int]) -> NDArray[np.integer]:
        """Features that may stand below splits on those that are used."""
        allowed = set(self._features.tolist())
        if self.groups:
            allowed &= frozenset().union(*(group for group in self.groups if used <= group))
        if 0 < self.max_interaction <= len(used):
            allowed &= used
        return np.array(sorted(allowed), dtype=np.int64)

    def _cells(self, rows: NDArray[np.int64], j: int) -> tuple[Counts, Floats, Floats]:
        """Rows, gradients and hessians of every cell of a feature."""
        shape, code = (int(self.n_bins[j]) + 1, self.n_outputs), self.codes[rows, j].astype(np.int64)
        G, H = np.zeros(shape), np.zeros(shape)
        np.add.at(G, code, self._g[:, rows].T)
        np.add.at(H, code, self._h[:, rows].T)
        return np.bincount(code, minlength=len(G)), G, H

    def _masks(self, j: int, counts: Counts, weight: Floats, G: Floats, H: Floats) -> Mask:
        """The candidate splits of a feature: which of its cells go left."""
        single = self.categorical[j]
        found = list(single_masks(counts, weight, G, H) if single else numeric_masks(counts, weight, self.bounded))
        return np.array(found, dtype=bool).reshape(-1, len(counts))

    def _drawn(self, node: Node, j: int, counts: Counts, masks: Mask) -> Mask:
        """One of the thresholds or categories of a feature that leave enough rows; missing values on either side."""
        enough = max(1, self.min_samples_leaf)
        if self.categorical[j]:
            offered = [[mask] for mask in masks]
        else:
            bins = np.arange(len(counts))
            offered = [[bins <= last] for last in np.flatnonzero(counts[:-1])]
            if counts[-1]:
                offered = [[mask, mask | (bins == bins[-1])] for (mask,) in offered]
        parting = [
            sides for sides in offered if any(min(counts[mask].sum(), counts[~mask].sum()) >= enough for mask in sides)
        ]
        drawn = parting[below(len(parting), self._seed, j, node.path)] if parting else []
        return np.array(drawn, dtype=bool).reshape(-1, len(counts))

    def _gains(self, node: Node, j: int, masks: Mask, counts: Counts, G: Floats, H: Floats) -> Floats:
        """Gain of every mask; -inf where a child is too small, or the weights break the feature's direction."""
        lower, upper = node.lower, node.upper
        left, right = (masks @ G, masks @ H), (~masks @ G, ~masks @ H)
        fewest = np.minimum(masks @ counts, ~masks @ counts)
        lightest = np.minimum(left[1].sum(axis=1), right[1].sum(axis=1))
        allowed = (fewest >= max(1, self.min_samples_leaf)) & (lightest >= self.min_hessian_leaf)
        if self.monotone[j]:
            rise = self.penalty.weight(*right, lower, upper) - self.penalty.weight(*left, lower, upper)
            allowed &= (rise * self.monotone[j] >= 0).all(axis=1)
        worth = self.penalty.worth(*left, lower, upper) + self.penalty.worth(*right, lower, upper)
        alone = self.penalty.worth(G.sum(axis=0), H.sum(axis=0), lower, upper)
        gain = worth - alone
        return np.where(allowed & (gain > ROUNDING * np.abs(alone)), gain, -np.inf)

    def _middle(self, node: Node, mask: Mask, G: Floats, H: Floats) -> float:
        weights = [self.penalty.weight(side @ G, side @ H, node.lower, node.upper)[0] for side in (mask, ~mask)]
        return float(np.mean(weights))

    def _part(self, nodes: list[Node], number: int) -> None:
        """Two children, with bounds that keep the feature's direction below them."""
        parent = nodes[number]
        parent.left = len(nodes)
        left = parent.goes_left[self.codes[parent.rows, parent.feature]]
        direction = int(self.monotone[parent.feature])
        for is_left, side in ((True, left), (False, ~left)):
            path = scramble((parent.path + STRIDE * (1 if is_left else 2)) & MASK)
            lower, upper = parent.lower, parent.upper
            if direction:
                if is_left == (direction > 0):
                    upper = min(upper, parent.middle)
                else:
                    lower = max(lower, parent.middle)
            used = parent.used | {int(parent.feature)}
            child = Node(parent.rows[side], parent.depth + 1, lower, upper, used=used, path=path)
            self._find_split(child)
            nodes.append(child)

    # --- the tree ---------------------------------------------------------------------------------------------------

    def _tree(self, nodes: list[Node]) -> GradientTree:
        D, N = self.n_outputs, len(nodes)
        sums, value = np.zeros((N, 2 * D)), np.zeros((N, D))
        for i, node in enumerate(nodes):
            sums[i, :D], sums[i, D:] = self._g[:, node.rows].sum(axis=1), self._h[:, node.rows].sum(axis=1)
            value[i] = self.penalty.weight(sums[i, :D], sums[i, D:], node.lower, node.upper)
        split = np.array([node.left >= 0 for node in nodes])
        feature = np.array([node.feature if node.left >= 0 else -1 for node in nodes], dtype=np.int32)
        is_category = np.array([node.left >= 0 and bool(self.categorical[node.feature]) for node in nodes])
        bits = [
            category_words(node.goes_left[:-1]) if c else np.zeros(0, np.uint32)
            for node, c in zip(nodes, is_category, strict=True)
        ]
        bins = [
            int(np.flatnonzero(node.goes_left[:-1])[-1]) if s and not c else -1
            for node, s, c in zip(nodes, split, is_category, strict=True)
        ]
        return GradientTree(
            feature=feature,
            bin=np.array(bins, dtype=np.int32),
            left=np.array([node.left for node in nodes], dtype=np.int32),
            missing_left=np.array([node.left >= 0 and bool(node.goes_left[-1]) for node in nodes], dtype=np.uint8),
            category_offset=np.cumsum([0, *map(len, bits)], dtype=np.int64),
            category_bits=np.concatenate(bits),
            gain=np.array([node.gain if node.left >= 0 else 0.0 for node in nodes]),
            count=np.array([len(node.rows) for node in nodes], dtype=np.int64),
            sums=sums,
            value=value,
            bounds=np.array([[node.lower, node.upper] for node in nodes]),
        )

    def _walk(self, nodes: list[Node]) -> NDArray[np.int32]:
        """The leaf of every row of the table."""
        leaf = np.zeros(len(self.codes), dtype=np.int32)
        for i, node in enumerate(nodes):
            if node.left >= 0:
                here = np.flatnonzero(leaf == i)
                leaf[here] = np.where(node.goes_left[self.codes[here, node.feature]], node.left, node.left + 1)
        return leaf


def below(n: int, seed: int, feature: int, path: int) -> int:
    """A number below n, drawn for a feature of a node."""
    key = scramble((scramble(seed) + feature) & MASK)
    state = scramble((scramble(key) + path) & MASK)
    return (scramble((state + STRIDE) & MASK) * n) >> 64


def numeric_masks(counts: Counts, weight: Floats, bounded: bool) -> Iterator[Mask]:
    """Bins up to one that holds rows; missing values right, then left; without any they follow the heavier child.

    Where trees are bounded, missing values may also stand on the left with bins that hold no rows: what a direction
    forbids of their standing alone on the right it allows there.
    """
    n_bins = len(counts) - 1
    if bounded and counts[n_bins] and not counts[0]:
        alone = np.zeros(n_bins + 1, dtype=bool)
        alone[[0, n_bins]] = True
        yield alone
    for last in np.flatnonzero(counts[:n_bins]):
        values = np.arange(n_bins + 1) <= last
        values[n_bins] = counts[n_bins] == 0 and outweighs(values, weight)
        yield values
        if counts[n_bins]:
            with_missing = values.copy()
            with_missing[n_bins] = True
            yield with_missing


def single_masks(counts: Counts, weight: Floats, G: Floats, H: Floats) -> Iterator[Mask]:
    """Each cell that holds rows against the rest, by mean gradient, so that of two the lower goes left."""
    present = np.flatnonzero(counts)
    for cell in present[np.lexsort(ratio(G[present], H[present]).T[::-1])]:
        yield side_mask(np.array([cell]), counts, weight)


def side_mask(left: NDArray[np.int64], counts: Counts, weight: Floats) -> Mask:
    """Some cells go left; cells without rows follow the heavier child (equal: right)."""
    mask = np.zeros(len(counts), dtype=bool)
    mask[left] = True
    mask[counts == 0] = outweighs(mask, weight)
    return mask


def category_words(goes_left: Mask) -> NDArray[np.uint32]:
    """Bit c of the words says that category c goes left."""
    words = np.zeros((len(goes_left) + 31) // 32, dtype=np.uint32)
    for category in np.flatnonzero(goes_left).tolist():
        words[category // 32] |= np.uint32(1 << (category % 32))
    return words
