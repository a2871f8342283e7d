"""Correcting operations: other ways than a weighted sum to make scores of the votes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from committee.vote.committee import Committee
from committee.vote.scores import Scores, elected, signed


@runtime_checkable
class CorrectingOperation(Protocol):
    """The operation F of a(x) = C(F(b_1(x), ..., b_T(x))), which makes scores of votes; C elects a class.

    A weighted sum is one, and the only one that committees know; a maximum, a mixture whose weights depend on x, or a
    classifier trained on the votes are others. See docs/extending.md.

    Equation: correcting-operation (docs/theory.md).
    """

    def scores(self, votes: Scores, weights: NDArray[np.float64], X: Any) -> Scores:
        """Return scores of n rows: ``(n,)`` or ``(n, 1)`` of two classes, positive for the second; else ``(n, K)``.

        Parameters
        ----------
        votes : float64 array (n, T, D)
            What each voter says. Two classes: D = 1, signed, -1 or +1 (0 abstains) of voters that name a class. More:
            D = K, a number for each class, 1 for the one that is named. An intercept is the last voter.
        weights : float64 array (T,)
            The voters' weights; 1 of an intercept.
        X : array (n, p)
            The rows, encoded.
        """


@dataclass(frozen=True)
class WeightedSum:
    """F = sum_t w_t b_t, the vote of every committee.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.vote.correcting import WeightedSum
    >>> WeightedSum().scores(np.array([[[1.0], [-1.0]]]), np.array([2.0, 0.5]), None).tolist()
    [[1.5]]
    """

    def scores(self, votes: Scores, weights: NDArray[np.float64], X: Any) -> Scores:
        """As `CorrectingOperation.scores`."""
        return np.asarray(np.einsum("ntd,t->nd", votes, weights))


@dataclass(frozen=True, eq=False)
class CorrectedVote:
    """The voters of a committee, whose votes another operation makes scores of.

    Parameters
    ----------
    committee : Committee
        Voters and weights, of any learner or library that makes a committee.
    operation : CorrectingOperation
        What makes scores of the votes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import RandomForestClassifier
    >>> from committee.vote.correcting import CorrectedVote, WeightedSum
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(20, random_state=0).fit(X, y).committee_
    >>> bool((CorrectedVote(forest, WeightedSum()).predict(X) == forest.predict(X)).all())
    True
    """

    committee: Committee
    operation: CorrectingOperation

    def __post_init__(self) -> None:
        if not isinstance(self.committee, Committee):
            raise TypeError(f"committee is {self.committee!r}; it must be a Committee, such as a learner's committee_.")
        if self.committee.n_classes == 1:
            raise ValueError(f"the committee has the one class {self.committee.classes[0]}; no score elects another.")
        if isinstance(self.operation, type) or not isinstance(self.operation, CorrectingOperation):
            raise TypeError(f"operation is {self.operation!r}; it must be an object with scores(votes, weights, X).")

    def votes(self, X: Any, *, n_threads: int = 1) -> Scores:
        """Votes as the operation takes them, ``(n, T, D)``, on which one may be trained."""
        return self._votes(self.committee.encode(X), n_threads)

    @property
    def weights(self) -> NDArray[np.float64]:
        """Weights as the operation takes them, ``(T,)``."""
        given = self.committee.weights
        return given if self.committee.intercept is None else np.append(given, 1.0)

    def decision_function(self, X: Any, *, n_threads: int = 1) -> Scores:
        """Scores that the operation makes: ``(n,)`` for two classes, positive for the second; else ``(n, K)``.

        Raises
        ------
        ValueError
            If these are not one finite number for each row, or for each row and class.
        """
        data = self.committee.encode(X)
        votes = self._votes(data, n_threads)
        n, _, D = votes.shape
        made = self.operation.scores(votes, self.weights, data)
        try:
            F = np.asarray(made, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{self.operation!r} made scores that are no numbers: {error}.") from error
        if F.shape not in ((n, D), (n,) if D == 1 else (n, D)):
            raise ValueError(f"{self.operation!r} made scores of shape {F.shape} of {n} rows; they need {(n, D)}.")
        if not np.isfinite(F).all():
            raise ValueError(f"{self.operation!r} made scores that are not finite.")
        return F.reshape(n) if D == 1 else F

    def predict(self, X: Any, *, n_threads: int = 1) -> NDArray[Any]:
        """Elected class of every row, ``(n,)``; a tie goes to the first of the tied classes."""
        return np.asarray(self.committee.classes[elected(self.decision_function(X, n_threads=n_threads))])

    def _votes(self, data: Any, n_threads: int) -> Scores:
        committee = self.committee
        H = committee.voters.votes(data, n_threads)
        if H.ndim == 2:  # names of classes; that of a voter that abstains is -1
            H = (H[:, :, None] == np.arange(committee.n_classes)).astype(np.float64)
        start = None if committee.intercept is None else committee.intercept
        if committee.n_classes == 2:
            H, start = signed(H)[:, :, None], None if start is None else signed(start[None])
        if start is None:
            return np.asarray(H)
        return np.concatenate([H, np.broadcast_to(start, (len(H), 1, H.shape[2]))], axis=1)
