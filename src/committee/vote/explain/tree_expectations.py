r"""Partial dependence of committees on one column, from the training record of their trees.

Splits on other columns send a row both ways, in the shares of the training rows [1]_. With :math:`r_{tl}(v)` the share
that reaches leaf l of tree t if the column has the value v,

.. math:: F(v) = F_0 + \sum_t w_t \sum_l r_{tl}(v) \, h_{tl}.

.. [1] J. H. Friedman (2001). Greedy function approximation: a gradient boosting machine. Annals of Statistics 29(5),
   section 8.2.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from committee.data.categories import unpack_category_bits
from committee.data.number_types import F64, Index
from committee.vote.committee import Committee
from committee.vote.explain.contributions import are_soft, contributions, node_weights, require_record, soft_scores
from committee.vote.members import MemberCommittees, refuse_second_layer
from committee.voters.forest import Forest
from committee.voters.model_forest import BoostedCommittees, LinearScores, ModelForest
from committee.voters.rounds import LinearLeaves, Rounds
from committee.voters.tree_voters import MemberTrees

_CELLS = 1 << 22
"""Nodes times values per block of trees."""


def tree_expectations(votes: Any, column: int, values: F64) -> F64:
    """Predictions expected if one column is known, ``(G, K)``, for its encoded values ``(G,)``."""
    voters = votes.voters
    refuse_second_layer(voters, "expectations are those of members that read the columns")
    if isinstance(voters, MemberCommittees):
        rows = _rows(votes.voters.n_features, column, values)
        expected = [tree_expectations(one, column, one.encode(rows)[:, column]) for one in voters.members]
        tally = np.asarray(np.einsum("m,mgk->gk", votes.weights, np.stack(expected)))
    elif isinstance(voters, (Forest, Rounds, LinearLeaves)):
        tally = _of_trees(votes, column, values)
    elif isinstance(voters, BoostedCommittees) and are_soft(voters.members):
        tally = _of_soft_trees(voters.members, voters.tree_weights(votes.weights), column, values)
    elif isinstance(voters, LinearScores):
        # missing values add to their own columns only
        shares = contributions(voters, _rows(voters.n_features, column, values), votes.weights)
        tally = np.asarray((shares[:, column] + shares[:, -1]).reshape(len(values), -1))
    else:
        raise TypeError(
            "expectations need voters that are native trees, lines or soft model trees; these are "
            f"{type(voters).__name__}."
        )
    if votes.intercept is not None:
        tally = tally + votes.intercept
    total = votes.total_weight
    if not isinstance(votes, Committee):
        numbers = votes.link.mean(tally[:, 0] if tally.shape[1] == 1 else tally, total)
        return np.asarray(numbers).reshape(len(values), -1)
    if voters.kind != "score":
        return votes.link.probability(tally, None)
    return votes.link.probability(votes.link.settle(tally, total), total)


def split_thresholds(votes: Any, column: int) -> F64:
    voters = votes.voters
    if isinstance(voters, MemberCommittees):
        return np.sort(np.concatenate([split_thresholds(one, column) for one in voters.members]))
    try:
        forest = MemberTrees.of(voters, votes.weights, "split_thresholds").forest
    except TypeError:
        return np.empty(0)
    numeric = (forest.feature == column) & (np.diff(forest.category_offset) == 0) & np.isfinite(forest.threshold)
    return np.sort(forest.threshold[numeric])


def _rows(n_features: int, column: int, values: F64) -> F64:
    rows = np.full((len(values), n_features), np.nan)
    rows[:, column] = values
    return rows


def _of_soft_trees(voters: ModelForest, weights: F64, column: int, values: F64) -> F64:
    record, link, score = require_record(voters), *soft_scores(voters)
    D = voters.design.matrix(_rows(voters.n_features, column, values))
    leaf = voters.model >= 0
    at = voters.model[leaf]
    own = np.flatnonzero(voters.design.source == column)
    moved = np.einsum("lkc,glc->lgk", voters.coefficient[:, :, own], D[:, None, own] - record.centre[None, :, own])
    reached = _reach(voters.forest, node_weights(voters, record.mass), column, values)[leaf]
    reached *= np.repeat(weights, voters.forest.n_nodes)[leaf, None]
    tally = np.zeros((len(values), voters.n_classes))
    for g in range(len(values)):
        tally[g] = reached[:, g] @ link.probability((score + moved[:, g])[at])
    return tally


def _of_trees(votes: Any, column: int, values: F64) -> F64:
    trees = MemberTrees.of(votes.voters, votes.weights, "expectations")
    forest = trees.forest
    if not forest.weight[forest.offset[:-1]].all():
        raise ValueError(
            "These trees hold no record of their training rows, which expectations need; take trees as a "
            "learner of this library fits them."
        )
    n_outputs = votes.voters.n_outputs
    tally = np.zeros((len(values), n_outputs))
    step = max(1, _CELLS // (max(1, int(forest.n_nodes.max())) * len(values)))
    for begin in range(0, len(forest), step):
        some = forest[begin : begin + step]
        reach = _reach(some, some.weight, column, values)
        leaf = some.feature < 0
        of_tree = np.repeat(np.arange(len(some)), some.n_nodes)
        weighted = reach * trees.weights[begin : begin + step][of_tree, None]
        vote = some.node_votes
        if trees.per_round == 1:
            tally += weighted[leaf].T @ vote[leaf]
            continue
        for k in range(n_outputs):  # a tree for each output of a round
            own = leaf & ((of_tree + begin) % trees.per_round == k)
            tally[:, k] += weighted[own].T @ vote[own, 0]
    return tally


def _reach(forest: Forest, weight: F64, column: int, values: F64) -> F64:
    first = np.repeat(forest.offset[:-1], forest.n_nodes)
    left = first + forest.left
    reach = np.zeros((len(forest.feature), len(values)))
    at: Index = forest.offset[:-1]
    reach[at] = 1.0
    while len(at := at[forest.feature[at] >= 0]):
        below = left[at]
        share = np.repeat((weight[below] / weight[at])[:, None], len(values), axis=1)
        for place in np.flatnonzero(forest.feature[at] == column).tolist():
            node = int(at[place])
            missing_left, words = bool(forest.missing_left[node]), forest.category_words(node)
            if len(words):
                listed, known = np.isin(values, unpack_category_bits(words)), (values >= 0) & (values < 32 * len(words))
            else:
                listed, known = values <= forest.threshold[node], np.isfinite(values)
            share[place] = np.where(known, listed, missing_left)
        reach[below] = reach[at] * share
        reach[below + 1] = reach[at] * (1.0 - share)
        at = np.concatenate([below, below + 1])
    return reach
