"""The trees of any collection of tree voters as one forest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from committee.data.number_types import F64
from committee.voters.committees import BoostedCommittees
from committee.voters.forest import Forest
from committee.voters.linear_leaves import LinearLeaves
from committee.voters.model_forest import LinearScores, ModelForest
from committee.voters.redundant_splits import parents
from committee.voters.rounds import Rounds


@dataclass(frozen=True, eq=False)
class MemberTrees:
    """All trees of a committee's voters with their weights, in the order of the voters."""

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
            remedy = "Call this on one member, such as model.member(model.member_names_[0])."
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
