"""Model trees: flat trees whose leaves are linear scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr

from committee import _core
from committee.data.design import Design
from committee.voters.forest import Forest
from committee.voters.protocol import VoteKind, VoterIndex

F64 = NDArray[np.float64]
LinkName = Literal["probit", "logit"]


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
    """

    forest: Forest
    model: NDArray[np.int32]
    intercept: F64
    coefficient: F64
    design: Design
    link: LinkName = "probit"
    soft: bool = False
    trees_per_voter: int = 1

    def __len__(self) -> int:
        return len(self.forest) // self.trees_per_voter

    def __getitem__(self, index: VoterIndex) -> ModelForest:
        voters = np.atleast_1d(np.arange(len(self))[index])
        trees = (voters[:, None] * self.trees_per_voter + np.arange(self.trees_per_voter)).ravel()
        forest = self.forest[trees]
        nodes = np.concatenate(
            [np.arange(a, b) for a, b in zip(self.forest.offset[trees], self.forest.offset[trees + 1], strict=True)]
            or [np.empty(0, dtype=np.int64)]
        )
        model = self.model[nodes]
        kept, renumbered = np.unique(model[model >= 0], return_inverse=True)
        model = model.copy()
        model[model >= 0] = renumbered
        return replace(
            self,
            forest=forest,
            model=model.astype(np.int32),
            intercept=np.ascontiguousarray(self.intercept[kept]),
            coefficient=np.ascontiguousarray(self.coefficient[kept]),
        )

    @classmethod
    def concatenate(cls, parts: Sequence[ModelForest]) -> ModelForest:
        """One collection of all voters of several, in order; they share design, link and kind."""
        shift = np.cumsum([0, *(len(part.intercept) for part in parts)])
        model = [np.where(part.model >= 0, part.model + s, -1) for part, s in zip(parts, shift[:-1], strict=True)]
        return replace(
            parts[0],
            forest=Forest.concatenate([part.forest for part in parts]),
            model=np.concatenate(model).astype(np.int32),
            intercept=np.concatenate([part.intercept for part in parts]),
            coefficient=np.concatenate([part.coefficient for part in parts]),
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
    def n_features(self) -> int:
        """Width of the encoded matrix."""
        return self.forest.n_features

    @property
    def n_nodes(self) -> NDArray[np.int64]:
        """Tree nodes of each voter."""
        return self.forest.n_nodes.reshape(-1, self.trees_per_voter).sum(axis=1)

    @property
    def nbytes(self) -> int:
        """Bytes of trees and leaf models."""
        return self.forest.nbytes + self.model.nbytes + self.intercept.nbytes + self.coefficient.nbytes

    @property
    def spread(self) -> F64:
        """The most that a voter can change a margin: one vote."""
        return np.ones(len(self))

    @cached_property
    def trees(self) -> _core.LeafModelTrees:
        """The native handle."""
        f = self.forest
        return _core.LeafModelTrees(
            f.n_features, f.offset, f.feature, f.threshold, f.left, f.missing_left, f.category_offset,
            f.category_bits, self.model, self.intercept, self.coefficient,
        )  # fmt: skip

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "trees"}

    def scores(self, X: F64, n_threads: int = 1) -> F64:
        """Linear scores ``(n, T, O)``, O = 1 (positive: the second class) or K."""
        X = np.ascontiguousarray(X, dtype=np.float64)
        raw = self.trees.scores(X, np.ascontiguousarray(self.design.matrix(X)), n_threads)
        return raw.reshape(len(X), len(self), -1)

    def probabilities(self, X: F64, n_threads: int = 1) -> F64:
        """``(n, T, K)``: Phi (or sigma) of each score, normalised over the classes."""
        F = self.scores(X, n_threads)
        curve = ndtr if self.link == "probit" else expit
        if F.shape[2] == 1:
            return np.concatenate([curve(-F), curve(F)], axis=2)
        P: F64 = curve(F)
        total = P.sum(axis=2, keepdims=True)
        return np.divide(P, total, out=np.full_like(P, 1.0 / P.shape[2]), where=total > 0)

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
