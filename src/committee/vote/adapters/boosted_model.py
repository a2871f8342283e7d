"""Trees of other libraries in a common form, and arguments of committees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.data.categories import pack_category_bits
from committee.data.number_types import F64, Index
from committee.data.table_schema import TableSchema
from committee.vote.links.mean import MeanLink
from committee.vote.links.probability import Link
from committee.voters.flat_trees import breadth_first, extents, join_words
from committee.voters.forest import Forest
from committee.voters.protocol import Voters
from committee.voters.rounds import LeafLines, LinearLeaves, Rounds


class RegressionParts(NamedTuple):  # in the order of `RegressionCommittee`
    voters: Voters
    weights: NDArray[np.float64]
    link: MeanLink
    table: TableSchema | None = None
    intercept: NDArray[np.float64] | None = None


class CommitteeParts(NamedTuple):  # in the order of `Committee`
    voters: Voters
    weights: NDArray[np.float64]
    classes: NDArray[Any]
    link: Link
    table: TableSchema | None = None
    intercept: NDArray[np.float64] | None = None


@dataclass(frozen=True, eq=False)
class LinkedTrees:
    """Trees whose nodes, in any order, refer to both children."""

    root: Index  # (T,): root node of each tree
    feature: Index  # (N,): split column, -1 at leaves
    threshold: F64  # (N,): x <= threshold goes left
    left: Index  # (N,): child among all N nodes, -1 at leaves
    right: Index  # (N,)
    missing_left: NDArray[np.bool_]  # (N,): where missing values and unknown categories go left
    value: F64  # (N,) or (N, D): leaf values
    gain: F64  # (N,)
    weight: F64  # (N,): weight or hessian of the training rows, 0 if unknown
    count: NDArray[np.int64]  # (N,): number of training rows, 0 if unknown
    codes: Mapping[int, Index]  # for each categorical node the category codes that go left

    def forest(self, *, n_classes: int, n_categories: NDArray[np.int32], inner_values: bool = False) -> Forest:
        split = self.feature >= 0
        order, position, sizes = breadth_first(self.left, self.right, split, self.root)
        offset = extents(sizes)
        start = np.repeat(offset[:-1], sizes)
        numeric = split.copy()
        numeric[list(self.codes)] = False
        # the right child is the next node, as siblings are neighbours in this order
        left = np.where(split[order], position[self.left[order]] - start, -1)
        words = {}
        for node in np.flatnonzero(split[order] & ~numeric[order]).tolist():
            goes_left = np.zeros(int(n_categories[self.feature[order[node]]]), dtype=bool)
            goes_left[self.codes[int(order[node])]] = True
            words[node] = pack_category_bits(goes_left)
        value = self.value.reshape(len(split), -1)
        category_offset, category_bits = join_words(words, len(order))
        return Forest(
            n_features=len(n_categories),
            n_classes=n_classes,
            offset=offset,
            feature=self.feature[order].astype(np.int32),
            threshold=np.where(numeric, self.threshold, 0.0)[order],
            left=left.astype(np.int32),
            missing_left=(self.missing_left & split)[order].astype(np.uint8),
            category_offset=category_offset,
            category_bits=category_bits,
            label=None,
            value=(value if inner_values else np.where(split[:, None], 0.0, value))[order],
            gain=np.where(split, self.gain, 0.0)[order],
            weight=self.weight[order],
            count=self.count[order],
        )


class NodeLists:
    def __init__(self) -> None:
        self.root: list[int] = []
        self.feature: list[int] = []
        self.threshold: list[float] = []
        self.left: list[int] = []
        self.right: list[int] = []
        self.missing_left: list[bool] = []
        self.value: list[Any] = []
        self.weight: list[float] = []
        self.count: list[int] = []

    def append(self, value: Any, weight: float = 0.0, count: int = 0) -> int:
        self.feature.append(-1)
        self.threshold.append(0.0)
        self.left.append(-1)
        self.right.append(-1)
        self.missing_left.append(False)
        self.value.append(value)
        self.weight.append(weight)
        self.count.append(count)
        return len(self.feature) - 1

    def split(self, node: int, feature: int, threshold: float, left: int, right: int, missing_left: bool) -> None:
        self.feature[node], self.threshold[node], self.missing_left[node] = feature, threshold, missing_left
        self.left[node], self.right[node] = left, right

    def linked(self, threshold: F64, value: F64, gain: F64, codes: Mapping[int, Index]) -> LinkedTrees:
        return LinkedTrees(
            root=np.array(self.root, dtype=np.intp),
            feature=np.array(self.feature, dtype=np.intp),
            threshold=threshold,
            left=np.array(self.left, dtype=np.intp),
            right=np.array(self.right, dtype=np.intp),
            missing_left=np.array(self.missing_left, dtype=bool),
            value=value,
            gain=gain,
            weight=np.array(self.weight),
            count=np.array(self.count, dtype=np.int64),
            codes=codes,
        )


@dataclass(frozen=True, eq=False)
class BoostedModel:
    trees: LinkedTrees
    score: Index  # (T,): index of the score that each tree adds to; unused if leaves have one number per score
    intercept: F64  # (D,): log-odds of the second of two classes divided by `sigmoid`, or a score per class or number
    table: TableSchema
    one_vs_rest: bool = False  # each score is the log-odds of its class against the rest
    sigmoid: float = 1.0  # factor from a score to a log-odds
    averaged: bool = False  # scores are means over the rounds
    number_link: MeanLink | None = None  # from the score to the predicted number; None for classes
    lines: LeafLines | None = None  # lines of the nodes of `trees`

    @property
    def n_classes(self) -> int:
        return max(2, len(self.intercept))

    def weighted_voters(self) -> tuple[Forest | Rounds | LinearLeaves, F64, F64 | None]:
        voters = self.voters
        weights = np.full(len(voters), 1.0 / len(voters) if self.averaged else 1.0)
        return voters, weights, self.intercept if self.intercept.any() else None

    @property
    def voters(self) -> Forest | Rounds | LinearLeaves:
        D = len(self.intercept)
        if self.trees.value.ndim == 2:
            return self.trees.forest(n_classes=D, n_categories=self.table.n_categories)
        # the t-th trees of all scores are a round, in whatever order they are stored
        rounds = np.argsort(self.score, kind="stable").reshape(D, -1).T
        trees = replace(self.trees, root=self.trees.root[rounds.ravel()])
        of_two = D == 1 and self.number_link is None
        forest = trees.forest(n_classes=2 if of_two else 1, n_categories=self.table.n_categories)
        if self.lines is not None:
            order, _, _ = breadth_first(trees.left, trees.right, trees.feature >= 0, trees.root)
            return LinearLeaves(forest, self.lines.take(order), D)
        return forest if D == 1 else Rounds(forest, D)


def check_objective(setting: str, name: str, classes: Iterable[str], numbers: Iterable[str]) -> None:
    if name not in (*classes, *numbers):
        raise ValueError(
            f"estimator has {setting}={name!r}, which is not supported; train with one of {', '.join(classes)}"
            f" (classification) or {', '.join(numbers)} (regression)."
        )
