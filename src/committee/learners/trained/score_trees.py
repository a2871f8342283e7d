"""The trees of a committee, each with scores of its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from committee.data.number_types import F64
from committee.vote.weighted_votes import WeightedVotes
from committee.voters.forest import Forest
from committee.voters.rounds import Rounds


def score_trees(committee: WeightedVotes) -> tuple[Forest, F64]:
    """Return the trees of a committee, and their weights.

    Of rounds of several scores each tree stands by itself, with 0 for the other scores.
    """
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
            f"ensemble has {type(voters).__name__} for voters, which have no leaves to cut; drop whole "
            "voters with prune(..., level='voter')."
        )
    return voters, committee.weights
