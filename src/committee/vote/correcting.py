"""Correcting operations: functions of the votes in place of the weighted sum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from committee.vote.committee import Committee
from committee.vote.weighted_votes import Scores, elected, signed
from committee.voters.protocol import class_indicators


@runtime_checkable
class CorrectingOperation(Protocol):
    """Operation F in a(x) = C(F(b_1(x), ..., b_T(x))) that maps votes to scores; C elects a class.

    Examples are the weighted sum, a maximum, weights that depend on x, or a classifier trained on the votes; see
    docs/extending.md.

    Equation: correcting-operation (docs/theory.md).
    """

    def scores(self, votes: Scores, weights: NDArray[np.float64], X: Any) -> Scores:
        """Return scores of n rows: ``(n,)`` or ``(n, 1)`` for two classes, positive for the second; else ``(n, K)``.

        Parameters
        ----------
        votes : float64 array (n, T, D)
            Votes. Two classes: D = 1, signed, -1 or +1 (0 abstains) for label voters. More: D = K, a number per class,
            1 for a named class. An intercept is the last voter.
        weights : float64 array (T,)
            Weights of the voters; 1 for an intercept.
        X : object
            Rows as `Committee.encode` returns them.
        """


@dataclass(frozen=True)
class WeightedSum:
    """F = sum_t w_t b_t."""

    def scores(self, votes: Scores, weights: NDArray[np.float64], X: Any) -> Scores:
        return np.asarray(np.einsum("ntd,t->nd", votes, weights))


@dataclass(frozen=True, eq=False)
class CorrectedVote:
    """Voters of a committee with another operation on their votes.

    Parameters
    ----------
    committee : Committee
        Voters and weights.
    operation : CorrectingOperation
        Operation that maps votes to scores.

    Raises
    ------
    TypeError, ValueError
        If `committee` is not a committee of two or more classes, or `operation` has no ``scores``.

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
        """Return the votes ``(n, T, D)`` that the operation receives; an intercept is the last of the T voters."""
        return self._votes(self.committee.encode(X), n_threads)

    @property
    def weights(self) -> NDArray[np.float64]:
        """Weights ``(T,)`` that the operation receives; an intercept is the last of the T voters, with weight 1."""
        given = self.committee.weights
        return given if self.committee.intercept is None else np.append(given, 1.0)

    def decision_function(self, X: Any, *, n_threads: int = 1) -> Scores:
        """Return the scores of the operation: ``(n,)`` for two classes, positive for the second; else ``(n, K)``.

        Raises
        ------
        ValueError
            If the scores are not finite numbers of this shape.
        """
        data = self.committee.encode(X)
        votes = self._votes(data, n_threads)
        n, _, D = votes.shape
        made = self.operation.scores(votes, self.weights, data)
        try:
            F = np.asarray(made, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{self.operation!r} made scores that are not numbers: {error}.") from error
        if F.shape not in ((n, D), (n,) if D == 1 else (n, D)):
            raise ValueError(f"{self.operation!r} made scores of shape {F.shape} for {n} rows; it must be {(n, D)}.")
        if not np.isfinite(F).all():
            raise ValueError(f"{self.operation!r} made scores that are not finite.")
        return F.reshape(n) if D == 1 else F

    def predict(self, X: Any, *, n_threads: int = 1) -> NDArray[Any]:
        """Return the elected class of each row, ``(n,)``, the first on ties."""
        return np.asarray(self.committee.classes[elected(self.decision_function(X, n_threads=n_threads))])

    def _votes(self, data: Any, n_threads: int) -> Scores:
        committee = self.committee
        H = committee.voters.votes(data, n_threads)
        if H.ndim == 2:  # labels
            H = class_indicators(H, committee.n_classes)
        start = committee.intercept
        if committee.n_classes == 2:
            H, start = signed(H)[:, :, None], None if start is None else signed(start[None])
        if start is None:
            return np.asarray(H)
        return np.concatenate([H, np.broadcast_to(start, (len(H), 1, H.shape[2]))], axis=1)
