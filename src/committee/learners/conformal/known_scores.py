"""Scores of rows whose answer is known, and how many of them a new row's score may exceed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64, Index

ROUNDING = 1e-9
"""Share of a count by which rounding may pass a whole number: 0.9 of 10 rows are 9, whatever their product is."""


@dataclass(frozen=True, eq=False)
class KnownScores:
    """Scores of rows that the voters have not seen, sorted within categories of rows that are judged apart.

    Of a new row of the category c, with scores s_1, ..., s_n of weights v_i, sum V, known there, the p-value is

        p = (sum_i v_i [s_i >= s] + 1) / (V + 1),

    the share of rows, the new one among them, that are at least as strange. A row is covered at alpha if p > alpha,
    which is s <= q: q is the smallest known score up to which there is a weight of (1 - alpha)(V + 1), of rows without
    weights the ceil((1 - alpha)(n + 1))-th smallest, and infinite where there are fewer.

    Examples
    --------
    >>> import numpy as np
    >>> known = KnownScores.of(np.arange(1.0, 20.0), np.zeros(19, dtype=int), 1)
    >>> known.thresholds(0.1).tolist(), known.thresholds(0.05).tolist(), known.thresholds(0.04).tolist()
    ([18.0], [19.0], [inf])
    >>> known.p_values(np.array([[18.0, 18.5]]), np.zeros((1, 2), dtype=int)).tolist()
    [[0.15, 0.1]]
    """

    scores: F64
    """``(n,)``, one category after the other, ascending within each."""
    start: NDArray[np.int64]
    """``(C + 1,)``: where each category begins."""
    below: F64
    """``(n + 1,)``: weight of all scores before each, in this order."""

    @classmethod
    def of(cls, scores: F64, category: Index, n_categories: int, weights: F64 | None = None) -> Self:
        """Sort scores; those that are NaN, of rows that nothing judges, do not count."""
        known = np.isfinite(scores)
        scores, category = scores[known], category[known]
        counts = np.ones(len(scores)) if weights is None else row_counts(weights)[known]
        order = np.lexsort((scores, category))
        start = np.searchsorted(category[order], np.arange(n_categories + 1))
        return cls(scores[order], start, np.concatenate([[0.0], np.cumsum(counts[order])]))

    @property
    def n_categories(self) -> int:
        """Number of categories C."""
        return len(self.start) - 1

    @property
    def count(self) -> F64:
        """Rows of each category, by their weights, ``(C,)``."""
        total: F64 = self.below[self.start[1:]] - self.below[self.start[:-1]]
        return total

    def rank(self, alpha: float) -> F64:
        """Weight of known scores up to the threshold of each category, ``(C,)``."""
        return enough(alpha, self.count)

    def thresholds(self, alpha: float) -> F64:
        """The largest score q that is covered in each category, ``(C,)``; infinite where rows are too few."""
        found = np.full(self.n_categories, np.inf)
        for c, rank in enumerate(self.rank(alpha).tolist()):
            first, last = self.start[c], self.start[c + 1]
            place = int(np.searchsorted(self.below[first + 1 : last + 1] - self.below[first], rank))
            if place < last - first:
                found[c] = self.scores[first + place]
        return found

    def too_few(self, alpha: float) -> NDArray[np.intp]:
        """Categories whose threshold is infinite, as their rows are too few."""
        return np.flatnonzero(self.rank(alpha) > self.count)

    def weight_below(self, scores: F64, category: Index) -> F64:
        """Weight of the known scores of a category that are smaller, for an array of scores; 0 for no category, -1."""
        found = np.zeros(scores.shape)
        for c in range(self.n_categories):
            first, last = self.start[c], self.start[c + 1]
            here = category == c
            place = np.searchsorted(self.scores[first:last], scores[here], side="left")
            found[here] = self.below[first + place] - self.below[first]
        return found

    def p_values(self, scores: F64, category: Index) -> F64:
        """Share of rows at least as strange, for an array of scores; 1 where the category is none, -1."""
        total = np.append(self.count, 0.0)[category]
        return (total - self.weight_below(scores, category) + 1.0) / (total + 1.0)


def enough(alpha: float, count: F64) -> F64:
    """Known rows, by weight, of which a covered row may exceed all but these: (1 - alpha)(count + 1)."""
    rank = (1.0 - alpha) * (count + 1.0)
    return np.asarray(rank * (1.0 - ROUNDING))


def covered(p_values: F64, alpha: float) -> NDArray[np.bool_]:
    """Whether p-values are above alpha, as counts of rows are compared: what rounding alone puts above it is not."""
    return np.asarray(p_values > alpha * (1.0 + ROUNDING))


def row_counts(weights: F64) -> F64:
    """As how many rows each counts: whole weights as they are, others in units of their mean.

    Examples
    --------
    >>> row_counts(np.array([1.0, 0.0, 3.0])).tolist(), row_counts(np.array([0.5, 1.5])).tolist()
    ([1.0, 0.0, 3.0], [0.5, 1.5])
    >>> row_counts(np.array([0.1, 0.3])).round(9).tolist()
    [0.5, 1.5]
    """
    if (weights == np.rint(weights)).all():
        return weights
    return np.asarray(weights / weights[weights > 0.0].mean())
