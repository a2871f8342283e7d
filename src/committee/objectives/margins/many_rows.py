"""The soft margin of a vote of two classes on many rows, to which voters are added between solutions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64, I8, Index
from committee.data.parallel import one_blas_thread
from committee.objectives.margins.multiclass_margins import INSIDE, MOST_CELLS, soft_margin_of_rows
from committee.objectives.programs.interior_point import interior_point
from committee.objectives.programs.margin_matrix import MarginMatrix
from committee.objectives.programs.soft_margin import SoftMarginSolution, lowest_mean

MANY_ROWS = 2000
"""Rows from which an interior point and the rows near the threshold take less time than a program of all rows."""
LITTLE = 1e-10
"""Edge of a voter that counts as none."""
SMALL_EDGE = 1e-3
"""`balanced` moves edges above minus this to zero."""


class ManyRows:
    """The program of `SoftMarginLP`, solved from an interior point; `weights` are positive."""

    def __init__(self, weights: F64, nu: float) -> None:
        self.nu = nu
        self._weights = weights / weights.sum()
        self._votes: list[I8] = []
        self._opposite: tuple[int, int] | None = None

    def add_voters(self, signed: I8) -> None:
        """Add the columns of the signed votes y_i h_j(x_i), ``(n, k)``, of -1 and 1."""
        self._votes.append(signed)

    def solve(self) -> SoftMarginSolution:
        S = np.concatenate(self._votes, axis=1)
        first, twin = distinct_lines(S)
        share: F64 = np.bincount(twin, self._weights).astype(np.float64, copy=False)
        lines = MarginMatrix.of_matrix(S[first], row_weight=share)
        with one_blas_thread():  # the number of threads would change the last bits of sums over rows
            weights, u = self._solved(lines, share / self.nu)
            margins, bound = lines.values(weights)[twin], float(lines.dots(u).max())
        rho, value = lowest_mean(margins, self._weights / self.nu)
        row_weights = u[twin] * (self._weights / share[twin])
        return SoftMarginSolution(rho, weights, row_weights, margins, value, bound, "Optimal")

    def _solved(self, lines: MarginMatrix, cap: F64) -> tuple[F64, F64]:
        if self.nu >= 1.0 - INSIDE or lines.matrix.size > MOST_CELLS:
            found, u = soft_margin_of_rows(lines, self.nu)
            return found.weights, u
        point = interior_point(lines, cap)
        self._opposite = self._opposite or opposite_voters(lines.matrix)
        if self._opposite is not None:
            u = balanced(lines, cap, point.lines[:, 0])
            if float(lines.dots(u).max()) <= LITTLE:
                weights = np.zeros(lines.n_voters)
                weights[list(self._opposite)] = 0.5
                return weights, u
        found, u = soft_margin_of_rows(lines, self.nu, point.weights)
        return found.weights, u


def distinct_lines(S: I8) -> tuple[Index, Index]:
    """Return a row of each distinct combination of votes, and the index of every row's combination among these.

    Rows of more than 64 voters, hardly any of which have the same votes, are all returned.
    """
    n, T = S.shape
    if T > 64:
        return np.arange(n), np.arange(n)
    bits = np.zeros((n, 8), dtype=np.uint8)
    bits[:, : (T + 7) // 8] = np.packbits(S > 0, axis=1)
    _, first, twin = np.unique(bits.view(np.uint64)[:, 0], return_index=True, return_inverse=True)
    return first, twin


def opposite_voters(S: NDArray[Any]) -> tuple[int, int] | None:
    """Return the numbers of two voters whose votes differ on every row, if there are any.

    Half of the weight on each gives every row the margin 0, so that the largest soft margin is not below 0.
    """
    yes, no = np.packbits(S > 0, axis=0).T, np.packbits(S < 0, axis=0).T
    place = {one.tobytes(): t for t, one in enumerate(yes)}
    return next(((t, place[one.tobytes()]) for t, one in enumerate(no) if one.tobytes() in place), None)


def balanced(lines: MarginMatrix, cap: F64, u: F64) -> F64:
    """Move row weights `u` so that voters with an edge near zero or above it get the edge zero, by least squares.

    Without such weights within their caps `u` itself is returned.
    """
    S = lines.matrix.astype(np.float64)
    edges = u @ S
    near = edges > -SMALL_EDGE
    A = np.column_stack([S[:, near], np.ones(len(S))])
    AD = A * np.minimum(u, cap - u)[:, None]
    v: F64 = u + AD @ np.linalg.lstsq(AD.T @ A, np.append(-edges[near], 1.0 - u.sum()), rcond=1e-13)[0]
    return v if ((v >= 0.0) & (v <= cap)).all() else u
