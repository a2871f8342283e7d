"""A user's regressors as a pool of real-valued voters: a clone is fitted to each round's residuals."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64
from committee.learners.base.stored_learner import BaseEstimator
from committee.learners.pools.classifier_pool import Clones
from committee.learners.pools.pool import Candidate, Pool
from committee.objectives.programs.penalty import Penalty
from committee.voters.regressors import RegressorVoters, predicted


class RegressorPool(Pool):
    """Clones of a user's regressor, each fitted by least squares to the residuals in units of their root mean square.

    So voters do not shrink as residuals do, and weights and their penalties keep their meaning from round to round. A
    least squares fit that explains the share R^2 of the residuals' variance has eta = R^2 where votes are centred.

    Parameters
    ----------
    voter, X, seed
        Regressor to clone, the encoded rows, and the seed of the clones' own.
    row_weights : float64 array (n,)
        Weights of the rows, which sum to one.
    weights_of_fits : float64 array (n,) or None
        Those that the regressor is given; None: none.
    centred : bool
        Whether votes are centred by their means.
    """

    exhaustive: ClassVar[bool] = False
    has_complements: ClassVar[bool] = False

    def __init__(
        self,
        voter: BaseEstimator,
        X: F64,
        seed: int,
        row_weights: F64,
        weights_of_fits: F64 | None,
        *,
        centred: bool,
    ) -> None:
        self.clones: Clones = Clones(voter, np.random.RandomState(seed))
        self.X = X
        self.row_weights: F64 = row_weights
        self.weights_of_fits: F64 | None = weights_of_fits
        self.centred: bool = centred
        self._n_trained = 0
        self._first: Candidate | None = None
        self._votes: dict[Hashable, F64] = {}

    def best(self, s: F64, penalty: Penalty, alpha: Mapping[Hashable, float]) -> Candidate | None:
        """As `Pool.best`: the regressor that was fitted, whatever it is worth."""
        return self._candidate(s) if s.any() else None

    def largest(
        self, s: F64, centre: F64, least: float, most: int, known: set[Hashable]
    ) -> tuple[float, list[Candidate]]:
        """As `Pool.largest`, of the one that is fitted to s."""
        candidate = self._candidate(s)
        return candidate.c, [candidate] if candidate.c > least else []

    def _candidate(self, s: F64) -> Candidate:
        w = self.row_weights
        residual = s / w
        size = float(np.sqrt(w @ residual**2)) or 1.0
        voter = self.clones.trained(self.X, residual / size, self.weights_of_fits)
        votes = predicted(voter, self.X)
        mean = float(w @ votes) if self.centred else 0.0
        about = votes - mean
        fitted = voter, float(np.abs(votes).max())
        candidate = Candidate(self._n_trained, fitted, float(s @ about), float(w @ about**2), mean)
        self._votes[candidate.key] = votes
        self._n_trained += 1
        self._first = self._first or candidate
        return candidate

    def votes(self, candidate: Candidate) -> F64:
        """As `Pool.votes`."""
        return self._votes[candidate.key]

    def forget(self, candidate: Candidate) -> None:
        """As `Pool.forget`; such votes cannot be asked for again."""
        del self._votes[candidate.key]

    def votes_on(self, rows: F64, candidate: Candidate) -> F64:
        """As `Pool.votes_on`."""
        return predicted(candidate.voter[0], rows)

    def voters(
        self, candidates: Sequence[Candidate], output: NDArray[np.intp] | None, n_classes: int
    ) -> RegressorVoters:
        """As `Pool.voters`; without `output` they add to the one score of two classes."""
        of_score = np.zeros(len(candidates), dtype=np.intp) if output is None else output
        members, spread = zip(*(one.voter for one in candidates), strict=True)
        n_outputs = 1 if output is None else n_classes
        return RegressorVoters(members, of_score, np.array(spread), n_outputs, n_classes)

    def stand_in(self, row_weights: F64) -> Candidate:
        """As `Pool.stand_in`: the first that was fitted, or else one for signs that alternate."""
        if self._first is None:
            return self._candidate(np.where(np.arange(len(row_weights)) % 2, 1.0, -1.0) * row_weights)
        return self._first
