r"""What trees answer if one column alone is known, by their memory of the training rows.

At a split on the column a row goes where its value says; at all others it goes both ways, in the shares of the training
rows that came there. With :math:`r_{tl}(v)` the share that reaches leaf l of tree t if the column has the value v,

.. math:: F(v) = F_0 + \sum_t w_t \sum_l r_{tl}(v) \, h_{tl},

which is the v({j}) of `committee.vote.explain.tree_contributions`, and the "recursion" of partial dependence [1]_. It
needs no rows. Where columns are independent it is the mean score over rows that all have the value v; a link makes an
answer of it as of any score.

.. [1] J. H. Friedman (2001). Greedy function approximation: a gradient boosting machine. Annals of Statistics 29(5),
   section 8.2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.data.categories import unpack_category_bits
from committee.data.number_types import F64, Index
from committee.vote.committee import Committee
from committee.vote.explain.contributions import contributions, record_of
from committee.vote.explain.leaf_probability_shares import cover
from committee.vote.explain.probability_contributions import are_soft
from committee.vote.links.probability import Link, Logistic, Probit
from committee.vote.members import MemberCommittees
from committee.voters.committees import BoostedCommittees
from committee.voters.forest import Forest
from committee.voters.linear_leaves import LinearLeaves
from committee.voters.linear_scores import LinearScores
from committee.voters.member_trees import MemberTrees
from committee.voters.model_forest import ModelForest
from committee.voters.rounds import Rounds

_CELLS = 1 << 22
"""Nodes of trees that are walked at a time, times values."""


def tree_expectations(votes: Any, column: int, values: F64) -> F64:
    """Answers expected of rows of which one column alone is known.

    Parameters
    ----------
    votes : Committee or RegressionCommittee
        Of native trees, linear scores or soft model trees with a record of their training rows, or of committees of
        such. What lines in leaves of boosted trees add to the leaf's mean is left out; for linear scores, and in leaves
        of model trees, all other columns are at their means.
    column : int
        Which column of the encoded matrix.
    values : float64 array (G,)
        Its values, encoded by the committee's table; NaN is a missing one.

    Returns
    -------
    float64 array (G, K)
        Probabilities, or predicted numbers.

    Raises
    ------
    TypeError
        If the voters are others.
    ValueError
        If the trees hold no record of their training rows.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import TreeVoter
    >>> stump = TreeVoter(max_depth=1).fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    >>> tree_expectations(stump.committee_, 0, np.array([0.0, 2.0]))[:, 1].tolist()
    [0.0, 1.0]
    """
    voters = votes.voters
    if isinstance(voters, MemberCommittees):
        tally = _of_members(votes, column, values)
    elif isinstance(voters, (Forest, Rounds, LinearLeaves)):
        tally = _of_trees(votes, column, values)
    elif isinstance(voters, BoostedCommittees) and are_soft(voters.members):
        tally = _of_soft_trees(voters.members, voters.tree_weights(votes.weights), column, values)
    elif isinstance(voters, LinearScores):
        tally = _of_lines(votes, column, values)
    else:
        raise TypeError(
            "expectations need voters that are native trees, lines or soft model trees; these are "
            f"{type(voters).__name__}."
        )
    if votes.intercept is not None:
        tally = tally + votes.intercept
    total = votes.total_weight
    if not isinstance(votes, Committee):
        told = votes.link.mean(tally[:, 0] if tally.shape[1] == 1 else tally, total)
        return np.asarray(told).reshape(len(values), -1)
    if voters.kind != "score":
        return votes.link.probability(tally, None)
    return votes.link.probability(votes.link.settle(tally, total), total)


def split_places(votes: Any, column: int) -> F64:
    """Thresholds of all splits on a column, with those that occur twice, rising; none of other voters than trees."""
    voters = votes.voters
    if isinstance(voters, MemberCommittees):
        return np.sort(np.concatenate([split_places(one, column) for one in voters.members]))
    try:
        forest = MemberTrees.of(voters, votes.weights, "split_places").forest
    except TypeError:
        return np.empty(0)
    numeric = (forest.feature == column) & (np.diff(forest.category_offset) == 0) & np.isfinite(forest.threshold)
    return np.sort(forest.threshold[numeric])


def _of_members(votes: Any, column: int, values: F64) -> F64:
    """Weighted sum of the members' answers; each reads the values by its own table."""
    row = np.full((len(values), votes.voters.n_features), np.nan)
    row[:, column] = values
    answers = [tree_expectations(one, column, one.encode(row)[:, column]) for one in votes.voters.members]
    return np.asarray(np.einsum("m,mgk->gk", votes.weights, np.stack(answers)))


def _of_lines(votes: Any, column: int, values: F64) -> F64:
    """Weighted sum of linear scores at the means of all other columns, ``(G, D)``."""
    row = np.full((len(values), votes.voters.n_features), np.nan)  # what is unknown here adds to its own column alone
    row[:, column] = values
    shares = contributions(votes.voters, row, votes.weights)
    return np.asarray((shares[:, column] + shares[:, -1]).reshape(len(values), -1))


def _of_soft_trees(voters: ModelForest, weights: F64, column: int, values: F64) -> F64:
    """Weighted sum of the expected probabilities of model trees, ``(G, K)``."""
    record = record_of(voters)
    link: Link = Probit() if voters.link == "probit" else Logistic(scale=1.0)
    row = np.full((len(values), voters.n_features), np.nan)
    row[:, column] = values
    D = voters.design.matrix(row)
    leaf = voters.model >= 0
    at = voters.model[leaf]
    own = np.flatnonzero(voters.design.source == column)
    score = voters.intercept + np.einsum("lkc,lc->lk", voters.coefficient, record.centre)
    moved = np.einsum("lkc,glc->lgk", voters.coefficient[:, :, own], D[:, None, own] - record.centre[None, :, own])
    reached = _reach(voters.forest, cover(voters, record.mass), column, values)[leaf]
    reached *= np.repeat(weights, voters.forest.n_nodes)[leaf, None]
    tally = np.zeros((len(values), voters.n_classes))
    for g in range(len(values)):
        tally[g] = reached[:, g] @ link.probability((score + moved[:, g])[at])
    return tally


def _of_trees(votes: Any, column: int, values: F64) -> F64:
    """Weighted sum of the trees' expected votes, ``(G, D)``."""
    trees = MemberTrees.of(votes.voters, votes.weights, "expectations")
    forest = trees.forest
    if not forest.weight[forest.offset[:-1]].all():
        raise ValueError("These trees hold no record of their training rows, which expectations need; fit anew.")
    n_outputs = votes.voters.n_outputs
    tally = np.zeros((len(values), n_outputs))
    step = max(1, _CELLS // (max(1, int(forest.n_nodes.max())) * len(values)))
    for begin in range(0, len(forest), step):
        some = forest[begin : begin + step]
        reach = _reach(some, some.weight, column, values)
        leaf = some.feature < 0
        of_tree = np.repeat(np.arange(len(some)), some.n_nodes)
        weighted = reach * trees.weights[begin : begin + step][of_tree, None]
        if some.value is None:
            assert some.label is not None
            vote = np.asarray(some.label[:, None] == np.arange(some.n_classes), dtype=np.float64)
        else:
            vote = some.value
        if trees.per_round == 1:
            tally += weighted[leaf].T @ vote[leaf]
            continue
        for k in range(n_outputs):  # a tree for each output of a round
            own = leaf & ((of_tree + begin) % trees.per_round == k)
            tally[:, k] += weighted[own].T @ vote[own, 0]
    return tally


def _reach(forest: Forest, weight: F64, column: int, values: F64) -> F64:
    """Share of a row that comes to each node, ``(nodes, G)``: level by level, all trees at a time."""
    first = np.repeat(forest.offset[:-1], forest.n_nodes)
    left = first + forest.left
    reach = np.zeros((len(forest.feature), len(values)))
    at: Index = forest.offset[:-1]
    reach[at] = 1.0
    while len(at := at[forest.feature[at] >= 0]):
        below = left[at]
        share = np.repeat((weight[below] / weight[at])[:, None], len(values), axis=1)
        for place in np.flatnonzero(forest.feature[at] == column).tolist():
            share[place] = _goes_left(forest, int(at[place]), values)
        reach[below] = reach[at] * share
        reach[below + 1] = reach[at] * (1.0 - share)
        at = np.concatenate([below, below + 1])
    return reach


def _goes_left(forest: Forest, node: int, values: F64) -> NDArray[np.bool_]:
    """Which values a split sends left."""
    missing_left = bool(forest.missing_left[node])
    words = forest.category_bits[int(forest.category_offset[node]) : int(forest.category_offset[node + 1])]
    known = np.isfinite(values)
    if not len(words):
        return np.where(known, values <= forest.threshold[node], missing_left)
    listed = np.isin(values, unpack_category_bits(words))
    inside = known & (values >= 0) & (values < 32 * len(words))
    return np.where(inside, listed, missing_left)
