"""Voters with random votes: classifiers with probabilities, oracles and soft stumps."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor

from committee import _core
from committee.data.number_types import F64
from committee.data.table_schema import TableSchema
from committee.data.typed_json import field
from committee.files.documents import Document, Tensors
from committee.files.kinds import describe_learners
from committee.voters.estimators import OwnTables, read_members
from committee.voters.flat_trees import extents, positions
from committee.voters.protocol import voter_numbers

Estimate: TypeAlias = Literal["map", "ml"]


@runtime_checkable
class ProbabilisticVoter(Protocol):
    def prob_positive(self, X: F64) -> F64:
        """Probability q(x) of +1 for each row, ``(n,)``."""


@runtime_checkable
class DrawnVoter(Protocol):
    """Oracle: a voter that draws its votes at random."""

    def draw(self, X: F64, rng: np.random.Generator) -> NDArray[Any]:
        """Draw one vote for each row, ``(n,)``: a number above 0 for +1, any other for -1."""


def prob_positive(voter: Any, X: F64) -> F64:
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


def draw_answers(voter: Any, X: F64, rng: np.random.Generator) -> NDArray[np.bool_]:
    if not isinstance(voter, DrawnVoter):
        return np.asarray(rng.random(len(X)) < prob_positive(voter, X))
    answers: NDArray[Any] = np.asarray(voter.draw(X, rng))
    if answers.shape != (len(X),):
        raise ValueError(f"draw of {type(voter).__name__} has shape {answers.shape}; {len(X)} rows need ({len(X)},).")
    if answers.dtype.kind not in "biuf" or not np.isfinite(answers).all():
        raise ValueError(
            f"draw of {type(voter).__name__} returns values that are not finite numbers; it must return +1 or -1."
        )
    return np.asarray(answers > 0)


def estimate_probability(count: NDArray[Any], n_draws: int, estimate: Estimate) -> F64:
    """Probability of +1 from `n_draws` answers of which `count` were +1.

    Equation: draw-estimates (docs/theory.md).
    """
    return count / n_draws if estimate == "ml" else (1.0 + count) / (n_draws + 2.0)


@dataclass(frozen=True, eq=False)
class OracleVoters(OwnTables):
    """T voters with a probability q(x) of +1, known or estimated from draws."""

    learners = property(attrgetter("voters"))
    voters: Sequence[Any]
    n_draws: NDArray[np.int64]  # (T,): answers drawn to estimate q of new rows; 0 if q is known exactly
    estimate: Estimate = "map"
    seed: int = 0
    number: NDArray[np.int64] | None = None  # (T,): voters with equal numbers share their draws; None: 0, ..., T - 1

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
        chosen = voter_numbers(index, len(self))
        voters, number = [self.voters[t] for t in chosen], self.number[chosen]
        return OracleVoters(voters, self.n_draws[chosen], self.estimate, self.seed, number)

    @property
    def n_features(self) -> int | None:
        return getattr(self.voters[0], "n_features_in_", None) if self.voters else None

    @property
    def nbytes(self) -> int:
        return len(pickle.dumps(self.voters, protocol=5))

    def probabilities(self, X: F64, n_threads: int = 1) -> F64:
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
                count += draw_answers(voter, X, rng)
            q[:, t] = estimate_probability(count, R, self.estimate)
        return q

    def to_document(self, tensors: Tensors) -> Document:
        tensors.put(n_draws=self.n_draws)
        return {
            "kind": "oracles",
            "estimate": self.estimate,
            "seed": int(self.seed),
            "members": describe_learners(self.voters, tensors),
        }

    @classmethod
    def from_document(cls, document: Document, tensors: Tensors) -> OracleVoters:
        estimate = field(document, "estimate", str)
        if estimate not in ("map", "ml"):
            raise ValueError(f"estimate is {estimate!r}; it must be 'map' or 'ml'")

        def fault(member: Any) -> str | None:
            binary = not is_regressor(member) and set(member.classes_.tolist()) <= {0, 1}
            return None if binary else "is not a classifier of 0 and 1"

        members = read_members(document, tensors, fault)
        n_draws = tensors.take("n_draws", np.int64, 1)
        if n_draws.any():
            raise ValueError(f"{tensors.prefix}n_draws is not zero; the library's learners have exact probabilities")
        return cls(members, n_draws, "ml" if estimate == "ml" else "map", read_seed(document))


def read_seed(document: Document) -> int:
    seed: int = field(document, "seed", int)
    if not 0 <= seed < 2**63:
        raise ValueError(f"seed is {seed}; it must lie in [0, 2**63)")
    return seed


StumpArrays: TypeAlias = tuple[
    NDArray[np.int32], F64, F64, NDArray[np.uint8], F64, NDArray[np.int64], NDArray[np.uint32]
]
STUMP_DTYPES: dict[str, np.dtype[Any]] = {
    "feature": np.dtype(np.int32),
    "threshold": np.dtype(np.float64),
    "softness": np.dtype(np.float64),
    "ascending": np.dtype(np.uint8),
    "missing": np.dtype(np.float64),
    "category_offset": np.dtype(np.int64),
    "category_bits": np.dtype(np.uint32),
}


@dataclass(frozen=True, eq=False)
class SoftStumps:
    """T stumps on one column each: q(x) = Phi((x_j - c) / s), or 1 - q for descending ones."""

    feature: NDArray[np.int32]  # (T,): column j
    threshold: F64  # (T,): c, 0 for categories
    softness: F64  # (T,): s >= 0
    ascending: NDArray[np.uint8]  # (T,): 1 if +1 is above c
    missing: F64  # (T,): q of a missing value
    category_offset: NDArray[np.int64]  # (T + 1,): extents of the stumps' category bits; empty for numeric columns
    category_bits: NDArray[np.uint32]  # a set bit is a category with +1; 32 categories per word
    n_features: int

    def __post_init__(self) -> None:
        T = len(self.feature)
        for name, dtype in STUMP_DTYPES.items():
            array = getattr(self, name)
            if array.dtype != dtype or array.ndim != 1:
                raise ValueError(f"{name} is {array.dtype} of {array.ndim} dimensions; it must be {dtype} of one")
        if any(len(getattr(self, name)) != T for name in ("threshold", "softness", "ascending", "missing")):
            raise ValueError("the stumps' arrays differ in length")
        offset, n_words = self.category_offset, len(self.category_bits)
        if len(offset) != T + 1 or offset[0] != 0 or (np.diff(offset) < 0).any() or offset[-1] != n_words:
            raise ValueError("category_offset does not partition category_bits")
        if T and not (self.feature.min() >= 0 and self.feature.max() < self.n_features):
            raise ValueError(f"feature holds a column outside [0, {self.n_features})")
        if np.isnan(self.threshold).any() or not np.isfinite(self.softness).all() or (self.softness < 0).any():
            raise ValueError("threshold must be a number, softness finite and not negative")
        if not ((self.missing >= 0) & (self.missing <= 1)).all() or (self.ascending > 1).any():
            raise ValueError("missing must lie in [0, 1], ascending be 0 or 1")

    @classmethod
    def of(
        cls,
        stumps: list[tuple[int, float, float, bool, float, NDArray[np.uint32] | None]],
        n_features: int,
    ) -> SoftStumps:
        words = [np.empty(0, np.uint32) if stump[5] is None else stump[5] for stump in stumps]
        columns = [[stump[k] for stump in stumps] for k in range(5)]
        arrays: dict[str, Any] = {
            name: np.array(column, dtype) for (name, dtype), column in zip(STUMP_DTYPES.items(), columns, strict=False)
        }
        arrays["category_offset"] = extents([len(word) for word in words])
        arrays["category_bits"] = np.concatenate([np.empty(0, np.uint32), *words]).astype(np.uint32)
        return cls(**arrays, n_features=n_features)

    def __len__(self) -> int:
        return len(self.feature)

    def __getitem__(self, index: Any) -> SoftStumps:
        chosen = voter_numbers(index, len(self))
        words = np.diff(self.category_offset)[chosen]
        bits = self.category_bits[positions(self.category_offset[chosen], words)]
        numbers: dict[str, Any] = {name: getattr(self, name)[chosen] for name in list(STUMP_DTYPES)[:5]}
        return SoftStumps(**numbers, category_offset=extents(words), category_bits=bits, n_features=self.n_features)

    @property
    def arrays(self) -> StumpArrays:
        numbers = self.feature, self.threshold, self.softness, self.ascending, self.missing
        return *numbers, self.category_offset, self.category_bits

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.arrays)

    def probabilities(self, X: F64, n_threads: int = 1) -> F64:
        return _core.stump_probabilities(X, *self.arrays, n_threads)

    def to_document(self, tensors: Tensors) -> Document:
        tensors.part("stumps").put_fields(self, STUMP_DTYPES)
        return {"kind": "soft_stumps", "n_features": int(self.n_features)}

    @classmethod
    def from_document(cls, document: Document, tensors: Tensors) -> SoftStumps:
        n_features = field(document, "n_features", int)
        own = tensors.part("stumps")
        arrays: dict[str, Any] = {name: own.take(name, dtype, 1) for name, dtype in STUMP_DTYPES.items()}
        return cls(**arrays, n_features=n_features)

    def check_columns(self, table: TableSchema | None) -> None:
        if table is None:
            return
        # a threshold of -inf suits any column
        bad = table.mismatched_splits(self.feature, np.diff(self.category_offset)) & (self.threshold > -np.inf)
        if bad.any():
            raise ValueError(f"a stump on {table.column(int(self.feature[np.argmax(bad)]))} does not suit its type")
