"""Model trees, and boosted committees of them, as voters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from operator import attrgetter
from typing import Any, ClassVar, Literal, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, log_ndtr, ndtr

from committee import _core
from committee.data.design import Design
from committee.data.number_types import F64, check_array, check_finite, check_range, checked_length
from committee.data.table_schema import TableSchema
from committee.data.typed_json import field
from committee.files.documents import Document, Tensors
from committee.voters.flat_trees import check_extents, extents, positions
from committee.voters.forest import Forest
from committee.voters.protocol import (
    UnitSpread,
    VoteKind,
    VoterIndex,
    class_indicators,
    tree_numbers,
    voter_numbers,
    voter_weights,
)
from committee.voters.shared_forest import read_forest

Value = TypeVar("Value", bound=np.generic)


@dataclass(frozen=True, eq=False)
class LeafRows:
    """Training rows by leaf: leaf l has ``rows[start[l]:start[l + 1]]``, at least one row."""

    rows: NDArray[np.int32]
    start: NDArray[np.int64]

    @classmethod
    def concatenate(cls, parts: Sequence[LeafRows]) -> LeafRows:
        start = extents(np.concatenate([np.diff(part.start) for part in parts]))
        return cls(np.concatenate([part.rows for part in parts]), start)

    def sums(self, values: F64) -> F64:
        """Sum in each leaf of an array ``(m, ...)`` in the order of `rows`."""
        return np.add.reduceat(values, self.start[:-1], axis=0)

    def repeat_by_leaf(self, of_leaf: NDArray[Value]) -> NDArray[Value]:
        return np.repeat(of_leaf, np.diff(self.start), axis=0)

    def products(self, D: F64, values: F64) -> F64:
        """Sum in each leaf of ``values[i, o] (D[rows[i]] - D[first row of the leaf])``, ``(L, O, q)``."""
        return _core.leaf_products(D, self.rows, self.start, values)

    def centre(self, D: F64, w: F64) -> F64:
        """Weighted mean design row of each leaf, ``(L, q)``, for `D` ``(n, q)`` and `w` ``(m,)``."""
        centre: F64 = D[self.rows[self.start[:-1]]] + self.products(D, w[:, None])[:, 0] / self.sums(w)[:, None]
        return centre


@dataclass(frozen=True, eq=False)
class TrainingRecord:
    mass: F64  # (L,): sum of the sample weights of the training rows in each leaf
    centre: F64  # (L, q): their weighted mean design row
    risk_decrease: F64  # (T, p): decrease of each tree's mean training risk by feature, in nats

    def take(self, models: NDArray[np.integer], trees: NDArray[np.integer]) -> TrainingRecord:
        return TrainingRecord(self.mass[models], self.centre[models], self.risk_decrease[trees])

    @classmethod
    def concatenate(cls, parts: Sequence[TrainingRecord]) -> TrainingRecord:
        return cls(*(np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(cls)))

    @property
    def nbytes(self) -> int:
        return self.mass.nbytes + self.centre.nbytes + self.risk_decrease.nbytes


LinkName = Literal["probit", "logit"]

_MODEL = ("model", "intercept", "coefficient")
_DESIGN = ("source", "category", "fill")
_RECORD = ("mass", "centre", "risk_fall")


@dataclass(frozen=True, eq=False)
class ModelForest(UnitSpread):
    """Voters of model trees, whose leaves have linear scores."""

    forest: Forest
    model: NDArray[np.int32]  # (N,): leaf model of each leaf, -1 at inner nodes
    intercept: F64  # (L, O): O = 1 for two classes or trees of one class, else K
    coefficient: F64  # (L, O, q): per design column, in the user's units
    design: Design
    link: LinkName = "probit"  # from a score to the probability of its class
    soft: bool = False  # vote with probabilities instead of a class
    trees_per_voter: int = 1  # K if tree k of each voter is for class k
    record: TrainingRecord | None = None  # used by explanations only

    def __len__(self) -> int:
        return len(self.forest) // self.trees_per_voter

    def __getitem__(self, index: VoterIndex) -> ModelForest:
        trees = tree_numbers(index, len(self), self.trees_per_voter)
        forest = self.forest[trees]
        model = self.model[positions(self.forest.offset[trees], forest.n_nodes)]
        # leaf models that no selected leaf has are left out, and the others numbered anew
        used, renumbered = np.unique(model[model >= 0], return_inverse=True)
        model[model >= 0] = renumbered
        return replace(
            self,
            forest=forest,
            model=model.astype(np.int32),
            intercept=np.ascontiguousarray(self.intercept[used]),
            coefficient=np.ascontiguousarray(self.coefficient[used]),
            record=None if self.record is None else self.record.take(used, trees),
        )

    @classmethod
    def concatenate(cls, parts: Sequence[ModelForest]) -> ModelForest:
        if len(parts) == 1:
            return parts[0]
        shift = np.cumsum([0, *(len(part.intercept) for part in parts)])
        model = [np.where(part.model >= 0, part.model + s, -1) for part, s in zip(parts, shift[:-1], strict=True)]
        records = [part.record for part in parts if part.record is not None]
        return replace(
            parts[0],
            forest=Forest.concatenate([part.forest for part in parts]),
            model=np.concatenate(model).astype(np.int32),
            intercept=np.concatenate([part.intercept for part in parts]),
            coefficient=np.concatenate([part.coefficient for part in parts]),
            record=TrainingRecord.concatenate(records) if len(records) == len(parts) else None,
        )

    @property
    def kind(self) -> VoteKind:
        return "score" if self.soft else "label"

    n_classes = property(attrgetter("forest.n_classes"))
    n_outputs = property(attrgetter("forest.n_classes"))
    n_features = property(attrgetter("forest.n_features"))

    @property
    def n_nodes(self) -> NDArray[np.int64]:
        return np.asarray(self.forest.n_nodes.reshape(-1, self.trees_per_voter).sum(axis=1))

    @property
    def nbytes(self) -> int:
        record = 0 if self.record is None else self.record.nbytes
        return self.forest.nbytes + self.model.nbytes + self.intercept.nbytes + self.coefficient.nbytes + record

    @cached_property
    def trees(self) -> _core.LeafModelTrees:
        return _core.LeafModelTrees(*self.forest.walk_arrays, self.model, self.intercept, self.coefficient)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "trees"}

    def scores(self, X: F64, n_threads: int = 1) -> F64:
        """Linear scores ``(n, voters, O)``, O = 1 (positive: second class) or K."""
        X = np.ascontiguousarray(X, dtype=np.float64)
        raw = self.trees.scores(X, np.ascontiguousarray(self.design.matrix(X)), n_threads)
        return raw.reshape(len(X), len(self), self.trees_per_voter * raw.shape[2])

    def probabilities(self, X: F64, n_threads: int = 1) -> F64:
        """Class probabilities ``(n, voters, K)``."""
        F = self.scores(X, n_threads)
        if F.shape[2] == 1:
            curve = ndtr if self.link == "probit" else expit
            P: F64 = np.concatenate([curve(-F), curve(F)], axis=2)
            winner = (F[:, :, 0] > 0.0).astype(np.intp)
        else:
            # logarithms, because every Phi of a row may underflow; they are about -F^2/2, which must not overflow
            log_curve = log_ndtr if self.link == "probit" else log_expit
            P = log_curve(np.maximum(F, -1e150))
            P = np.exp(P - P.max(axis=2, keepdims=True))
            P /= P.sum(axis=2, keepdims=True)
            winner = F.argmax(axis=2)
        # rounding may hide the lead of the elected class
        hidden = np.nonzero(P.argmax(axis=2) != winner)
        P[(*hidden, winner[hidden])] = np.nextafter(P[hidden].max(axis=-1), np.inf)
        return P

    def votes(self, X: F64, n_threads: int = 1) -> NDArray[np.int16] | F64:
        if self.soft:
            return self.probabilities(X, n_threads)
        if self.trees_per_voter > 1:
            return np.asarray(self.scores(X, n_threads).argmax(axis=2).astype(np.int16))
        X = np.ascontiguousarray(X, dtype=np.float64)
        return self.trees.votes(X, np.ascontiguousarray(self.design.matrix(X)), n_threads)

    def tally(self, X: F64, weights: F64 | None = None, n_threads: int = 1) -> F64:
        weights = voter_weights(weights, len(self))
        votes = self.votes(X, n_threads)
        if self.soft:
            return np.asarray(np.einsum("ntk,t->nk", votes, weights))
        F = np.zeros((len(votes), self.n_classes))
        rows = np.arange(len(votes))
        for t, weight in enumerate(weights.tolist()):
            F[rows, votes[:, t]] += weight
        return F

    def to_document(self, tensors: Tensors) -> Document:
        tensors.put_fields(self, _MODEL[:2])
        tensors.put_reals(coefficient=self.coefficient)
        tensors.part("design").put_fields(self.design, _DESIGN)
        if self.record is not None:
            arrays = self.record.mass, self.record.centre, self.record.risk_decrease
            tensors.part("record").put_reals(**dict(zip(_RECORD, arrays, strict=True)))
        return {
            "kind": "model_trees",
            "trees": self.forest.to_document(tensors.part("trees")),
            "link": self.link,
            "soft": bool(self.soft),
            "trees_per_voter": int(self.trees_per_voter),
            "record": self.record is not None,
        }

    @classmethod
    def from_document(cls, document: Document, tensors: Tensors) -> Self:
        voters = cls(**cls._fields(document, tensors))
        voters.check()
        return voters

    @classmethod
    def _fields(cls, document: Document, tensors: Tensors) -> dict[str, Any]:
        trees = field(document, "trees", dict)
        recorded = field(document, "record", bool)
        return {
            "forest": read_forest(trees, tensors.part("trees"), "label", "model trees"),
            **tensors.take_fields(_MODEL[:2]),
            "coefficient": tensors.take_reals("coefficient"),
            "design": Design(**tensors.part("design").take_fields(_DESIGN)),
            "record": TrainingRecord(*map(tensors.part("record").take_reals, _RECORD)) if recorded else None,
            "link": field(document, "link", str),
            "soft": field(document, "soft", bool),
            "trees_per_voter": field(document, "trees_per_voter", int),
        }

    def check(self) -> None:
        """Check all values except those of the design."""
        self.forest.check()
        K, T = self.n_classes, len(self.forest)
        if K < 2:
            raise ValueError(f"n_classes is {K}; model trees need at least two classes.")
        if self.link not in ("probit", "logit"):
            raise ValueError(f"link of the leaves is {self.link!r}; it must be 'probit' or 'logit'.")
        if self.trees_per_voter not in ((1, K) if K > 2 else (1,)):
            raise ValueError(
                f"trees_per_voter is {self.trees_per_voter}; for {K} classes it must be 1" + f" or {K}" * (K > 2)
            )
        if not T or T % self.trees_per_voter:
            raise ValueError(f"{T} trees do not form whole voters of {self.trees_per_voter} trees.")
        self._check_models()

    def _check_models(self) -> None:
        K, q = self.n_classes, checked_length("design.source", self.design.source)
        models = checked_length("intercept", self.intercept)
        outputs = 1 if K == 2 or self.trees_per_voter > 1 else K
        check_array("model", self.model, np.int32, self.forest.feature.shape)
        check_finite("intercept", self.intercept, (models, outputs))
        check_finite("coefficient", self.coefficient, (models, outputs, q))
        leaf = self.forest.feature < 0
        if (self.model[~leaf] != -1).any():
            raise ValueError("model is not -1 at an inner node.")
        check_range("model", self.model[leaf], 0, models - 1)
        if (record := self.record) is not None:
            check_finite("record.mass", record.mass, (models,))
            check_finite("record.centre", record.centre, (models, q))
            check_finite("record.risk_fall", record.risk_decrease, (len(self.forest), self.n_features))
            if (record.mass <= 0).any():
                raise ValueError("record.mass is not positive.")

    def check_columns(self, table: TableSchema | None) -> None:
        if table is None:
            raise ValueError("the table is null; linear models need the types of their columns")
        self.design.check(table)
        self.forest.check_columns(table)


@dataclass(frozen=True, eq=False)
class LinearScores(ModelForest):
    """Model trees that vote with their linear scores, ``(n, T, O)``."""

    kind: ClassVar[VoteKind] = "score"
    cap: float = 20.0  # bound of the scores of training rows

    @classmethod
    def single_leaf(
        cls,
        design: Design,
        intercept: F64,
        coefficient: F64,
        link: LinkName,
        cap: float,
        class_weight: F64,
        n_rows: int,
        record: TrainingRecord | None = None,
    ) -> LinearScores:
        """Tree with a single leaf; `intercept` is ``(O,)``, `coefficient` ``(O, q)``, `class_weight` ``(K,)``."""
        leaf = np.zeros(1)
        forest = Forest(
            n_features=len(design.fill),
            n_classes=len(class_weight),
            offset=np.array([0, 1], dtype=np.int64),
            feature=np.full(1, -1, dtype=np.int32),
            threshold=leaf,
            left=np.full(1, -1, dtype=np.int32),
            missing_left=np.zeros(1, dtype=np.uint8),
            category_offset=np.zeros(2, dtype=np.int64),
            category_bits=np.zeros(0, dtype=np.uint32),
            label=np.array([class_weight.argmax()], dtype=np.int32),
            value=None,
            gain=leaf,
            weight=np.array([class_weight.sum()]),
            count=np.array([n_rows], dtype=np.int64),
        )
        model = np.zeros(1, dtype=np.int32)
        return cls(forest, model, intercept[None], coefficient[None], design, link, record=record, cap=cap)

    @property
    def n_outputs(self) -> int:
        return int(self.coefficient.shape[1])

    @property
    def spread(self) -> F64:
        return np.full(len(self), self.cap if self.n_classes == 2 else 2.0 * self.cap)

    def votes(self, X: F64, n_threads: int = 1) -> F64:
        return self.scores(X, n_threads)

    def tally(self, X: F64, weights: F64 | None = None, n_threads: int = 1) -> F64:
        weights = voter_weights(weights, len(self))
        return np.asarray(np.einsum("nto,t->no", self.scores(X, n_threads), weights))

    def to_document(self, tensors: Tensors) -> Document:
        return {**super().to_document(tensors), "kind": "linear_scores", "cap": float(self.cap)}

    @classmethod
    def _fields(cls, document: Document, tensors: Tensors) -> dict[str, Any]:
        return {**super()._fields(document, tensors), "cap": field(document, "cap", float)}

    def check(self) -> None:
        super().check()
        if not (math.isfinite(self.cap) and self.cap > 0):
            raise ValueError(f"cap is {self.cap}; it must be finite and above zero.")


@dataclass(frozen=True, eq=False)
class BoostedCommittees(UnitSpread):
    members: ModelForest  # all trees of all committees
    alpha: F64  # (T,): positive weight of each tree in its committee
    start: NDArray[np.int64]  # (M + 1,): committee m has the trees start[m]:start[m + 1]
    soft: bool = False

    def __len__(self) -> int:
        return len(self.start) - 1

    def __getitem__(self, index: VoterIndex) -> BoostedCommittees:
        chosen = voter_numbers(index, len(self))
        sizes = np.diff(self.start)[chosen]
        trees = positions(self.start[chosen], sizes)
        return BoostedCommittees(self.members[trees], self.alpha[trees], extents(sizes), self.soft)

    @property
    def kind(self) -> VoteKind:
        return "score" if self.soft else "label"

    n_classes = property(attrgetter("members.n_classes"))
    n_outputs = property(attrgetter("members.n_classes"))
    n_features = property(attrgetter("members.n_features"))

    @property
    def n_nodes(self) -> NDArray[np.int64]:
        return np.add.reduceat(self.members.n_nodes, self.start[:-1])

    @property
    def nbytes(self) -> int:
        return self.members.nbytes + self.alpha.nbytes + self.start.nbytes

    def tree_weights(self, weights: F64) -> F64:
        within = self.alpha / np.repeat(np.add.reduceat(self.alpha, self.start[:-1]), np.diff(self.start))
        return np.asarray(np.repeat(weights, np.diff(self.start)) * within)

    def tree_shares(self, weights: F64) -> F64:
        return self.tree_weights(weights / weights.sum())

    def _class_weights(self, X: F64, n_threads: int) -> F64:
        votes = self.members.votes(X, n_threads)
        P = np.zeros((len(votes), len(self), self.n_classes))
        rows = np.arange(len(votes))
        for m in range(len(self)):
            for t in range(self.start[m], self.start[m + 1]):
                if self.members.soft:
                    P[:, m] += self.alpha[t] * votes[:, t]
                else:
                    P[rows, m, votes[:, t]] += self.alpha[t]
        return P

    def shares(self, X: F64, n_threads: int = 1) -> F64:
        weights = self._class_weights(X, n_threads)
        return np.asarray(weights / np.add.reduceat(self.alpha, self.start[:-1])[:, None])

    def votes(self, X: F64, n_threads: int = 1) -> NDArray[np.int16] | F64:
        if self.soft:
            return self.shares(X, n_threads)
        # not by the shares: division can round different weights to the same share
        return np.asarray(self._class_weights(X, n_threads).argmax(axis=2).astype(np.int16))

    def tally(self, X: F64, weights: F64 | None = None, n_threads: int = 1) -> F64:
        members = self.members
        plain = weights is None or bool((np.asarray(weights) == 1.0).all())
        # if trees weigh alike, or their probabilities add up, the kernels need no array of votes
        if members.trees_per_voter == 1 and (plain or members.soft):
            X = np.ascontiguousarray(X, dtype=np.float64)
            D = np.ascontiguousarray(members.design.matrix(X))
            if members.soft:
                share = self.tree_weights(np.ones(len(self)) if weights is None else np.asarray(weights))
                return members.trees.tally_probabilities(X, D, share, members.link, n_threads)
            return members.trees.tally_committees(
                X, D, self.alpha, self.start, self.n_classes, not self.soft, n_threads
            )
        P = self.votes(X, n_threads)
        if not self.soft:
            P = class_indicators(P, self.n_classes)
        return np.asarray(np.einsum("nmk,m->nk", P, voter_weights(weights, len(self))))

    def to_document(self, tensors: Tensors) -> Document:
        tensors.put(alpha=self.alpha, start=self.start)
        members = self.members.to_document(tensors.part("members"))
        return {"kind": "committees", "soft": bool(self.soft), "members": members}

    @classmethod
    def from_document(cls, document: Document, tensors: Tensors) -> BoostedCommittees:
        described = field(document, "members", dict)
        if field(described, "kind", str) != "model_trees":
            raise ValueError(f"members are of kind {described['kind']!r}; committees have 'model_trees'")
        members = ModelForest.from_document(described, tensors.part("members"))
        voters = cls(members, tensors.take("alpha"), tensors.take("start"), field(document, "soft", bool))
        voters.check()
        return voters

    def check(self) -> None:
        self.members.check()
        if self.members.kind != "label" and not self.soft:
            raise ValueError("members give scores; a committee that votes hard counts the classes that they name.")
        T, M = len(self.members), checked_length("start", self.start) - 1
        check_array("start", self.start, np.int64, (M + 1,))
        if M < 1:
            raise ValueError(f"start has length {M + 1}; it must be at least 2, one more than the committees.")
        check_extents("start", self.start, T, least=1)
        check_finite("alpha", self.alpha, (T,))
        with np.errstate(over="ignore"):
            total = self.alpha.sum()
        if (self.alpha <= 0).any() or not np.isfinite(total):
            raise ValueError("alpha must be positive, with a finite sum.")

    def check_columns(self, table: TableSchema | None) -> None:
        self.members.check_columns(table)
