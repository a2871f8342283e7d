"""Naive split criteria, histograms, row weights and growth of trees.

Criteria are functions of a node's sums ``(..., planes)`` that return ``(...)``.

The planes are the class weights; (no, yes) weights per class for "confidence" with several outputs;
(sum w, sum w z) for squared error and "poisson". The absolute error is no function of sums: its gains are found row by
row (`gains_of_medians`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from committee._core import GrownTree

Array = NDArray[np.float64]


def ratio(a: Array, b: Array) -> Array:
    """a / b, and 0 where b is 0."""
    return np.divide(a, b, out=np.zeros(np.broadcast_shapes(a.shape, b.shape)), where=b > 0)


def gini(sums: Array) -> Array:
    return ratio((sums**2).sum(-1), sums.sum(-1))


def entropy(sums: Array) -> Array:
    total = sums.sum(-1)
    logs: Array = (sums * np.log(np.where(sums > 0, sums, 1))).sum(-1)
    return logs - total * np.log(np.where(total > 0, total, 1))


def confidence(sums: Array) -> Array:
    z: Array = 2.0 * np.sqrt(sums[..., 0::2] * sums[..., 1::2]).sum(-1)
    return -z


def squared_error(sums: Array) -> Array:
    """Summed over the targets, of which each has a plane."""
    return ratio((sums[..., 1:] ** 2).sum(-1), sums[..., 0])


def poisson(sums: Array) -> Array:
    """S ln(S / W), summed over the targets."""
    totals, mean = sums[..., 1:], ratio(sums[..., 1:], sums[..., :1])
    logs: Array = (totals * np.log(np.where(mean > 0, mean, 1))).sum(-1)
    return logs


def error(sums: Array) -> Array:
    """Right, if the node votes for its heaviest class."""
    return sums.max(-1)


SCORES: dict[str, Callable[[Array], Array]] = {
    "gini": gini,
    "entropy": entropy,
    "error": error,
    "confidence": confidence,
    "squared_error": squared_error,
    "poisson": poisson,
}
OF_TARGETS = ("squared_error", "poisson", "absolute_error")


def refusal_loss(right: Array, wrong: Array, refused: Array, n_classes: int) -> Array:
    """Z of a voter with these shares of the weight; 1 (no better than none) unless it beats chance."""
    others = n_classes - 1
    z = refused + n_classes * right ** (1 / n_classes) * (wrong / others) ** (others / n_classes)
    return np.where(others * right > wrong, z, 1.0)


def abstaining_gain(left: Array, right: Array) -> Array:
    """1 - Z of the best of (vote, vote), (vote, abstain), (abstain, vote), times the total weight."""
    n_classes = left.shape[-1]
    total = left.sum(-1) + right.sum(-1)
    right_of = [ratio(side.max(-1), total) for side in (left, right)]
    wrong_of = [np.maximum(ratio(side.sum(-1), total) - p, 0) for side, p in zip((left, right), right_of, strict=True)]
    zero = np.zeros_like(total)
    z: Array = np.minimum.reduce(
        [
            refusal_loss(right_of[0] + right_of[1], wrong_of[0] + wrong_of[1], zero, n_classes),
            refusal_loss(right_of[0], wrong_of[0], right_of[1] + wrong_of[1], n_classes),
            refusal_loss(right_of[1], wrong_of[1], right_of[0] + wrong_of[0], n_classes),
        ]
    )
    return (1.0 - z) * total


def gain(criterion: str, left: Array, right: Array) -> Array:
    """How much parting a node into ``left`` and ``right`` raises the score."""
    if criterion == "abstaining":
        return abstaining_gain(left, right)
    score = SCORES[criterion]
    if criterion == "poisson":
        parted = ((left[..., 1:] > 0) & (right[..., 1:] > 0)).all(-1)
        return np.where(parted, score(left) + score(right) - score(left + right), -np.inf)
    return score(left) + score(right) - score(left + right)


def unit_of(n_rows: int, total: float) -> float:
    """Quanta per unit of weight, such that the sums of ``n_rows`` weights and counts fit 63 bits."""
    return math.ldexp(1.0, 63 - n_rows.bit_length()) / total


def quanta(weights: NDArray[np.float64], unit: float) -> list[int]:
    return [math.floor(w * unit + 0.5) for w in weights.tolist()]


def cell_offsets(n_bins: NDArray[np.int32]) -> NDArray[np.int64]:
    """Feature j owns cells ``offset[j]:offset[j + 1]``; the last of them counts its missing values."""
    return np.concatenate([[0], np.cumsum(n_bins.astype(np.int64) + 1)])


def class_histogram(
    codes: NDArray[np.integer],
    n_bins: NDArray[np.int32],
    labels: NDArray[np.uint16],
    n_classes: int,
    weights: NDArray[np.float64],
    rows: NDArray[np.int32] | None,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    used = np.arange(len(codes)) if rows is None else rows
    offset = cell_offsets(n_bins)
    unit = unit_of(len(used), math.fsum(weights[used]))
    integer = quanta(weights, unit)
    sums = [[0] * int(offset[-1]) for _ in range(n_classes)]
    counts = np.zeros((n_classes, offset[-1]), dtype=np.int64)
    for i in used:
        for j in range(codes.shape[1]):
            cell = int(offset[j]) + int(codes[i, j])
            sums[labels[i]][cell] += integer[i]
            counts[labels[i], cell] += 1
    return np.array([[float(s) / unit for s in plane] for plane in sums]).reshape(n_classes, -1), counts


def scale_rows(
    weights: NDArray[np.float64],
    leaf_of_row: NDArray[np.int32],
    labels: NDArray[np.uint16],
    factor: NDArray[np.float64],
) -> float:
    for i, (leaf, label) in enumerate(zip(leaf_of_row, labels, strict=True)):
        if leaf < 0:
            continue
        if weights.ndim == 1:
            weights[i] *= factor[leaf, label]
        else:
            for output in range(weights.shape[1]):
                weights[i, output] *= factor[leaf, 2 * output + int(label == output)]
    return float(weights.sum())


Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]

TIE = 1e-10
"""A later candidate must beat the best so far by this share of it."""
ROUNDING = 1e-12
"""Gains below this share of the score's scale are rounding, not gain."""
WEIGHTLESS = -1e300
"""Key of a cell whose rows all have weight 0: it goes first, where it moves nothing."""


@dataclass(frozen=True)
class Table:
    """Coded rows and what each of them adds to the sums of its node."""

    codes: NDArray[np.integer]
    n_bins: NDArray[np.int32]
    categorical: NDArray[np.uint8]
    criterion: str
    statistics: Floats
    weights: Floats
    rows: Integers

    @property
    def total(self) -> float:
        return float(self.weights[self.rows].sum())

    @property
    def scale(self) -> float:
        """What a gain is compared with when it is called small."""
        if self.criterion not in OF_TARGETS:
            return self.total
        sums = self.statistics[self.rows]
        if self.criterion == "poisson":
            totals = sums[:, 1:].sum(axis=0)
            return float(sum(S * (1 + abs(np.log(S / self.total))) for S in totals if S > 0))
        if self.criterion == "absolute_error":
            return float(np.abs(sums[:, 1] - sums[:, 0] * sums[:, 1].sum() / self.total).sum())
        squares = (sums[:, 1:] ** 2).sum(axis=1)
        return float((np.divide(squares, sums[:, 0], out=np.zeros(len(sums)), where=sums[:, 0] > 0)).sum())


@dataclass(frozen=True)
class Limits:
    """0 means unlimited for the two maxima."""

    max_depth: int = 0
    max_leaf_nodes: int = 0
    min_samples_leaf: int = 1
    min_weight_leaf: float = 0.0
    min_gain: float = 0.0


@dataclass
class Node:
    """One node of the naive tree."""

    rows: Integers
    depth: int
    feature: int = -1
    goes_left: Mask | None = None
    gain: float = 0.0
    left: int = -1


# --- what each row adds -------------------------------------------------------------------------------------


def class_statistics(labels: NDArray[np.uint16], weights: Floats, n_classes: int) -> Floats:
    """Class weights, or with ``(n, n_classes)`` weights the pairs (no, yes) of every class."""
    n = len(labels)
    if weights.ndim == 1:
        planes = np.zeros((n, n_classes))
        planes[np.arange(n), labels] = weights
        return planes
    planes = np.zeros((n, 2 * n_classes))
    for output in range(n_classes):
        planes[np.arange(n), 2 * output + (labels == output)] = weights[:, output]
    return planes


def target_statistics(targets: Floats, weights: Floats) -> Floats:
    """Weights and weighted targets, of one target ``(n,)`` or of several ``(n, q)``."""
    return np.column_stack([weights, weights[:, None] * targets.reshape(len(weights), -1)])


# --- candidate splits of one feature ------------------------------------------------------------------------


def cell_sums(table: Table, rows: Integers, j: int) -> tuple[Floats, Integers, Floats]:
    """Statistics, rows and weights of every cell of a feature."""
    n_cells, code = int(table.n_bins[j]) + 1, table.codes[rows, j].astype(np.int64)
    sums = np.zeros((n_cells, table.statistics.shape[1]))
    np.add.at(sums, code, table.statistics[rows])
    return sums, np.bincount(code, minlength=n_cells), np.bincount(code, table.weights[rows], n_cells)


def outweighs(side: Mask, weight: Floats) -> bool:
    """Whether the cells of a side weigh more than the others, by more than rounding."""
    return bool(weight[side].sum() > weight[~side].sum() * (1 + TIE))


def numeric_masks(counts: Integers, weight: Floats) -> Iterator[Mask]:
    """Bins up to one that holds rows against the rest; missing values right first, then left."""
    n_bins = len(counts) - 1
    for last in np.flatnonzero(counts[:n_bins]):
        values = np.arange(n_bins + 1) <= last
        values[n_bins] = False
        if counts[n_bins] == 0:
            values[n_bins] = outweighs(values, weight)
            yield values
            continue
        yield values
        with_missing = values.copy()
        with_missing[n_bins] = True
        yield with_missing


def shares(criterion: str, sums: Floats) -> list[Floats]:
    """The keys by which the cells of a categorical feature are put in order, one array per ordering."""
    if criterion in ("squared_error", "poisson"):
        pairs = [(sums[:, k], sums[:, 0]) for k in range(1, sums.shape[1])]
    elif criterion == "error":
        pairs = [(sums[:, b], sums[:, a] + sums[:, b]) for a, b in combinations(range(sums.shape[1]), 2)]
    elif sums.shape[1] == 2:
        pairs = [(sums[:, 1], sums.sum(1))]
    elif criterion == "confidence":
        pairs = [(sums[:, k + 1], sums[:, k] + sums[:, k + 1]) for k in range(0, sums.shape[1], 2)]
    else:
        pairs = [(sums[:, k], sums.sum(1)) for k in range(sums.shape[1])]
    cell_weight = sums[:, 0] if criterion in OF_TARGETS else sums.sum(1)
    keys = [np.where(weight > 0, ratio(part, weight), 0.5 * (criterion == "error")) for part, weight in pairs]
    return [np.where(cell_weight > 0, key, WEIGHTLESS) for key in keys]


def tied_groups(keys: Floats, cells: Integers) -> list[list[int]]:
    """The cells in the order of their keys; cells of (all but) the same key stand together."""
    order = sorted(cells.tolist(), key=lambda c: (keys[c], c))
    groups: list[list[int]] = []
    for cell in order:
        if groups and keys[cell] - keys[groups[-1][-1]] <= 1e-9 * (1 + abs(keys[cell])):
            groups[-1].append(cell)
        else:
            groups.append([cell])
    return groups


def side_masks(left: list[int], counts: Integers, weight: Floats) -> Mask:
    """The heavier side goes left, and with it the cells without rows."""
    mask, seen = np.zeros(len(counts), dtype=bool), counts > 0
    mask[left] = True
    if outweighs(seen & ~mask, weight):
        mask = seen & ~mask
    mask[~seen] = outweighs(mask, weight)
    return mask


def categorical_masks(keys_of: list[Floats], counts: Integers, weight: Floats, any_tie: bool) -> Iterator[Mask]:
    """Prefixes of every ordering.

    ``any_tie`` also parts groups of tied cells, in every way: the last bit of its keys decides which of these
    ways an implementation tries.
    """
    for keys in keys_of:
        groups = tied_groups(keys, np.flatnonzero(counts))
        for g, group in enumerate(groups):
            before = [cell for earlier in groups[:g] for cell in earlier]
            sizes = range(1, len(group) + 1) if any_tie else [len(group)]
            for size in sizes:
                for chosen in combinations(group, size):
                    yield side_masks(before + list(chosen), counts, weight)


def subset_masks(counts: Integers, weight: Floats) -> Iterator[Mask]:
    """Every way to part the cells in two."""
    present = np.flatnonzero(counts).tolist()
    for size in range(1, len(present)):
        for chosen in combinations(present, size):
            yield side_masks(list(chosen), counts, weight)


def masks_of(table: Table, rows: Integers, j: int, any_tie: bool = False) -> Mask:
    sums, counts, weight = cell_sums(table, rows, j)
    if table.categorical[j]:
        keys = [medians(table, rows, j)] if table.criterion == "absolute_error" else shares(table.criterion, sums)
        found = list(categorical_masks(keys, counts, weight, any_tie))
    else:
        found = list(numeric_masks(counts, weight))
    return np.array(found, dtype=bool).reshape(-1, len(counts))


def gains_of(table: Table, rows: Integers, j: int, masks: Mask, limits: Limits) -> Floats:
    """Gain of every mask, -inf where a child would be too small. Rows of weight 0 alone make no child."""
    sums, counts, weight = cell_sums(table, rows, j)
    left = masks.astype(np.float64) @ sums
    right = (~masks).astype(np.float64) @ sums
    fewest = np.minimum(masks @ counts, ~masks @ counts)
    lightest = np.minimum(masks @ weight, ~masks @ weight)
    allowed = (fewest >= limits.min_samples_leaf) & (lightest >= limits.min_weight_leaf * table.total)
    allowed &= (fewest > 0) & (lightest > 0)
    if table.criterion == "absolute_error":
        return np.where(allowed, gains_of_medians(table, rows, j, masks), -np.inf)
    return np.where(allowed, gain(table.criterion, left, right), -np.inf)


def lower_median(targets: Floats, weights: Floats) -> float:
    """The first target, ascending, up to which half of the weight lies."""
    order = np.argsort(targets, kind="stable")
    below = np.cumsum(weights[order])
    return float(targets[order][np.searchsorted(below, below[-1] * (0.5 - 1e-12))])


def responses(table: Table, rows: Integers) -> tuple[Floats, Floats]:
    """Targets and weights of the rows that have weight."""
    rows = rows[table.weights[rows] > 0]
    return table.statistics[rows, 1] / table.statistics[rows, 0], table.weights[rows]


def absolute_error(table: Table, rows: Integers) -> float:
    """Weighted sum of the distances from the median."""
    targets, weights = responses(table, rows)
    return float(weights @ np.abs(targets - lower_median(targets, weights))) if len(targets) else 0.0


def medians(table: Table, rows: Integers, j: int) -> Floats:
    """The median of each cell of a feature."""
    keys = np.full(int(table.n_bins[j]) + 1, WEIGHTLESS)
    for cell in range(len(keys)):
        targets, weights = responses(table, rows[table.codes[rows, j] == cell])
        if len(targets):
            keys[cell] = lower_median(targets, weights)
    return keys


def gains_of_medians(table: Table, rows: Integers, j: int, masks: Mask) -> Floats:
    """How much the absolute error about each side's own median is below that about the median of all."""
    left = [rows[mask[table.codes[rows, j]]] for mask in masks]
    both = [absolute_error(table, some) + absolute_error(table, np.setdiff1d(rows, some)) for some in left]
    return absolute_error(table, rows) - np.array(both)


# --- whole nodes --------------------------------------------------------------------------------------------


def pure(table: Table, rows: Integers) -> bool:
    """Whether no split can raise the score: one class, or one target, holds all the weight."""
    sums = table.statistics[rows]
    sums = sums[table.weights[rows] > 0]
    if table.criterion in OF_TARGETS:
        targets = sums[:, 1:] / sums[:, :1]
        return len(targets) == 0 or bool((np.ptp(targets, axis=0) == 0).all())
    if table.criterion == "confidence" and table.statistics.shape[1] > 2:
        totals = sums.sum(0)
        return bool((np.minimum(totals[0::2], totals[1::2]) == 0).all())
    return int((sums.sum(0) > 0).sum()) <= 1


def least_gain(table: Table, limits: Limits) -> float:
    return max(limits.min_gain * table.total, ROUNDING * table.scale)


def best_gain(table: Table, rows: Integers, limits: Limits, j: int, any_tie: bool = False) -> float:
    """The best gain feature j offers, -inf if it offers no admissible split."""
    masks = masks_of(table, rows, j, any_tie)
    if len(masks) == 0 or pure(table, rows):
        return -np.inf
    return float(gains_of(table, rows, j, masks, limits).max())


def split(table: Table, node: Node, limits: Limits) -> None:
    """Finds the node's split: the first of the best, in the order of features, bins, missing right."""
    if (limits.max_depth and node.depth >= limits.max_depth) or pure(table, node.rows):
        return
    for j in range(table.codes.shape[1]):
        masks = masks_of(table, node.rows, j)
        for mask, gain in zip(masks, gains_of(table, node.rows, j, masks, limits), strict=True):
            if gain > max(least_gain(table, limits), node.gain * (1 + TIE)):
                node.feature, node.goes_left, node.gain = j, mask, float(gain)
    if node.goes_left is not None and not table.categorical[node.feature]:
        counts = np.bincount(table.codes[node.rows, node.feature], minlength=len(node.goes_left))
        part_gap(node.goes_left, counts)


def part_gap(goes_left: Mask, counts: Integers) -> None:
    """Share the empty cells between the two sides of a numeric split out evenly; of an odd number the left has less."""
    seen = np.flatnonzero(counts[:-1])
    below, above = seen[goes_left[seen]], seen[~goes_left[seen]]
    if len(below) and len(above):
        goes_left[:-1] = np.arange(len(counts) - 1) <= below[-1] + (above[0] - below[-1] - 1) // 2


def grow(table: Table, limits: Limits) -> list[Node]:
    """Breadth-first, or best gain first (of equal gains the older node) when leaves are limited."""
    nodes = [Node(rows=table.rows, depth=0)]
    split(table, nodes[0], limits)
    open_nodes = [0]
    n_leaves = 1
    while open_nodes and not (limits.max_leaf_nodes and n_leaves >= limits.max_leaf_nodes):
        best = max(open_nodes, key=lambda i: (nodes[i].gain, -i)) if limits.max_leaf_nodes else open_nodes[0]
        open_nodes.remove(best)
        parent = nodes[best]
        if parent.goes_left is None:
            continue
        parent.left = len(nodes)
        left = parent.goes_left[table.codes[parent.rows, parent.feature]]
        for side in (left, ~left):
            child = Node(rows=parent.rows[side], depth=parent.depth + 1)
            split(table, child, limits)
            open_nodes.append(len(nodes))
            nodes.append(child)
        n_leaves += 1
    return nodes


# --- reading a grown tree -----------------------------------------------------------------------------------


def goes_left(tree: GrownTree, i: int, n_bins: int, categorical: bool) -> Mask:
    """Node i's split as a mask over the cells of its feature."""
    mask = np.zeros(n_bins + 1, dtype=bool)
    if categorical:
        bits = tree.category_bits[tree.category_offset[i] : tree.category_offset[i + 1]]
        for category in range(n_bins):
            mask[category] = bool(bits[category // 32] >> (category % 32) & 1)
    else:
        mask[:n_bins] = np.arange(n_bins) <= tree.bin[i]
    mask[n_bins] = bool(tree.missing_left[i])
    return mask


def walk(
    tree: GrownTree,
    codes: NDArray[np.integer],
    n_bins: NDArray[np.integer],
    categorical: NDArray[np.integer],
    used: Integers,
) -> tuple[list[Integers], Integers]:
    """Of the rows used, those that reach every node, and every node's depth."""
    rows = [used] * len(tree.feature)
    depth = np.zeros(len(tree.feature), dtype=np.int64)
    for i, j in enumerate(tree.feature):
        if j < 0:
            continue
        left = goes_left(tree, i, int(n_bins[j]), bool(categorical[j]))[codes[rows[i], j]]
        for child, side in ((tree.left[i], left), (tree.left[i] + 1, ~left)):
            rows[child], depth[child] = rows[i][side], depth[i] + 1
    return rows, depth
