"""Classifiers of two classes that each add +1 or -1 to one score of several: one-versus-rest, or a number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64
from committee.data.typed_json import field
from committee.files.documents import Document, Tensors
from committee.voters.estimators import EstimatorVoters
from committee.voters.protocol import VoteKind, VoterIndex

if TYPE_CHECKING:
    from committee.data.frames import TableSchema


@dataclass(frozen=True, eq=False)
class SignedVoters:
    """T classifiers, each speaking to one of D scores: +1 for its second class, -1 for its first.

    Parameters
    ----------
    voters : EstimatorVoters
        T classifiers of two classes, voting hard.
    output : int array (T,)
        The score that each adds to.
    n_outputs : int
        Number of scores D.

    Raises
    ------
    ValueError
        If the voters know other than two classes or vote with probabilities, or an output is out of range.

    Examples
    --------
    ``SignedVoters(voters, np.array([0, 1, 2]), 3)`` are three classifiers, "class k or not" each.
    """

    kind: ClassVar[VoteKind] = "score"
    voters: EstimatorVoters
    output: NDArray[np.intp]
    n_outputs: int

    def __post_init__(self) -> None:
        output = np.array(self.output, dtype=np.intp)
        if self.voters.kind != "label" or self.voters.n_classes != 2:
            raise ValueError("SignedVoters need voters that name one of two classes.")
        if output.shape != (len(self.voters),):
            raise ValueError(f"output has shape {output.shape}; {len(self.voters)} voters need one each.")
        if self.n_outputs < 1 or (output < 0).any() or (output >= self.n_outputs).any():
            raise ValueError(f"output must lie in [0, {self.n_outputs}).")
        output.flags.writeable = False
        object.__setattr__(self, "output", output)

    def __len__(self) -> int:
        return len(self.voters)

    def __getitem__(self, index: VoterIndex) -> SignedVoters:
        chosen = np.atleast_1d(np.arange(len(self))[index])
        return SignedVoters(self.voters[chosen], self.output[chosen], self.n_outputs)

    @property
    def n_classes(self) -> int:
        """Number of scores, a class each."""
        return self.n_outputs

    @property
    def n_features(self) -> int | None:
        """Width of the encoded matrix."""
        return self.voters.n_features

    @property
    def n_nodes(self) -> NDArray[np.int64]:
        """Tree nodes of each classifier, ``(T,)``."""
        return self.voters.n_nodes

    @property
    def nbytes(self) -> int:
        """Bytes of the classifiers."""
        return self.voters.nbytes + self.output.nbytes

    @property
    def spread(self) -> F64:
        """The most that each can change a margin: 1."""
        return np.ones(len(self))

    def tally(self, X: F64, weights: F64 | None = None, n_threads: int = 1) -> F64:
        """Weighted sums of the votes, ``(n, D)``."""
        counted = np.ones(len(self)) if weights is None else np.asarray(weights, dtype=np.float64)
        signs = self._signs(X, n_threads)
        tally = np.zeros((len(signs), self.n_outputs))
        for k in range(self.n_outputs):
            tally[:, k] = signs[:, self.output == k] @ counted[self.output == k]
        return tally

    def votes(self, X: F64, n_threads: int = 1) -> F64:
        """Every vote, ``(n, T, D)``: -1, 0 or +1 in the voter's own column, 0 in the others."""
        signs = self._signs(X, n_threads)
        votes = np.zeros((*signs.shape, self.n_outputs))
        votes[:, np.arange(len(self)), self.output] = signs
        return votes

    def to_document(self, tensors: Tensors) -> Document:
        """Write the classifiers and their scores into a model file."""
        tensors.put(output=self.output.astype(np.int64))
        members = self.voters.to_document(tensors.part("members"))
        return {"kind": "signed", "n_outputs": int(self.n_outputs), "members": members}

    @classmethod
    def from_document(cls, document: Document, tensors: Tensors) -> SignedVoters:
        """Read what `to_document` wrote, trusting no value."""
        members = field(document, "members", dict)
        if field(members, "kind", str) != "estimators":
            raise ValueError("the members of signed voters must be classifiers")
        output = tensors.take("output", np.int64, 1)
        voters = EstimatorVoters.from_document(members, tensors.part("members"))
        return cls(voters, output, field(document, "n_outputs", int))

    def check_columns(self, table: TableSchema | None) -> None:
        """Refuse nothing: every classifier has its own table."""

    def _signs(self, X: F64, n_threads: int) -> F64:
        label = self.voters.votes(X, n_threads)
        return np.where(label < 0, 0.0, 2.0 * label - 1.0)
