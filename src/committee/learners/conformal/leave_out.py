"""What is answered to a row without each of the rows whose scores are known: by folds, or out of bag."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64, Index, Mask

CELLS = 4_000_000
"""Numbers that are held at a time."""


class LeaveOut(Protocol):
    """Fits that have not seen rows, each for some of these."""

    def answers(self, X: Any) -> Iterator[tuple[Index, F64]]:
        """Yield numbers of training rows, and what is answered to `X` without them, ``(m, D)``."""


@dataclass(frozen=True, eq=False)
class FoldModels:
    """A fit for each fold, on the rows of the others."""

    models: Sequence[Any]
    fold: NDArray[np.int64]
    """``(n,)``: fold of each training row; -1 for rows that are in none."""
    answer: Callable[[Any, Any], F64]
    """What a model answers to rows, ``(m, D)``."""

    def answers(self, X: Any) -> Iterator[tuple[Index, F64]]:
        """As `LeaveOut.answers`: those of a fold at once."""
        for k, model in enumerate(self.models):
            yield np.flatnonzero(self.fold == k), self.answer(model, X)


@dataclass(frozen=True, eq=False)
class UnseenVotes:
    """Voters of which each has left out some rows: a row is judged by those that have not seen it."""

    committee: Any
    """A `Committee` or a `RegressionCommittee`, whose voters count alike."""
    unseen: Mask
    """``(n, T)``: which voters have not seen which row."""

    def votes(self, X: Any, n_threads: int = 1) -> F64:
        """Each voter's votes ``(T, m, D)``."""
        data, voters = self.committee.encode(X), self.committee.voters
        return np.stack([voters[t].tally(data, n_threads=n_threads) for t in range(len(voters))])

    def of_training_rows(self, X: Any, n_threads: int = 1) -> F64:
        """Answers to the training rows ``(n, D)``, each without itself; NaN for rows that all voters have seen."""
        data, voters = self.committee.encode(X), self.committee.voters
        tally: F64 | None = None
        for t in range(len(voters)):
            rows = np.flatnonzero(self.unseen[:, t])
            if len(rows):
                votes = voters[t].tally(data[rows], n_threads=n_threads)
                tally = np.zeros((len(self.unseen), votes.shape[1])) if tally is None else tally
                tally[rows] += votes
        assert tally is not None  # some voter has left out a row
        return self.answer_of(tally, self.unseen.sum(axis=1))

    def answer_of(self, tally: F64, n_votes: NDArray[np.int64]) -> F64:
        """Answer by the mean of so many votes, as the whole committee does by its own; NaN without any."""
        total = self.committee.total_weight
        mean = np.full_like(tally, np.nan)
        some = n_votes > 0
        mean[some] = self._linked(tally[some] / n_votes[some, None] * total, total)
        return mean

    def _linked(self, tally: F64, total: float) -> F64:
        link = self.committee.link
        if hasattr(link, "probability"):
            return np.asarray(link.probability(tally, total))
        return np.asarray(link.mean(tally[:, 0], total))[:, None]

    def answers(self, X: Any) -> Iterator[tuple[Index, F64]]:
        """As `LeaveOut.answers`: a row at a time, by its own voters."""
        votes = self.votes(X)
        T, m, D = votes.shape
        flat, n_votes = votes.reshape(T, m * D), self.unseen.sum(axis=1)
        judged = np.flatnonzero(n_votes)
        step = max(1, CELLS // (m * D))
        for a in range(0, len(judged), step):
            rows = judged[a : a + step]
            tally = (self.unseen[rows].astype(np.float64) @ flat).reshape(len(rows), m, D)
            for row, each in zip(rows.tolist(), tally, strict=True):
                yield np.array([row]), self.answer_of(each, np.full(m, n_votes[row]))
