"""Training rows with their scores, and the trees that a round of boosting grows on them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.binning import Binned
from committee.data.number_types import F64
from committee.learners.base.fit_record import leaf_of_rows
from committee.learners.gradient.leaf import LeafPenalty
from committee.learners.gradient.leaf_refit import leaf_terms, node_sums, refitted, refitted_tree
from committee.learners.gradient.line_fit import LineFit, add_lines
from committee.learners.gradient.round_draws import Draws
from committee.learners.gradient.scores import Target, add_tree
from committee.voters.leaf_lines import LeafLines

if TYPE_CHECKING:
    from committee.learners.base.fit_record import FitRecord, RecordedGradientGrower

I32 = NDArray[np.int32]


class ScoredRows(ABC):
    """Rows with scores F, on this machine or on others.

    In each round gradients are taken at the scores (`begin`); then each tree is grown (`grow`), and the scores are
    moved along it (`move`).
    """

    n_rows: int
    line_fit: LineFit | None
    """How leaves get lines; None: they are constants."""

    @abstractmethod
    def begin(self, draws: Draws, t: int) -> None:
        """Take gradients and hessians at the scores, on the rows that round t sees."""

    @abstractmethod
    def grow(self, k: int, features: I32 | None, seed: int) -> _core.GradientTree:
        """Grow the tree of score k, or of all scores, on some of the columns."""

    @abstractmethod
    def best_constants(self, tree: _core.GradientTree, value: F64, bounds: F64, k: int) -> F64:
        """Return the leaf values that are best for the loss, of losses that have such constants."""

    @abstractmethod
    def move(
        self, tree: _core.GradientTree, value: F64, unit: F64, step: float, k: int, along: F64 | None
    ) -> LeafLines | None:
        """Move the scores (or another array, `along`) by a step along the tree grown last, and its lines if it has any.

        Its nodes add `value`, in the scores' own units; those of the gradients are `unit`.
        """

    @abstractmethod
    def scores(self, rows: NDArray[np.integer]) -> F64:
        """Scores of some rows, ``(m,)`` or ``(D, m)``."""

    @abstractmethod
    def restart(self, target: Target, intercept: F64) -> None:
        """Begin anew on all rows, with the same scores everywhere; no tree is to be grown from now on."""

    @abstractmethod
    def begin_on_all(self) -> None:
        """Take gradients and hessians at the scores, on all rows, after `restart`."""

    @abstractmethod
    def regrown(self, tree: _core.GradientTree, k: int, penalty: LeafPenalty) -> _core.GradientTree:
        """Return a tree that was grown on some rows, with the leaf weights of all; it counts as grown last."""

    @abstractmethod
    def keep(self, record: FitRecord) -> None:
        """From now on record trees, and take what is known from the record."""


class RowsInMemory(ScoredRows):
    """Rows on this machine.

    Parameters
    ----------
    target : Target
        Their loss.
    grower : GradientGrower
        The kernel that grows trees on them.
    F : float64 array (n,) or (D, n)
        Their scores, changed in place.
    binned : Binned
        The table.
    line_fit : LineFit or None
        How leaves get lines; None: they are constants.
    X : float64 array (n, p) or None
        The encoded rows, for lines.
    n_threads : int
        Ceiling on the number of threads.
    """

    def __init__(
        self,
        target: Target,
        grower: _core.GradientGrower,
        F: F64,
        binned: Binned,
        line_fit: LineFit | None,
        X: F64 | None,
        n_threads: int,
    ) -> None:
        self.target = target
        self.F = F
        self.binned: Binned = binned
        self.n_threads: int = n_threads
        self.line_fit: LineFit | None = line_fit
        self.X = X
        self.grower: _core.GradientGrower | RecordedGradientGrower = grower
        self.n_rows = F.shape[-1]
        self.gradient: F64 = np.empty_like(F)
        self.hessian: F64 = np.empty_like(F)
        self.rows: I32 | None = None
        self.w: F64 | None = None
        self.leaf: I32 | None = None

    def begin(self, draws: Draws, t: int) -> None:
        """As `ScoredRows.begin`."""
        self.rows, w = draws.rows_of_round(t)
        self.w = self.target.w if w is None else w
        self.target.write_gradients(self.F, self.w, self.gradient, self.hessian, self.n_threads)

    def grow(self, k: int, features: I32 | None, seed: int) -> _core.GradientTree:
        """As `ScoredRows.grow`."""
        own = self._own(k)
        tree = self.grower.grow(self.gradient[own], self.hessian[own], self.rows, features, seed, k, self.w)
        self.leaf = self.grower.leaf_of_row
        return tree

    def best_constants(self, tree: _core.GradientTree, value: F64, bounds: F64, k: int) -> F64:
        """As `ScoredRows.best_constants`."""
        assert self.leaf is not None
        one = value.shape[1] == 1
        seen = slice(None) if self.rows is None else self.rows
        y, F = np.atleast_2d(self.target.y), np.atleast_2d(self.F)
        y = y[k : k + 1] if one and len(y) > 1 else y
        residual = y[:, seen].astype(np.float64) - (F[k : k + 1] if one else F)[:, seen]
        return refitted(
            self.target, value, bounds, self.leaf[seen], residual, None if self.w is None else self.w[seen], first=k
        )

    def move(
        self, tree: _core.GradientTree, value: F64, unit: F64, step: float, k: int, along: F64 | None
    ) -> LeafLines | None:
        """As `ScoredRows.move`."""
        assert self.leaf is not None
        F = self.F if along is None else along
        add_tree(F, self.leaf, value, step, k, self.n_threads)
        if self.line_fit is None:
            return None
        assert self.X is not None
        of_rows = self.leaf, self.rows, self.gradient[self._own(k)], self.hessian[self._own(k)]
        sums = self.line_fit.sums(self.X, tree, *of_rows, self.n_threads)
        lines = LeafLines(*sums.lines(self.line_fit.l2)).times(unit)
        add_lines(F, lines, self.X, self.leaf, step, k, self.n_threads)
        return lines

    def scores(self, rows: NDArray[np.integer]) -> F64:
        """As `ScoredRows.scores`."""
        return self.F[..., rows]

    def restart(self, target: Target, intercept: F64) -> None:
        """As `ScoredRows.restart`."""
        self.target = target
        self.rows = None
        self.w = target.w
        self.F = np.repeat(intercept[:, None], self.n_rows, axis=1).reshape(self.F.shape)

    def begin_on_all(self) -> None:
        """As `ScoredRows.begin_on_all`."""
        self.target.write_gradients(self.F, self.w, self.gradient, self.hessian, self.n_threads)

    def regrown(self, tree: _core.GradientTree, k: int, penalty: LeafPenalty) -> _core.GradientTree:
        """As `ScoredRows.regrown`."""
        own = self._own(k)
        self.leaf = leaf_of_rows(self.binned, tree, None)
        terms = leaf_terms(self.gradient[own], self.hessian[own], self.w)
        sums = node_sums(terms, self.leaf, len(tree.feature))
        count = np.bincount(self.leaf, minlength=len(tree.feature))
        return refitted_tree(tree, sums, count, penalty, weighted=self.w is not None)

    def keep(self, record: FitRecord) -> None:
        """As `ScoredRows.keep`."""
        from committee.learners.base.fit_record import RecordedGradientGrower

        self.grower = RecordedGradientGrower(self.grower, self.binned, record)

    def _own(self, k: int) -> int | slice:
        """Scores of tree k among the gradients: all of them where it is the only one."""
        return slice(None) if self.F.ndim == 1 or self._shared else k

    @property
    def _shared(self) -> bool:
        return self.grower.n_outputs > 1
