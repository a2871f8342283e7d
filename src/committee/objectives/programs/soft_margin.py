"""The soft margin of given voters (LPBoost), by a linear program."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from committee.data.number_types import F64, is_number
from committee.data.text import warn_user
from committee.objectives.programs.linear_programs import add_rows, clip_to_simplex, run, simplex_solver
from committee.vote.signed_votes import BLOCK

VOTERS_AT_ONCE = 20  # most voters that a round of column generation adds; between 10 and 50 the time hardly changes

TWINS = 4  # rows per possible pattern of votes above which solving from scratch is faster than from the last basis

MOST_CAP = 1e15  # largest cap of a row's dual weight; HiGHS takes 1e20 for infinity


@dataclass(frozen=True, eq=False)
class SoftMarginSolution:
    """Weights of T voters, with a bound on the optimum."""

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

    `weights` may be the number of rows. Limits are per `solve`. `scale` (n,) multiplies the votes of each row, which
    stay bytes if they are whole.
    """

    def __init__(
        self,
        weights: ArrayLike | int,
        nu: float,
        *,
        time_limit: float | None = None,
        iteration_limit: int | None = None,
        scale: F64 | None = None,
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
        """Add the columns of the signed votes y_i h_j(x_i), ``(n, k)``."""
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
        """Solve the program; value and bound are computed from the weights and row weights.

        Warns (ConvergenceWarning) at a limit.
        """
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
                f"{solved.gap:.3g} below the largest soft margin. Raise the limit.",
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
    generate: bool = True,
    scale: F64 | None = None,
) -> SoftMarginSolution:
    """Maximise the soft margin of a fixed set of voters, given by their signed votes y_i h_j(x_i), ``(n, N)``.

    `generate` adds voters by column generation, which leaves most of a large set out; False solves one program.

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
    while True:
        edges = edges_of_voters(S, u, scale)
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
    """Return the threshold rho and the soft margin, max_rho rho - sum_i c_i max(0, rho - m_i), c_i = w_i / (nu sum w).

    The soft margin is the mean of the lowest margins whose caps sum to one; the last row counts in part.
    """
    order = np.argsort(margins, kind="stable")
    m, c = margins[order], cap[order]
    filled = np.cumsum(c)
    last = min(int(np.searchsorted(filled, 1.0 - 1e-12)), len(m) - 1)
    counted = c[: last + 1].copy()
    counted[-1] = 1.0 - (filled[last - 1] if last else 0.0)
    return float(m[last]), float(counted @ m[: last + 1])


def dual_program(lower: F64, upper: F64, cost: F64, total: float | None) -> Any:
    """Return a HiGHS program with the variables v_i = n u_i and n beta, and a row for sum v (free if `None`).

    In these units, which suit HiGHS's tolerances, a row's mean weight is 1 and all votes stay whole numbers.
    """
    n = len(lower)
    highs = simplex_solver(np.append(lower, -np.inf), np.append(upper, np.inf), np.append(cost, 1.0))
    least, most = (-np.inf, np.inf) if total is None else (total, total)
    highs.addRow(least, most, n, np.arange(n, dtype=np.int32), np.ones(n))
    return highs


def scale_rows(S: NDArray[Any], scale: F64 | None) -> NDArray[Any]:
    return S if scale is None else S * scale[:, None]


def edges_of_voters(S: NDArray[Any], u: F64, scale: F64 | None) -> F64:
    """Return ``u @ S`` of scaled votes, in blocks of voters, as bytes are converted to float64."""
    step = max(1, BLOCK // len(S))
    return np.concatenate([u @ scale_rows(S[:, at : at + step], scale) for at in range(0, S.shape[1], step)])


def most_common_votes(S: NDArray[Any]) -> NDArray[Any]:
    """Return each voter's most common vote out of -1, 0 and 1; 0 for other numbers."""
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
