"""A user's classifiers as a pool: a clone is trained for each round's row weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from committee.data.number_types import F64, I8
from committee.learners.base.user_voter import fit_weighted, seeded
from committee.learners.pools.pool import Candidate, TrainedPool
from committee.voters.estimators import EstimatorVoters
from committee.voters.protocol import Voters
from committee.voters.signed import SignedVoters


class Clones:
    """Clones of a user's estimator, each with seeds of its own and trained on weighted rows."""

    def __init__(self, voter: BaseEstimator, random: np.random.RandomState) -> None:
        self.voter: Any = voter
        self.random = random

    def trained(self, X: F64, y: NDArray[Any], weights: F64 | None) -> Any:
        """Return one more clone, trained; without weights all rows weigh alike."""
        member: Any = seeded(clone(self.voter), int(self.random.randint(2**31 - 1)))
        return fit_weighted(member, X, y, weights)


class ClassifierPool(TrainedPool):
    """Clones of a user's classifier, trained to tell -1 from +1; they have no complements.

    Parameters
    ----------
    voter, X, seed
        Classifier to clone, the encoded rows, and the seed of the clones' own.
    scaled : callable
        Row weights as the classifier is given them. Classifiers that are held back by a penalty look at their sum, and
        take it for a number of rows.
    row_weights : float64 array (n,) or None, default=None
        As for `TrainedPool`.
    labels : type, default=int64
        Type of the labels that the classifier is given.
    """

    has_complements = False
    needs_both = True

    def __init__(
        self,
        voter: BaseEstimator,
        X: F64,
        seed: int,
        scaled: Callable[[F64], F64],
        row_weights: F64 | None = None,
        labels: type[np.integer[Any]] = np.int64,
    ) -> None:
        super().__init__(row_weights)
        self.clones: Clones = Clones(voter, np.random.RandomState(seed))
        self.X = X
        self.scaled: Callable[[F64], F64] = scaled
        self.labels = labels

    def train(self, positive: NDArray[np.bool_], weights: F64) -> tuple[Any, I8]:
        """As `TrainedPool.train`."""
        member = self.clones.trained(self.X, np.where(positive, 1, -1).astype(self.labels), self.scaled(weights))
        return member, _signs(member, self.X)

    def votes_on(self, rows: F64, candidate: Candidate) -> I8:
        """As `Pool.votes_on`."""
        return _signs(candidate.voter, rows)

    def voters(self, candidates: Sequence[Candidate], output: NDArray[np.intp] | None, n_classes: int) -> Voters:
        """As `Pool.voters`."""
        voters = EstimatorVoters([one.voter for one in candidates], np.array([-1, 1]))
        return voters if output is None else SignedVoters(voters, output, n_classes)


def _signs(member: Any, X: F64) -> I8:
    return np.where(member.predict(X) > 0, 1, -1).astype(np.int8)
