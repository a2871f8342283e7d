"""What the trees of an ensemble say of rows that they have not seen: each alone, and all of them together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from committee.data.number_types import F64, Index, Mask
from committee.data.sparse import Matrix
from committee.learners.trained.few_trees import halves_of
from committee.learners.trained.tree_nodes import leaf_votes
from committee.vote.committee import Committee
from committee.voters.forest import Forest

BLOCK = 4096
"""Rows whose votes are counted at a time."""


class UnseenVote(NamedTuple):
    """The answers of T trees."""

    right: Mask | None
    """``(n, T)``: trees that are right on rows that they have not seen; None where it is not known which these are."""
    probability: F64
    """``(n, K)``: by the whole committee, of each row by those trees alone that have not seen it."""
    by_halves: tuple[F64, F64] | None
    """The same by either half of these trees, see `halves_of`; None where all trees answer."""
    unseen: Mask | None
    """``(n, T)``: trees that have not seen a row."""


def vote_of_unseen(
    committee: Committee, forest: Forest, matrix: Matrix, y: Index, unseen: Mask | None, n_threads: int = 1
) -> UnseenVote:
    """Let trees answer for rows that they have not seen.

    Parameters
    ----------
    committee : Committee
        Of the trees of `forest`, or of rounds of them where all voters judge.
    forest : Forest
        Its T trees.
    matrix : float64 array (n, p)
        Encoded rows.
    y : intp array (n,)
        Their class numbers.
    unseen : bool array (n, T) or None
        None: all voters judge.
    n_threads : int
        Threads that walk the trees.
    """
    if unseen is None:
        tally = committee.voters.tally(matrix, committee.weights, n_threads)
        return UnseenVote(None, committee.probability_of(tally), None, None)
    votes = leaf_votes(forest)
    names = (votes[:, 0] > 0.0) if votes.shape[1] == 1 else votes.argmax(axis=1)
    named = names.astype(np.int32)
    weights = np.abs(committee.weights)
    right, found = np.empty_like(unseen), np.empty((3, len(matrix), committee.n_classes))
    start = forest.offset[:-1].astype(np.int32)
    for at in range(0, len(matrix), BLOCK):
        rows = slice(at, at + BLOCK)
        leaf = forest.apply(matrix[rows], n_threads) + start
        own = unseen[rows]
        right[rows] = (named[leaf] == y[rows, None]) & own
        first, second = halves_of(own)
        tallies = np.zeros((2, len(leaf), votes.shape[1]))
        by_tree = (np.ascontiguousarray(each.T) for each in (leaf, first, second))
        for weight, reached, *halves in zip(committee.weights, *by_tree, strict=True):
            vote = weight * votes[reached]
            for tally, half in zip(tallies, halves, strict=True):
                tally += half[:, None] * vote
        whole = tallies.sum(axis=0)
        # a row that one tree alone answers has no second half, which counts for nothing then: the first is there twice
        alone = ~second.any(axis=1)
        second[alone], tallies[1, alone] = own[alone], whole[alone]
        for place, (mask, tally) in enumerate(((own, whole), (first, tallies[0]), (second, tallies[1]))):
            # as many votes as all voters have, so that the link reads them on the same scale
            found[place, rows] = committee.probability_of(tally * (weights.sum() / (mask @ weights))[:, None])
    return UnseenVote(right, found[0], (found[1], found[2]), unseen)
