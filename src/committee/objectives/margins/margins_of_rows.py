"""Margins of more than two classes maximised: a row's margin is the least of its lines, which come in as needed."""

from __future__ import annotations

import numpy as np

from committee.data.number_types import F64, Index
from committee.objectives.margins.rows_taken import RowsTaken
from committee.objectives.programs.constraint_generation import LinearSolution
from committee.objectives.programs.interior_point import interior_point
from committee.objectives.programs.margin_matrix import MarginMatrix
from committee.objectives.programs.rivals_program import RivalsProgram
from committee.objectives.programs.soft_margin import VOTERS_AT_ONCE, lowest_mean

LITTLE = 1e-3
"""Weight of a voter, as a share of the mean, up to which it is not in the first program."""

INSIDE = 1e-3
"""By what share of its weight a row's cap must be above it for an interior point."""

MOST_CELLS = 1 << 26
"""Votes that an interior point looks at, as numbers of four bytes; of more rows than have so many a part is enough."""


class _Held:
    """The lines that a program has, at first the least of every row at the own weights."""

    def __init__(self, lines: MarginMatrix) -> None:
        self.lines = lines
        self._shape = (lines.n_rows, lines.lines_of_row)
        self.places: Index = lines.first + lines.values(lines.own).reshape(self._shape).argmin(axis=1)
        self._waiting = np.ones(self._shape, dtype=bool)
        self._waiting.flat[self.places] = False

    def lower(self, weights: F64, tol: float) -> Index:
        """The least line of every row where it is not held and is lower, by more than `tol`, than those that are."""
        at = self.lines.values(weights).reshape(self._shape)
        among = np.where(self._waiting, np.inf, at).min(axis=1)
        lower: Index = (self.lines.first + at.argmin(axis=1))[at.min(axis=1) < among - tol]
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

    whose dual is `RivalsProgram` with sum_l u_il <= c_i and sum u = 1. An interior point says which voters have weight
    and which rows are near rho. The program begins with these: a row above rho has no dual weight, and one below it all
    of its cap on its least line. Its solution tells which voters have an edge above beta, which rows are on the other
    side of rho than was thought, and which have a line that is lower than those they take part with: these join, until
    there are none.

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
    cap = lines.row_weight / nu
    taken = RowsTaken(lines, cap, _near_the_best(lines, cap))
    limits = np.zeros(lines.n_rows)
    program = RivalsProgram(limits, cap, limits, taken.total, taken.rows)
    order: Index = np.empty(0, dtype=np.intp)
    lower: Index = np.empty(0, dtype=np.intp)
    weights, rounds = taken.weights, 0
    voters, rows = np.flatnonzero(weights > LITTLE / lines.n_voters), taken.rows
    while True:
        program.add_voters(lines.part(taken.places, voters), taken.left_out[voters])
        order = np.append(order, voters)
        if rounds and len(rows):
            taken.take(rows, weights)
            program.take_rows(rows, lines.part(taken.places[-len(rows) :], order), taken.total, taken.left_out[order])
        lower = np.append(lower, taken.near(weights, rows))
        program.add_lines(lower // lines.lines_of_row, lines.part(lower, order))
        taken.add(lower)
        weights = np.zeros(lines.n_voters)
        weights[order], u = program.solve()
        rounds += 1
        edges = taken.edges(u)
        bound, limit = float(edges.max()), float(edges[order].max()) + tol
        edges[order] = -np.inf
        voters = np.argsort(-edges, kind="stable")[:VOTERS_AT_ONCE]
        voters = voters[edges[voters] > limit]
        rows, lower = taken.wanted(weights, program.level, tol), taken.lower(weights, program.level, tol)
        if not len(voters) and not len(rows) and not len(lower):
            rho, value = lowest_mean(lines.margins(weights), cap)
            return LinearSolution(weights, rho, value, bound, 0.0, "Optimal", len(taken.places), rounds)


def _near_the_best(lines: MarginMatrix, cap: F64) -> F64:
    """Weights near the best by an interior point; the ensemble's own where there is none."""
    share = float((cap / lines.row_weight).min())
    if share < 1.0 + INSIDE:
        return lines.own
    every = -(-lines.matrix.size // MOST_CELLS)
    if every > 1:
        lines = lines.of_some(np.arange(lines.n_rows) % every == 0)
    return interior_point(lines, lines.row_weight * share).weights


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
