"""A pool of candidate voters: the best one for signed row weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64, I8
from committee.objectives.programs.penalty import Penalty
from committee.voters.protocol import Voters


@dataclass(frozen=True, eq=False)
class Candidate:
    """A voter that was found for signed row weights s."""

    key: Hashable
    """Number of the voter in its pool; the same key is the same voter."""
    voter: Any
    """What the pool makes a voter of a committee of."""
    c: float
    """Its correlation sum_i s_i h(x_i), centred where the pool centres votes. Of row weights u it is the edge, with
    s_i = u_i y_i; of residuals r the correlation with them, with s_i = w_i r_i."""
    eta: float = 1.0
    """Its (centred) mean square."""
    mean: float = 0.0
    """Its mean vote; 0 where votes are not centred."""
    sign: int = 1
    """-1: its complement votes."""


class Pool(ABC):
    """Voters of one kind, any of which a round may take.

    What a round looks for is the same for all learners: for signed row weights s, the voter h whose correlation
    ``sum_i s_i h(x_i)`` is largest, or lowers a penalised risk most.
    """

    exhaustive: ClassVar[bool]
    """Whether every voter is looked at; else candidates are trained, and a better one may be found later."""
    has_complements: ClassVar[bool] = True
    """Whether the complement of a voter, which votes -h, can be a voter too."""

    @abstractmethod
    def best(self, s: F64, penalty: Penalty, alpha: Mapping[Hashable, float]) -> Candidate | None:
        """Return the candidate that lowers the penalised quadratic risk most; None if there is none.

        Parameters
        ----------
        s : float64 array (n,)
            Row weights times residuals.
        penalty : Penalty
            Penalty on the weights of voters.
        alpha : mapping
            Present weights that would be set anew, by key; empty where a voter counts as new each time.
        """

    @abstractmethod
    def largest(
        self, s: F64, centre: F64, least: float, most: int, known: set[Hashable]
    ) -> tuple[float, list[Candidate]]:
        """Return the largest correlation of all voters, and the candidates of the largest correlations.

        Parameters
        ----------
        s : float64 array (n,)
            Row weights times classes of -1 and +1.
        centre : float64 array (n,)
            Mean of these so far.
        least : float
            Only candidates whose correlation is above this.
        most : int
            At most so many.
        known : set
            Keys of candidates that are not wanted again.
        """

    @abstractmethod
    def votes(self, candidate: Candidate) -> I8 | F64:
        """Votes of a candidate on the training rows, ``(n,)``: -1, 0, 1 or numbers; kept until they are forgotten."""

    @abstractmethod
    def forget(self, candidate: Candidate) -> None:
        """Drop the kept votes of a candidate, a byte or a number for each row."""

    def subtract(self, residual: F64, candidate: Candidate, step: float) -> None:
        """``residual -= step * (h - mean)``, in place."""
        residual -= step * (self.votes(candidate) - candidate.mean)

    def read(self, X: F64) -> Any:
        """Return other rows as `votes_on` takes them."""
        return X

    @abstractmethod
    def votes_on(self, rows: Any, candidate: Candidate) -> I8 | F64:
        """Votes of a candidate on other rows, ``(m,)``."""

    @abstractmethod
    def voters(self, candidates: Sequence[Candidate], output: NDArray[np.intp] | None, n_classes: int) -> Voters:
        """Return voters of a committee.

        Parameters
        ----------
        candidates : sequence of T
        output : intp array (T,) or None
            Column of the score that each votes on, with -1 or +1 (or 0), or a number. None: they name one of two
            classes, or are numbers that tell these apart.
        n_classes : int
            Number of scores, or 2.
        """

    @abstractmethod
    def stand_in(self, row_weights: F64) -> Candidate:
        """Return some candidate, to stand with a weight of 0 for none; one that is trained needs row weights."""


class TrainedPool(Pool):
    """Voters that are trained: signs of s are the classes, sizes the row weights.

    For a voter of -1 and +1 the weight that it gets right less the weight that it gets wrong is its correlation.

    Parameters
    ----------
    row_weights : float64 array (n,) or None, default=None
        Votes are centred by their means under these weights, which sum to one; None: they are not.
    """

    exhaustive = False
    needs_both: ClassVar[bool] = False
    """Whether rows of a single class train nothing."""

    def __init__(self, row_weights: F64 | None = None) -> None:
        self.row_weights = row_weights
        self._first: Candidate | None = None
        self._n_trained = 0
        self._votes: dict[Hashable, I8] = {}

    @abstractmethod
    def train(self, positive: NDArray[np.bool_], weights: F64) -> tuple[Any, I8]:
        """Return a voter trained on weighted rows of two classes, and its votes on them."""

    def best(self, s: F64, penalty: Penalty, alpha: Mapping[Hashable, float]) -> Candidate | None:
        """As `Pool.best`: the voter that was trained, whatever it is worth."""
        positive = s > 0.0
        if not s.any() or (self.needs_both and positive.all() | ~positive.any()):
            return None
        return self._candidate(positive, np.abs(s), s)

    def largest(
        self, s: F64, centre: F64, least: float, most: int, known: set[Hashable]
    ) -> tuple[float, list[Candidate]]:
        """As `Pool.largest`, of one candidate, whose correlation is large but need not be the largest.

        The row weights of a program of few voters are on few rows, often of one class, from which there is little to
        learn. So a voter is first trained half-way to the mean of all row weights so far, and if that one has no edge
        under the row weights, then on these themselves, and at last on the mean.
        """
        reached = -np.inf
        for signed in (0.5 * (s + centre), s, centre):
            weights, positive = np.abs(signed), ~np.signbit(signed)  # a row without weight keeps the class of its zero
            if len(np.unique(positive[weights > 0.0])) < 2:
                continue  # all the weight is on one class: there is nothing to learn
            candidate = self._candidate(positive, weights, s)
            reached = max(reached, candidate.c)
            if candidate.c > least:
                return candidate.c, [candidate]
            self.forget(candidate)
        return reached, []

    def _candidate(self, positive: NDArray[np.bool_], weights: F64, s: F64) -> Candidate:
        voter, votes = self.train(positive, weights)
        key, c, mean = self._n_trained, float(s @ votes), 0.0
        if self.row_weights is not None:
            mean = float(self.row_weights @ votes)
            c -= mean * float(s.sum())
        candidate = Candidate(key, voter, c, 1.0 - mean**2, mean)
        self._votes[key] = votes
        self._n_trained += 1
        self._first = self._first or candidate
        return candidate

    def votes(self, candidate: Candidate) -> I8:
        """As `Pool.votes`."""
        return self._votes[candidate.key]

    def forget(self, candidate: Candidate) -> None:
        """As `Pool.forget`; such votes cannot be asked for again."""
        del self._votes[candidate.key]

    def stand_in(self, row_weights: F64) -> Candidate:
        """As `Pool.stand_in`: the first that was trained, or else one for signs that alternate."""
        if self._first is None:
            s = np.where(np.arange(len(row_weights)) % 2, 1.0, -1.0) * row_weights
            return self._candidate(s > 0.0, np.abs(s), s)
        return self._first
