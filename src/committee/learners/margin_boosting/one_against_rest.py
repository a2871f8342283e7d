"""One class against the rest: a vote that grows by rounds, and the votes of all classes together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64
from committee.data.rows import Rows
from committee.learners.base.boosting import BoostingRun
from committee.learners.base.early_stopping import weighted_error
from committee.learners.pools.distinct_rows import DistinctRows
from committee.learners.pools.pool import Candidate, Pool
from committee.voters.protocol import Voters

if TYPE_CHECKING:
    from committee.learners.base.fit_record import FitRecord

NO_EDGE = 1e-12
"""Edges that differ by no more than this are equal but for rounding."""


class VotingRun(ABC):
    """A vote for one class against the rest that grows by rounds.

    Parameters
    ----------
    pool : Pool
        Finds voters.
    rows : DistinctRows
        The training rows.
    positive : int
        Number of the class.
    most : int
        Most voters.

    Attributes
    ----------
    y : int8 array (m,)
        +1 for rows of the class, -1 for all others.
    share : float64 array (m,)
        Row weights that sum to one.
    voters : list of Candidate
        Those that joined.
    least_edge : float
        The next voter must have a larger edge for its vote to be of use.
    finished : bool
        Another round changes nothing, or there are `most` voters.
    cut_short : bool
        There are `most` voters, and another one would join.
    useless : bool
        No voter beats chance; the run has one voter all the same, as a committee must have.
    """

    def __init__(self, pool: Pool, rows: DistinctRows, positive: int, most: int) -> None:
        self.pool = pool
        self.most: int = most
        self.y = np.where(rows.labels == positive, 1, -1).astype(np.int8)
        self.share: F64 = rows.weights / rows.weights.sum()
        self.voters: list[Candidate] = []
        self.least_edge = NO_EDGE
        self.finished = self.useless = self.cut_short = False
        self._waiting: list[Candidate] | None = None

    def keep(self, record: FitRecord, pool: Pool) -> None:
        """As `BoostingRun.keep`; `pool` is the run's own, recorded."""
        self.pool = pool

    def round(self) -> None:
        """Let the voters found last join, and search for those of the next round."""
        joining = self._search(-np.inf) if self._waiting is None else self._waiting
        self.voters += joining
        signed = self.y * np.stack([*map(self.pool.votes, joining)])
        for one in joining:  # the run keeps what it needs of their votes
            self.pool.forget(one)
        self._join(signed)
        if self.finished:
            return
        self._waiting = self._search(self.least_edge)
        self.cut_short = bool(self._waiting) and len(self.voters) >= self.most
        self.finished = self.cut_short or not self._waiting

    @abstractmethod
    def _search(self, least: float) -> list[Candidate]:
        """Return voters whose edge sum_i u_i y_i h(x_i) under the rows' weights as of now is above `least`."""

    @abstractmethod
    def _join(self, signed: NDArray[np.int8]) -> None:
        """Weigh the newest voters, y_i h_j(x_i) of which are the lines of `signed`, and weigh the rows anew."""

    @abstractmethod
    def weights_after(self, n_rounds: int) -> F64:
        """Return the weights of the voters that had joined after so many rounds, ``(T,)``."""


R = TypeVar("R", bound=VotingRun)


@dataclass(eq=False)
class ClassRuns(BoostingRun, Generic[R]):
    """Votes for the classes that have a score of their own, in order; they take their rounds together.

    `count` is how many rows the weights stand for.
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

    def keep(self, record: FitRecord) -> None:
        """As `BoostingRun.keep`: the searches."""
        from committee.learners.pools.recorded_pools import recorded  # few fits have a checkpoint

        pool = recorded(self.pool, record)
        for run in self.runs:
            run.keep(record, pool)

    def voters(self, run: NDArray[np.intp], place: NDArray[np.intp]) -> Voters:
        """Return voters of a committee: of each the number of its run, and its place in that."""
        found = [self.runs[k].voters[t] for k, t in zip(run.tolist(), place.tolist(), strict=True)]
        return self.pool.voters(found, None if len(self.runs) == 1 else run, self.n_classes)


class HeldOutErrors:
    """Weighted error on held-out rows of votes whose weights may all change in a round.

    Voters vote on them once; the votes are kept as bytes.
    """

    def __init__(self, run: ClassRuns[VotingRun], rows: Rows) -> None:
        self.run: ClassRuns[VotingRun] = run
        self.rows: Rows = rows
        self._read = run.pool.read(rows.dense)
        self._votes: list[list[NDArray[np.int8]]] = [[] for _ in run.runs]

    def __call__(self, t: int) -> float:
        """Error after t rounds."""
        return weighted_error(self.votes_after(t), self.rows)

    def votes_after(self, t: int) -> F64:
        """Sums of the votes after t rounds, ``(n, P)``."""
        return np.stack([self._score(k, t) for k in range(len(self.run.runs))], axis=1)

    def _score(self, k: int, t: int) -> F64:
        run, votes = self.run.runs[k], self._votes[k]
        new = (self.run.pool.votes_on(self._read, one) for one in run.voters[len(votes) :])
        votes += [np.asarray(each, dtype=np.int8) for each in new]
        F: F64 = np.zeros(len(self.rows))
        for weight, some in zip(run.weights_after(t).tolist(), votes, strict=False):
            if weight:
                F += weight * some
        return F


def by_round(histories: Sequence[Sequence[float]], n_rounds: int, ended: float | None = None) -> F64:
    """Table of the runs' histories, ``(P, n_rounds)``; after a run's end stands `ended`, None: its last number.

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
