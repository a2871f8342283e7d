"""One class against the rest: its rows and pool, a vote that grows by rounds, and the votes of all classes together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from committee.data.rows import Rows
from committee.learners.base.boosting import BoostingRun
from committee.learners.base.early_stopping import weighted_error
from committee.learners.pools.distinct_rows import DistinctRows
from committee.learners.pools.pool import Candidate, Pool
from committee.voters.protocol import Voters

F64 = NDArray[np.float64]
I8 = NDArray[np.int8]

NO_EDGE = 1e-12
"""Edges that differ by no more than this are equal but for rounding."""


@dataclass(frozen=True, eq=False)
class OneAgainstRest:
    """Rows of two classes, and a pool of voters for them.

    Attributes
    ----------
    pool : Pool
        Finds voters.
    y : int8 array (m,)
        +1 for rows of the class, -1 for all others.
    weights : float64 array (m,)
        Row weights.
    """

    pool: Pool
    y: I8
    weights: F64

    @property
    def share(self) -> F64:
        """Row weights that sum to one."""
        return np.asarray(self.weights / self.weights.sum())

    def largest(
        self, u: F64, centre: F64, least: float, most: int, known: set[Hashable]
    ) -> tuple[float, list[Candidate]]:
        """Return the largest edge sum_i u_i y_i h(x_i), and the voters with the largest edges.

        Parameters
        ----------
        u, centre : float64 arrays (m,)
            Row weights, and their mean so far; below zero where a row is to be wrong.
        least, most, known
            As `Pool.largest` has them.
        """
        return self.pool.largest(u * self.y, centre * self.y, least, most, known)

    def signed_votes(self, candidates: Sequence[Candidate]) -> I8:
        """y_i h_j(x_i) of voters that join a program, ``(T, m)``, whose votes the pool then need not keep."""
        signed = np.stack([self.y * self.pool.votes(one) for one in candidates])
        for one in candidates:
            self.pool.forget(one)
        return signed


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


class ClassRun(Protocol):
    """The rounds for one class against the rest."""

    voters: list[Candidate]
    finished: bool

    def round(self) -> None:
        """Train one round more."""


R = TypeVar("R", bound=ClassRun)


@dataclass(eq=False)
class ClassRuns(BoostingRun, Generic[R]):
    """Votes for the classes that have a score of their own; they take their rounds together.

    Parameters
    ----------
    pool : Pool
        Finds voters.
    rows : DistinctRows
        The training rows.
    runs : list of runs
        In the order of the classes.
    n_classes : int
    count : float
        How many rows the weights stand for.
    """

    pool: Pool
    rows: DistinctRows
    runs: list[R]
    n_classes: int
    count: float

    def has_next(self) -> bool:
        """Tell whether a run is not finished."""
        return not all(run.finished for run in self.runs)

    def advance(self) -> None:
        """Take one round more in each run that is not finished."""
        self.n_rounds += 1
        for run in self.runs:
            if not run.finished:
                run.round()

    def voters(self, run: NDArray[np.intp], place: NDArray[np.intp]) -> Voters:
        """Return voters of a committee: of each the number of its run, and its place in that."""
        found = [self.runs[k].voters[t] for k, t in zip(run.tolist(), place.tolist(), strict=True)]
        return self.pool.voters(found, None if len(self.runs) == 1 else run, self.n_classes)


class HeldOutErrors:
    """Weighted error on held-out rows of votes whose weights may all change in a round.

    Voters vote on them once; the votes are kept as bytes.

    Parameters
    ----------
    run : ClassRuns
        The votes.
    rows : Rows
        The held-out rows.
    """

    def __init__(self, run: ClassRuns[VotingRun], rows: Rows) -> None:
        self.run, self.rows, self._read = run, rows, run.pool.read(rows.X)
        self._votes: list[list[NDArray[np.int8]]] = [[] for _ in run.runs]

    def __call__(self, t: int) -> float:
        """Error after t rounds."""
        F = np.stack([self._score(k, t) for k in range(len(self.run.runs))], axis=1)
        return weighted_error(F, self.rows)

    def _score(self, k: int, t: int) -> F64:
        run, votes = self.run.runs[k], self._votes[k]
        votes += [self.run.pool.votes_on(self._read, one) for one in run.voters[len(votes) :]]
        F: F64 = np.zeros(len(self.rows))
        for weight, some in zip(run.weights_after(t).tolist(), votes, strict=False):
            if weight:
                F += weight * some
        return F


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
    >>> from committee.learners.margin_boosting.one_against_rest import by_round
    >>> by_round([[1.0, 2.0, 3.0], [4.0]], 2).tolist()
    [[1.0, 2.0], [4.0, 4.0]]
    """
    table = np.empty((len(histories), n_rounds))
    for line, history in zip(table, histories, strict=True):
        some = history[:n_rounds]
        line[: len(some)] = some
        line[len(some) :] = some[-1] if ended is None else ended
    return table
