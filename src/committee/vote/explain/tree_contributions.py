"""Shapley values and interactions of features in committees of native trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias

import numpy as np

from committee import _core
from committee.data.matrices import is_sparse
from committee.data.number_types import F64
from committee.vote.committee import Committee
from committee.vote.links.mean import Average, Identity
from committee.vote.links.probability import Share
from committee.vote.weighted_votes import WeightedVotes
from committee.voters.forest import Forest
from committee.voters.rounds import LinearLeaves, Rounds

Output: TypeAlias = Literal["score", "probability", "prediction"]


@dataclass(frozen=True)
class TreeScores:
    """Weighted sum of native trees: F(x) = F_0 + sum_t w_t v_t(leaf of x)."""

    votes: WeightedVotes
    forest: Forest
    value: F64  # (N, D): value of each node, without the weight
    weights: F64  # (T,): weight of each voter, divided by the total weight for a mean
    n_outputs: int
    intercept: F64 | float  # (n_outputs,) or 0

    @classmethod
    def of(cls, committee: Any, X: Any, output: Output, *, recorded: bool) -> Self:
        votes: WeightedVotes = getattr(committee, "committee_", committee)
        voters = votes.voters
        if not isinstance(voters, (Forest, Rounds, LinearLeaves)):
            raise TypeError(f"Shapley values need voters that are native trees; these are {type(voters).__name__}.")
        if is_sparse(X):
            raise TypeError(
                "Contributions to a sparse X would be a dense array; pass X.toarray(), of some rows if X is large"
            )
        forest = voters if isinstance(voters, Forest) else voters.forest
        if recorded and not forest.weight[forest.offset[:-1]].all():
            raise ValueError(
                "These trees hold no record of their training rows, which contributions need; take trees as a "
                "learner of this library fits them."
            )
        total = None if output == "score" else _divisor(votes, forest, output)
        signed = output == "score" and isinstance(votes, Committee) and votes.n_classes == 2
        value = _signed(forest.node_votes, signed)
        if output == "probability" and value.shape[1] < forest.n_classes:
            value = np.hstack([1.0 - value, 1.0 + value]) / 2.0
        n_outputs = value.shape[1] if isinstance(voters, Forest) else voters.n_outputs
        weights = votes.weights if total is None else votes.weights / total
        intercept = 0.0 if votes.intercept is None else _signed(votes.intercept[None] / (total or 1.0), signed)[0]
        return cls(votes, forest, value, weights, n_outputs, intercept)


def default_output(votes: WeightedVotes) -> Output:
    voters, link = votes.voters, votes.link
    if not isinstance(votes, Committee):
        return "prediction" if isinstance(link, (Identity, Average)) else "score"
    if not isinstance(voters, Forest) or not isinstance(link, Share) or abstains(voters):
        return "score"
    return "probability" if votes.total_weight > 0.0 else "score"


def abstains(forest: Forest) -> bool:
    return forest.label is not None and bool((forest.label[forest.feature < 0] < 0).any())


def _divisor(votes: WeightedVotes, forest: Forest, output: Output) -> float:
    link, total = votes.link, votes.total_weight
    if output not in ("probability", "prediction"):
        raise ValueError(
            f"output={output!r} is unknown; it must be 'score', of classifiers 'probability', or of regressors "
            "'prediction'."
        )
    if isinstance(votes, Committee):
        own, kind = "probability", "classifier"
        adds_up = isinstance(link, Share) and not abstains(forest) and total > 0.0
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


def _signed(tally: F64, signed: bool) -> F64:
    return np.ascontiguousarray(tally[:, 1:] - tally[:, :1]) if signed and tally.shape[1] == 2 else tally


def tree_contributions(committee: Any, X: Any, *, output: Output = "score", n_threads: int = 1) -> F64:
    """Shapley values of features [1]_, ``(n, p + 1)`` or ``(n, p + 1, D)``, with the mean score last.

    Splits on unknown features send a row both ways, in the shares of the training rows.

    .. [1] S. Lundberg et al. (2020). From local explanations to global understanding with explainable AI for trees.
       Nature Machine Intelligence 2, 56-67.
    """
    trees = TreeScores.of(committee, X, output, recorded=True)
    data = trees.votes.encode(X)
    walk, record = trees.forest.walk_arrays, trees.forest.weight
    shares = _core.tree_contributions(data, *walk, record, trees.value, trees.weights, trees.n_outputs, n_threads)
    voters = trees.votes.voters
    if isinstance(voters, LinearLeaves):
        shares[:, :-1] += voters.line_shares(data, trees.weights, n_threads)
    shares[:, -1] += trees.intercept
    return shares[:, :, 0] if trees.n_outputs == 1 else shares


MOST_LEAVES = 64
"""Largest number of leaves of a tree, since pairs of features on all paths are enumerated."""


def tree_interactions(committee: Any, X: Any, *, output: Output = "score", n_threads: int = 1) -> F64:
    """Shapley interaction values of pairs of features [1]_, ``(n, p, p)`` or ``(n, p, p, D)``.

    .. [1] K. Fujimoto, I. Kojadinovic, J.-L. Marichal (2006). Axiomatic characterizations of probabilistic and
       cardinal-probabilistic interaction indices. Games and Economic Behavior 55, 72-99; halved.
    """
    trees = TreeScores.of(committee, X, output, recorded=True)
    leaves = np.add.reduceat(trees.forest.feature < 0, trees.forest.offset[:-1])
    if leaves.max(initial=0) > MOST_LEAVES:
        raise ValueError(
            f"tree {int(leaves.argmax())} has {leaves.max():,} leaves, and interactions are of trees of at most"
            f" {MOST_LEAVES}; fit with max_leaf_nodes={MOST_LEAVES} or less, or take contributions"
        )
    data = trees.votes.encode(X)
    walk, record = trees.forest.walk_arrays, trees.forest.weight
    pairs = _core.tree_interactions(data, *walk, record, trees.value, trees.weights, trees.n_outputs, n_threads)
    pairs += pairs.swapaxes(1, 2).copy()
    shares = _core.tree_contributions(data, *walk, record, trees.value, trees.weights, trees.n_outputs, n_threads)
    alone = shares[:, :-1] - pairs.sum(axis=2)
    voters = trees.votes.voters
    if isinstance(voters, LinearLeaves):
        alone += voters.line_shares(data, trees.weights, n_threads)
    own = np.arange(pairs.shape[1])
    pairs[:, own, own] = alone
    return pairs[..., 0] if trees.n_outputs == 1 else pairs


_NO_LINES = (
    np.empty(0, dtype=np.int64),
    np.empty(0, dtype=np.int32),
    np.empty((0, 1)),
    np.empty((0, 1)),
    np.empty(0),
    np.empty(0),
)


def interventional_contributions(
    committee: Any, X: Any, background: Any, *, output: Output = "score", n_threads: int = 1
) -> F64:
    """Shapley values of features if unknown ones have the values of background rows [1]_ [2]_.

    Return ``(n, p + 1)`` or ``(n, p + 1, D)``, with the mean score of the background last.

    .. [1] D. Janzing, L. Minorics, P. Bloebaum (2020). Feature relevance quantification in explainable AI: a causal
       problem. AISTATS.
    .. [2] S. Lundberg et al. (2020). From local explanations to global understanding with explainable AI for trees.
       Nature Machine Intelligence 2, 56-67.
    """
    trees = TreeScores.of(committee, X, output, recorded=False)
    check_background(background)
    rows, others = trees.votes.encode(X), trees.votes.encode(background)
    voters = trees.votes.voters
    lines = voters.lines.arrays if isinstance(voters, LinearLeaves) else _NO_LINES
    shares = _core.interventional_contributions(
        rows, others, *trees.forest.walk_arrays, trees.value, trees.weights, trees.n_outputs, *lines, n_threads
    )
    shares[:, -1] += trees.intercept
    return shares[:, :, 0] if trees.n_outputs == 1 else shares


def check_background(background: Any) -> None:
    if not len(background):
        raise ValueError("background has 0 rows; give one or more, such as 100 of the training table")
