"""Voters that answer at random: their protocols, and any fitted classifiers as such."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor

from committee.data.number_types import F64
from committee.data.typed_json import field
from committee.files.documents import Document, Tensors
from committee.files.kinds import describe_learners, rebuild_learners

if TYPE_CHECKING:
    from committee.data.frames import TableSchema

Estimate: TypeAlias = Literal["map", "ml"]
"""Estimates of a probability from draws."""


@runtime_checkable
class ProbabilisticVoter(Protocol):
    """A voter that knows how likely it is to say +1."""

    def prob_positive(self, X: F64) -> F64:
        """q(x), the probability of +1 on each row, ``(n,)`` in [0, 1]."""


@runtime_checkable
class DrawnVoter(Protocol):
    """An oracle: a voter that only gives answers, perhaps a different one each time."""

    def draw(self, X: F64, rng: np.random.Generator) -> NDArray[Any]:
        """One answer on each row, ``(n,)``: above 0 for +1, otherwise -1; drawn anew at every call."""


class ProbabilisticVoters(Protocol):
    """T voters that answer at random, as a `VoteGraph` holds them: `SoftStumps` or `OracleVoters`."""

    @property
    def n_features(self) -> int | None:
        """Width of the encoded matrix; None where the voters alone know."""

    @property
    def nbytes(self) -> int:
        """Bytes of the voters."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: Any) -> ProbabilisticVoters: ...

    def probabilities(self, X: F64, n_threads: int = 1) -> F64:
        """q of every voter on every row, ``(n, T)``."""


def prob_positive(voter: Any, X: F64) -> F64:
    """The probability of +1, in [0, 1], that a voter gives for each row ``(n,)``, checked.

    The voter has ``prob_positive``, or ``predict_proba`` and ``classes_``; q is 0 if 1 is none of these.

    Raises
    ------
    ValueError
        If an answer is NaN or outside [0, 1], or there is not one for every row; naming the voter, row and value.
    """
    kind = type(voter).__name__
    if isinstance(voter, ProbabilisticVoter):
        q: F64 = np.array(voter.prob_positive(X), dtype=np.float64)
        source = f"prob_positive of {kind}"
    else:
        shares = np.asarray(voter.predict_proba(X), dtype=np.float64)
        source = f"predict_proba of {kind}"
        labels = [int(label) for label in voter.classes_]
        if shares.ndim != 2 or shares.shape[1] != len(labels):
            raise ValueError(f"{source} has shape {shares.shape}; its {len(labels)} classes need as many columns.")
        q = shares[:, labels.index(1)].copy() if 1 in labels else np.zeros(len(shares))
    if q.shape != (len(X),):
        raise ValueError(f"{source} has shape {q.shape}; {len(X)} rows need ({len(X)},).")
    wrong = ~((q >= -1e-9) & (q <= 1.0 + 1e-9))  # sums of shares may pass 1 by a rounding
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(f"{source} is {q[row]} on row {row}; a probability lies in [0, 1].")
    return np.clip(q, 0.0, 1.0)


def drawn(voter: Any, X: F64, rng: np.random.Generator) -> NDArray[np.bool_]:
    """One answer of a voter on each row: True for +1.

    An oracle, which has ``draw``, answers itself; for a voter with probabilities, as `prob_positive` takes it, answers
    are drawn by them.

    Raises
    ------
    ValueError
        If ``draw`` gives another number of answers than rows, or answers that are not finite.
    """
    if not isinstance(voter, DrawnVoter):
        return np.asarray(rng.random(len(X)) < prob_positive(voter, X))
    answers: NDArray[Any] = np.asarray(voter.draw(X, rng))
    if answers.shape != (len(X),):
        raise ValueError(f"draw of {type(voter).__name__} has shape {answers.shape}; {len(X)} rows need ({len(X)},).")
    if answers.dtype.kind not in "biuf" or not np.isfinite(answers).all():
        raise ValueError(f"draw of {type(voter).__name__} gives answers that are no finite numbers; +1 or -1 are.")
    return np.asarray(answers > 0)


def estimated(count: NDArray[Any], n_draws: int, estimate: Estimate) -> F64:
    """q of `n_draws` answers of which `count` were +1.

    ML is count / R; MAP, under a uniform prior as the document has it, is (1 + count) / (R + 2): never 0 or 1, and
    nearer to 1/2, so that the Z computed from it comes down to its limit from above if n edge^2 is 1/16 or more
    (docs/theory.md).

    Equation: draw-estimates (docs/theory.md).

    References
    ----------
    E. Grossmann, A theory of probabilistic boosting, decision trees and matryoshki, section 2.
    """
    return count / n_draws if estimate == "ml" else (1.0 + count) / (n_draws + 2.0)


@dataclass(frozen=True, eq=False)
class OracleVoters:
    """T fitted classifiers, each saying +1 with a probability of its own.

    Parameters
    ----------
    voters : sequence
        With ``prob_positive`` or ``predict_proba``, which are exact, or ``draw``, of which probabilities are estimated.
    n_draws : int64 array (T,)
        Answers drawn of each oracle to estimate q of new rows; 0 where it is known exactly.
    estimate : {"map", "ml"}
        How.
    seed : int
        Of the draws.
    number : int64 array (T,) or None
        Draws that each voter has: voters of equal numbers share them. None: each its own.

    Examples
    --------
    ``OracleVoters([tree], np.zeros(1, np.int64)).probabilities(X)`` has the shares of the tree's leaves.
    """

    voters: Sequence[Any]
    n_draws: NDArray[np.int64]
    estimate: Estimate = "map"
    seed: int = 0
    number: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "voters", tuple(self.voters))
        n_draws = np.array(self.n_draws, dtype=np.int64)
        if n_draws.shape != (len(self.voters),) or (n_draws < 0).any():
            raise ValueError(f"n_draws has shape {n_draws.shape}; {len(self.voters)} voters need one number >= 0 each.")
        object.__setattr__(self, "n_draws", n_draws)
        if self.number is None:
            object.__setattr__(self, "number", np.arange(len(self.voters)))

    def __len__(self) -> int:
        return len(self.voters)

    def __getitem__(self, index: Any) -> OracleVoters:
        assert self.number is not None
        chosen = np.atleast_1d(np.arange(len(self))[index])
        voters, number = [self.voters[t] for t in chosen], self.number[chosen]
        return OracleVoters(voters, self.n_draws[chosen], self.estimate, self.seed, number)

    @property
    def n_features(self) -> int | None:
        """Width of the encoded matrix."""
        return getattr(self.voters[0], "n_features_in_", None) if self.voters else None

    @property
    def nbytes(self) -> int:
        """Bytes of the voters when pickled."""
        return len(pickle.dumps(self.voters, protocol=5))

    def probabilities(self, X: F64, n_threads: int = 1) -> F64:
        """q of every voter on every row, ``(n, T)``; members answer one after the other, with threads of their own."""
        assert self.number is not None
        q = np.empty((len(X), len(self)))
        first: dict[int, int] = {}
        for t, (voter, R) in enumerate(zip(self.voters, self.n_draws.tolist(), strict=True)):
            number = int(self.number[t])
            if first.setdefault(number, t) < t:
                q[:, t] = q[:, first[number]]
                continue
            if R == 0:
                q[:, t] = prob_positive(voter, X)
                continue
            rng = np.random.default_rng([self.seed, number])
            count = np.zeros(len(X), dtype=np.int64)
            for _ in range(R):
                count += drawn(voter, X, rng)
            q[:, t] = estimated(count, R, self.estimate)
        return q

    # -- the file -----------------------------------------------------------------------------------------------------

    def to_document(self, tensors: Tensors) -> Document:
        """Write the classifiers into a model file; they must be learners of this library."""
        tensors.put(n_draws=self.n_draws)
        return {
            "kind": "oracles",
            "estimate": self.estimate,
            "seed": int(self.seed),
            "members": describe_learners(self.voters, tensors),
        }

    @classmethod
    def from_document(cls, document: Document, tensors: Tensors) -> OracleVoters:
        """Read what `to_document` wrote, trusting no value."""
        estimate = field(document, "estimate", str)
        if estimate not in ("map", "ml"):
            raise ValueError(f"estimate is {estimate!r}; it must be 'map' or 'ml'")
        members = rebuild_learners(field(document, "members", list), tensors)
        for number, member in enumerate(members):
            if is_regressor(member) or not set(member.classes_.tolist()) <= {0, 1}:
                raise ValueError(f"{tensors.prefix}{number} is no classifier of 0 and 1")
            if member.n_features_in_ != members[0].n_features_in_:
                raise ValueError(f"{tensors.prefix}{number} is for other columns than the first voter")
        n_draws = tensors.take("n_draws", np.int64, 1)
        if n_draws.any():
            raise ValueError(f"{tensors.prefix}n_draws is not zero; the library's learners know their probabilities")
        return cls(members, n_draws, "ml" if estimate == "ml" else "map", read_seed(document))

    def check_columns(self, table: TableSchema | None) -> None:
        """Refuse nothing: every member has its own table."""


def read_seed(document: Document) -> int:
    """The seed of a document, as a generator takes it."""
    seed: int = field(document, "seed", int)
    if not 0 <= seed < 2**63:
        raise ValueError(f"seed is {seed}; it must lie in [0, 2**63)")
    return seed
