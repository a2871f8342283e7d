"""An interior point of the soft margin of rows with several lines: near the optimum, in a few systems of T numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from committee.data.number_types import F64
from committee.objectives.programs.margin_matrix import MarginMatrix

F32 = NDArray[np.float32]
Number = TypeVar("Number", F64, float)

NEAR = 1e-4
"""Gap at which the path ends, as a share of the standard deviation of the margins at its beginning."""

MOST_STEPS = 40
"""Steps of Newton's method; 15 to 30 are taken."""

SHORTER = 0.99
"""Share of the way to the nearest bound that a step goes."""


@dataclass(frozen=True)
class InteriorPoint:
    """A point near the optimum of both programs.

    Parameters
    ----------
    weights : float64 array (T,)
        w; positive, sums to one.
    lines : float64 array (n, K - 1)
        u; positive, sums to one, and over a row's lines to less than its cap.
    """

    weights: F64
    lines: F64


@dataclass(frozen=True)
class _Point:
    """Unknowns of both programs, or a change of them: what is not free comes in pairs whose products go to zero."""

    w: F64  # weights, with what each voter's edge is short of the largest
    short: F64
    xi: F64  # slacks of rows, with the room below their caps
    room: F64
    above: F64  # how far lines are above the level, with their dual weights
    u: F64

    def pairs(self) -> tuple[tuple[F64, F64], ...]:
        return (self.w, self.short), (self.xi, self.room), (self.above, self.u)

    def gap(self) -> float:
        return float(sum(float(one.ravel() @ other.ravel()) for one, other in self.pairs()))

    def moved(self, step: _Point, primal: float, dual: float) -> _Point:
        return _Point(
            self.w + primal * step.w,
            self.short + dual * step.short,
            self.xi + primal * step.xi,
            self.room + dual * step.room,
            self.above + primal * step.above,
            self.u + dual * step.u,
        )


class _System:
    """Newton's equations at a point, brought down to those of the weights and the level.

    With d = u / above, q = room / xi and D_i = sum_l d_il the matrix is

        diag(short / w) + sum_i [sum_l d_il (m_il - m_i)(m_il - m_i)' + D_i q_i / (D_i + q_i) m_i m_i'],

    m_il a line with -1 for the level behind its votes, and m_i the mean of a row's lines with weights d_il.
    """

    def __init__(self, M: F32, at: _Point) -> None:
        n, L = at.u.shape
        self.M, self.at = M, at
        self.d = at.u / at.above
        q, D = at.room / at.xi, self.d.sum(axis=1)
        self.of_row = q + D
        lines = M.reshape(n, L, -1)
        share = (self.d / D[:, None]).astype(np.float32)
        mean = np.einsum("il,ilt->it", share, lines)
        apart = ((lines - mean[:, None, :]) * np.sqrt(self.d).astype(np.float32)[:, :, None]).reshape(n * L, -1)
        mean *= np.sqrt(D * q / self.of_row).astype(np.float32)[:, None]
        K = (apart.T @ apart).astype(np.float64) + (mean.T @ mean).astype(np.float64)
        T = len(at.w)
        K[np.arange(T), np.arange(T)] += at.short / at.w
        K[np.arange(T + 1), np.arange(T + 1)] *= 1.0 + 1e-6  # above the rounding of single precision
        self._factor = cho_factor(K)
        self._ones: F64 = self.solved(np.append(np.ones(T), 0.0))

    def solved(self, right: F64) -> F64:
        found: F64 = cho_solve(self._factor, right)
        return found

    def step(self, for_w: F64, for_xi: F64, for_above: F64) -> _Point:
        """The change that brings each product to first order by as much as is asked."""
        at, M, shape = self.at, self.M, self.at.u.shape
        a = for_above / at.above
        g = for_xi / at.xi + a.sum(axis=1)
        direct = (a - self.d * (g / self.of_row)[:, None]).ravel().astype(np.float32) @ M
        y = self.solved(np.append(for_w / at.w, 0.0) + direct)
        y -= float(y[:-1].sum() / self._ones[:-1].sum()) * self._ones
        lines = (M @ y.astype(np.float32)).astype(np.float64).reshape(shape)
        xi = (g - (self.d * lines).sum(axis=1)) / self.of_row
        above = lines + xi[:, None]
        u = a - self.d * above
        return _Point(y[:-1], (for_w - at.short * y[:-1]) / at.w, xi, -u.sum(axis=1), above, u)


def interior_point(lines: MarginMatrix, cap: F64) -> InteriorPoint:
    """Follow the central path of the soft margin to a point near the optimum, by Mehrotra's predictor and corrector.

    Of ``max rho - sum_i c_i xi_i``, see `soft_margin_of_rows`, with caps c above the rows' weights: equal dual weights
    of a row's lines are then feasible, as any weights are with large slacks. Sums over lines are in single precision,
    as the point is only where a program of few rows begins [1]_.

    Parameters
    ----------
    lines : MarginMatrix
        S and r.
    cap : float64 array (n,)
        c, of which each is above r_i.

    Returns
    -------
    InteriorPoint

    References
    ----------
    .. [1] S. Mehrotra (1992). On the implementation of a primal-dual interior point method. SIAM J. Optimization 2.

    Examples
    --------
    Two rows of three classes, two voters who are wrong on one each, who get half of the weight each:

    >>> import numpy as np
    >>> from committee.objectives.programs.interior_point import interior_point
    >>> from committee.objectives.programs.margin_matrix import MarginMatrix
    >>> from committee.vote.signed_votes import SignedVotes
    >>> S = np.array([[1, 0], [1, -1], [-1, 1], [0, 1]], dtype=np.int8)  # two lines for each row
    >>> votes = SignedVotes(S, np.repeat([0, 1], 2), np.tile([1, 2], 2), 2, np.array([0.7, 0.3]))
    >>> interior_point(MarginMatrix.of(votes), np.full(2, 0.8)).weights.round(3).tolist()
    [0.5, 0.5]
    """
    n, T, L = lines.n_rows, lines.n_voters, lines.lines_of_row
    M: F32 = np.empty((n * L, T + 1), dtype=np.float32)
    M[:, :T], M[:, T] = lines.matrix, -1.0
    if lines.scale is not None:
        M[:, :T] *= lines.scale[:, None].astype(np.float32)
    at, spread = _start(M, lines, cap)
    for _ in range(MOST_STEPS):
        gap = at.gap()
        if gap < NEAR * spread:
            break
        try:
            system = _System(M, at)
        except LinAlgError:  # single precision goes no further
            break
        level = gap / (n * L + n + T)
        first = system.step(*(-one * other for one, other in at.pairs()))
        ahead = at.moved(first, *_lengths(at, first)).gap() / gap
        aim = ahead**3 * level
        step = system.step(
            *(
                aim - one * other - change * of_other
                for (one, other), (change, of_other) in zip(at.pairs(), first.pairs(), strict=True)
            )
        )
        at = at.moved(step, *(SHORTER * length for length in _lengths(at, step)))
    return InteriorPoint(at.w / at.w.sum(), at.u)


def _start(M: F32, lines: MarginMatrix, cap: F64) -> tuple[_Point, float]:
    """A point inside, and how much margins differ there."""
    n, T, L = lines.n_rows, lines.n_voters, lines.lines_of_row
    w = 0.5 * lines.own + 0.5 / T
    values = (M[:, :T] @ w.astype(np.float32)).astype(np.float64).reshape(n, L)
    least = values.min(axis=1)
    rho, spread = float(np.median(least)), float(least.std()) + 1e-3
    xi = np.maximum(0.0, rho - least) + spread
    u = np.repeat(lines.row_weight[:, None] / L, L, axis=1)
    edges = (u.ravel().astype(np.float32) @ M)[:T].astype(np.float64)
    point = _Point(w, edges.max() + spread - edges, xi, cap - lines.row_weight, values - rho + xi[:, None], u)
    return point, spread


def _lengths(at: _Point, step: _Point) -> tuple[float, float]:
    """How far the primal and the dual unknowns may go along a step, at most all of it, until one of them is zero."""
    longest = [1.0, 1.0]
    for pair, changes in zip(at.pairs(), step.pairs(), strict=True):
        for side in (0, 1):
            falls = changes[side] < 0.0
            if falls.any():
                longest[side] = min(longest[side], float((-pair[side][falls] / changes[side][falls]).min()))
    return longest[0], longest[1]
