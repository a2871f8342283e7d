"""Training rows in shards, perhaps on other machines: boosting's trees from sums over them."""

# Sums over rows are sums of whole numbers, in units set by the largest number of all shards. So trees and scores have
# the bits of a fit on one table.

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.number_types import F64, I32, I64, Mask
from committee.learners.base.fit_record import Codec, FitRecord, tree_from_arrays, tree_to_arrays
from committee.learners.base.row_sampling import RowUnits
from committee.learners.gradient.leaf_values import LeafPenalty, LineFit, leaf_terms, refitted_tree
from committee.learners.gradient.rounds import Draws, ScoredRows
from committee.learners.gradient.target import Target, add_tree, refits
from committee.objectives.losses import Loss
from committee.voters.rounds import LeafLines

LASTING = frozenset({"make", "open", "restart", "catch_up"})  # calls that change a shard's scores for good
OF_ROUND = frozenset({"begin", "begin_with"})  # calls by which a round begins
WITHOUT_EFFECT = frozenset({"scores", "move"})  # calls that the journal does not need: `move` is written as `catch_up`


# --- a shard, on the machine that has its rows ------------------------------------------------------------------------


@dataclass(eq=False)
class ScoredShard:
    F: F64
    target: Target
    units: RowUnits | None
    training: Mask | None
    rows: I32 | None = None
    w: F64 | None = None


@dataclass(eq=False)
class Shard:
    """Consecutive training rows, with their scores in each run."""

    codes: Any  # (m, p)
    n_bins: I32
    target: Target
    n_outputs: int
    n_threads: int
    X: F64 | None = None  # encoded rows, for lines in leaves
    line_sums: _core.LineSums = field(init=False)

    def __post_init__(self) -> None:
        options = {"n_outputs": self.n_outputs, "n_threads": self.n_threads}
        self.kernel = _core.GradientShard(self.codes, self.n_bins, **options)
        self.runs: dict[int, ScoredShard] = {}
        self.gradient, self.hessian = np.empty(0), np.empty(0)
        self.leaf: I32 = np.empty(0, dtype=np.int32)

    def __len__(self) -> int:
        return len(self.codes)

    def open(self, run: int, intercept: F64, units: RowUnits | None, training: Mask | None) -> None:
        F = self.target.first_scores(intercept)
        self.runs[run] = ScoredShard(F, self.target, units, training)
        if self.gradient.shape != F.shape:
            self.gradient = np.empty_like(F)
            self.hessian = np.empty_like(F)

    def begin(self, run: int, share: float, seed: int) -> None:
        state = self.runs[run]
        units = None
        if state.units is not None:
            units = state.units.below(share, seed, state.training) if share < 1.0 else state.training
        self.begin_with(run, units)

    def begin_with(self, run: int, units: Mask | None) -> None:
        state = self.runs[run]
        rows, w = None, None
        if state.units is not None:
            assert units is not None
            rows, w = state.units.rows_of(units)
        state.rows, state.w = rows, state.target.w if w is None else w
        state.target.write_gradients(state.F, state.w, self.gradient, self.hessian, self.n_threads)

    def tree(self, run: int, k: int, features: I32 | None) -> _core.Begun:
        state = self.runs[run]
        return self.kernel.begin(*self._derivatives(k), state.w, state.rows, features)

    def packed(self, layout: _core.WordLayout, by_units: bool, narrow: bool) -> NDArray[np.uint64]:
        """Round gradients and hessians, and return their two totals, and then the root's histogram."""
        totals = np.array(self.kernel.pack(layout, by_units), dtype=np.uint64)
        return np.concatenate([totals, self.kernel.root(narrow)])

    def part(self, *orders: Any) -> NDArray[np.uint64]:
        return self.kernel.part(*orders)

    def leaf_sums(self, places: I32, ids: I32, n_nodes: int, *largest: Any) -> I64:
        sums = self.kernel.leaf_sums(places, ids, n_nodes, *largest)
        self.leaf = self.kernel.leaf_of_row
        return sums

    def move(self, run: int, tree: tuple[Any, ...], value: F64, lines: LeafLines | None, step: float, k: int) -> None:
        self._complete_leaves(tree)
        self._add(run, value, lines, step, k)

    def catch_up(
        self, run: int, tree: tuple[Any, ...], value: F64, lines: LeafLines | None, step: float, k: int
    ) -> None:
        self.leaf = self._walked(tree)
        self._add(run, value, lines, step, k)

    def _add(self, run: int, value: F64, lines: LeafLines | None, step: float, k: int) -> None:
        add_tree(self.runs[run].F, self.leaf, value, lines, self.X, step, k, self.n_threads)

    def largest_of_lines(self, run: int, tree: tuple[Any, ...], known: bool, line_fit: LineFit, k: int) -> F64:
        """Begin the lines of a tree, from a record if `known`, and return `LineSums.largest`."""
        assert self.X is not None
        if known:
            self.leaf = self._walked(tree)
        self._complete_leaves(tree)
        of_rows = self.leaf, self.runs[run].rows, *self._derivatives(k)
        self.line_sums = line_fit.sums(self.X, tree_from_arrays(*tree), *of_rows, self.n_threads)
        return self.line_sums.largest()

    def weights_of_lines(self, largest: F64) -> I64:
        return self.line_sums.weights(largest)

    def products_of_lines(self, largest: F64, weights: I64) -> I64:
        return self.line_sums.products(largest, weights)

    def scores(self, run: int, rows: NDArray[np.integer]) -> F64:
        return self.runs[run].F[..., rows]

    def restart(self, run: int, target: Target, intercept: F64) -> None:
        state = self.runs[run]
        state.target, state.units, state.training = target, None, None
        state.F = target.first_scores(intercept)

    def largest_terms(self, run: int, k: int) -> F64:
        largest: F64 = np.abs(self._terms(run, k)).max(axis=1)
        return largest

    def terms_of_leaves(self, run: int, tree: tuple[Any, ...], n_nodes: int, k: int, largest: F64) -> I64:
        """Return leaf terms and the row count, summed by leaf, ``(N, c + 1, 4)``: 4 limbs for each sum."""
        self.leaf = self._walked(tree)
        sums = _core.node_sums(self._terms(run, k), self.leaf, n_nodes, largest)
        count = np.zeros((n_nodes, 1, sums.shape[2]), dtype=np.int64)
        count[:, 0, 0] = np.bincount(self.leaf, minlength=n_nodes)
        return np.concatenate([sums, count], axis=1)

    def _terms(self, run: int, k: int) -> F64:
        return leaf_terms(*self._derivatives(k), self.runs[run].w)

    def _complete_leaves(self, tree: tuple[Any, ...]) -> None:
        # leaves of rows that the tree grown last was not grown on
        others = np.flatnonzero(self.leaf < 0).astype(np.int32)
        if len(others):
            self.leaf = self.leaf.copy()
            self.leaf[others] = _core.walk_codes(self.codes, self.n_bins, tree_from_arrays(*tree), others)

    def _walked(self, tree: tuple[Any, ...]) -> I32:
        rows = np.arange(len(self), dtype=np.int32)
        return _core.walk_codes(self.codes, self.n_bins, tree_from_arrays(*tree), rows)

    def _derivatives(self, k: int) -> tuple[F64, F64]:
        scores = slice(None) if self.gradient.ndim == 1 or self.n_outputs > 1 else k
        return self.gradient[scores], self.hessian[scores]


# --- calls to shards --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Call:
    method: str
    same: tuple[Any, ...] = ()
    each: Sequence[tuple[Any, ...]] | None = None

    def of(self, shard: int) -> tuple[str, tuple[Any, ...]]:
        return self.method, self.same if self.each is None else self.each[shard]

    def made(self, shard: Shard, number: int) -> Any:
        method, arguments = self.of(number)
        return getattr(shard, method)(*arguments)


class Shards(ABC):
    """Client of all shards of the training rows. Calls without a result are queued until the next call with one."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = sizes  # rows of the shards
        self.journal: list[Call] = []  # give a rebuilt shard the state of the lost one
        self._queue: list[Call] = []

    @property
    def slices(self) -> list[slice]:
        return [slice(*ends) for ends in pairwise(accumulate(self.sizes, initial=0))]

    def enqueue(self, method: str, *arguments: Any) -> None:
        self._queue.append(Call(method, arguments))

    def enqueue_each(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> None:
        self._queue.append(Call(method, each=arguments))

    def each(self, method: str, *arguments: Any) -> list[Any]:
        return self._replies(self._due(Call(method, arguments)))

    def each_of(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        return self._replies(self._due(Call(method, each=arguments)))

    def total(self, method: str, *arguments: Any) -> NDArray[Any]:
        return self._sum(self._due(Call(method, arguments)))

    def move(
        self, known: bool, run: int, tree: tuple[Any, ...], value: F64, lines: LeafLines | None, step: float, k: int
    ) -> None:
        """Queue a move of all scores along the tree grown last or, if `known`, along one from a record."""
        done = Call("catch_up", (run, tree, value, lines, step, k))
        self._queue.append(done if known else Call("move", done.same))
        self._write_down(self._queue)
        # the calls that grew the tree are of no more use
        self.journal = [call for call in self.journal if call.method in LASTING | OF_ROUND]
        if not known:
            self.journal.append(done)

    def _due(self, call: Call) -> list[Call]:
        calls, self._queue = [*self._queue, call], []
        self._write_down(calls)
        return calls

    def _write_down(self, calls: Sequence[Call]) -> None:
        for call in calls:
            if any(call is known for known in self.journal) or call.method in WITHOUT_EFFECT:
                continue
            if call.method == "begin":  # a new round needs nothing of the one before it
                self.journal = [known for known in self.journal if known.method in LASTING]
            self.journal.append(call)

    @abstractmethod
    def _replies(self, calls: Sequence[Call]) -> list[Any]: ...

    @abstractmethod
    def _sum(self, calls: Sequence[Call]) -> NDArray[Any]:
        """Make the calls, and return the sum of the shards' results for the last one."""


def sum_of(values: Sequence[NDArray[Any]]) -> NDArray[Any]:
    if len(values) == 1:
        return values[0]
    total: NDArray[Any] = values[0] + values[1]
    for value in values[2:]:
        total += value
    return total


class ShardedCodes(ABC):
    def __init__(self, shape: tuple[int, int]) -> None:
        self.shape = shape
        self.n_runs = 0
        self._made: Shards | None = None

    def __len__(self) -> int:
        return self.shape[0]

    def shards(self, target: Target, n_outputs: int) -> Shards:
        if self._made is None:
            self._made = self._shards(target, n_outputs)
        return self._made

    def new_run(self) -> int:
        self.n_runs += 1
        return self.n_runs - 1

    @abstractmethod
    def _shards(self, target: Target, n_outputs: int) -> Shards: ...


# --- trees from sums over shards --------------------------------------------------------------------------------------


@dataclass(eq=False)
class RowsOnShards(ScoredRows):
    shards: Shards
    run: int  # its number on the shards
    target: Target
    grower: _core.GradientGrower
    intercept: F64
    draws: Draws
    line_fit: LineFit | None = None
    _known = False

    def __post_init__(self) -> None:
        sizes, run, draws = self.shards.sizes, self.run, self.draws
        self.n_rows = sum(sizes)
        self._record: FitRecord | None = None
        self._weighted = self.target.w is not None
        each: list[tuple[Any, ...]] = [(run, self.intercept, None, None)] * len(sizes)
        if draws.units is not None:
            parts = [draws.units.of_rows(rows) for rows in self.shards.slices]
            training = [None if draws.training is None else draws.training[of] for of, _ in parts]
            each = [(run, self.intercept, part, mask) for (_, part), mask in zip(parts, training, strict=True)]
            self._weighted |= draws.units.weight is not None
        self.shards.enqueue_each("open", each)

    def begin(self, draws: Draws, t: int) -> None:
        self.draws, self._t = draws, t
        self.shards.enqueue("begin", self.run, draws.subsample, draws.seed + t)

    def begin_on_all(self) -> None:
        self.shards.enqueue("begin", self.run, 1.0, 0)

    def grow(self, k: int, features: I32 | None, seed: int) -> _core.GradientTree:
        if self._record is None:
            return self._grown(k, features, seed)
        self._known = True

        def compute() -> _core.GradientTree:
            self._known = False
            return self._grown(k, features, seed)

        return self._record.result(
            "tree", (self._t, k, seed, features), compute, Codec(tree_to_arrays, tree_from_arrays)
        )

    def _grown(self, k: int, features: I32 | None, seed: int) -> _core.GradientTree:
        begun = self.shards.each("tree", self.run, k, features)
        if not any(part[0] for part in begun):
            # every round has at least one row, where the shards have drawn none
            units, draws = self.draws.units, self.draws
            assert units is not None
            drawn = units.drawn(draws.subsample, draws.seed + self._t, draws.training)
            of_shards = [drawn[units.of_rows(rows)[0]] for rows in self.shards.slices]
            self.shards.enqueue_each("begin_with", [(self.run, mask) for mask in of_shards])
            begun = self.shards.each("tree", self.run, k, features)
        scale, heaviest = self._scale(begun)
        layout = scale.layout()
        root, totals = self._packed(scale, layout)
        if not scale.fine_enough(layout, *totals):
            layout = scale.wide()
            root, _ = self._packed(scale, layout)

        def part(*orders: Any) -> NDArray[np.uint64]:
            return np.asarray(self.shards.total("part", *orders))

        def leaf_sums(places: I32, ids: I32, n_nodes: int) -> I64:
            largest = scale.largest_gradient, scale.largest_hessian, heaviest
            return np.asarray(self.shards.total("leaf_sums", places, ids, n_nodes, *largest))

        return self.grower.grow_on_shards(scale, layout, root, features, seed, k, heaviest, part, leaf_sums)

    def _scale(self, begun: list[_core.Begun]) -> tuple[_core.RoundScale, float | None]:
        there = [part for part in begun if part[0] > 0]
        n, gradient, hessian, sound, by_unit, h_by_unit, units, most, heaviest = zip(*there, strict=True)
        n_outputs = self.grower.n_outputs
        whole = self._weighted and all(units)
        scale = _core.RoundScale(
            max(by_unit if whole else gradient),
            max(h_by_unit if whole else hessian),
            all(sound),
            sum(units) if whole else 0,
            max(most) if whole else 0,
            sum(n),
            n_outputs,
        )
        return scale, max(heaviest) if self._weighted else None

    def _packed(self, scale: _core.RoundScale, layout: _core.WordLayout) -> tuple[NDArray[np.uint64], tuple[int, int]]:
        found = self.shards.total("packed", layout, scale.by_units, scale.is_narrow(layout))
        return found[2:], (int(found[0]), int(found[1]))

    def best_constants(self, tree: _core.GradientTree, value: F64, bounds: F64, k: int) -> F64:
        raise ValueError(
            f"the leaves of the {self.target.loss.name} loss are medians or quantiles of their rows, which shards "
            "cannot add up; fit on one machine, or choose another loss (loss='huber')."
        )

    def move(
        self, tree: _core.GradientTree, value: F64, unit: F64, step: float, k: int, along: F64 | None
    ) -> LeafLines | None:
        assert along is None
        parts, lines = tree_to_arrays(tree), None
        if self.line_fit is not None:
            each = self.shards.each("largest_of_lines", self.run, parts, self._known, self.line_fit, k)
            largest = np.max(each, axis=0)
            weights = self.shards.total("weights_of_lines", largest)
            products = self.shards.total("products_of_lines", largest, weights)
            lines = self.line_fit.lines(tree, largest, weights, products).scaled(unit)
        self.shards.move(self._known, self.run, parts, value, lines, step, k)
        return lines

    def scores(self, rows: NDArray[np.integer]) -> F64:
        at = np.searchsorted(rows, [0, *(part.stop for part in self.shards.slices)])  # rows are in rising order
        of_shards = [rows[a:b] - of.start for (a, b), of in zip(pairwise(at), self.shards.slices, strict=True)]
        return np.concatenate(self.shards.each_of("scores", [(self.run, part) for part in of_shards]), axis=-1)

    def restart(self, target: Target, intercept: F64) -> None:
        self.target = target
        self._weighted = target.w is not None
        parts = [target.part(rows) for rows in self.shards.slices]
        self.shards.enqueue_each("restart", [(self.run, part, intercept) for part in parts])

    def regrown(self, tree: _core.GradientTree, k: int, penalty: LeafPenalty) -> _core.GradientTree:
        largest = np.max(self.shards.each("largest_terms", self.run, k), axis=0)
        given = self.run, tree_to_arrays(tree), len(tree.feature), k, largest
        found = self.shards.total("terms_of_leaves", *given)
        sums = _core.sums_of_limbs(np.ascontiguousarray(found[:, :-1]), largest)
        return refitted_tree(tree, sums, found[:, -1, 0], penalty, weighted=self._weighted)

    def keep(self, record: FitRecord) -> None:
        self._record = record


def check_on_shards(loss: Loss, learner: Any) -> None:
    kinds = (
        ("warm_start=True", learner.warm_start, "fit all rounds at once"),
        ("line_search=True", learner.line_search, "set line_search=False"),
        (f"loss={learner.loss!r}, whose leaves are medians or quantiles", refits(loss), "take loss='huber'"),
    )
    for name, is_there, remedy in kinds:
        if is_there:
            raise ValueError(
                f"{name} needs all rows on one machine, and these are on the workers of a cluster; {remedy}, or "
                "fit on one machine: committee.scan reads a table that does not fit in its memory."
            )
