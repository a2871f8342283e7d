"""Votes for each class against the rest, boosted side by side, and their error on held-out rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from committee.data.rows import Rows
from committee.learners.base.boosting import BoostingRun
from committee.learners.base.early_stopping import weighted_error
from committee.learners.margin_boosting.voting_run import VotingRun
from committee.learners.pools.distinct_rows import DistinctRows
from committee.learners.pools.pool import Candidate, Pool
from committee.voters.protocol import Voters

F64 = NDArray[np.float64]


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
