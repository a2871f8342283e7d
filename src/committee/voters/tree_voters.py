"""Any collection of tree voters: its trees as one forest, and its compact form for files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from committee.data.number_types import F64
from committee.voters.flat_trees import ClassShares, breadth_first_order, inner_levels
from committee.voters.forest import Forest, has_record
from committee.voters.model_forest import BoostedCommittees, LinearScores, ModelForest, TrainingRecord
from committee.voters.redundant_splits import parents
from committee.voters.rounds import LeafLines, LinearLeaves, Rounds
from committee.voters.shared_forest import SharedForest


@dataclass(frozen=True, eq=False)
class MemberTrees:
    forest: Forest  # without the lines of linear leaves
    weights: F64  # weight of each tree
    per_round: int = 1  # trees per voter, one for each score; 1 if a tree serves all scores

    @classmethod
    def of(cls, voters: Any, weights: F64, asked: str) -> MemberTrees:
        if isinstance(voters, Forest):
            return cls(voters, weights)
        if isinstance(voters, Rounds):
            return cls(voters.forest, np.repeat(weights, voters.n_outputs), voters.n_outputs)
        if isinstance(voters, LinearLeaves):
            return cls(voters.forest, np.repeat(weights, voters.trees_per_voter), voters.trees_per_voter)
        if isinstance(voters, BoostedCommittees):
            weights, voters = voters.tree_weights(weights), voters.members
        if isinstance(voters, ModelForest) and not isinstance(voters, LinearScores):
            per_voter = voters.trees_per_voter
            return cls(voters.forest, np.repeat(weights, per_voter), per_voter)
        remedy = "Take a forest or a booster of this library's trees, or call this on members that are such."
        if type(voters).__name__ == "MemberCommittees":
            remedy = "Call this on one member, such as model.member(model.member_names_[0]).voters.members[0]."
        elif type(voters).__name__ == "StackedVoters":
            remedy = (
                "A second layer's trees read probabilities: call this on a member of model.without('second_layer')."
            )
        raise TypeError(f"{asked} needs voters that are native trees; these are {type(voters).__name__}. {remedy}")

    def paths(self, X: Any, n_threads: int = 1) -> tuple[csr_array, NDArray[np.int64]]:
        trees = self.forest
        parent, _ = parents(trees)
        leaf = trees.apply(X, n_threads) + trees.offset[:-1]
        row, node = np.repeat(np.arange(len(leaf)), leaf.shape[1]), leaf.ravel()
        rows, nodes = [row], [node]
        while len(node := parent[node]):
            row, node = row[node >= 0], node[node >= 0]
            rows.append(row)
            nodes.append(node)
        place = np.concatenate(rows), np.concatenate(nodes)
        passed = csr_array((np.ones(len(place[0]), dtype=np.int64), place), shape=(len(leaf), len(parent)))
        passed.sort_indices()
        return passed, trees.offset

    def apply(self, X: Any, n_threads: int = 1) -> NDArray[np.int32]:
        leaves = self.forest.apply(X, n_threads)
        return leaves if self.per_round == 1 else leaves.reshape(len(leaves), -1, self.per_round)


TOLERANCE = 1e-7
"""Allowed error of rounding a number, as a share of its size or of the spread."""
_UNITS = 2.0**24


def compact_voters(voters: Any) -> Any:
    if isinstance(voters, BoostedCommittees):
        return replace(voters, members=compact_voters(voters.members))
    if isinstance(voters, Rounds):
        return replace(voters, forest=compact_voters(voters.forest))
    if isinstance(voters, Forest):
        return SharedForest.with_record(_rounded_trees(voters))
    if not isinstance(voters, LinearLeaves | ModelForest) or not has_record(voters.forest):
        return voters
    forest, order = compact_voters(voters.forest), breadth_first_order(voters.forest.left, voters.forest.offset)
    if isinstance(voters, LinearLeaves):
        lines = voters.lines if order is None else voters.lines.take(order)
        return replace(voters, forest=forest, lines=_rounded_lines(lines))
    model = voters.model if order is None else np.ascontiguousarray(voters.model[order])
    return _rounded_models(replace(voters, forest=forest, model=model))


def _single(numbers: F64, allowed: Any) -> F64:
    # float32 precision, or the numbers themselves if that has a larger error than `allowed` anywhere
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = numbers.astype(np.float32).astype(np.float64)
        near = np.abs(rounded - numbers) <= allowed
    return rounded if (near & np.isfinite(rounded)).all() else numbers


def _relative(numbers: F64) -> F64:
    return TOLERANCE * np.abs(numbers)


def _rounded_trees(forest: Forest) -> Forest:
    leaf, value, shares = forest.left < 0, forest.value, forest.shares
    if shares is not None:
        shares = replace(shares, share=_rounded_shares(shares))
    if value is not None:
        rounded = np.zeros_like(value)
        rounded[leaf] = _rounded_votes(value[leaf])
        value = rounded
    gain = _single(forest.gain, _relative(forest.gain))
    return replace(forest, value=value, shares=shares, gain=gain, weight=_leaf_sums(forest))


def _rounded_votes(votes: F64) -> F64:
    if votes.shape[1] < 2 or (votes < 0.0).any() or (np.abs(votes.sum(axis=1) - 1.0) > 1e-9).any():
        return _single(votes, TOLERANCE * float(np.ptp(votes)))
    # shares of classes become multiples of 2^-24 that add up to 1, by largest remainders
    scaled = votes * _UNITS
    whole = np.floor(scaled)
    missing = _UNITS - whole.sum(axis=1)
    rank = np.argsort(np.argsort(whole - scaled, axis=1, kind="stable"), axis=1)
    return np.asarray((whole + (rank < missing[:, None])) / _UNITS)


def _rounded_shares(shares: ClassShares) -> F64:
    # as `_rounded_votes`; shares of 0 stay so, as their remainders are the smallest
    share, size = shares.share, shares.sizes
    if (share < 0.0).any() or (np.abs(shares.totals()[size > 0] - 1.0) > 1e-9).any():
        return _single(share, TOLERANCE * float(np.ptp(share)))
    scaled = share * _UNITS
    whole = np.floor(scaled)
    node = np.repeat(np.arange(len(shares)), size)
    missing = _UNITS - np.bincount(node, whole, len(shares))
    order = np.lexsort((whole - scaled, node))
    rank = np.empty(len(share))
    rank[order] = np.arange(len(share)) - shares.share_offset[node]
    return np.asarray((whole + (rank < missing[node])) / _UNITS)


def _leaf_sums(forest: Forest) -> F64:
    # weights of nodes as sums of rounded weights of leaves; unchanged if they are no such sums, or whole numbers
    weight, leaf = forest.weight, forest.left < 0
    if (weight == np.floor(weight)).all():
        return weight
    sums = _single(np.where(leaf, weight, 0.0), _relative(weight))
    for level, child in reversed(inner_levels(forest.left, forest.offset)):
        sums[level] = sums[child] + sums[child + 1]
    return sums if (np.abs(sums - weight) <= 2.0 * _relative(weight)).all() else weight


def _rounded_lines(lines: LeafLines) -> LeafLines:
    low, high = np.full((2, int(lines.column.max(initial=0)) + 1), np.inf)
    np.minimum.at(low, lines.column, lines.low)
    np.minimum.at(high, lines.column, -lines.high)
    allowed = (-TOLERANCE * high - TOLERANCE * low)[lines.column]  # of the range of the column, which may overflow
    return replace(
        lines,
        slope=_single(lines.slope, _relative(lines.slope)),
        centre=_single(lines.centre, allowed[:, None]),
        low=_single(lines.low, allowed),
        high=_single(lines.high, allowed),
    )


def _rounded_models(voters: ModelForest) -> ModelForest:
    record = voters.record
    if record is None:
        return voters
    coefficient = _single(voters.coefficient, _relative(voters.coefficient))
    # the score at the mean row of a leaf stays, as columns may be far from 0
    moved = np.einsum("lkc,lc->lk", voters.coefficient - coefficient, record.centre)
    centre = np.where(coefficient.any(axis=1), record.centre, 0.0)  # the others have no effect
    return replace(
        voters,
        coefficient=coefficient,
        intercept=voters.intercept + moved,
        record=TrainingRecord(
            record.mass, _single(centre, TOLERANCE * np.ptp(record.centre, axis=0)), record.risk_decrease
        ),
    )
