"""Rows that a program of the soft margin has; for all others one knows what it would say."""

from __future__ import annotations

import numpy as np

from committee.data.number_types import F64, Index
from committee.objectives.programs.margin_matrix import MarginMatrix
from committee.objectives.programs.soft_margin import lowest_mean

AT_FIRST = 2
"""Rows that a program begins with, those nearest to the threshold, for each voter."""

AT_ONCE = 1
"""Rows that join it at a time, for each voter."""


class RowsTaken:
    """Rows of a soft margin by what their dual weights are: none above the threshold, all of their cap below it.

    Only rows near the threshold have to be in the program. The least line of a row below it has the whole cap; the
    others of its lines have nothing.

    Parameters
    ----------
    lines : MarginMatrix
        S and r.
    cap : float64 array (n,)
        c, most dual weight of each row.
    weights : float64 array (T,)
        Weights of voters that say which rows are near the threshold.
    """

    def __init__(self, lines: MarginMatrix, cap: F64, weights: F64) -> None:
        self.lines, self.cap, self.weights = lines, cap, weights
        self._shape = (lines.n_rows, lines.lines_of_row)
        values = lines.values(weights).reshape(self._shape)
        margins = values.min(axis=1)
        rho, _ = lowest_mean(margins, cap)
        away = np.abs(margins - rho)
        rank = np.empty(lines.n_rows, dtype=np.intp)
        rank[np.argsort(margins, kind="stable")] = np.arange(lines.n_rows)
        last = _last(margins, cap)
        # of equal margins those next to where the caps come to one, so that the rows taken have room for the rest
        self.rows: Index = np.sort(np.lexsort((np.abs(rank - last), away))[: AT_FIRST * lines.n_voters])
        self._near = float(away[self.rows].max())
        self._taken = np.zeros(lines.n_rows, dtype=bool)
        self._taken[self.rows] = True
        self._full = ~self._taken & (rank < last)
        self._least: Index = lines.first + values.argmin(axis=1)  # the line that has a row's cap, if it is full
        self._waiting = np.ones(self._shape, dtype=bool)
        self.places: Index = self._least[self.rows]
        self._waiting.flat[self.places] = False
        self._count()

    def _count(self) -> None:
        """What full rows add to each voter's edge, and what is left of the sum for the others."""
        u = np.zeros(len(self.lines))
        u[self._least[self._full]] = self.cap[self._full]
        self._left_out = u
        self.left_out: F64 = self.lines.dots(u)
        self.total: float = max(0.0, min(1.0, float(self.cap.sum())) - float(self.cap[self._full].sum()))

    def edges(self, u: F64) -> F64:
        """``S' u`` of all voters, for u of the lines in the program."""
        every = self._left_out.copy()
        every[self.places] = u
        return self.lines.dots(every)

    def wanted(self, weights: F64, rho: float, tol: float) -> Index:
        """Rows outside that the program's weights and threshold contradict by more than `tol`, the most wrong first."""
        values = self.lines.values(weights).reshape(self._shape)
        margins = values.min(axis=1)
        wrong = rho - margins
        full = self._full
        wrong[full] = np.maximum(margins[full] - rho, values.flat[self._least[full]] - margins[full])
        wrong[self._taken] = -np.inf
        most = AT_ONCE * self.lines.n_voters
        rows: Index = np.argsort(-wrong, kind="stable")[:most]
        wanted: Index = rows[wrong[rows] > tol]
        return wanted

    def take(self, rows: Index, weights: F64) -> None:
        """Let rows join, each with the line that is least now."""
        values = self.lines.values(weights).reshape(self._shape)[rows]
        self._taken[rows], self._full[rows] = True, False
        self._least[rows] = self.lines.first[rows] + values.argmin(axis=1)
        self.add(self._least[rows])
        self._count()

    def near(self, weights: F64, rows: Index) -> Index:
        """Lines of rows in the program that could be the least of them at weights not far from these; one a row."""
        values = self.lines.values(weights).reshape(self._shape)[rows]
        waiting = np.where(self._waiting[rows], values, np.inf)
        some = waiting.min(axis=1) < values.min(axis=1) + self._near
        near: Index = (self.lines.first[rows] + waiting.argmin(axis=1))[some]
        return near

    def lower(self, weights: F64, rho: float, tol: float) -> Index:
        """Of each row in the program its least line, if it is lower than those that it has by more than `tol`.

        Only rows below the threshold count.
        """
        values = self.lines.values(weights).reshape(self._shape)
        held = np.minimum(rho, np.where(self._waiting, np.inf, values).min(axis=1))
        lower: Index = (self.lines.first + values.argmin(axis=1))[self._taken & (values.min(axis=1) < held - tol)]
        return lower

    def add(self, places: Index) -> None:
        """Lines that are in the program from now on."""
        self.places = np.append(self.places, places)
        self._waiting.flat[places] = False


def _last(margins: F64, cap: F64) -> int:
    """Rank of the row with which the caps of the lowest margins come to one."""
    filled = np.cumsum(cap[np.argsort(margins, kind="stable")])
    return min(int(np.searchsorted(filled, 1.0 - 1e-12)), len(margins) - 1)
