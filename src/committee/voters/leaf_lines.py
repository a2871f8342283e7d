"""Lines in the leaves of trees: what a leaf adds to its weight for the numbers of a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64, check_array, check_finite, check_range, checked_length
from committee.voters.flat_trees import check_extents, extents, positions

ARRAYS = ("start", "column", "slope", "centre", "low", "high")
"""Names of the arrays, as files have them."""


@dataclass(frozen=True, eq=False)
class LeafLines:
    """Lines of N nodes: node i has those numbered ``start[i]:start[i + 1]``, an inner node none.

    Line m adds ``slope[m] (min(max(x, low[m]), high[m]) - centre[m])`` to the leaf's weight, where x is the row's value
    in column ``column[m]``; a missing value adds nothing.

    Parameters
    ----------
    start : int64 array (N + 1,)
        Extents of the nodes' lines.
    column : int32 array (M,)
        Column of the encoded matrix that a line is along; no categories.
    slope, centre : float64 arrays (M, D)
        Of each of D outputs: slope in units of the output per unit of the column, and the place where the line adds
        nothing, the mean of the leaf's training rows in the weights of their hessians.
    low, high : float64 arrays (M,)
        Least and largest value of the leaf's training rows; the line is level beyond.
    """

    start: NDArray[np.int64]
    column: NDArray[np.int32]
    slope: F64
    centre: F64
    low: F64
    high: F64

    @property
    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int32], F64, F64, F64, F64]:
        """Arguments of the kernels, in their order."""
        return self.start, self.column, self.slope, self.centre, self.low, self.high

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(array.nbytes for array in self.arrays)

    def times(self, unit: F64) -> LeafLines:
        """Lines whose outputs are in other units ``(D,)``."""
        return replace(self, slope=self.slope * unit)

    def take(self, nodes: NDArray[np.int64]) -> LeafLines:
        """Lines of some nodes, in this order."""
        sizes = np.diff(self.start)[nodes]
        lines = positions(self.start[nodes], sizes)
        return LeafLines(
            extents(sizes), self.column[lines], self.slope[lines], self.centre[lines], self.low[lines], self.high[lines]
        )

    @classmethod
    def concatenate(cls, parts: Sequence[LeafLines]) -> LeafLines:
        """Lines of the nodes of several, in order."""
        sizes = np.concatenate([np.diff(part.start) for part in parts])
        column, slope, centre, low, high = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ARRAYS[1:]
        )
        return cls(extents(sizes), column, slope, centre, low, high)

    def extremes(self) -> tuple[F64, F64]:
        """Least and most that the lines of each node can add to each output, ``(N, D)``; 0 for missing values."""
        ends = (self.slope * (self.low[:, None] - self.centre), self.slope * (self.high[:, None] - self.centre))
        least, most = (np.zeros((len(self.start) - 1, self.slope.shape[1])) for _ in range(2))
        node = np.repeat(np.arange(len(least)), np.diff(self.start))
        np.add.at(least, node, np.minimum(np.minimum(*ends), 0.0))
        np.add.at(most, node, np.maximum(np.maximum(*ends), 0.0))
        return least, most

    def check(self, feature: NDArray[np.int32], n_features: int, n_outputs: int) -> None:
        """Look at every value beside the nodes' splits (-1 for a leaf) and the columns, trusting none.

        Raises
        ------
        ValueError
            If an array has the wrong type or size, extents do not rise, an inner node has lines, a column is none of
            the table, a number is not finite or a line ends before it begins.
        """
        M = checked_length("column", self.column)
        check_array("start", self.start, np.int64, (len(feature) + 1,))
        check_extents("start", self.start, M, least=0)
        if np.diff(self.start)[feature >= 0].any():
            raise ValueError("start gives an inner node lines; only leaves have some.")
        check_array("column", self.column, np.int32, (M,))
        check_range("column", self.column, 0, n_features - 1)
        for name in ("slope", "centre"):
            check_finite(name, getattr(self, name), (M, n_outputs))
        for name in ("low", "high"):
            check_finite(name, getattr(self, name), (M,))
        if (self.low > self.high).any():
            raise ValueError("low is above high at a line.")
