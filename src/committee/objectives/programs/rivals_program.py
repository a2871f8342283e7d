"""The programs of margins of more than two classes, by their duals: lines come in as they are needed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64, Index
from committee.objectives.programs.constraint_generation import InfeasibleError
from committee.objectives.programs.highs import add_rows, on_the_simplex, run
from committee.objectives.programs.soft_margin import commonest, started


class RivalsProgram:
    """A linear program over the numbers u of lines, alive in HiGHS while voters, rows and lines are added.

    With limits a and c of the rows, costs b and, if it is given, a sum of all u,

        min  beta - sum_il b_i u_il   s.t.  sum_il u_il S_ilt <= beta for each voter t,
                                            a_i <= sum_l u_il <= c_i,  u >= 0.

    Its duals are the weights of the voters and a margin for each row that none of its lines is below. Every row begins
    with one line, whose bounds are the row's limits; these become a constraint when a second line comes. Rows may be
    left out at first, with numbers u that do not change: what they add to the voters' sums is given with the voters.

    Parameters
    ----------
    least, most : float64 array (n,)
        a and c; infinity where there is no limit.
    reward : float64 array (n,)
        b.
    total : float or None
        Sum of u, if it is fixed; of the rows that are in the program.
    rows : intp array, default=None
        Rows that are in the program from the beginning; None: all.
    """

    def __init__(self, least: F64, most: F64, reward: F64, total: float | None, rows: Index | None = None) -> None:
        n = len(least)
        rows = np.arange(n) if rows is None else rows
        self.least: F64 = n * least
        self.most: F64 = n * most
        self.reward: F64 = reward
        self._total = total
        of_all = None if total is None else n * total
        self.highs: Any = started(self.least[rows], self.most[rows], -reward[rows], of_all)
        self._beta = len(rows)
        self._columns, self._row = np.arange(len(rows)), rows  # of every line: its variable, and its row of the table
        self._first: Index = np.full(n, -1)  # of every row of the table: the place of its first line in these
        self._first[rows] = np.arange(len(rows))
        self._voters: Index = np.empty(0, dtype=np.intp)  # of every voter: its constraint
        self._common: F64 = np.empty(0)
        self._limit: Index = np.full(n, -1)  # of every row of the table: its constraint, once it has two lines
        self.level = float("nan")  # after solve: what one more of the sum of u would cost, the threshold of the margins

    def add_voters(self, S: NDArray[Any], left_out: F64 | None = None) -> None:
        """One constraint for each voter, ``(lines, k)`` over all lines so far; `left_out` is u'S of the other rows."""
        k = S.shape[1]
        # where u sums to one a constant may be taken from a voter's votes and put on the right-hand side
        common = np.zeros(k, dtype=S.dtype) if self._total is None else commonest(S)
        entries = np.append(S - common, np.full((1, k), -1, dtype=S.dtype), axis=0).T
        self._voters = np.append(self._voters, self.highs.getNumRow() + np.arange(k))
        self._common = np.append(self._common, common.astype(np.float64))
        upper = self._right_sides(common.astype(np.float64), np.zeros(k) if left_out is None else left_out)
        add_rows(self.highs, np.full(k, -np.inf), upper, entries, np.append(self._columns, self._beta))

    def _right_sides(self, common: F64, left_out: F64) -> F64:
        n = len(self.least)
        return -common * n * (0.0 if self._total is None else self._total) - n * left_out

    def take_rows(self, rows: Index, S: NDArray[Any], total: float, left_out: F64) -> None:
        """Rows that were left out so far, with one line each, ``(k, voters)``; what is now the sum, and left out."""
        self._total = total
        n, k, upper = len(self.least), len(self._voters), self._right_sides(self._common, left_out)
        self.highs.changeRowBounds(0, n * total, n * total)
        self.highs.changeRowsBounds(k, self._voters.astype(np.int32), np.full(k, -np.inf), upper)
        self._first[rows] = len(self._row) + np.arange(len(rows))
        self._add_columns(rows, S, self.least[rows], self.most[rows], None)

    def add_lines(self, row: Index, S: NDArray[Any]) -> None:
        """One more line for some rows of the table, ``(k, voters)`` for all voters so far; no row twice."""
        fresh = row[self._limit[row] < 0]
        if len(fresh):
            columns, k = self._columns[self._first[fresh]], len(fresh)
            self._limit[fresh] = self.highs.getNumRow() + np.arange(k)
            one_each = k, np.arange(k, dtype=np.int32), columns.astype(np.int32), np.ones(k)
            self.highs.addRows(k, self.least[fresh], self.most[fresh], *one_each)
            self.highs.changeColsBounds(k, columns.astype(np.int32), np.zeros(k), np.full(k, np.inf))
        self._add_columns(row, S, np.zeros(len(row)), np.full(len(row), np.inf), self._limit[row])

    def _add_columns(self, row: Index, S: NDArray[Any], lower: F64, upper: F64, limit: Index | None) -> None:
        """A variable for a line of each of these rows, in the sum, in the voters' constraints and in the row's own."""
        k = len(S)
        column, voter = np.nonzero(S - self._common)
        once = np.arange(k)
        columns, rows = np.append(column, once), np.append(self._voters[voter], np.zeros(k, dtype=np.intp))
        entries = np.append((S - self._common)[column, voter], np.ones(k))
        if limit is not None:
            columns, rows, entries = np.append(columns, once), np.append(rows, limit), np.append(entries, np.ones(k))
        order = np.argsort(columns, kind="stable")
        start = np.searchsorted(columns[order], once).astype(np.int32)
        self._columns = np.append(self._columns, self.highs.getNumCol() + once)
        self._row = np.append(self._row, row)
        self.highs.addCols(
            k,
            -self.reward[row],
            lower,
            upper,
            len(order),
            start,
            rows[order].astype(np.int32),
            entries[order].astype(np.float64, copy=False),
        )

    def solve(self) -> tuple[F64, F64]:
        """Weights of the voters, on the simplex, and u within the limits.

        Raises
        ------
        InfeasibleError
            If u has no bound, so that no weights satisfy the lines.
        RuntimeError
            If HiGHS reports anything else but a solution.
        """
        import highspy

        status = highspy.HighsModelStatus
        reached, said = run(self.highs)
        if reached == status.kOptimal:
            solution = self.highs.getSolution()
            u = np.array(solution.col_value)[self._columns] / len(self.least)
            duals = np.array(solution.row_dual)
            self.level = float(duals[0] - duals[self._voters] @ self._common)
            return on_the_simplex(-duals[self._voters]), self._feasible(u)
        what = f"{len(self._row)} lines and {len(self._voters)} voters"
        if reached in (status.kUnbounded, status.kUnboundedOrInfeasible):
            raise InfeasibleError(f"No weights satisfy all lines of the program of {what} (HiGHS: {said!r}).")
        raise RuntimeError(
            f"HiGHS reports the program of {what} as {said!r}. Look for votes or row weights of very different size."
        )

    def of_rows(self, u: F64) -> F64:
        """Sum of u over the lines of each row."""
        sums = np.bincount(self._row, u, minlength=len(self.least))
        return sums.astype(np.float64, copy=False)

    def _feasible(self, u: F64) -> F64:
        """Within the limits and of the sum that is given, next to those of a solver that keeps to both nearly."""
        n, u = len(self.least), np.maximum(u, 0.0)
        rows = np.flatnonzero(self._first >= 0)
        first = self._first[rows]
        of_row = self.of_rows(u)
        u *= np.minimum(1.0, self.most / n / np.where(of_row > 0.0, of_row, 1.0))[self._row]
        u[first] += np.maximum(0.0, (self.least / n - self.of_rows(u))[rows])
        if self._total is None:
            return u
        short = self._total - float(u.sum())
        if short <= 0.0:
            return u * (self._total / (self._total - short))
        room = np.maximum(0.0, (self.most / n - self.of_rows(u))[rows])
        if room.any():
            u[first] += room * min(1.0, short / float(room.sum()))
        return u
