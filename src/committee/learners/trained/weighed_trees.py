"""The trees of a committee as parts whose weights may change, and the committee with other weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from committee.data.number_types import F64, Index
from committee.learners.trained.tree_nodes import leaf_votes
from committee.learners.trained.vote_cells import VoteCells
from committee.learners.trained.vote_parts import VoteParts, unit_of
from committee.vote.committee import Committee
from committee.vote.links.probability import Softmax
from committee.voters.forest import Forest
from committee.voters.rounds import Rounds
from committee.voters.shared_forest import SharedForest

MOST_MULTIPLES = 1e4
"""Votes are counted exactly up to so many multiples of their unit; others are sums of numbers."""

MOST_ENTRIES = 2 * 10**8
"""Nodes times values of columns of the largest ensemble whose cells are searched."""


@dataclass(frozen=True, eq=False)
class WeighedTrees:
    """Trees of a committee, those of the same splits joined into one, and the parts that get weights.

    Parameters
    ----------
    committee : Committee
        Its voters are a `SharedForest`, or `Rounds` of one.
    forest : Forest
        Trees of different splits, or all trees of the rounds.
    says : float64 array (N, K)
        What a leaf adds to the scores.
    leaves : bool
        Whether each leaf is a part; else each tree or round is.
    """

    committee: Committee
    forest: Forest
    says: F64
    leaves: bool

    @classmethod
    def of(cls, committee: Committee, fewest: Literal["trees", "leaves"]) -> WeighedTrees:
        """The parts of a committee of trees."""
        voters = committee.voters
        if isinstance(voters, Rounds):
            forest = voters.forest
            says = np.zeros((len(forest.feature), voters.n_outputs))
            tree = np.repeat(np.arange(len(forest)), forest.n_nodes)
            said = leaf_votes(forest)[:, 0] * committee.weights[tree // voters.n_outputs]
            says[np.arange(len(says)), tree % voters.n_outputs] = said
            return cls(committee, forest, says, fewest == "leaves")
        assert isinstance(voters, Forest)
        says = leaf_votes(voters) * np.repeat(committee.weights, voters.n_nodes)[:, None]
        if says.shape[1] == 1:
            says = np.hstack([np.zeros_like(says), says])
        return cls(committee, *_joined(voters, says), fewest == "leaves")

    @property
    def is_joined(self) -> bool:
        """Whether there were several trees of the same splits."""
        rounds = isinstance(self.committee.voters, Rounds)
        return not rounds and len(self.forest) < len(self.committee)

    @property
    def counted(self) -> str:
        """What the parts are."""
        return "leaves" if self.leaves else "rounds" if isinstance(self.committee.voters, Rounds) else "trees"

    @property
    def too_large(self) -> bool:
        """Whether there are too many cells and nodes to be searched."""
        split = self.forest.feature >= 0
        tests = np.column_stack([self.forest.feature[split], self.forest.threshold[split]])
        return len(np.unique(tests, axis=0)) * len(split) > MOST_ENTRIES

    @cached_property
    def unit(self) -> float | None:
        """What all votes are whole multiples of; None if they are sums with roundings."""
        return unit_of(np.concatenate([self.says.ravel(), self._start]), MOST_MULTIPLES)

    @property
    def _start(self) -> F64:
        given = self.committee.intercept
        if given is None:
            return np.zeros(self.says.shape[1])
        return given if len(given) > 1 else np.append(0.0, given)

    @cached_property
    def part(self) -> Index:
        """The part of each node."""
        if self.leaves:
            leaf = self.forest.feature < 0
            return np.where(leaf, np.cumsum(leaf) - 1, 0)
        rounds = self.committee.voters
        per = rounds.n_outputs if isinstance(rounds, Rounds) else 1
        return np.repeat(np.arange(len(self.forest)) // per, self.forest.n_nodes)

    def parts(self) -> VoteParts:
        """The vote as a sum of its parts."""
        unit = self.unit or 1.0
        return VoteParts(
            cells=VoteCells.of(self.forest),
            says=self.says / unit,
            start=self._start / unit,
            part=self.part,
            elect=lambda X: elected_classes(self.committee, X),
            exact=self.unit is not None,
        )

    def built(self, factors: F64) -> Committee:
        """The committee whose parts are multiplied by these factors, and its start by the last one."""
        kept = np.flatnonzero(factors[:-1])
        intercept = self.committee.intercept
        intercept = None if intercept is None else intercept * factors[-1]
        if self.leaves or self.is_joined:
            return self._of_values(self.says * factors[self.part][:, None], intercept)
        if not len(kept):
            return replace(self.committee.select([0], [0.0]), intercept=intercept)
        return replace(self.committee.select(kept, self.committee.weights[kept] * factors[kept]), intercept=intercept)

    def _of_values(self, says: F64, intercept: F64 | None) -> Committee:
        """A committee of trees with these scores in their leaves; trees that favour no class are left out."""
        leaf = self.forest.feature < 0
        two = says.shape[1] == 2
        value = says[:, 1:] - says[:, :1] if two else says
        value = np.where(leaf[:, None], value, 0.0) + 0.0  # no negative zeros
        width = np.abs(value[:, 0]) if two else np.ptp(value, axis=1)
        counts = np.flatnonzero(np.maximum.reduceat(width, self.forest.offset[:-1]) > 0.0)
        forest = replace(self.forest, label=None, value=np.ascontiguousarray(value), n_classes=says.shape[1])
        small = SharedForest.of(Forest.concatenate([forest[counts if len(counts) else [0]]]))
        if intercept is not None and two and len(intercept) == 2:
            intercept = intercept[1:] - intercept[:1]
        link = Softmax()
        return replace(self.committee, voters=small, weights=np.ones(len(small)), link=link, intercept=intercept)


def elected_classes(committee: Committee, X: F64) -> Index:
    """Numbers of the classes that a committee elects for rows of the encoded matrix."""
    return committee.class_indices(replace(committee, table=None).predict(X))


def _joined(forest: Forest, says: F64) -> tuple[Forest, F64]:
    """Trees of different splits; what the leaves of those of the same splits say is added up."""
    first: dict[bytes, int] = {}
    stands = np.arange(len(forest))
    for t, (begin, end) in enumerate(zip(forest.offset[:-1].tolist(), forest.offset[1:].tolist(), strict=True)):
        words = slice(int(forest.category_offset[begin]), int(forest.category_offset[end]))
        arrays = (forest.feature, forest.threshold, forest.left, forest.missing_left)
        key = b"".join(array[begin:end].tobytes() for array in arrays)
        key += (forest.category_offset[begin : end + 1] - forest.category_offset[begin]).tobytes()
        stands[t] = first.setdefault(key + forest.category_bits[words].tobytes(), t)
    says = says.copy()
    for t in np.flatnonzero(stands != np.arange(len(forest))).tolist():
        to, begin, end = int(forest.offset[stands[t]]), int(forest.offset[t]), int(forest.offset[t + 1])
        says[to : to + end - begin] += says[begin:end]
    stay = stands == np.arange(len(forest))
    return forest[stay], says[np.repeat(stay, forest.n_nodes)]
