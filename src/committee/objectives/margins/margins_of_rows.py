"""Margins of more than two classes maximised: a row's margin is the least of its lines, which come in as needed."""

from __future__ import annotations

import numpy as np

from committee.data.number_types import F64, Index
from committee.objectives.programs.constraint_generation import LinearSolution
from committee.objectives.programs.margin_matrix import MarginMatrix
from committee.objectives.programs.rivals_program import RivalsProgram
from committee.objectives.programs.soft_margin import VOTERS_AT_ONCE, lowest_mean


class _Held:
    """The lines that a program has, at first the least of every row at the own weights."""

    def __init__(self, lines: MarginMatrix) -> None:
        self.lines = lines
        self._shape = (lines.n_rows, lines.lines_of_row)
        self.places: Index = lines.first + lines.values(lines.own).reshape(self._shape).argmin(axis=1)
        self._waiting = np.ones(self._shape, dtype=bool)
        self._waiting.flat[self.places] = False

    def lower(self, weights: F64, tol: float, share: F64 | None = None) -> Index:
        """The least line of every row where it is not held and is lower, by more than `tol`, than those that are.

        With limits `share` of a soft margin only rows count that are below its threshold.
        """
        at = self.lines.values(weights).reshape(self._shape)
        among = np.where(self._waiting, np.inf, at).min(axis=1)
        level = among if share is None else np.minimum(among, lowest_mean(among, share)[0])
        lower: Index = (self.lines.first + at.argmin(axis=1))[at.min(axis=1) < level - tol]
        return lower

    def add(self, places: Index) -> None:
        self.places = np.append(self.places, places)
        self._waiting.flat[places] = False

    def edges(self, u: F64) -> F64:
        """``S' u`` of all voters."""
        every = np.zeros(len(self.lines))
        every[self.places] = u
        return self.lines.dots(every)


def soft_margin_of_rows(lines: MarginMatrix, nu: float, tol: float = 1e-9) -> LinearSolution:
    """Weights for which the lowest margins, a share nu of the rows' weight, have the largest mean.

    With row weights r and c_i = r_i / nu, one slack for each row and one constraint for each of its lines l,

        max  rho - sum_i c_i xi_i   s.t.  (S w)_il >= rho - xi_i,  sum w = 1,  w, xi >= 0,

    whose dual is `RivalsProgram` with sum_l u_il <= c_i and sum u = 1. It begins with the least line of every row at
    the ensemble's own weights, and with few voters. Its solution tells which voters have an edge above beta, and which
    rows a line below rho that is lower than those they take part with: these join, until there are none.

    Parameters
    ----------
    lines : MarginMatrix
        S and r.
    nu : float
        In (0, 1].
    tol : float, default=1e-9
        Voters join that have an edge, and lines that are lower, by more than this.

    Returns
    -------
    LinearSolution
        Its ``z`` is rho; ``bound`` the largest edge of any voter under the last u.

    Raises
    ------
    RuntimeError
        If HiGHS reports anything but a solution.

    Examples
    --------
    Two rows of three classes, two voters who are wrong on one each:

    >>> import numpy as np
    >>> from committee.objectives.programs.margin_matrix import MarginMatrix
    >>> from committee.objectives.margins.margins_of_rows import soft_margin_of_rows
    >>> from committee.vote.signed_votes import SignedVotes
    >>> S = np.array([[1, 0], [1, -1], [-1, 1], [0, 1]], dtype=np.int8)  # two lines for each row
    >>> votes = SignedVotes(S, np.repeat([0, 1], 2), np.tile([1, 2], 2), 2, np.array([0.7, 0.3]))
    >>> solved = soft_margin_of_rows(MarginMatrix.of(votes), 0.5)
    >>> solved.weights.round(6).tolist(), round(solved.value, 6)
    ([0.5, 0.5], 0.0)
    """
    n, T, cap = lines.n_rows, lines.n_voters, lines.row_weight / nu
    held = _Held(lines)
    program = RivalsProgram(np.zeros(n), cap, np.zeros(n), min(1.0, float(cap.sum())))
    order: Index = np.empty(0, dtype=np.intp)
    weights, u, rounds = np.zeros(T), lines.row_weight, 0
    while True:
        edges = held.edges(u)
        bound, limit = float(edges.max()), float(edges[order].max(initial=-np.inf)) + tol
        edges[order] = -np.inf
        voters = np.argsort(-edges, kind="stable")[:VOTERS_AT_ONCE]
        voters = voters[edges[voters] > limit]
        lower = held.lower(weights, tol, cap) if rounds else np.empty(0, dtype=np.intp)
        if rounds and not len(voters) and not len(lower):
            rho, value = lowest_mean(lines.margins(weights), cap)
            return LinearSolution(weights, rho, value, bound, 0.0, "Optimal", len(held.places), rounds)
        program.add_voters(lines.part(held.places, voters))
        order = np.append(order, voters)
        program.add_lines(lower // lines.lines_of_row, lines.part(lower, order))
        held.add(lower)
        weights[order], u = program.solve()
        rounds += 1


def sum_of_margins(
    lines: MarginMatrix, emphasis: F64, bound: F64, tol: float = 1e-8, enough: float = -np.inf
) -> LinearSolution:
    """Weights for which the rows' margins have the largest sum, none below its bound.

    With r_i for `emphasis` and b_i for `bound`,

        max  sum_i r_i z_i   s.t.  (S w)_il >= z_i >= b_i,  sum w = 1,  w >= 0,

    whose dual is `RivalsProgram` with sum_l u_il >= r_i: of its value sum_i b_i r_i is left out.

    Parameters
    ----------
    lines : MarginMatrix
        S.
    emphasis, bound : float64 array (n,)
        r, not negative, and b, which the least line of a row, its margin, may not be below.
    tol : float, default=1e-8
        By how much a line may be lower than the program thinks.
    enough : float, default=-inf
        Stop when no weights can reach more than this.

    Returns
    -------
    LinearSolution
        ``bound`` is what no weights exceed that satisfy all lines.

    Raises
    ------
    InfeasibleError
        If no weights keep all margins above their bounds.
    RuntimeError
        If HiGHS fails.

    Examples
    --------
    Two rows of three classes; the first voter is right on both, the second on one:

    >>> import numpy as np
    >>> from committee.objectives.programs.margin_matrix import MarginMatrix
    >>> from committee.objectives.margins.margins_of_rows import sum_of_margins
    >>> from committee.vote.signed_votes import SignedVotes
    >>> S = np.array([[1, 0], [1, -1], [1, 1], [1, 1]], dtype=np.int8)  # two lines for each row
    >>> votes = SignedVotes(S, np.repeat([0, 1], 2), np.tile([1, 2], 2), 2, np.array([0.5, 0.5]))
    >>> solved = sum_of_margins(MarginMatrix.of(votes), np.array([0.5, 0.5]), np.zeros(2))
    >>> solved.weights.tolist(), solved.value
    ([1.0, 0.0], 1.0)
    """
    everyone = np.arange(lines.n_voters)
    held = _Held(lines)
    program = RivalsProgram(emphasis, np.full(lines.n_rows, np.inf), bound, None)
    for at in range(0, lines.n_voters, VOTERS_AT_ONCE):
        program.add_voters(lines.part(held.places, everyone[at : at + VOTERS_AT_ONCE]))
    rounds = 0
    while True:
        weights, u = program.solve()
        rounds += 1
        most = float(held.edges(u).max()) - float(bound @ (program.of_rows(u) - emphasis))
        lower = held.lower(weights, tol)
        if not len(lower) or most <= enough:
            margins = lines.margins(weights)
            missed = float((bound - margins).max())
            return LinearSolution(
                weights, 0.0, float(emphasis @ margins), most, missed, "Optimal", len(held.places), rounds
            )
        program.add_lines(lower // lines.lines_of_row, lines.part(lower, everyone))
        held.add(lower)
