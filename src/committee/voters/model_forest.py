"""Model trees: flat trees whose leaves are linear scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, log_ndtr, ndtr

from committee import _core
from committee.data.design import Design
from committee.data.number_types import F64, check_array, check_finite, check_range, checked_length
from committee.data.typed_json import field
from committee.files.documents import Document, Tensors
from committee.voters.flat_trees import positions
from committee.voters.forest import Forest
from committee.voters.protocol import VoteKind, VoterIndex
from committee.voters.training_record import TrainingRecord

if TYPE_CHECKING:
    from committee.data.frames import TableSchema

LinkName = Literal["probit", "logit"]

_MODEL = ("model", "intercept", "coefficient")
_DESIGN = ("source", "category", "fill")
_RECORD = ("mass", "centre", "risk_fall")
"""Names that a file has for the arrays beside those of the trees."""


@dataclass(frozen=True, eq=False)
class ModelForest:
    """T model trees: a row reaches a leaf of each, whose linear scores elect a class.

    Parameters
    ----------
    forest : Forest
        The trees. With `trees_per_voter` = K > 1 each voter is K of them in a row, tree k for class k.
    model : int32 array (N,)
        Leaf model of each leaf; -1 at inner nodes.
    intercept : float64 array (L, O)
        Of every leaf model and output: O = 1 for two classes (positive: the second) and for trees of one
        class, otherwise O = K.
    coefficient : float64 array (L, O, q)
        In the user's units, per design column.
    design : Design
        How encoded rows become design columns.
    link : {"probit", "logit"}
        From a score to the probability of its class.
    soft : bool
        False: a voter names a class. True: it gives probabilities.
    trees_per_voter : int
        1, or the number of classes.
    record : TrainingRecord or None
        What explanations need of the training rows; votes do not.
    """

    forest: Forest
    model: NDArray[np.int32]
    intercept: F64
    coefficient: F64
    design: Design
    link: LinkName = "probit"
    soft: bool = False
    trees_per_voter: int = 1
    record: TrainingRecord | None = None

    def __len__(self) -> int:
        return len(self.forest) // self.trees_per_voter

    def __getitem__(self, index: VoterIndex) -> ModelForest:
        voters = np.atleast_1d(np.arange(len(self))[index])
        trees = (voters[:, None] * self.trees_per_voter + np.arange(self.trees_per_voter)).ravel()
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
        """One collection of all voters of several, in order; they share design, link and kind."""
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
        """``"label"`` for named classes, ``"score"`` for probabilities."""
        return "score" if self.soft else "label"

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        return self.forest.n_classes

    @property
    def n_outputs(self) -> int:
        """Columns of a tally: one per class, for labels and probabilities alike."""
        return self.n_classes

    @property
    def n_features(self) -> int:
        """Width of the encoded matrix."""
        return self.forest.n_features

    @property
    def n_nodes(self) -> NDArray[np.int64]:
        """Tree nodes of each voter."""
        counts: NDArray[np.int64] = self.forest.n_nodes.reshape(-1, self.trees_per_voter).sum(axis=1)
        return counts

    @property
    def nbytes(self) -> int:
        """Bytes of trees, leaf models and training record."""
        record = 0 if self.record is None else self.record.nbytes
        return self.forest.nbytes + self.model.nbytes + self.intercept.nbytes + self.coefficient.nbytes + record

    @property
    def spread(self) -> F64:
        """The most that a voter can change a margin: one vote."""
        return np.ones(len(self))

    @cached_property
    def trees(self) -> _core.LeafModelTrees:
        """The native handle."""
        return _core.LeafModelTrees(*self.forest.walk_arrays, self.model, self.intercept, self.coefficient)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "trees"}

    def scores(self, X: F64, n_threads: int = 1) -> F64:
        """Linear scores ``(n, T, O)``, O = 1 (positive: the second class) or K."""
        X = np.ascontiguousarray(X, dtype=np.float64)
        raw = self.trees.scores(X, np.ascontiguousarray(self.design.matrix(X)), n_threads)
        return raw.reshape(len(X), len(self), self.trees_per_voter * raw.shape[2])

    def probabilities(self, X: F64, n_threads: int = 1) -> F64:
        """``(n, T, K)``: Phi (or sigma) of each score, normalised over the classes.

        The first largest is the class that the scores elect, even where probabilities round to the same number.
        """
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
        hidden = np.nonzero(P.argmax(axis=2) != winner)
        P[(*hidden, winner[hidden])] = np.nextafter(P[hidden].max(axis=-1), np.inf)
        return P

    def votes(self, X: F64, n_threads: int = 1) -> NDArray[np.int16] | F64:
        """Class indices ``(n, T)``, or probabilities ``(n, T, K)`` of soft voters."""
        if self.soft:
            return self.probabilities(X, n_threads)
        if self.trees_per_voter > 1:
            elected: NDArray[np.int16] = self.scores(X, n_threads).argmax(axis=2).astype(np.int16)
            return elected
        X = np.ascontiguousarray(X, dtype=np.float64)
        return self.trees.votes(X, np.ascontiguousarray(self.design.matrix(X)), n_threads)

    def tally(self, X: F64, weights: F64 | None = None, n_threads: int = 1) -> F64:
        """Weight voting for each class (hard), or weighted sum of probabilities (soft), ``(n, K)``."""
        weights = np.ones(len(self)) if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
        votes = self.votes(X, n_threads)
        if self.soft:
            soft: F64 = np.einsum("ntk,t->nk", votes, weights)
            return soft
        F = np.zeros((len(votes), self.n_classes))
        rows = np.arange(len(votes))
        for t, weight in enumerate(weights.tolist()):
            F[rows, votes[:, t]] += weight
        return F

    # -- the file ---------------------------------------------------------------------------------------------

    def to_document(self, tensors: Tensors) -> Document:
        """Write trees, leaf models, design and training record into a model file."""
        tensors.put_fields(self, _MODEL)
        tensors.part("design").put_fields(self.design, _DESIGN)
        if self.record is not None:
            arrays = self.record.mass, self.record.centre, self.record.risk_decrease
            tensors.part("record").put(**dict(zip(_RECORD, arrays, strict=True)))
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
        """Read what `to_document` wrote, trusting no value."""
        voters = cls(**cls._fields(document, tensors))
        voters.check()
        return voters

    @classmethod
    def _fields(cls, document: Document, tensors: Tensors) -> dict[str, Any]:
        """The constructor's arguments, as a file has them."""
        trees = field(document, "trees", dict)
        if field(trees, "kind", str) != "forest" or field(trees, "vote", str) != "label":
            raise ValueError("the trees of model trees must be a forest of labels")
        recorded = field(document, "record", bool)
        return {
            "forest": Forest.from_document(trees, tensors.part("trees")),
            **tensors.take_fields(_MODEL),
            "design": Design(**tensors.part("design").take_fields(_DESIGN)),
            "record": TrainingRecord(*map(tensors.part("record").take, _RECORD)) if recorded else None,
            "link": field(document, "link", str),
            "soft": field(document, "soft", bool),
            "trees_per_voter": field(document, "trees_per_voter", int),
        }

    def check(self) -> None:
        """Look at every value, trusting none; the design's are looked at beside the table, by `Design.check`.

        Raises
        ------
        ValueError
            Naming what is wrong: trees that cannot be walked or do not make whole voters, a leaf without a model, an
            inner node with one, arrays of the wrong type or size, numbers that are not finite.

        Examples
        --------
        ``voters.check()`` returns nothing for model trees that training made.
        """
        self.forest.check()
        K, T = self.n_classes, len(self.forest)
        if K < 2:
            raise ValueError(f"n_classes is {K}; model trees tell two classes or more apart.")
        if self.link not in ("probit", "logit"):
            raise ValueError(f"link of the leaves is {self.link!r}; it must be 'probit' or 'logit'.")
        if self.trees_per_voter not in ((1, K) if K > 2 else (1,)):
            raise ValueError(f"trees_per_voter is {self.trees_per_voter}; for {K} classes that cannot be.")
        if not T or T % self.trees_per_voter:
            raise ValueError(f"there are {T} trees, which are no whole voters of {self.trees_per_voter} trees.")
        self._check_models()

    def _check_models(self) -> None:
        """Every leaf has a model, and every number of the models and of their record is one that training can leave."""
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
        """Refuse a table that is not known, designs that it cannot give and splits that do not suit its columns."""
        if table is None:
            raise ValueError("the table is null, and linear models need to know their columns")
        self.design.check(table)
        self.forest.check_columns(table)
