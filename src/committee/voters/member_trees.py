"""The trees of voters: every collection whose members are trees as one forest, with the weight of each tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64
from committee.voters.committees import BoostedCommittees
from committee.voters.forest import Forest
from committee.voters.linear_leaves import LinearLeaves
from committee.voters.linear_scores import LinearScores
from committee.voters.model_forest import ModelForest
from committee.voters.rounds import Rounds


@dataclass(frozen=True, eq=False)
class MemberTrees:
    """All trees of a committee's voters, voter after voter.

    Parameters
    ----------
    forest : Forest
        The trees; where leaves have lines, without these.
    weights : float64 array
        Weight of each tree: that of its voter, or in committees of model trees its part of it.
    per_round : int
        Trees that belong together, one for each score; 1 where a tree serves all scores.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import GradientBoostingClassifier
    >>> from committee.voters.member_trees import MemberTrees
    >>> committee = GradientBoostingClassifier(n_estimators=10).fit(*load_iris(return_X_y=True)).committee_
    >>> trees = MemberTrees.of(committee.voters, committee.weights, "apply")
    >>> len(trees.forest), trees.per_round
    (30, 3)
    """

    forest: Forest
    weights: F64
    per_round: int = 1

    @classmethod
    def of(cls, voters: Any, weights: F64, asked: str) -> MemberTrees:
        """Return the trees of these voters.

        Parameters
        ----------
        voters : Voters
            Of any kind.
        weights : float64 array (T,)
            Weight of each voter.
        asked : str
            What needs trees, for the message of the error.

        Raises
        ------
        TypeError
            If the voters are no native trees.
        """
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
        raise TypeError(
            f"{asked} needs voters that are native trees; these are {type(voters).__name__}. Leave the voter at its "
            "default, or ask the members themselves."
        )

    def apply(self, X: Any, n_threads: int = 1) -> NDArray[np.int32]:
        """Node number, within its tree, of the leaf that each row of the encoded matrix reaches in each tree.

        ``(n, number of trees)``, or ``(n, rounds, scores)`` where a round has a tree for each of several scores.
        """
        leaves = self.forest.apply(X, n_threads)
        return leaves if self.per_round == 1 else leaves.reshape(len(leaves), -1, self.per_round)
