"""The soft margin of given voters: LPBoost's linear program, and an interior-point method."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from sklearn.exceptions import ConvergenceWarning

from committee.data.number_types import F64, is_number
from committee.data.text import warn_user
from committee.objectives.programs.linear_programs import add_rows, clip_to_simplex, run, simplex_solver
from committee.objectives.programs.margin_matrix import MarginMatrix
from committee.vote.signed_votes import BLOCK

VOTERS_AT_ONCE = 20  # most voters that a round of column generation adds; between 10 and 50 the time hardly changes

TWINS = 4  # rows per possible pattern of votes above which solving from scratch is faster than from the last basis

MOST_CAP = 1e15  # largest cap of a row's dual weight; HiGHS takes 1e20 for infinity


@dataclass(frozen=True, eq=False)
class SoftMarginSolution:
    rho: float  # threshold: rows of at most a share nu of the weight have lower margins
    weights: F64  # (T,) alpha: not negative, sums to one
    row_weights: F64  # (n,) u, the dual solution: within [0, w_i / (nu sum w)], sums to one
    margins: F64  # (n,) m_i = y_i sum_j alpha_j h_j(x_i)
    value: float  # rho - sum_i w_i max(0, rho - m_i) / (nu sum w), the mean of the lowest margins
    bound: float  # upper bound on the value of any weights: the largest edge sum_i u_i y_i h_j(x_i) of a voter
    status: str  # of HiGHS, such as "Optimal"

    @property
    def gap(self) -> float:
        return self.bound - self.value


class SoftMarginLP:
    """The linear program of the soft margin, to which voters can be added between solutions.

    With margins m_i = y_i sum_j alpha_j h_j(x_i) and row weights w it is

        max  rho - sum_i w_i xi_i / (nu sum w)   s.t.  m_i >= rho - xi_i,  sum_j alpha_j = 1,  alpha, xi >= 0

    (A. Demiriz, K. Bennett, J. Shawe-Taylor 2002. Linear programming boosting via column generation. Machine Learning
    46). HiGHS solves the dual, in which a new voter is a new row, so that the last basis stays feasible:

        min  beta   s.t.  sum_i u_i y_i h_j(x_i) <= beta for each j,  sum_i u_i = 1,  0 <= u_i <= w_i / (nu sum w).
    """

    def __init__(
        self,
        weights: ArrayLike | int,  # of the rows, or their number
        nu: float,
        *,
        time_limit: float | None = None,
        iteration_limit: int | None = None,
        scale: F64 | None = None,  # (n,): factors of the rows' votes
    ) -> None:
        if not (is_number(nu) and 0.0 < nu <= 1.0):
            raise ValueError(f"nu={nu!r} is not in (0, 1]; it is the largest share of rows that may miss the margin.")
        w = np.ones(int(weights)) if isinstance(weights, Integral) else np.asarray(weights, dtype=np.float64)
        if w.ndim != 1 or not len(w) or not np.isfinite(w).all() or (w < 0).any() or not w.any():
            raise ValueError("weights must be one number for each row: finite, not negative, and not all zero.")
        self.nu: float = float(nu)
        self.n_rows: int = len(w)
        self._scale = scale
        with np.errstate(over="ignore"):
            self._cap: F64 = np.minimum(w / max(self.nu * w.sum(), np.finfo(np.float64).tiny), MOST_CAP)
        self._votes: list[NDArray[Any]] = []
        self._n_voters = 0
        self._best: F64 | None = None
        self._time_limit = time_limit
        most = self.n_rows * self._cap
        total = min(float(self.n_rows), float(most.sum()))  # with nu = 1 the caps may fall short by a rounding
        self.highs: Any = dual_program(np.zeros(self.n_rows), most, np.zeros(self.n_rows), total)
        if iteration_limit is not None:
            self.highs.setOptionValue("simplex_iteration_limit", int(iteration_limit))

    def __len__(self) -> int:
        return self._n_voters

    def add_voters(self, signed: ArrayLike) -> None:
        S = np.asarray(signed)
        if S.ndim != 2 or len(S) != self.n_rows:
            raise ValueError(f"signed has shape {S.shape}; it must be ({self.n_rows}, k), a column for each voter.")
        if not np.isfinite(S).all():
            raise ValueError("signed holds numbers that are not finite; votes must be finite.")
        S = S.astype(np.int8 if np.isin(S, (-1, 0, 1)).all() else np.float64, order="F")
        if not S.shape[1]:
            return
        # sum_i v_i = n, so that a constant may move from a voter's votes to the right-hand side: without the most
        # common vote at least half of the entries are zero, and HiGHS's time is proportional to the others
        numbers = scale_rows(S, self._scale)
        common = most_common_votes(numbers)
        entries = np.concatenate([(numbers - common).T, np.full((S.shape[1], 1), -1, dtype=numbers.dtype)], axis=1)
        lower, upper = np.full(S.shape[1], -np.inf), -common.astype(np.float64) * self.n_rows
        add_rows(self.highs, lower, upper, entries)
        self._votes.append(S)
        self._n_voters += S.shape[1]

    def solve(self) -> SoftMarginSolution:
        if not self._n_voters:
            raise ValueError("The program has no voters; add some by add_voters before solve.")
        status, optimal = self._run()
        solution = self.highs.getSolution()
        u = _feasible(np.array(solution.col_value[: self.n_rows]) / self.n_rows, self._cap)
        weights = clip_to_simplex(-np.array(solution.row_dual[1:]))
        solved = self._solution(weights, u, status)
        if not optimal:
            if self._best is None:
                before = np.full(self._n_voters, 1.0 / self._n_voters)
            else:  # the last solution, with no weight on later voters
                before = np.append(self._best, np.zeros(self._n_voters - len(self._best)))
            solved = max(solved, self._solution(before, u, status), key=lambda one: one.value)
            warn_user(
                f"HiGHS stopped before the optimum ({status}): the weights are the best so far, and at most "
                f"{solved.gap:.3g} below the largest soft margin. Raise the limit, or give fewer rows.",
                ConvergenceWarning,
            )
        self._best = solved.weights
        return solved

    def _run(self) -> tuple[str, bool]:
        import highspy

        status = highspy.HighsModelStatus
        limits = (status.kTimeLimit, status.kIterationLimit, status.kInterrupt)
        if self.n_rows > TWINS << min(self._n_voters, 40):  # presolve merges equal rows
            self.highs.clearSolver()
        reached, said = run(self.highs, limits=limits, time_limit=self._time_limit)
        if reached in (status.kOptimal, *limits):
            return said, reached == status.kOptimal
        raise RuntimeError(
            f"HiGHS reports the soft-margin program of {self.n_rows} rows and {self._n_voters} voters, nu={self.nu}, "
            f"as {said!r}. It always has a solution, so this is a matter of rounding: "
            "look for row weights of very different size, or choose another nu."
        )

    def _solution(self, weights: F64, u: F64, status: str) -> SoftMarginSolution:
        margins, bound, first = np.zeros(self.n_rows), -np.inf, 0
        for S in self._votes:
            some = weights[first : first + S.shape[1]]
            used = np.flatnonzero(some)
            margins += scale_rows(S[:, used], self._scale) @ some[used]
            bound = max(bound, float((u @ scale_rows(S, self._scale)).max()))
            first += S.shape[1]
        rho, value = lowest_mean(margins, self._cap)
        return SoftMarginSolution(rho, weights, u, margins, value, bound, status)


def soft_margin(
    signed: ArrayLike,
    nu: float,
    sample_weight: ArrayLike | None = None,
    *,
    generate: bool = True,  # False: one program of all voters
    scale: F64 | None = None,
) -> SoftMarginSolution:
    """Maximise the soft margin of a fixed set of voters, given by their signed votes y_i h_j(x_i), ``(n, N)``.

    Equation: lpboost (docs/theory.md).
    """
    S = np.asarray(signed)
    if S.ndim != 2 or not S.size:
        raise ValueError(f"signed has shape {S.shape}; it must be (n, N) with at least one row and one voter.")
    if S.dtype != np.int8 and not np.isfinite(S).all():
        raise ValueError("signed holds numbers that are not finite; votes must be finite.")
    w = np.ones(len(S)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    program = SoftMarginLP(w, nu, scale=scale)
    if not generate:
        program.add_voters(S)
        return program.solve()
    u, solved, left_out = w / w.sum(), None, np.ones(S.shape[1], dtype=bool)
    order: list[int] = []
    step = max(1, BLOCK // len(S))  # voters at a time, as bytes are converted to float64
    while True:
        edges = np.concatenate([u @ scale_rows(S[:, at : at + step], scale) for at in range(0, S.shape[1], step)])
        limit = -np.inf if solved is None else solved.bound + 1e-9  # voters below it cannot improve the value
        new = np.flatnonzero((edges > limit) & left_out)
        if solved is not None and not len(new):
            break
        new = new[np.argsort(-edges[new], kind="stable")[:VOTERS_AT_ONCE]]
        left_out[new] = False
        order += new.tolist()
        program.add_voters(S[:, new])
        solved = program.solve()
        u = solved.row_weights
    weights = np.zeros(S.shape[1])
    weights[order] = solved.weights
    return replace(solved, weights=weights, bound=float(edges.max()))


def lowest_mean(margins: F64, cap: F64) -> tuple[float, float]:
    """Return the threshold and the soft margin: the mean of the lowest margins, weighted by caps up to a sum of one."""
    order = np.argsort(margins, kind="stable")
    m, c = margins[order], cap[order]
    filled = np.cumsum(c)
    last = min(int(np.searchsorted(filled, 1.0 - 1e-12)), len(m) - 1)
    counted = c[: last + 1].copy()
    counted[-1] = 1.0 - (filled[last - 1] if last else 0.0)
    return float(m[last]), float(counted @ m[: last + 1])


def dual_program(lower: F64, upper: F64, cost: F64, total: float | None) -> Any:
    """Return a HiGHS program with the variables v_i = n u_i and n beta, and a row for sum v (free if `None`)."""
    n = len(lower)
    highs = simplex_solver(np.append(lower, -np.inf), np.append(upper, np.inf), np.append(cost, 1.0))
    least, most = (-np.inf, np.inf) if total is None else (total, total)
    highs.addRow(least, most, n, np.arange(n, dtype=np.int32), np.ones(n))
    return highs


def scale_rows(S: NDArray[Any], scale: F64 | None) -> NDArray[Any]:
    return S if scale is None else S * scale[:, None]


def most_common_votes(S: NDArray[Any]) -> NDArray[Any]:
    if S.dtype != np.int8:
        return np.zeros(S.shape[1])
    votes = np.array([-1, 0, 1], dtype=np.int8)
    common: NDArray[np.int8] = votes[np.argmax([np.count_nonzero(np.equal(S, vote), axis=0) for vote in votes], axis=0)]
    return common


def _feasible(u: F64, cap: F64) -> F64:
    # the nearest row weights that are within their caps and sum to one exactly
    u = np.clip(u, 0.0, cap)
    short = 1.0 - float(u.sum())
    if short <= 0.0:
        return u / (1.0 - short)
    room = cap - u
    total = float(room.sum())
    return np.minimum(u + room * min(1.0, short / total), cap) if total > 0.0 else u


F32 = NDArray[np.float32]

NEAR = 1e-4  # final duality gap, relative to the standard deviation of the margins at the start

MOST_STEPS = 40  # most Newton steps; 15 to 30 suffice

SHORTER = 0.99  # share of the distance to the nearest bound that a step covers


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


def interior_point(lines: MarginMatrix, cap: F64) -> tuple[F64, F64]:
    """Return weights ``(T,)`` and dual weights of lines ``(n, K - 1)`` near the optimum of the soft margin.

    All are positive, and both sum to one. The dual weights of a row's lines sum to less than its cap, of ``(n,)`` above
    the row weights.

    S. Mehrotra (1992). On the implementation of a primal-dual interior point method.
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
    return at.w / at.w.sum(), at.u


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
