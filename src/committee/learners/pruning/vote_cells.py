"""Cells of rows that reach the same leaves, and a vote as a weighted sum of its parts (trees, rounds, leaves)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64, Index, Mask
from committee.learners.reweighting.leaf_cuts import score_trees
from committee.vote.committee import Committee
from committee.vote.links.probability import Softmax
from committee.voters.forest import Forest
from committee.voters.redundant_splits import category_sides
from committee.voters.rounds import Rounds
from committee.voters.shared_forest import SharedForest

MOST_MULTIPLES = 1e4  # largest number of multiples of the votes' unit up to which votes are counted exactly
MOST_ENTRIES = 2 * 10**8  # nodes times distinct splits of the largest ensemble whose cells are searched
BLOCK = 1 << 22  # numbers held at a time while the parts of many rows are added


@dataclass(frozen=True, eq=False)
class Column:
    feature: int
    values: F64  # (V,): one value of each interval or category set that no split divides; NaN: missing or unknown


@dataclass(frozen=True, eq=False)
class VoteCells:
    """Cells of a forest: a cell has one value of each column on which trees split."""

    forest: Forest
    columns: tuple[Column, ...]
    takes: tuple[Mask, ...]  # for each column (N, V): values with which a row can reach a node

    @classmethod
    def of(cls, forest: Forest) -> VoteCells:
        words = np.diff(forest.category_offset)
        split = forest.feature >= 0
        sides = category_sides(forest)
        columns, takes = [], []
        for feature in np.unique(forest.feature[split]).tolist():
            nodes = np.flatnonzero(forest.feature == feature)
            if (words[nodes] > 0).any() and (words[nodes] == 0).any():
                raise ValueError(
                    f"ensemble splits column {feature} both at thresholds and by categories; set fewest=None, or train "
                    "it on a table whose columns are one or the other."
                )
            if words[nodes].any():
                column, left = _by_categories(feature, np.stack([sides[node] for node in nodes.tolist()]))
            else:
                column, left = _by_thresholds(feature, forest.threshold[nodes], forest.missing_left[nodes] == 1)
            columns.append(column)
            takes.append(_reachable_values(forest, nodes, left))
        return cls(forest, tuple(columns), tuple(takes))

    def random_rows(self, n: int, rng: np.random.Generator) -> F64:
        X = np.zeros((n, self.forest.n_features))
        for column in self.columns:
            X[:, column.feature] = column.values[rng.integers(len(column.values), size=n)]
        return X

    def neighbours(self, row: F64) -> F64:
        """Return the rows of all cells that differ from the cell of `row` in at most one column."""
        many = []
        for column in self.columns:
            moved = np.repeat(row[None], len(column.values), axis=0)
            moved[:, column.feature] = column.values
            many.append(moved)
        return np.concatenate(many)


def _by_thresholds(feature: int, threshold: F64, missing_left: Mask) -> tuple[Column, Mask]:
    cuts = np.unique(threshold)
    above = np.nextafter(cuts[-1], np.inf)
    values = cuts if np.isinf(cuts[-1]) else np.append(cuts, above)
    if np.isinf(cuts[-1]):  # no number lies above
        values = np.append(cuts[:-1], np.nextafter(cuts[-2], np.inf) if len(cuts) > 1 else 0.0)
    left = values[None, :] <= threshold[:, None]
    if not any(np.array_equal(left[:, v], missing_left) for v in range(len(values))):
        values, left = np.append(values, np.nan), np.column_stack([left, missing_left])
    return Column(feature, values), left


def _by_categories(feature: int, sides: Mask) -> tuple[Column, Mask]:
    kinds, first = np.unique(sides, axis=1, return_index=True)
    codes = np.where(first == sides.shape[1] - 1, np.nan, first)
    return Column(feature, codes.astype(np.float64)), kinds


def _reachable_values(forest: Forest, nodes: NDArray[np.intp], left: Mask) -> Mask:
    start = np.repeat(forest.offset[:-1], forest.n_nodes)
    place = np.full(len(forest.feature), -1)
    place[nodes] = np.arange(len(nodes))
    reach = np.ones((len(forest.feature), left.shape[1]), dtype=bool)
    level = forest.offset[:-1]
    while len(level := level[forest.left[level] >= 0]):
        child = forest.left[level] + start[level]
        splits = (place[level] >= 0)[:, None]
        sides = left[place[level]]
        reach[child] = reach[level] & (~splits | sides)
        reach[child + 1] = reach[level] & (~splits | ~sides)
        level = np.column_stack([child, child + 1]).ravel()
    return reach


@dataclass(frozen=True, eq=False)
class VoteParts:
    """Scores of the leaves, and the part of the vote to which each belongs: a tree, a round or a leaf."""

    cells: VoteCells
    scores: F64  # (N, K): what a leaf adds to the class scores, its voter's weight included
    start: F64  # (K,): intercept of the class scores
    part: Index  # (N,): part of each leaf, below C; arbitrary for inner nodes
    elect: Callable[[F64], Index]  # returns the class numbers that the vote elects for encoded rows
    exact: bool  # whether `scores` and `start` are whole numbers, so that sums have no rounding

    @property
    def n_parts(self) -> int:
        return int(self.part.max(initial=-1)) + 1

    @cached_property
    def spread(self) -> F64:
        """``(C + 1,)``: bound on the effect of each part, and of the start, on the lead of a class."""
        forest = self.cells.forest
        leaf = forest.feature < 0
        width = np.where(leaf, np.ptp(self.scores, axis=1), 0.0)
        tree = np.repeat(np.arange(len(forest)), forest.n_nodes)
        pair = np.unique(np.column_stack([self.part, tree])[leaf], axis=0)
        most = np.zeros(len(pair))
        key = self.part * len(forest) + tree
        place = np.searchsorted(pair[:, 0] * len(forest) + pair[:, 1], key[leaf])
        np.maximum.at(most, place, width[leaf])
        spread = np.bincount(pair[:, 0], weights=most, minlength=self.n_parts)
        return np.append(spread, np.ptp(self.start))

    def leads(self, X: F64) -> tuple[F64, Mask]:
        """Return the leads of elected classes, ``(m, C + 1)`` by part and start, and which may be 0."""
        K, C = self.scores.shape[1], self.n_parts
        step = max(1, BLOCK // max(1, (C + 1) * K))
        lines, ties = zip(*(self._leads(X[first : first + step]) for first in range(0, len(X), step)), strict=True)
        both = np.unique(np.column_stack([np.concatenate(lines), np.concatenate(ties)]), axis=0)
        return both[:, :-1], both[:, -1] > 0.0

    def _leads(self, X: F64) -> tuple[F64, Mask]:
        n, C, K = len(X), self.n_parts, self.scores.shape[1]
        forest = self.cells.forest
        leaves = forest.apply(X) + forest.offset[:-1]
        sums = np.zeros((n, C + 1, K))
        rows = np.arange(n)
        for t in range(len(forest)):
            np.add.at(sums, (rows, self.part[leaves[:, t]]), self.scores[leaves[:, t]])
        sums[:, C] = self.start
        elected = self.elect(X)
        others = np.array([[k for k in range(K) if k != c] for c in range(K)])[elected]
        own = sums[rows, :, elected]
        lead = own[:, None, :] - np.swapaxes(sums, 1, 2)[rows[:, None], others]
        # a tie suffices against later classes
        return lead.reshape(-1, C + 1), (others > elected[:, None]).ravel() & self.exact

    def weighted(self, weights: F64) -> VoteParts:
        return replace(self, scores=self.scores * weights[self.part][:, None], start=self.start * weights[-1])


@dataclass(frozen=True, eq=False)
class WeightedParts:
    """Parts of a committee that get new weights: trees, rounds or leaves."""

    committee: Committee  # of a `SharedForest`, or of `Rounds` of one
    forest: Forest  # trees of different splits, or all trees of the rounds
    scores: F64  # (N, K): what a leaf adds to the class scores
    leaves: bool  # whether each leaf is a part

    @classmethod
    def of(cls, committee: Committee, fewest: Literal["trees", "leaves"]) -> WeightedParts:
        forest, weights = score_trees(committee)
        scores = forest.node_votes * np.repeat(weights, forest.n_nodes)[:, None]
        if isinstance(committee.voters, Rounds):
            return cls(committee, committee.voters.forest, scores, fewest == "leaves")
        if scores.shape[1] == 1:
            scores = np.hstack([np.zeros_like(scores), scores])
        return cls(committee, *_merged(forest, scores), fewest == "leaves")

    @property
    def has_merged(self) -> bool:
        rounds = isinstance(self.committee.voters, Rounds)
        return not rounds and len(self.forest) < len(self.committee)

    @property
    def counted(self) -> str:
        return "leaves" if self.leaves else "rounds" if isinstance(self.committee.voters, Rounds) else "trees"

    @property
    def too_large(self) -> bool:
        split = self.forest.feature >= 0
        tests = np.column_stack([self.forest.feature[split], self.forest.threshold[split]])
        return len(np.unique(tests, axis=0)) * len(split) > MOST_ENTRIES

    @cached_property
    def unit(self) -> float | None:
        """Largest power of two that divides all votes, or `None` if one exceeds `MOST_MULTIPLES` of it."""
        numbers = np.concatenate([self.scores.ravel(), self._start])
        sizes = np.abs(numbers[numbers != 0.0])
        if not len(sizes):
            return 1.0
        mantissa, exponent = np.frexp(sizes)
        bits = np.ldexp(mantissa, 53).astype(np.int64)
        zeros = np.log2((bits & -bits).astype(np.float64)).astype(np.int64)
        # sums of its multiples have no rounding below 2^53 multiples
        unit = float(np.ldexp(1.0, int((exponent - 53 + zeros).min())))
        return unit if unit > 0.0 and float(sizes.max()) <= MOST_MULTIPLES * unit else None

    @property
    def _start(self) -> F64:
        given = self.committee.intercept
        if given is None:
            return np.zeros(self.scores.shape[1])
        return given if len(given) > 1 else np.append(0.0, given)

    @cached_property
    def part(self) -> Index:
        if self.leaves:
            leaf = self.forest.feature < 0
            return np.where(leaf, np.cumsum(leaf) - 1, 0)
        rounds = self.committee.voters
        per = rounds.n_outputs if isinstance(rounds, Rounds) else 1
        return np.repeat(np.arange(len(self.forest)) // per, self.forest.n_nodes)

    def parts(self) -> VoteParts:
        unit = self.unit or 1.0
        return VoteParts(
            cells=VoteCells.of(self.forest),
            scores=self.scores / unit,
            start=self._start / unit,
            part=self.part,
            elect=lambda X: elected_classes(self.committee, X),
            exact=self.unit is not None,
        )

    def built(self, factors: F64) -> Committee:
        kept = np.flatnonzero(factors[:-1])
        intercept = self.committee.intercept
        intercept = None if intercept is None else intercept * factors[-1]
        if self.leaves or self.has_merged:
            return self._of_values(self.scores * factors[self.part][:, None], intercept)
        if not len(kept):
            return replace(self.committee.select([0], [0.0]), intercept=intercept)
        return replace(self.committee.select(kept, self.committee.weights[kept] * factors[kept]), intercept=intercept)

    def _of_values(self, scores: F64, intercept: F64 | None) -> Committee:
        # trees without any effect are left out
        leaf = self.forest.feature < 0
        two = scores.shape[1] == 2
        value = scores[:, 1:] - scores[:, :1] if two else scores
        value = np.where(leaf[:, None], value, 0.0) + 0.0  # no negative zeros
        width = np.abs(value[:, 0]) if two else np.ptp(value, axis=1)
        counts = np.flatnonzero(np.maximum.reduceat(width, self.forest.offset[:-1]) > 0.0)
        forest = replace(self.forest, label=None, value=np.ascontiguousarray(value), n_classes=scores.shape[1])
        small = SharedForest.of(Forest.concatenate([forest[counts if len(counts) else [0]]]))
        if intercept is not None and two and len(intercept) == 2:
            intercept = intercept[1:] - intercept[:1]
        link = Softmax()
        return replace(self.committee, voters=small, weights=np.ones(len(small)), link=link, intercept=intercept)


def elected_classes(committee: Committee, X: F64) -> Index:
    return committee.class_indices(replace(committee, table=None).predict(X))


def _merged(forest: Forest, scores: F64) -> tuple[Forest, F64]:
    first: dict[bytes, int] = {}
    merged = np.arange(len(forest))
    for t, (begin, end) in enumerate(zip(forest.offset[:-1].tolist(), forest.offset[1:].tolist(), strict=True)):
        words = slice(int(forest.category_offset[begin]), int(forest.category_offset[end]))
        arrays = (forest.feature, forest.threshold, forest.left, forest.missing_left)
        key = b"".join(array[begin:end].tobytes() for array in arrays)
        key += (forest.category_offset[begin : end + 1] - forest.category_offset[begin]).tobytes()
        merged[t] = first.setdefault(key + forest.category_bits[words].tobytes(), t)
    scores = scores.copy()
    for t in np.flatnonzero(merged != np.arange(len(forest))).tolist():
        to, begin, end = int(forest.offset[merged[t]]), int(forest.offset[t]), int(forest.offset[t + 1])
        scores[to : to + end - begin] += scores[begin:end]
    stay = merged == np.arange(len(forest))
    return forest[stay], scores[np.repeat(stay, forest.n_nodes)]
