"""Linear scores as votes: a model tree that says how sure it is instead of which class it means."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from committee.data.design import Design
from committee.data.number_types import F64
from committee.data.typed_json import field
from committee.files.documents import Document, Tensors
from committee.voters.forest import Forest
from committee.voters.model_forest import LinkName, ModelForest
from committee.voters.protocol import VoteKind
from committee.voters.training_record import TrainingRecord


@dataclass(frozen=True, eq=False)
class LinearScores(ModelForest):
    """Model trees whose vote is their linear score itself, ``(n, T, O)``.

    The committee's score is then the weighted sum of linear scores, and its link (`Probit`, `Logistic`) alone
    makes probabilities of it: nothing is lost where a probability rounds to 0 or 1.

    Parameters
    ----------
    cap : float
        What no training row's score passes. A linear score has no bound of its own; margins are measured
        against this one.

    The other parameters are those of `ModelForest`.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.data.design import Design
    >>> from committee.voters.linear_scores import LinearScores
    >>> X = np.array([[0.0], [2.0]])
    >>> design = Design.learn(X, np.ones(2), np.zeros(1, np.int32))
    >>> line = LinearScores.everywhere(design, np.array([-1.0]), np.array([[1.5]]), "probit", 20.0, np.ones(2), 2)
    >>> line.tally(X).tolist()
    [[-1.0], [2.0]]
    """

    kind: ClassVar[VoteKind] = "score"
    cap: float = 20.0

    @classmethod
    def everywhere(
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
        """One linear score for the whole table: a tree of a single leaf.

        Parameters
        ----------
        design : Design
            The columns of the score.
        intercept : float64 array (O,)
            O = 1 for two classes, otherwise one output for each class.
        coefficient : float64 array (O, q)
            Per design column.
        link : {"probit", "logit"}
            What the score was trained for.
        cap : float
            As for the class.
        class_weight : float64 array (K,)
            Training weight of each class, for the leaf's record.
        n_rows : int
            Training rows, for the leaf's record.
        record : TrainingRecord, default=None
            What explanations need of the training rows.
        """
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
        """Columns of a tally: 1 for two classes, otherwise one per class."""
        return int(self.coefficient.shape[1])

    @property
    def spread(self) -> F64:
        """The most that a score can change a training row's margin, ``(T,)``."""
        one_output = self.n_classes == 2
        return np.full(len(self), self.cap if one_output else 2.0 * self.cap)

    def votes(self, X: F64, n_threads: int = 1) -> F64:
        """Linear scores ``(n, T, O)``."""
        return self.scores(X, n_threads)

    def tally(self, X: F64, weights: F64 | None = None, n_threads: int = 1) -> F64:
        """Weighted sum of the linear scores, ``(n, O)``."""
        scores = self.scores(X, n_threads)
        weights = np.ones(len(self)) if weights is None else np.asarray(weights, dtype=np.float64)
        tally: F64 = np.einsum("nto,t->no", scores, weights)
        return tally

    # -- the file ---------------------------------------------------------------------------------------------

    def to_document(self, tensors: Tensors) -> Document:
        """Write the model trees and their cap into a model file."""
        return {**super().to_document(tensors), "kind": "linear_scores", "cap": float(self.cap)}

    @classmethod
    def _fields(cls, document: Document, tensors: Tensors) -> dict[str, Any]:
        return {**super()._fields(document, tensors), "cap": field(document, "cap", float)}

    def check(self) -> None:
        """Look at every value, as `ModelForest.check` does, and at the cap."""
        super().check()
        if not (math.isfinite(self.cap) and self.cap > 0):
            raise ValueError(f"cap is {self.cap}; it must be finite and above zero.")
