"""What the trees of an ensemble of numbers say of rows that they have not seen: each alone, and all together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from committee.data.number_types import F64, Index, Mask
from committee.data.sparse import Matrix
from committee.learners.trained.few_trees import halves_of
from committee.learners.trained.tree_nodes import leaf_votes
from committee.learners.trained.unseen_vote import BLOCK
from committee.vote.regression import RegressionCommittee
from committee.voters.forest import Forest


class UnseenMean(NamedTuple):
    """The answers of T trees."""

    worth: list[F64]
    """By parts of the rows ``(T,)``: minus the mean squared error of each tree on rows that it has not seen; where all
    trees answer, their absolute weights."""
    predicted: F64
    """``(n,)``: by the whole committee, of each row by those trees alone that have not seen it."""
    by_halves: tuple[F64, F64] | None
    """The same by either half of these trees, see `halves_of`; None where all trees answer."""
    unseen: Mask | None
    """``(n, T)``: trees that have not seen a row."""


def mean_of_unseen(
    committee: RegressionCommittee,
    forest: Forest,
    matrix: Matrix,
    y: F64,
    unseen: Mask | None,
    weight: F64 | None,
    parts: Sequence[Index],
    n_threads: int = 1,
) -> UnseenMean:
    """Let trees answer for rows that they have not seen.

    Parameters
    ----------
    committee : RegressionCommittee
        Of the trees of `forest`.
    forest : Forest
        Its T trees.
    matrix : float64 array (n, p)
        Encoded rows.
    y : float64 array (n,)
        Their numbers.
    unseen : bool array (n, T) or None
        None: all voters judge.
    weight : float64 array (n,) or None
        Row weights.
    parts : sequence of intp arrays
        Numbers of the rows, in several parts, by which each tree is judged.
    n_threads : int
        Threads that walk the trees.
    """
    weights = np.abs(committee.weights)
    start = 0.0 if committee.intercept is None else committee.intercept[0]
    if unseen is None:
        scores = start + committee.voters.tally(matrix, committee.weights, n_threads)[:, 0]
        return UnseenMean([weights] * len(parts), scale_of_scores(committee, scores), None, None)
    says = leaf_votes(forest)[:, 0]
    # how often each row counts in each part; what a tree alone says is what all would if they agreed
    times = np.stack([np.bincount(part, minlength=len(y)) for part in parts]).astype(np.float64)
    if weight is not None:
        times *= weight
    alone = np.sign(committee.weights) * (1.0 if committee.link.name == "average" else weights.sum())
    squares, judged = np.zeros((2, len(parts), len(forest)))
    found = np.empty((3, len(y)))
    first_node = forest.offset[:-1].astype(np.int32)
    for at in range(0, len(y), BLOCK):
        rows = slice(at, at + BLOCK)
        vote = says[forest.apply(matrix[rows], n_threads) + first_node]
        own = unseen[rows]
        squares += times[:, rows] @ (((start + alone * vote) - y[rows, None]) ** 2 * own)
        judged += times[:, rows] @ own
        first, second = halves_of(own)
        vote *= committee.weights
        tallies = np.stack([(vote * first).sum(axis=1), (vote * second).sum(axis=1)])
        whole = tallies.sum(axis=0)
        # a row that one tree alone answers has no second half, which counts for nothing then: the first is there twice
        one = ~second.any(axis=1)
        second[one], tallies[1, one] = own[one], whole[one]
        for place, (mask, tally) in enumerate(((own, whole), (first, tallies[0]), (second, tallies[1]))):
            # as many votes as all voters have
            found[place, rows] = start + tally * (weights.sum() / (mask @ weights))
    predicted, *halves = (scale_of_scores(committee, scores) for scores in found)
    worth = np.where(judged > 0.0, -squares / np.maximum(judged, np.finfo(float).tiny), -np.inf)
    return UnseenMean(list(worth), predicted, (halves[0], halves[1]), unseen)


def scale_of_scores(committee: RegressionCommittee, scores: F64) -> F64:
    """Scores as a vote of total weight 1 has them: means of a forest, else as they are."""
    return committee.link.mean(scores, committee.total_weight) if committee.link.name == "average" else scores
