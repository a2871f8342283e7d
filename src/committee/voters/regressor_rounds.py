"""Rounds of regressors: one for each of several scores, each round one voter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64
from committee.data.typed_json import field
from committee.files.documents import Document, Tensors
from committee.voters.protocol import VoteKind, VoterIndex
from committee.voters.regressors import RegressorVoters

if TYPE_CHECKING:
    from committee.data.frames import TableSchema


@dataclass(frozen=True, eq=False)
class RegressorRounds:
    """T rounds of D regressors; voter t is the regressors ``t D, ..., t D + D - 1``, the k-th of which adds to score k.

    Parameters
    ----------
    regressors : RegressorVoters
        The T D regressors, their scores in turn.

    Raises
    ------
    ValueError
        If they are no whole rounds.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from committee.voters.regressor_rounds import RegressorRounds
    >>> from committee.voters.regressors import RegressorVoters
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> lines = [LinearRegression().fit(X, y) for y in ([1.0, 3.0, 5.0], [0.0, 1.0, 2.0])]
    >>> rounds = RegressorRounds(RegressorVoters(lines, np.array([0, 1]), np.array([5.0, 2.0]), 2, 2))
    >>> len(rounds), rounds.tally(X, np.array([2.0])).round(9).tolist()
    (1, [[2.0, 0.0], [6.0, 2.0], [10.0, 4.0]])
    """

    kind: ClassVar[VoteKind] = "score"
    bounded: ClassVar[bool] = False
    """Votes on new rows may pass `spread`; see `RegressorVoters`."""
    regressors: RegressorVoters

    def __post_init__(self) -> None:
        output, D = self.regressors.output, self.n_outputs
        if len(output) % D or (output.reshape(-1, D) != np.arange(D)).any():
            raise ValueError(f"{len(output)} regressors are no whole rounds of {D}, one for each score in turn.")

    def __len__(self) -> int:
        return len(self.regressors) // self.n_outputs

    def __getitem__(self, index: VoterIndex) -> RegressorRounds:
        chosen = np.atleast_1d(np.arange(len(self))[index])
        return RegressorRounds(self.regressors[(chosen[:, None] * self.n_outputs + np.arange(self.n_outputs)).ravel()])

    @property
    def n_outputs(self) -> int:
        """Number of scores D."""
        return self.regressors.n_outputs

    @property
    def n_classes(self) -> int:
        """Number of classes, or of numbers that are predicted."""
        return self.regressors.n_classes

    @property
    def n_features(self) -> int | None:
        """Width of the encoded matrix; None if the regressors do not tell."""
        return self.regressors.n_features

    @property
    def n_nodes(self) -> NDArray[np.int64]:
        """Tree nodes of each round, ``(T,)``; 0 where it has none."""
        sizes: NDArray[np.int64] = self.regressors.n_nodes.reshape(len(self), self.n_outputs).sum(axis=1)
        return sizes

    @property
    def nbytes(self) -> int:
        """Bytes of the regressors when pickled."""
        return self.regressors.nbytes

    @property
    def spread(self) -> F64:
        """The most that each round changed the difference of two scores on training rows, at most, ``(T,)``.

        The two largest numbers of its regressors together, which no row need have at once; of a single score its own.
        """
        each = np.sort(self.regressors.spread.reshape(len(self), self.n_outputs), axis=1)
        widest: F64 = each[:, -2:].sum(axis=1)
        return widest

    def tally(self, X: F64, weights: F64 | None = None, n_threads: int = 1) -> F64:
        """Weighted sums of the predictions, ``(n, D)``, added in the order of the rounds."""
        counted = np.ones(len(self)) if weights is None else np.asarray(weights, dtype=np.float64)
        if counted.shape != (len(self),):
            raise ValueError(f"weights has shape {counted.shape}; {len(self)} rounds need ({len(self)},).")
        return self.regressors.tally(X, np.repeat(counted, self.n_outputs), n_threads)

    def votes(self, X: F64, n_threads: int = 1) -> F64:
        """Scores that each round adds, ``(n, T, D)``."""
        votes = np.empty((len(X), len(self), self.n_outputs))
        for t in range(len(self)):
            votes[:, t] = self[t : t + 1].tally(X, None, n_threads)
        return votes

    def to_document(self, tensors: Tensors) -> Document:
        """Write the rounds into a model file; the regressors must be learners of this library."""
        return {"kind": "regressor_rounds", "regressors": self.regressors.to_document(tensors.part("regressors"))}

    @classmethod
    def from_document(cls, document: Document, tensors: Tensors) -> RegressorRounds:
        """Read what `to_document` wrote, trusting no value."""
        regressors: dict[str, Any] = field(document, "regressors", dict)
        if field(regressors, "kind", str) != "regressors":
            raise ValueError("the regressors of rounds must be of kind 'regressors'")
        return cls(RegressorVoters.from_document(regressors, tensors.part("regressors")))

    def check_columns(self, table: TableSchema | None) -> None:
        """Refuse nothing: every regressor has its own table."""
