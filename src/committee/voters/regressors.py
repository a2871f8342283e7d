"""Regressors as voters: each adds the number that it predicts to one score of several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from joblib import delayed
from numpy.typing import NDArray
from sklearn.base import is_regressor

from committee.data.number_types import F64
from committee.data.parallel import in_parallel
from committee.data.typed_json import field
from committee.files.documents import Document, Tensors
from committee.files.kinds import describe_learners, rebuild_learners
from committee.voters.estimators import count_nodes, pickled_bytes
from committee.voters.protocol import VoteKind, VoterIndex

if TYPE_CHECKING:
    from committee.data.frames import TableSchema


@dataclass(frozen=True, eq=False)
class RegressorVoters:
    """T fitted regressors, each speaking to one of D scores with the number that it predicts.

    Parameters
    ----------
    estimators : sequence of T fitted regressors
        They take the encoded matrix, and predict one number for each row.
    output : int array (T,)
        The score that each adds to.
    spread : float64 array (T,)
        The largest number that each predicts, in size, on training rows: a regressor has no bound of its own, and
        margins are measured against this one.
    n_outputs : int
        Number of scores D.
    n_classes : int
        Number of classes, or of numbers that are predicted: D, or 2 where one score tells two classes apart.

    Raises
    ------
    ValueError
        If there is no regressor, arrays have not one entry for each, or numbers of scores or classes are not such.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from committee.voters.regressors import RegressorVoters
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> line = LinearRegression().fit(X, [1.0, 3.0, 5.0])
    >>> voters = RegressorVoters([line], np.zeros(1, int), np.array([5.0]), 1, 1)
    >>> voters.tally(X, np.array([2.0])).ravel().round(9).tolist()
    [2.0, 6.0, 10.0]
    """

    kind: ClassVar[VoteKind] = "score"
    bounded: ClassVar[bool] = False
    """Votes on new rows may pass `spread`, by any amount: bounds that need bounded votes say nothing of them."""
    estimators: Sequence[Any]
    output: NDArray[np.intp]
    spread: F64
    n_outputs: int
    n_classes: int

    def __post_init__(self) -> None:
        estimators, T = tuple(self.estimators), len(self.estimators)
        output, spread = np.array(self.output, dtype=np.intp), np.array(self.spread, dtype=np.float64)
        if not estimators:
            raise ValueError("estimators is empty; a vote needs at least one member.")
        if output.shape != (T,) or spread.shape != (T,):
            raise ValueError(
                f"output has shape {output.shape} and spread {spread.shape}; {T} regressors need ({T},) of both."
            )
        if self.n_outputs < 1 or (output < 0).any() or (output >= self.n_outputs).any():
            raise ValueError(f"output must lie in [0, {self.n_outputs}).")
        if not (np.isfinite(spread) & (spread >= 0.0)).all():
            raise ValueError("spread must hold finite numbers >= 0.")
        if self.n_classes != self.n_outputs and (self.n_outputs, self.n_classes) != (1, 2):
            raise ValueError(f"n_classes is {self.n_classes}, and n_outputs {self.n_outputs}; they must agree.")
        output.flags.writeable = spread.flags.writeable = False
        object.__setattr__(self, "estimators", estimators)
        object.__setattr__(self, "output", output)
        object.__setattr__(self, "spread", spread)

    def __len__(self) -> int:
        return len(self.estimators)

    def __getitem__(self, index: VoterIndex) -> RegressorVoters:
        chosen = np.atleast_1d(np.arange(len(self))[index])
        members = [self.estimators[t] for t in chosen]
        return RegressorVoters(members, self.output[chosen], self.spread[chosen], self.n_outputs, self.n_classes)

    @property
    def n_features(self) -> int | None:
        """Width of the encoded matrix; None if the regressors do not tell."""
        return getattr(self.estimators[0], "n_features_in_", None)

    @property
    def n_nodes(self) -> NDArray[np.int64]:
        """Tree nodes of each regressor, ``(T,)``; 0 where it has none."""
        return np.array([count_nodes(member) for member in self.estimators], dtype=np.int64)

    @property
    def nbytes(self) -> int:
        """Bytes of the regressors when pickled."""
        return pickled_bytes(self.estimators) + self.output.nbytes + self.spread.nbytes

    def tally(self, X: F64, weights: F64 | None = None, n_threads: int = 1) -> F64:
        """Weighted sums of the predictions, ``(n, D)``, added in the order of the regressors."""
        counted = np.ones(len(self)) if weights is None else np.asarray(weights, dtype=np.float64)
        if counted.shape != (len(self),):
            raise ValueError(f"weights has shape {counted.shape}; {len(self)} regressors need ({len(self)},).")
        tally = np.zeros((len(X), self.n_outputs))
        for weight, k, vote in zip(counted, self.output, self._in_turn(X, n_threads), strict=True):
            tally[:, k] += weight * vote
        return tally

    def votes(self, X: F64, n_threads: int = 1) -> F64:
        """Every vote, ``(n, T, D)``: what each regressor predicts in its own column, 0 in the others."""
        votes = np.zeros((len(X), len(self), self.n_outputs))
        for t, vote in enumerate(self._in_turn(X, n_threads)):
            votes[:, t, self.output[t]] = vote
        return votes

    def to_document(self, tensors: Tensors) -> Document:
        """Write the regressors into a model file; they must be learners of this library."""
        tensors.put(output=self.output.astype(np.int64), spread=self.spread)
        members = describe_learners(self.estimators, tensors)
        counts = {"n_outputs": int(self.n_outputs), "n_classes": int(self.n_classes)}
        return {"kind": "regressors", **counts, "members": members}

    @classmethod
    def from_document(cls, document: Document, tensors: Tensors) -> RegressorVoters:
        """Read what `to_document` wrote, trusting no value."""
        output, spread = tensors.take("output", np.int64, 1), tensors.take("spread", np.float64, 1)
        members = rebuild_learners(field(document, "members", list), tensors)
        for number, member in enumerate(members):
            if not is_regressor(member) or member.committee_.voters.n_outputs != 1:
                raise ValueError(f"{tensors.prefix}{number} predicts no single number")
            if member.n_features_in_ != members[0].n_features_in_:
                raise ValueError(f"{tensors.prefix}{number} is for other columns than the first voter")
        n_outputs, n_classes = field(document, "n_outputs", int), field(document, "n_classes", int)
        return cls(members, output.astype(np.intp), spread, n_outputs, n_classes)

    def check_columns(self, table: TableSchema | None) -> None:
        """Refuse nothing: every regressor has its own table."""

    def _in_turn(self, X: F64, n_threads: int) -> Iterator[F64]:
        """Predictions of the regressors one after the other, whoever is done first."""
        if self.n_features not in (None, X.shape[1]):
            raise ValueError(f"X has {X.shape[1]} columns; the members need {self.n_features}.")
        if n_threads == 1 or len(self) == 1:
            yield from (predicted(member, X) for member in self.estimators)
            return
        each = (delayed(predicted)(member, X) for member in self.estimators)
        with in_parallel(each, min(n_threads, len(self))) as votes:
            yield from votes


def predicted(member: Any, X: F64) -> F64:
    """Return what a regressor predicts of encoded rows, ``(n,)``.

    Raises
    ------
    ValueError
        If that is not one finite number for each row.
    """
    numbers = np.asarray(member.predict(X), dtype=np.float64)
    if numbers.shape not in ((len(X),), (len(X), 1)):
        raise ValueError(f"{member!r} predicts an array of shape {numbers.shape}; {len(X)} rows need a number each.")
    if not np.isfinite(numbers).all():
        raise ValueError(f"{member!r} predicts numbers that are not finite; a vote cannot count them.")
    return numbers.reshape(-1)
