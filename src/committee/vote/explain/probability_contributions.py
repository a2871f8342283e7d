"""Additive shares of a committee's probabilities, whatever it makes them of.

A committee tallies votes, and its link makes probabilities of the tally. The tally's shares are exact Shapley values
where its voters are trees or lines; those of probabilities are the tally's carried through the link. The members of a
committee of committees vote with probabilities, so that theirs add up to its tally.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from committee.data.matrices import is_sparse
from committee.data.number_types import F64
from committee.vote.committee import Committee
from committee.vote.explain.carried_shares import carried_shares
from committee.vote.explain.contributions import contributions
from committee.vote.explain.leaf_probability_shares import leaf_probability_shares
from committee.vote.explain.tree_contributions import tree_contributions
from committee.vote.links.probability import Share, Softmax
from committee.vote.members import MemberCommittees
from committee.voters.committees import BoostedCommittees
from committee.voters.forest import Forest
from committee.voters.linear_leaves import LinearLeaves
from committee.voters.linear_scores import LinearScores
from committee.voters.model_forest import ModelForest
from committee.voters.rounds import Rounds


def probability_contributions(committee: Committee, X: Any, *, n_threads: int = 1) -> F64:
    """Contribution of every feature to the probabilities of a committee.

    What is exact, and what is not:

    - of a mean of trees' class shares, as a forest without a temperature, they are the Shapley values of the
      probability;
    - of all other trees and of lines the Shapley values of the score, carried through the link (`carried_shares`). A
      line's Shapley values are b_j (x_j - E x_j). Where trees have lines in their leaves, these count as
      `tree_contributions` says;
    - of SBPMT's soft model trees those of their mean probability, each leaf as it says of its mean row, and what the
      leaf's line adds, carried through the leaf's link (`leaf_probability_shares`); then through the temperature;
    - of a committee of committees the weighted mean of the members'.

    Carried shares are Shapley values of the probability only where the link is straight between the scores; all
    shares add up.

    Parameters
    ----------
    committee : Committee
        Its voters are native trees, lines, soft model trees, or committees of such.
    X : table or array-like (n, p)
        Rows to explain.
    n_threads : int, default=1
        Ceiling on the number of threads; the result does not depend on it.

    Returns
    -------
    float64 array (n, p + 1, K)
        Features in order, and last the probabilities of a row of which nothing is known. The sum over the places is
        ``predict_proba(X)``, up to rounding; a feature's shares in the K classes add up to 0.

    Raises
    ------
    TypeError
        If the voters are others, or `X` is sparse.
    ValueError
        If the voters hold no record of their training rows, or some abstain where the link takes a mean.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import GradientBoostingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GradientBoostingClassifier(n_estimators=10).fit(X, y)
    >>> shares = probability_contributions(model.committee_, X)
    >>> bool(abs(shares.sum(axis=1) - model.predict_proba(X)).max() < 1e-12)
    True
    """
    if is_sparse(X):
        raise TypeError("X is sparse, but its contributions would not be; pass X.toarray(), of some rows if need be")
    if committee.n_classes == 1:
        data = committee.encode(X)
        shares = np.zeros((len(data), data.shape[1] + 1, 1))
        shares[:, -1] = 1.0
        return shares
    _refuse_abstentions(committee)
    return carried_shares(committee.link, _tally_shares(committee, X, n_threads), committee.total_weight)


def _tally_shares(committee: Committee, X: Any, n_threads: int) -> F64:
    """Shares of the features in the tally, or in the signed score of two classes, ``(n, p + 1, D)``."""
    voters, weights = committee.voters, committee.weights
    if isinstance(voters, (Forest, Rounds, LinearLeaves)):
        shares = tree_contributions(committee, X, n_threads=n_threads)
    elif isinstance(voters, MemberCommittees):
        shares = _member_shares(voters, weights, committee.encode(X), n_threads)
    elif isinstance(voters, LinearScores):
        shares = contributions(voters, committee.encode(X), weights, n_threads)
    elif isinstance(voters, BoostedCommittees) and are_soft(voters.members):
        shares = leaf_probability_shares(voters.members, committee.encode(X), voters.tree_weights(weights), n_threads)
    else:
        raise TypeError(
            f"no contributions add up to the probabilities of {type(voters).__name__}; they need voters that are "
            "native trees, lines, or SBPMT's with voting='soft' and tree='shared'."
        )
    return shares if shares.ndim == 3 else shares[:, :, None]


def _member_shares(voters: MemberCommittees, weights: F64, data: F64, n_threads: int) -> F64:
    """Shares in the weighted sum of the members' probabilities."""
    total = np.zeros((len(data), data.shape[1] + 1, voters.n_classes))
    for number, (weight, one) in enumerate(zip(weights.tolist(), voters.members, strict=True)):
        assert isinstance(one, Committee)
        try:
            total += weight * probability_contributions(one, data, n_threads=n_threads)
        except (TypeError, ValueError) as error:
            raise type(error)(f"member {number}: {error}") from error
    return total


def are_soft(trees: ModelForest) -> bool:
    """Whether each voter is one tree that gives probabilities."""
    return trees.soft and trees.trees_per_voter == 1


def _refuse_abstentions(committee: Committee) -> None:
    """Refuse trees that abstain where the link divides by the weight of those that do not."""
    voters, link = committee.voters, committee.link
    if not isinstance(voters, Forest) or voters.label is None or not isinstance(link, (Share, Softmax)):
        return
    if (voters.label[voters.feature < 0] < 0).any() and not (isinstance(link, Softmax) and not link.normalized):
        raise ValueError(
            f"some trees abstain, and {link} divides by the weight of the others, which is no sum over trees; take "
            "contributions to the score."
        )
