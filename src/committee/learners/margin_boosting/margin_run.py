"""One soft-margin program grown voter by voter: one class against the rest."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from committee.learners.pools.edge_sources import EdgeSource, Found
from committee.objectives.programs.soft_margin import VOTERS_AT_ONCE, SoftMargin, SoftMarginLP

F64 = NDArray[np.float64]


class MarginRun:
    """The rounds of one program: voters in, weights out, rows re-weighted.

    Parameters
    ----------
    source : EdgeSource
        Finds voters.
    positive : int
        The class whose rows have y = +1; all others have -1.
    nu : float
        Of the soft margin.
    most : int
        Most voters.
    tol : float
        Voters are added while an edge exceeds the value of the program by more than this.
    """

    solution: SoftMargin

    def __init__(self, source: EdgeSource, positive: int, nu: float, most: int, tol: float) -> None:
        self.source, self.most, self.tol = source, most, tol
        self.y = np.where(source.labels == positive, 1, -1).astype(np.int8)
        self.program = SoftMarginLP(source.weights, nu)
        self.voters: list[Found] = []
        self.finished = False
        self.cut_short = False
        self._known: set[Hashable] = set()
        self._bound = np.inf
        # the first rows' weights are feasible whatever nu is, so that their largest edge is a bound already
        self._sum, self._n_weights = np.zeros(len(self.y)), 0
        self._waiting = self._search(source.weights / source.weights.sum(), -np.inf)

    @property
    def gap(self) -> float:
        """Most that is still to be gained."""
        return max(0.0, self._bound - self.solution.value, self.solution.gap)

    def round(self) -> None:
        """Let the voters found last join, solve for the weights, and search for voters of the next round."""
        self.program.add_voters(self.y[:, None] * np.stack([voter.votes for voter in self._waiting], axis=1))
        self.voters += [voter.without_votes() for voter in self._waiting]
        self.solution = self.program.solve()
        self._waiting = self._search(self.solution.row_weights, self.solution.bound + self.tol)
        if self._waiting and len(self.voters) >= self.most:
            self.cut_short = True
            self._waiting = []
        self.finished = not self._waiting

    def _search(self, u: F64, least: float) -> list[Found]:
        """New voters whose edge under row weights u is above `least`, the largest first."""
        most = max(1, min(VOTERS_AT_ONCE, self.most - len(self.voters)))
        self._sum, self._n_weights = self._sum + u, self._n_weights + 1
        centre = self._sum / self._n_weights
        largest, found = self.source.strongest(u, self.y, centre, least, most, self._known)
        # a voter that no list holds may come later, and beat an earlier round's largest edge
        self._bound = min(self._bound, largest) if self.source.complete else largest
        self._known.update(voter.key for voter in found)
        return found
