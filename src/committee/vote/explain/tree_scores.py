"""What contributions of trees add up to: the score of a committee of native trees, or the mean that it predicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias

import numpy as np

from committee.data.matrices import is_sparse
from committee.data.number_types import F64
from committee.vote.committee import Committee
from committee.vote.links.mean import Average, Identity
from committee.vote.links.probability import Share
from committee.vote.weighted_votes import WeightedVotes
from committee.voters.forest import Forest
from committee.voters.linear_leaves import LinearLeaves
from committee.voters.rounds import Rounds

Output: TypeAlias = Literal["score", "probability", "prediction"]
"""What contributions add up to."""


@dataclass(frozen=True)
class TreeScores:
    """A sum F(x) = F_0 + sum_t w_t v_t(leaf of x) over native trees.

    Parameters
    ----------
    votes : WeightedVotes
        The committee.
    forest : Forest
        Its trees.
    value : float64 array (N, D)
        What each node adds, before its weight.
    weights : float64 array
        One for each round of trees.
    n_outputs : int
        Sums.
    intercept : float64 array (n_outputs,) or float
        F_0.
    """

    votes: WeightedVotes
    forest: Forest
    value: F64
    weights: F64
    n_outputs: int
    intercept: F64 | float

    @classmethod
    def of(cls, committee: Any, X: Any, output: Output, *, recorded: bool) -> Self:
        """The sum of a committee or fitted learner; `recorded`: its trees must know the weight of their training rows.

        Raises
        ------
        TypeError
            If the voters are no native trees, or `X` is sparse.
        ValueError
            If the trees hold no record that is needed, or the committee's `output` is no sum over its trees.
        """
        votes: WeightedVotes = getattr(committee, "committee_", committee)
        voters = votes.voters
        if not isinstance(voters, (Forest, Rounds, LinearLeaves)):
            raise TypeError(f"contributions need voters that are native trees; these are {type(voters).__name__}.")
        if is_sparse(X):
            raise TypeError(
                "X is sparse, but its contributions would not be; pass X.toarray(), of some rows if need be"
            )
        forest = voters if isinstance(voters, Forest) else voters.forest
        if recorded and not forest.weight[forest.offset[:-1]].all():
            raise ValueError("These trees hold no record of their training rows, which contributions need; fit anew.")
        total = None if output == "score" else _divisor(votes, forest, output)
        signed = output == "score" and isinstance(votes, Committee) and votes.n_classes == 2
        value = _class_shares(forest) if output == "probability" else _signed(_leaf_values(forest), signed)
        n_outputs = value.shape[1] if isinstance(voters, Forest) else voters.n_outputs
        weights = votes.weights if total is None else votes.weights / total
        intercept = 0.0 if votes.intercept is None else _signed(votes.intercept[None] / (total or 1.0), signed)[0]
        return cls(votes, forest, value, weights, n_outputs, intercept)


def _divisor(votes: WeightedVotes, forest: Forest, output: Output) -> float:
    """By what the score is divided to become the output, which must be such a quotient."""
    link, total = votes.link, votes.total_weight
    if output not in ("probability", "prediction"):
        raise ValueError(
            f"output={output!r} is unknown; it must be 'score', of classifiers 'probability', or of regressors "
            "'prediction'."
        )
    if isinstance(votes, Committee):
        own, kind = "probability", "classifier"
        abstains = forest.label is not None and (forest.label[forest.feature < 0] < 0).any()
        adds_up = isinstance(link, Share) and not abstains and total > 0.0
    else:
        own, kind = "prediction", "regressor"
        adds_up = isinstance(link, (Identity, Average))
    if output == own and adds_up:
        return 1.0 if isinstance(link, Identity) else total
    if output != own:
        raise ValueError(f"output={output!r} is not what a {kind} has; take 'score'" + f" or {own!r}." * adds_up)
    raise ValueError(
        f"output={output!r} of {votes} is no sum over its trees, so that no contributions add up to it; those of "
        "output='score' add up to the score."
    )


def _class_shares(forest: Forest) -> F64:
    """Vote of every node as shares of the classes, ``(N, K)``."""
    value = _leaf_values(forest)
    return np.hstack([1.0 - value, 1.0 + value]) / 2.0 if value.shape[1] < forest.n_classes else value


def _leaf_values(forest: Forest) -> F64:
    """Vote of every node in the tally, ``(N, D)``."""
    if forest.value is not None:
        return forest.value
    assert forest.label is not None
    return np.asarray(forest.label[:, None] == np.arange(forest.n_classes), dtype=np.float64)


def _signed(tally: F64, signed: bool) -> F64:
    """Of two classes, second minus first."""
    return np.ascontiguousarray(tally[:, 1:] - tally[:, :1]) if signed and tally.shape[1] == 2 else tally
