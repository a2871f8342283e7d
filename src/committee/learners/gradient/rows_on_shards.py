"""Training rows in shards, perhaps on other machines: boosting's trees from sums over them.

What is summed over rows is whole numbers, and what decides their units is a largest number: histograms, sums of leaves,
counts. So trees and scores are those of the same rows in one table, to the bit, for any number of shards of any size.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.number_types import F64
from committee.learners.base.fit_record import tree_to_arrays
from committee.learners.gradient.leaf import LeafPenalty
from committee.learners.gradient.leaf_refit import refitted_tree
from committee.learners.gradient.line_fit import LineFit
from committee.learners.gradient.round_draws import Draws
from committee.learners.gradient.scored_rows import ScoredRows
from committee.learners.gradient.scores import Target
from committee.learners.gradient.shards import Shards

if TYPE_CHECKING:
    from committee.learners.base.fit_record import Codec, FitRecord
    from committee.voters.leaf_lines import LeafLines

I32 = NDArray[np.int32]


class RowsOnShards(ScoredRows):
    """Rows in shards; the targets and weights of all are known here.

    Parameters
    ----------
    shards : Shards
        Who has the rows.
    run : int
        Number of the run, of which the shards may have several.
    target : Target
        Loss of all rows.
    grower : GradientGrower
        The kernel, without a table.
    intercept : float64 array (D,)
        Scores of all rows.
    draws : Draws
        How rounds draw rows.
    line_fit : LineFit or None
        How leaves get lines; None: they are constants.
    """

    def __init__(
        self,
        shards: Shards,
        run: int,
        target: Target,
        grower: _core.GradientGrower,
        intercept: F64,
        draws: Draws,
        line_fit: LineFit | None = None,
    ) -> None:
        self.shards: Shards = shards
        self.run: int = run
        self.target = target
        self.grower = grower
        self.line_fit = line_fit
        self.n_rows = sum(shards.sizes)
        self._record: FitRecord | None = None
        self._known = False
        self._weighted = target.w is not None
        units = draws.units
        each: list[tuple[Any, ...]] = [(run, intercept, None, None)] * len(shards.sizes)
        if units is not None:
            parts = [units.of_rows(rows) for rows in shards.slices]
            training = [None if draws.training is None else draws.training[of] for of, _ in parts]
            each = [(run, intercept, part, mask) for (_, part), mask in zip(parts, training, strict=True)]
            self._weighted |= units.weight is not None
        shards.tell_each("open", each)

    def begin(self, draws: Draws, t: int) -> None:
        """As `ScoredRows.begin`."""
        self._draws, self._t = draws, t
        self.shards.tell("begin", self.run, draws.subsample, draws.seed + t)

    def grow(self, k: int, features: I32 | None, seed: int) -> _core.GradientTree:
        """As `ScoredRows.grow`."""
        if self._record is None:
            return self._grown(k, features, seed)
        self._known = True

        def compute() -> _core.GradientTree:
            self._known = False
            return self._grown(k, features, seed)

        return self._record.result("tree", (self._t, k, seed, features), compute, _tree_form())

    def _grown(self, k: int, features: I32 | None, seed: int) -> _core.GradientTree:
        begun = self.shards.each("tree", self.run, k, features)
        if not any(part[0] for part in begun):
            self._draw_one()
            begun = self.shards.each("tree", self.run, k, features)
        scale, heaviest = self._scale(begun)
        layout = scale.layout()
        root, totals = self._packed(scale, layout)
        if not scale.fine_enough(layout, *totals):
            layout = scale.wide()
            root, _ = self._packed(scale, layout)

        def part(*orders: Any) -> NDArray[np.uint64]:
            return np.asarray(self.shards.total("part", *orders))

        def leaf_sums(places: I32, ids: I32, n_nodes: int) -> NDArray[np.int64]:
            largest = scale.largest_gradient, scale.largest_hessian, heaviest
            return np.asarray(self.shards.total("leaf_sums", places, ids, n_nodes, *largest))

        return self.grower.grow_on_shards(scale, layout, root, features, seed, k, heaviest, part, leaf_sums)

    def _draw_one(self) -> None:
        """Draw the one row that every round sees, where none was drawn by the shards."""
        units = self._draws.units
        assert units is not None
        drawn = units.drawn(self._draws.subsample, self._draws.seed + self._t, self._draws.training)
        of_shards = [drawn[units.of_rows(rows)[0]] for rows in self.shards.slices]
        self.shards.tell_each("begin_with", [(self.run, mask) for mask in of_shards])

    def _scale(self, begun: list[_core.Begun]) -> tuple[_core.RoundScale, float | None]:
        """Scale of a round's words, of what its shards have told, and the heaviest row if rows have weights."""
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
        """Histogram of the root, and the totals of all words."""
        found = self.shards.total("packed", layout, scale.by_units, scale.is_narrow(layout))
        return found[2:], (int(found[0]), int(found[1]))

    def best_constants(self, tree: _core.GradientTree, value: F64, bounds: F64, k: int) -> F64:
        """Refuse losses whose leaves are medians or quantiles of all their rows."""
        raise ValueError(
            f"the leaves of the {self.target.loss.name} loss are medians or quantiles of their rows, which shards "
            "cannot add up; fit on one machine, or choose another loss (loss='huber')."
        )

    def move(
        self, tree: _core.GradientTree, value: F64, unit: F64, step: float, k: int, along: F64 | None
    ) -> LeafLines | None:
        """As `ScoredRows.move`."""
        assert along is None
        parts = tree_to_arrays(tree)
        lines = None if self.line_fit is None else self._lines(self.line_fit, tree, parts, k).times(unit)
        self.shards.move(self._known, self.run, parts, value, lines, step, k)
        return lines

    def _lines(self, line_fit: LineFit, tree: _core.GradientTree, parts: tuple[Any, ...], k: int) -> LeafLines:
        """Lines of a tree's leaves, of sums over the shards."""
        largest = np.max(self.shards.each("largest_of_lines", self.run, parts, self._known, line_fit, k), axis=0)
        weights = self.shards.total("weights_of_lines", largest)
        return line_fit.lines(tree, largest, weights, self.shards.total("products_of_lines", largest, weights))

    def scores(self, rows: NDArray[np.integer]) -> F64:
        """As `ScoredRows.scores`; the rows rise."""
        ends = [part.stop for part in self.shards.slices]
        at = np.searchsorted(rows, [0, *ends])
        of_shards = [rows[a:b] - of.start for (a, b), of in zip(pairwise(at), self.shards.slices, strict=True)]
        return np.concatenate(self.shards.each_of("scores", [(self.run, part) for part in of_shards]), axis=-1)

    def begin_on_all(self) -> None:
        """As `ScoredRows.begin_on_all`."""
        self.shards.tell("begin", self.run, 1.0, 0)

    def restart(self, target: Target, intercept: F64) -> None:
        """As `ScoredRows.restart`."""
        self.target = target
        self._weighted = target.w is not None
        parts = [target.part(rows) for rows in self.shards.slices]
        self.shards.tell_each("restart", [(self.run, part, intercept) for part in parts])

    def regrown(self, tree: _core.GradientTree, k: int, penalty: LeafPenalty) -> _core.GradientTree:
        """As `ScoredRows.regrown`."""
        parts = tree_to_arrays(tree)
        largest = np.max(self.shards.each("largest_terms", self.run, k), axis=0)
        found = self.shards.total("terms_of_leaves", self.run, parts, len(tree.feature), k, largest)
        sums = _core.sums_of_limbs(np.ascontiguousarray(found[:, :-1]), largest)
        return refitted_tree(tree, sums, found[:, -1, 0], penalty, weighted=self._weighted)

    def keep(self, record: FitRecord) -> None:
        """As `ScoredRows.keep`."""
        self._record = record


def _tree_form() -> Codec[_core.GradientTree]:
    from committee.learners.base.fit_record import Codec, tree_from_arrays

    return Codec(tree_to_arrays, tree_from_arrays)
