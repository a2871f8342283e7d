"""An interior-point method for the soft margin of rows, to a point near the optimum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from committee.data.number_types import F64
from committee.objectives.programs.margin_matrix import MarginMatrix

F32 = NDArray[np.float32]

NEAR = 1e-4  # final duality gap, relative to the standard deviation of the margins at the start

MOST_STEPS = 40  # most Newton steps; 15 to 30 suffice

SHORTER = 0.99  # share of the distance to the nearest bound that a step covers


@dataclass(frozen=True)
class InteriorPoint:
    """Interior point of the primal and the dual program."""

    weights: F64  # (T,) w; positive, sums to one
    lines: F64  # (n, K - 1) u; positive, sums to one, and over a row's lines to less than its cap


@dataclass(frozen=True)
class _Point:
    # unknowns of both programs, or a step of them, as pairs whose products go to zero
    w: F64  # weights of voters
    short: F64  # difference of each voter's edge from the largest
    xi: F64  # slacks of rows
    room: F64  # difference of the rows' dual weights from their caps
    above: F64  # slacks of lines
    u: F64  # dual weights of lines

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
    # Newton's equations at a point, reduced to the weights and the level. With d = u / above, q = room / xi and
    # D_i = sum_l d_il the matrix is diag(short / w)
    #     + sum_i [sum_l d_il (m_il - m_i)(m_il - m_i)' + D_i q_i / (D_i + q_i) m_i m_i'],
    # with m_il a line and -1 for the level, and m_i the mean of a row's lines with weights d_il.
    def __init__(self, M: F32, at: _Point) -> None:
        n, L = at.u.shape
        self.M, self.at = M, at
        self.d = at.u / at.above
        q, D = at.room / at.xi, self.d.sum(axis=1)
        self.of_row = q + D
        lines = M.reshape(n, L, -1)
        T = len(at.w)
        K = np.zeros((T + 1, T + 1))
        if L > 1:
            share = (self.d / D[:, None]).astype(np.float32)
            mean = np.einsum("il,ilt->it", share, lines)
            apart = ((lines - mean[:, None, :]) * np.sqrt(self.d).astype(np.float32)[:, :, None]).reshape(n * L, -1)
            K += apart.T @ apart
        else:
            mean = M.copy()
        mean *= np.sqrt(D * q / self.of_row).astype(np.float32)[:, None]
        K += mean.T @ mean
        K[np.arange(T), np.arange(T)] += at.short / at.w
        K[np.arange(T + 1), np.arange(T + 1)] *= 1.0 + 1e-6  # above the rounding of single precision
        self._factor = cho_factor(K)
        self._ones: F64 = self.solved(np.append(np.ones(T), 0.0))

    def solved(self, right: F64) -> F64:
        found: F64 = cho_solve(self._factor, right)
        return found

    def step(self, for_w: F64, for_xi: F64, for_above: F64) -> _Point:
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
    """Follow the central path of the soft margin to a point near the optimum, by Mehrotra's predictor-corrector method.

    The program is that of `soft_margin_of_rows`, with caps ``(n,)`` above the rows' weights. Sums over lines are in
    single precision. Source: S. Mehrotra (1992). On the implementation of a primal-dual interior point method.
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
        except LinAlgError:  # the limit of single precision
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
    longest = [1.0, 1.0]
    for pair, changes in zip(at.pairs(), step.pairs(), strict=True):
        for side in (0, 1):
            falls = changes[side] < 0.0
            if falls.any():
                longest[side] = min(longest[side], float((-pair[side][falls] / changes[side][falls]).min()))
    return longest[0], longest[1]
