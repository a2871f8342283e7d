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
    """A linear program over the numbers u of lines, alive in HiGHS while voters and lines are added.

    With limits a and c of the rows, costs b and, if it is given, a sum of all u,

        min  beta - sum_il b_i u_il   s.t.  sum_il u_il S_ilt <= beta for each voter t,
                                            a_i <= sum_l u_il <= c_i,  u >= 0.

    Its duals are the weights of the voters and a margin for each row that none of its lines is below. Every row begins
    with one line, whose bounds are the row's limits; these become a constraint when a second line comes.

    Parameters
    ----------
    least, most : float64 array (n,)
        a and c; infinity where there is no limit.
    reward : float64 array (n,)
        b.
    total : float or None
        Sum of u, if it is fixed.
    """

    def __init__(self, least: F64, most: F64, reward: F64, total: float | None) -> None:
        n = len(least)
        self.least: F64 = n * least
        self.most: F64 = n * most
        self.reward: F64 = reward
        self._fixed = total is not None
        self.highs: Any = started(self.least, self.most, -reward, None if total is None else n * total)
        self._columns, self._row = np.arange(n), np.arange(n)  # of every line: its variable, and its row of the table
        self._voters: Index = np.empty(0, dtype=np.intp)  # of every voter: its constraint
        self._common: F64 = np.empty(0)
        self._limit: Index = np.full(n, -1)  # of every row of the table: its constraint, once it has two lines

    def add_voters(self, S: NDArray[Any]) -> None:
        """One constraint for each voter, ``(lines, k)`` over all lines so far."""
        n, k = len(self.least), S.shape[1]
        # where u sums to one a constant may be taken from a voter's votes and put on the right-hand side
        common = commonest(S) if self._fixed else np.zeros(k, dtype=S.dtype)
        entries = np.append(S - common, np.full((1, k), -1, dtype=S.dtype), axis=0).T
        self._voters = np.append(self._voters, self.highs.getNumRow() + np.arange(k))
        self._common = np.append(self._common, common.astype(np.float64))
        lower, upper = np.full(k, -np.inf), -common.astype(np.float64) * n
        add_rows(self.highs, lower, upper, entries, np.append(self._columns, n))

    def add_lines(self, row: Index, S: NDArray[Any]) -> None:
        """One more line for some rows of the table, ``(k, voters)`` for all voters so far."""
        for i, votes in zip(row.tolist(), S - self._common, strict=True):
            if self._limit[i] < 0:
                self._limit[i] = self.highs.getNumRow()
                least, most = float(self.least[i]), float(self.most[i])
                self.highs.addRow(least, most, 1, np.array([i], dtype=np.int32), np.ones(1))
                self.highs.changeColBounds(i, 0.0, np.inf)
            some = np.flatnonzero(votes)
            where = np.concatenate([[0], self._voters[some], [self._limit[i]]]).astype(np.int32)
            entries = np.concatenate([[1.0], votes[some], [1.0]])
            self._columns = np.append(self._columns, self.highs.getNumCol())
            self.highs.addCol(-float(self.reward[i]), 0.0, np.inf, len(where), where, entries)
        self._row = np.append(self._row, row)

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
            return on_the_simplex(-np.array(solution.row_dual)[self._voters]), self._feasible(u)
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
        of_row = self.of_rows(u)
        u *= np.minimum(1.0, self.most / n / np.where(of_row > 0.0, of_row, 1.0))[self._row]
        u[:n] += np.maximum(0.0, self.least / n - self.of_rows(u))
        if not self._fixed:
            return u
        short = 1.0 - float(u.sum())
        if short <= 0.0:
            return u / (1.0 - short)
        room = np.maximum(0.0, self.most / n - self.of_rows(u))
        if room.any():
            u[:n] += room * min(1.0, short / float(room.sum()))
        return u
