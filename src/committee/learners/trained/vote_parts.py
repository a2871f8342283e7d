"""A vote of trees as a sum of parts, each of which may get a weight of its own: voters, or leaves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from committee.data.number_types import F64, Index, Mask
from committee.learners.trained.vote_cells import VoteCells

BLOCK = 1 << 22
"""Numbers held at a time while the parts of many rows are added up."""


@dataclass(frozen=True, eq=False)
class VoteParts:
    """What every leaf adds to the scores of the classes, and which part of the vote it belongs to.

    Parameters
    ----------
    cells : VoteCells
    says : float64 array (N, K)
        What a leaf adds, its voter's weight included.
    start : float64 array (K,)
        Where the scores start.
    part : int64 array (N,)
        Part of each leaf, below C; that of inner nodes does not count.
    elect : callable
        The class, by its number, that the vote elects for rows of the encoded matrix.
    exact : bool
        Whether `says` and `start` are whole numbers, and scores sums without a rounding. Then they may be tied: the
        first of the largest is elected.
    """

    cells: VoteCells
    says: F64
    start: F64
    part: Index
    elect: Callable[[F64], Index]
    exact: bool

    @property
    def n_parts(self) -> int:
        """Number of parts C."""
        return int(self.part.max(initial=-1)) + 1

    @cached_property
    def spread(self) -> F64:
        """The most that each part can change a lead, and the start at the end, ``(C + 1,)``."""
        forest = self.cells.forest
        leaf = forest.feature < 0
        width = np.where(leaf, np.ptp(self.says, axis=1), 0.0)
        tree = np.repeat(np.arange(len(forest)), forest.n_nodes)
        pair = np.unique(np.column_stack([self.part, tree])[leaf], axis=0)
        most = np.zeros(len(pair))
        key = self.part * len(forest) + tree
        place = np.searchsorted(pair[:, 0] * len(forest) + pair[:, 1], key[leaf])
        np.maximum.at(most, place, width[leaf])
        spread = np.bincount(pair[:, 0], weights=most, minlength=self.n_parts)
        return np.append(spread, np.ptp(self.start))

    def leads(self, X: F64) -> tuple[F64, Mask]:
        """Lead of the elected class over each other one, as a sum over parts and the start.

        Returns
        -------
        float64 array (n (K - 1), C + 1)
        bool array (n (K - 1),)
            Whether the other class may be tied: it comes later.
        """
        K, C = self.says.shape[1], self.n_parts
        step = max(1, BLOCK // max(1, (C + 1) * K))
        lines, ties = [], []
        for first in range(0, len(X), step):
            rows = X[first : first + step]
            line, tie = self._leads(rows)
            lines.append(line)
            ties.append(tie)
        both = np.unique(np.column_stack([np.concatenate(lines), np.concatenate(ties)]), axis=0)
        return both[:, :-1], both[:, -1] > 0.0

    def _leads(self, X: F64) -> tuple[F64, Mask]:
        n, C, K = len(X), self.n_parts, self.says.shape[1]
        forest = self.cells.forest
        leaves = forest.apply(X) + forest.offset[:-1]
        sums = np.zeros((n, C + 1, K))
        rows = np.arange(n)
        for t in range(len(forest)):
            np.add.at(sums, (rows, self.part[leaves[:, t]]), self.says[leaves[:, t]])
        sums[:, C] = self.start
        elected = self.elect(X)
        others = np.array([[k for k in range(K) if k != c] for c in range(K)])[elected]
        own = sums[rows, :, elected]
        lead = own[:, None, :] - np.swapaxes(sums, 1, 2)[rows[:, None], others]
        return lead.reshape(-1, C + 1), (others > elected[:, None]).ravel() & self.exact

    def weighted(self, weights: F64) -> VoteParts:
        """The vote with other weights, ``(C + 1,)``: they multiply the present ones, the last one the start."""
        return replace(self, says=self.says * weights[self.part][:, None], start=self.start * weights[-1])


def unit_of(numbers: F64, most: float) -> float | None:
    """The largest power of two of which all numbers are whole multiples; None if one of them is above `most` multiples.

    Sums of whole multiples of a power of two have no rounding as long as they are below 2^53 multiples.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.learners.trained.vote_parts import unit_of
    >>> unit_of(np.array([0.5, -2.0, 0.0]), 1e4), unit_of(np.array([0.1]), 1e4)
    (0.5, None)
    """
    sizes = np.abs(numbers[numbers != 0.0])
    if not len(sizes):
        return 1.0
    mantissa, exponent = np.frexp(sizes)
    bits = np.ldexp(mantissa, 53).astype(np.int64)
    zeros = np.log2((bits & -bits).astype(np.float64)).astype(np.int64)
    unit = float(np.ldexp(1.0, int((exponent - 53 + zeros).min())))
    return unit if unit > 0.0 and float(sizes.max()) <= most * unit else None
