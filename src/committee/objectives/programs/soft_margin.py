"""The soft margin: weights of given voters that make the lowest margins as large as can be, by a linear program."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from committee.data.number_types import F64, is_number
from committee.objectives.programs.highs import add_rows, on_the_simplex, run, simplex_solver
from committee.vote.signed_votes import BLOCK

VOTERS_AT_ONCE = 20
"""Voters that a round of column generation adds at most.

One at a time solves more programs than there is need for; a hundred fill the first of them with voters that no later
one wants. Between 10 and 50 the time hardly changes.
"""

TWINS = 4
"""Rows for each pattern of votes from which on a program is better solved from nothing than from its last basis."""

MOST_CAP = 1e15
"""Largest cap of a row's dual weight. The weights sum to one, so that a cap above 1 is none; the solver's 1e20 is."""


@dataclass(frozen=True, eq=False)
class SoftMarginSolution:
    """Weights of T voters, and how far from the best they can be.

    Parameters
    ----------
    rho : float
        The margin that all rows but those in error reach: no share above nu of the weight is below it.
    weights : float64 array (T,)
        alpha: not negative, sums to one.
    row_weights : float64 array (n,)
        u, the dual solution: not negative, at most w_i / (nu sum w), sums to one. Rows above rho have none.
    margins : float64 array (n,)
        m_i = y_i sum_j alpha_j h_j(x_i).
    value : float
        What the weights reach: rho - sum_i w_i max(0, rho - m_i) / (nu sum w), the mean of the lowest margins.
    bound : float
        What no weights can exceed: the largest edge sum_i u_i y_i h_j(x_i) of a voter.
    status : str
        What HiGHS said, such as "Optimal".
    """

    rho: float
    weights: F64
    row_weights: F64
    margins: F64
    value: float
    bound: float
    status: str

    @property
    def gap(self) -> float:
        """``bound - value``: by how much the weights can fall short of the best; both come from the arrays above."""
        return self.bound - self.value


class SoftMarginLP:
    """The linear program of the soft margin, alive in HiGHS while voters are added.

    With margins m_i = y_i sum_j alpha_j h_j(x_i) and row weights w (1 for every row, if there are none) [1]_ has

        max  rho - sum_i w_i xi_i / (nu sum w)   s.t.  m_i >= rho - xi_i,  sum_j alpha_j = 1,  alpha, xi >= 0.

    Its dual is what HiGHS solves: one row for each voter and one bounded variable for each training row,

        min  beta   s.t.  sum_i u_i y_i h_j(x_i) <= beta for each j,  sum_i u_i = 1,  0 <= u_i <= w_i / (nu sum w),

    so that a new voter is a new row, which leaves the basis as good a start as it was, and a basis is no larger than
    the number of voters.

    Parameters
    ----------
    weights : array-like (n,) or int
        Row weights, or the number of rows.
    nu : float
        In (0, 1]: at most this share of the weight has a margin below rho.
    time_limit : float, default=None
        Seconds for each `solve`; with it, results depend on the machine.
    iteration_limit : int, default=None
        Steps of the simplex method for each `solve`.
    scale : float64 array (n,), default=None
        What the votes on each row are multiplied by; None: by 1. So whole votes stay bytes.

    Raises
    ------
    ValueError
        If `nu` is not in (0, 1], or `weights` are negative, not finite or all zero.

    References
    ----------
    .. [1] A. Demiriz, K. Bennett, J. Shawe-Taylor (2002). Linear programming boosting via column generation. Machine
       Learning 46.

    Examples
    --------
    Two voters on three rows, +1 where a vote is right; each is wrong once:

    >>> import numpy as np
    >>> from committee.objectives.programs.soft_margin import SoftMarginLP
    >>> program = SoftMarginLP(3, nu=0.5)
    >>> program.add_voters(np.array([[1, 1], [1, -1], [-1, 1]]))
    >>> solved = program.solve()
    >>> solved.weights.round(6).tolist(), round(solved.value, 6), solved.gap < 1e-9
    ([0.5, 0.5], 0.0, True)
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
        self.highs: Any = started(np.zeros(self.n_rows), most, np.zeros(self.n_rows), total)
        if iteration_limit is not None:
            self.highs.setOptionValue("simplex_iteration_limit", int(iteration_limit))

    def __len__(self) -> int:
        return self._n_voters

    def add_voters(self, signed: ArrayLike) -> None:
        """Add voters: rows of the living program.

        Parameters
        ----------
        signed : array-like (n, k)
            y_i h_j(x_i): positive where voter j is right. Whole numbers -1, 0 and 1 are stored as bytes.

        Raises
        ------
        ValueError
            If there is not one row for each weight, or a number is not finite.
        """
        S = np.asarray(signed)
        if S.ndim != 2 or len(S) != self.n_rows:
            raise ValueError(f"signed has shape {S.shape}; it must be ({self.n_rows}, k), a column for each voter.")
        if not np.isfinite(S).all():
            raise ValueError("signed holds numbers that are not finite; votes must be finite.")
        S = S.astype(np.int8 if np.isin(S, (-1, 0, 1)).all() else np.float64, order="F")
        if not S.shape[1]:
            return
        # sum_i v_i = n, so a constant may be taken from all of a voter's votes, and put on the right-hand side: without
        # the commonest vote at least half of the entries are gone, and HiGHS's time goes with their number
        numbers = scaled(S, self._scale)
        common = commonest(numbers)
        entries = np.concatenate([(numbers - common).T, np.full((S.shape[1], 1), -1, dtype=numbers.dtype)], axis=1)
        lower, upper = np.full(S.shape[1], -np.inf), -common.astype(np.float64) * self.n_rows
        add_rows(self.highs, lower, upper, entries)
        self._votes.append(S)
        self._n_voters += S.shape[1]

    def solve(self) -> SoftMarginSolution:
        """Solve the program from where the last solution left it.

        Returns
        -------
        SoftMarginSolution
            Value, bound and gap are computed from its weights and row weights, and do not rely on the solver.

        Raises
        ------
        ValueError
            If there are no voters.
        RuntimeError
            If HiGHS reports anything but a solution or a limit, as an infeasible or unbounded program.

        Warns
        -----
        ConvergenceWarning
            If HiGHS stops at a limit: the weights are the best so far.
        """
        if not self._n_voters:
            raise ValueError("The program has no voters; add some by add_voters before solve.")
        status, optimal = self._run()
        solution = self.highs.getSolution()
        u = _feasible(np.array(solution.col_value[: self.n_rows]) / self.n_rows, self._cap)
        weights = on_the_simplex(-np.array(solution.row_dual[1:]))
        solved = self._judged(weights, u, status)
        if not optimal:
            if self._best is None:
                before = np.full(self._n_voters, 1.0 / self._n_voters)
            else:  # the last solution with no weight on the voters since
                before = np.append(self._best, np.zeros(self._n_voters - len(self._best)))
            solved = max(solved, self._judged(before, u, status), key=lambda one: one.value)
            warnings.warn(
                f"HiGHS stopped before the optimum ({status}): the weights are the best so far, and at most "
                f"{solved.gap:.3g} below the largest soft margin. Raise the limit.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self._best = solved.weights
        return solved

    def _run(self) -> tuple[str, bool]:
        """Let HiGHS work; what it says, and whether that is a solution."""
        import highspy

        status = highspy.HighsModelStatus
        limits = (status.kTimeLimit, status.kIterationLimit, status.kInterrupt)
        if self.n_rows > TWINS << min(self._n_voters, 40):  # rows of which most have twins: presolve makes them one
            self.highs.clearSolver()
        reached, said = run(self.highs, limits=limits, time_limit=self._time_limit)
        if reached in (status.kOptimal, *limits):
            return said, reached == status.kOptimal
        raise RuntimeError(
            f"HiGHS reports the soft-margin program of {self.n_rows} rows and {self._n_voters} voters, nu={self.nu}, "
            f"as {said!r}. It always has a solution, so this is a matter of rounding: "
            "look for row weights of very different size, or choose another nu."
        )

    def _judged(self, weights: F64, u: F64, status: str) -> SoftMarginSolution:
        """Value and bound of feasible weights and row weights."""
        margins, bound, first = np.zeros(self.n_rows), -np.inf, 0
        for S in self._votes:
            some = weights[first : first + S.shape[1]]
            used = np.flatnonzero(some)
            margins += scaled(S[:, used], self._scale) @ some[used]
            bound = max(bound, float((u @ scaled(S, self._scale)).max()))
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
    """The best soft margin of a fixed set of voters.

    Equation: lpboost (docs/theory.md).

    Parameters
    ----------
    signed : array-like (n, N)
        y_i h_j(x_i) of every voter.
    nu : float
        In (0, 1]: at most this share of the weight has a margin below rho.
    sample_weight : array-like (n,), default=None
        Row weights; None counts every row once.
    generate : bool, default=True
        Add voters while one has an edge above the value so far (column generation), which leaves most of a large
        set out. False: one program of all voters.
    scale : float64 array (n,), default=None
        What the votes on each row are multiplied by; None: by 1.

    Returns
    -------
    SoftMarginSolution
        With a weight for each of the N voters; its bound is that of all of them.

    Raises
    ------
    ValueError
        As `SoftMarginLP` does; or if there are no voters.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.objectives.programs.soft_margin import soft_margin
    >>> signed = np.sign(np.random.default_rng(0).normal(0.3, 1.0, size=(200, 50)))
    >>> some, whole = soft_margin(signed, 0.4), soft_margin(signed, 0.4, generate=False)
    >>> abs(some.value - whole.value) < 1e-9
    True
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
        edges = edges_of(S, u, scale)
        limit = -np.inf if solved is None else solved.bound + 1e-9  # what is not above it adds nothing
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
    """The threshold rho and the value of the soft margin: the mean of the lowest margins that weigh a share nu.

    max_rho rho - sum_i c_i max(0, rho - m_i) is reached where the caps c_i = w_i / (nu sum w) of the rows up to rho,
    lowest first, come to one; it is the mean of their margins, the last row counted with what is left.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.objectives.programs.soft_margin import lowest_mean
    >>> lowest_mean(np.array([0.5, -0.5, 1.0, 0.0]), np.full(4, 0.5))
    (0.0, -0.25)
    """
    order = np.argsort(margins, kind="stable")
    m, c = margins[order], cap[order]
    filled = np.cumsum(c)
    last = min(int(np.searchsorted(filled, 1.0 - 1e-12)), len(m) - 1)
    counted = c[: last + 1].copy()
    counted[-1] = 1.0 - (filled[last - 1] if last else 0.0)
    return float(m[last]), float(counted @ m[: last + 1])


def started(lower: F64, upper: F64, cost: F64, total: float | None) -> Any:
    """HiGHS with the variables v_i = n u_i and n beta, and the row of the sum of the first, which may be free.

    In these units a row's mean weight is 1 and all votes stay whole numbers, which HiGHS's tolerances are made for.
    """
    n = len(lower)
    highs = simplex_solver(np.append(lower, -np.inf), np.append(upper, np.inf), np.append(cost, 1.0))
    least, most = (-np.inf, np.inf) if total is None else (total, total)
    highs.addRow(least, most, n, np.arange(n, dtype=np.int32), np.ones(n))
    return highs


def scaled(S: NDArray[Any], scale: F64 | None) -> NDArray[Any]:
    """Votes times the scale of their rows."""
    return S if scale is None else S * scale[:, None]


def edges_of(S: NDArray[Any], u: F64, scale: F64 | None) -> F64:
    """``u @ S`` of scaled votes, of so many voters at a time that bytes are never float64 all at once."""
    step = max(1, BLOCK // len(S))
    return np.concatenate([u @ scaled(S[:, at : at + step], scale) for at in range(0, S.shape[1], step)])


def commonest(S: NDArray[Any]) -> NDArray[Any]:
    """Each voter's commonest vote out of -1, 0 and 1; 0 for other numbers."""
    if S.dtype != np.int8:
        return np.zeros(S.shape[1])
    votes = np.array([-1, 0, 1], dtype=np.int8)
    common: NDArray[np.int8] = votes[np.argmax([np.count_nonzero(np.equal(S, vote), axis=0) for vote in votes], axis=0)]
    return common


def _feasible(u: F64, cap: F64) -> F64:
    """Row weights within their bounds that add up to one, next to those of a solver that keeps to both nearly."""
    u = np.clip(u, 0.0, cap)
    short = 1.0 - float(u.sum())
    if short <= 0.0:
        return u / (1.0 - short)
    room = cap - u
    total = float(room.sum())
    return np.minimum(u + room * min(1.0, short / total), cap) if total > 0.0 else u
