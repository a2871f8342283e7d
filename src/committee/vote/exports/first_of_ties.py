"""Ties of classes: the first is elected here, and is to be where sums are rounded in another way."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from committee.data.number_types import F64
from committee.vote.exports.score_trees import ScoreTrees
from committee.voters.forest import Forest

AHEAD = 1e-13
"""What the first class is given ahead of the last, in scores whose links are no steeper than the logistic curve.

Far more than sums of a few hundred votes are rounded by, and far less than what parts sums that differ.
"""


AHEAD_OF_NEAR = 2e-12
"""The same where the committee itself ties scores that differ by less than 1e-12, in sums that are log-odds."""


def on_grid(numbers: F64, largest_sum: float) -> F64:
    """Numbers whose sums, as far as they are not above the largest, are exact in any order, so that ties stay ties.

    Examples
    --------
    >>> import numpy as np
    >>> a, b, c = on_grid(np.array([0.1, 0.2, 0.3]), 1.0).tolist()
    >>> (a + b) + c == (c + b) + a
    True
    """
    rounded: F64 = np.round(numbers / _step(largest_sum)) * _step(largest_sum)
    return rounded


def scores_of_first(trees: ScoreTrees, most_ahead: float = AHEAD) -> ScoreTrees:
    """Scores where each class is behind the one before by a little; of two classes, the second behind the first.

    Sums that are equal but for their rounding so elect the first. Where it costs no digits that count, leaves are on a
    grid besides, where sums of the same numbers are the same.
    """
    K, most = trees.n_scores, 2.0 * max(trees.largest, 1.0)
    behind = most_ahead * (np.arange(K) / (K - 1) if K > 1 else np.ones(1))
    if _step(most) * np.sqrt(len(trees.forest)) > AHEAD:
        return replace(trees, intercept=trees.intercept - behind)
    start = on_grid(trees.intercept - behind, most)
    return replace(trees, value=on_grid(trees.value, most), intercept=start)


def shares_of_first(shares: F64, forest: Forest, *, most_ahead: float = AHEAD, centred: bool = False) -> F64:
    """Class shares ``(N, K)`` of leaves where the mean of T trees is a little larger for a class than for the next.

    They are put on a grid where they add up exactly, and what is ahead is in the leaves of the first tree. Centred, it
    adds up to 0 over the classes, so that shares of 0 become negative. A tree alone adds nothing up, and stays as is.
    """
    T = len(forest)
    if T == 1:
        return shares
    K = shares.shape[1]
    ahead = T * most_ahead * np.arange(K - 1, -1, -1) / (K * (K - 1) / 2.0)
    if centred:
        ahead -= ahead.mean()
    first = ((forest.feature < 0) & (np.arange(len(forest.feature)) < forest.offset[1]))[:, None]
    return on_grid(np.where(first, shares + ahead, shares), 2.0 * T)


def _step(largest_sum: float) -> float:
    return float(np.ldexp(1.0, int(np.ceil(np.log2(largest_sum))) - 52))
