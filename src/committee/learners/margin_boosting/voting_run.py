"""One class against the rest, boosted: voters and their weights, round by round."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from committee.learners.margin_boosting.one_against_rest import OneAgainstRest
from committee.learners.pools.pool import Candidate

F64 = NDArray[np.float64]

NO_EDGE = 1e-12
"""Edges that differ by no more than this are equal but for rounding."""


class VotingRun(ABC):
    """A vote for one class against the rest that grows by rounds.

    Parameters
    ----------
    task : OneAgainstRest
        The rows, and the pool of voters.
    most : int
        Most voters.

    Attributes
    ----------
    voters : list of Candidate
        Those that joined.
    finished : bool
        Another round changes nothing, or there are `most` voters.
    cut_short : bool
        There are `most` voters, and another one would join.
    useless : bool
        No voter beats chance; the run has one voter all the same, as a committee must have.
    """

    def __init__(self, task: OneAgainstRest, most: int) -> None:
        self.task, self.most = task, most
        self.y, self.share = task.y, task.share
        self.voters: list[Candidate] = []
        self.finished = self.useless = self.cut_short = False
        self._waiting: list[Candidate] | None = None

    def round(self) -> None:
        """Let the voters found last join, and search for those of the next round."""
        joining = self._search(-np.inf) if self._waiting is None else self._waiting
        self.voters += joining
        self._join(self.task.signed_votes(joining))
        if self.finished:
            return
        self._waiting = self._search(self._reached() + NO_EDGE)
        self.cut_short = bool(self._waiting) and len(self.voters) >= self.most
        self.finished = self.cut_short or not self._waiting

    @abstractmethod
    def _search(self, least: float) -> list[Candidate]:
        """Return voters whose edge under the rows' weights as of now is above `least`."""

    @abstractmethod
    def _join(self, signed: NDArray[np.int8]) -> None:
        """Weigh the newest voters, y_i h_j(x_i) of which are the lines of `signed`, and weigh the rows anew."""

    @abstractmethod
    def _reached(self) -> float:
        """Return the edge that a voter must have for its vote to be of use."""

    @abstractmethod
    def weights_after(self, n_rounds: int) -> F64:
        """Return the weights of the voters that had joined after so many rounds, ``(T,)``."""


def by_round(histories: Sequence[Sequence[float]], n_rounds: int, ended: float | None = None) -> F64:
    """Table of the runs' histories, ``(P, n_rounds)``.

    Parameters
    ----------
    histories : sequence of P sequences of numbers
        None of them empty; those of runs that ended early are shorter.
    n_rounds : int
        Rounds that are wanted.
    ended : float, default=None
        What stands after a run's end; None: its last number.

    Examples
    --------
    >>> from committee.learners.margin_boosting.voting_run import by_round
    >>> by_round([[1.0, 2.0, 3.0], [4.0]], 2).tolist()
    [[1.0, 2.0], [4.0, 4.0]]
    """
    table = np.empty((len(histories), n_rounds))
    for line, history in zip(table, histories, strict=True):
        some = history[:n_rounds]
        line[: len(some)] = some
        line[len(some) :] = some[-1] if ended is None else ended
    return table
