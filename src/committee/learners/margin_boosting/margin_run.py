"""One soft-margin program grown voter by voter: one class against the rest."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from committee.learners.margin_boosting.one_against_rest import OneAgainstRest
from committee.learners.pools.pool import Candidate
from committee.objectives.programs.soft_margin import VOTERS_AT_ONCE, SoftMarginLP, SoftMarginSolution

F64 = NDArray[np.float64]


class MarginRun:
    """The rounds of one program: voters in, weights out, rows re-weighted.

    Parameters
    ----------
    task : OneAgainstRest
        The rows, and the pool of voters.
    nu : float
        Of the soft margin.
    most : int
        Most voters.
    tol : float
        Voters are added while an edge exceeds the value of the program by more than this.
    """

    solution: SoftMarginSolution

    def __init__(self, task: OneAgainstRest, nu: float, most: int, tol: float) -> None:
        self.task, self.most, self.tol = task, most, tol
        self.program = SoftMarginLP(task.weights, nu)
        self.voters: list[Candidate] = []
        self.finished = False
        self.cut_short = False
        self._known: set[Hashable] = set()
        self._bound = np.inf
        # the first rows' weights are feasible whatever nu is, so that their largest edge is a bound already
        self._sum, self._n_weights = np.zeros(len(task.y)), 0
        self._waiting = self._search(task.share, -np.inf)

    @property
    def gap(self) -> float:
        """Most that is still to be gained."""
        return max(0.0, self._bound - self.solution.value, self.solution.gap)

    def round(self) -> None:
        """Let the voters found last join, solve for the weights, and search for voters of the next round."""
        self.program.add_voters(self.task.signed_votes(self._waiting).T)
        self.voters += self._waiting
        self.solution = self.program.solve()
        self._waiting = self._search(self.solution.row_weights, self.solution.bound + self.tol)
        if self._waiting and len(self.voters) >= self.most:
            self.cut_short = True
            self._waiting = []
        self.finished = not self._waiting

    def _search(self, u: F64, least: float) -> list[Candidate]:
        """New voters whose edge under row weights u is above `least`, the largest first."""
        most = max(1, min(VOTERS_AT_ONCE, self.most - len(self.voters)))
        self._sum, self._n_weights = self._sum + u, self._n_weights + 1
        centre = self._sum / self._n_weights
        largest, found = self.task.largest(u, centre, least, most, self._known)
        # a voter that no list holds may come later, and beat an earlier round's largest edge
        self._bound = min(self._bound, largest) if self.task.pool.complete else largest
        self._known.update(voter.key for voter in found)
        return found
