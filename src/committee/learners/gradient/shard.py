"""A shard of the training rows: what a machine that has some of them does in each round of boosting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.number_types import F64
from committee.learners.base.fit_record import tree_from_arrays
from committee.learners.base.row_sampling import Mask, RowUnits
from committee.learners.gradient.leaf_refit import leaf_terms
from committee.learners.gradient.line_fit import LineFit, add_lines
from committee.learners.gradient.scores import Target, add_tree
from committee.voters.leaf_lines import LeafLines

I32 = NDArray[np.int32]


@dataclass(eq=False)
class ScoredShard:
    """Scores of a shard's rows in one run, and how the run draws them."""

    F: F64
    target: Target
    units: RowUnits | None
    training: Mask | None
    rows: I32 | None = None
    """Rows of the round under way; None: all."""
    w: F64 | None = None
    """Their weights."""


class Shard:
    """Some of the training rows, in order: their codes, targets and weights, and their scores in each run.

    Trees are grown elsewhere, from sums over the shards (`committee.learners.gradient.rows_on_shards`). What a shard
    returns depends on its rows alone, and is a whole number or a largest number wherever it is summed up.

    Parameters
    ----------
    codes : uint8 or uint16 array (m, p)
        Bin number of every cell.
    n_bins : int32 array (p,)
        Bins of each column.
    target : Target
        Loss, targets and weights of the rows.
    n_outputs : int
        Scores that a tree has leaves for.
    n_threads : int
        Ceiling on the number of threads.
    X : float64 array (m, p) or None
        The encoded rows, for lines in the leaves.
    """

    def __init__(
        self,
        codes: NDArray[np.uint8] | NDArray[np.uint16],
        n_bins: I32,
        target: Target,
        n_outputs: int,
        n_threads: int,
        X: F64 | None = None,
    ) -> None:
        self.X = X
        self.line_sums: _core.LineSums | None = None
        self.codes: NDArray[np.uint8] | NDArray[np.uint16] = codes
        self.n_bins = n_bins
        self.target: Target = target
        self.n_threads: int = n_threads
        self.n_outputs = n_outputs
        self.kernel = _core.GradientShard(codes, n_bins, n_outputs=n_outputs, n_threads=n_threads)
        self.runs: dict[int, ScoredShard] = {}
        self.gradient, self.hessian = np.empty(0), np.empty(0)
        self.leaf: I32 = np.empty(0, dtype=np.int32)

    def __len__(self) -> int:
        return len(self.codes)

    def open(self, run: int, intercept: F64, units: RowUnits | None, training: Mask | None) -> None:
        """Begin a run: all scores are `intercept` ``(D,)``, and rows are drawn by their units."""
        F = np.repeat(intercept[:, None], len(self), axis=1)
        self.runs[run] = ScoredShard(F[0] if len(intercept) == 1 else F, self.target, units, training)
        if self.gradient.shape != self.runs[run].F.shape:
            self.gradient = np.empty_like(self.runs[run].F)
            self.hessian = np.empty_like(self.runs[run].F)

    def begin(self, run: int, share: float, seed: int) -> None:
        """Draw the rows of a round, and take gradients at their scores."""
        state = self.runs[run]
        if state.units is None:
            self._begin(state, None, None)
            return
        drawn = state.units.below(share, seed, state.training) if share < 1.0 else state.training
        assert drawn is not None
        self._begin(state, *state.units.rows_of(drawn))

    def begin_with(self, run: int, units: Mask) -> None:
        """As `begin`, with units that somebody else has drawn."""
        state = self.runs[run]
        assert state.units is not None
        self._begin(state, *state.units.rows_of(units))

    def _begin(self, state: ScoredShard, rows: I32 | None, w: F64 | None) -> None:
        state.rows, state.w = rows, state.target.w if w is None else w
        state.target.write_gradients(state.F, state.w, self.gradient, self.hessian, self.n_threads)

    def tree(self, run: int, k: int, features: I32 | None) -> _core.Begun:
        """Begin the tree of score k."""
        state, own = self.runs[run], self._own(k)
        return self.kernel.begin(self.gradient[own], self.hessian[own], state.w, state.rows, features)

    def packed(self, layout: _core.WordLayout, by_units: bool, narrow: bool) -> NDArray[np.uint64]:
        """Round gradients and hessians: their totals as whole numbers, and then the histogram of the tree's rows."""
        totals = np.array(self.kernel.pack(layout, by_units), dtype=np.uint64)
        return np.concatenate([totals, self.kernel.root(narrow)])

    def part(self, *orders: Any) -> NDArray[np.uint64]:
        """As `committee._core.GradientShard.part`."""
        return self.kernel.part(*orders)

    def leaf_sums(self, places: I32, ids: I32, n_nodes: int, *largest: Any) -> NDArray[np.int64]:
        """As `committee._core.GradientShard.leaf_sums`."""
        sums = self.kernel.leaf_sums(places, ids, n_nodes, *largest)
        self.leaf = self.kernel.leaf_of_row
        return sums

    def move(self, run: int, tree: tuple[Any, ...], value: F64, lines: LeafLines | None, step: float, k: int) -> None:
        """Move the scores along the tree grown last, and its lines; rows that it was not grown on find their leaves."""
        self._find_leaves(tree)
        self._add(run, value, lines, step, k)

    def catch_up(
        self, run: int, tree: tuple[Any, ...], value: F64, lines: LeafLines | None, step: float, k: int
    ) -> None:
        """Move the scores along a tree of an earlier round, to the bit as when it was grown."""
        self.leaf = self._leaves(tree)
        self._add(run, value, lines, step, k)

    def _add(self, run: int, value: F64, lines: LeafLines | None, step: float, k: int) -> None:
        F = self.runs[run].F
        add_tree(F, self.leaf, value, step, k, self.n_threads)
        if lines is not None:
            assert self.X is not None
            add_lines(F, lines, self.X, self.leaf, step, k, self.n_threads)

    def largest_of_lines(self, run: int, tree: tuple[Any, ...], known: bool, line_fit: LineFit, k: int) -> F64:
        """Begin the lines of the tree grown last or, if `known`, grown before; as `LineSums.largest`."""
        assert self.X is not None
        if known:
            self.leaf = self._leaves(tree)
        self._find_leaves(tree)
        own, rows = self._own(k), self.runs[run].rows
        of_rows = self.leaf, rows, self.gradient[own], self.hessian[own]
        self.line_sums = line_fit.sums(self.X, tree_from_arrays(*tree), *of_rows, self.n_threads)
        return self.line_sums.largest()

    def weights_of_lines(self, largest: F64) -> NDArray[np.int64]:
        """As `LineSums.weights`."""
        assert self.line_sums is not None
        return self.line_sums.weights(largest)

    def products_of_lines(self, largest: F64, weights: NDArray[np.int64]) -> NDArray[np.int64]:
        """As `LineSums.products`."""
        assert self.line_sums is not None
        return self.line_sums.products(largest, weights)

    def scores(self, run: int, rows: NDArray[np.integer]) -> F64:
        """Scores of some rows, ``(m,)`` or ``(D, m)``."""
        return self.runs[run].F[..., rows]

    def restart(self, run: int, target: Target, intercept: F64) -> None:
        """Begin a run anew, on all rows, which weigh as `target` says."""
        state = self.runs[run]
        state.target, state.units, state.training = target, None, None
        state.F = np.repeat(intercept[:, None], len(self), axis=1).reshape(state.F.shape)

    def largest_terms(self, run: int, k: int) -> F64:
        """Largest gradients, hessians and weights of the round, of score k or of all that share a tree."""
        largest: F64 = np.abs(self._terms(run, k)).max(axis=1)
        return largest

    def terms_of_leaves(self, run: int, tree: tuple[Any, ...], n_nodes: int, k: int, largest: F64) -> NDArray[np.int64]:
        """Sums of these over the leaves of a tree that all rows walk down, ``(N, c, 4)``, and the rows' number last."""
        self.leaf = self._leaves(tree)
        sums = _core.node_sums(self._terms(run, k), self.leaf, n_nodes, largest)
        count = np.zeros((n_nodes, 1, sums.shape[2]), dtype=np.int64)
        count[:, 0, 0] = np.bincount(self.leaf, minlength=n_nodes)
        return np.concatenate([sums, count], axis=1)

    def _terms(self, run: int, k: int) -> F64:
        own = self._own(k)
        return leaf_terms(self.gradient[own], self.hessian[own], self.runs[run].w)

    def _find_leaves(self, tree: tuple[Any, ...]) -> None:
        """Let rows find their leaves that the tree grown last was not grown on."""
        others = np.flatnonzero(self.leaf < 0).astype(np.int32)
        if len(others):
            self.leaf = self.leaf.copy()
            self.leaf[others] = _core.walk_codes(self.codes, self.n_bins, tree_from_arrays(*tree), others)

    def _leaves(self, tree: tuple[Any, ...]) -> I32:
        rows = np.arange(len(self), dtype=np.int32)
        return _core.walk_codes(self.codes, self.n_bins, tree_from_arrays(*tree), rows)

    def _own(self, k: int) -> int | slice:
        return slice(None) if self.gradient.ndim == 1 or self.n_outputs > 1 else k
