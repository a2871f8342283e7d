"""The rounds of gradient boosting: gradients, trees that follow them, a step, new scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.binning import Binned
from committee.data.number_types import F64
from committee.learners.base.boosting import BoostingRun
from committee.learners.base.recorded_growth import leaf_of_rows
from committee.learners.gradient.leaf import LeafPenalty
from committee.learners.gradient.leaf_refit import refits, refitted, refitted_tree
from committee.learners.gradient.line_fit import LineFit, add_lines
from committee.learners.gradient.line_search import LineSearch
from committee.learners.gradient.round_draws import Draws
from committee.learners.gradient.scores import Target, add_tree
from committee.vote.committee import Committee
from committee.vote.regression import RegressionCommittee
from committee.voters.forest import Forest
from committee.voters.growing import forest_of
from committee.voters.leaf_lines import LeafLines
from committee.voters.linear_leaves import LinearLeaves
from committee.voters.rounds import Rounds

if TYPE_CHECKING:
    from committee.learners.base.fit_record import FitRecord
    from committee.learners.base.recorded_growth import RecordedGradientGrower


@dataclass(frozen=True, eq=False)
class BoostedTree:
    """A tree of a round: its structure, and what its nodes add to the scores."""

    tree: _core.GradientTree
    value: F64
    lines: LeafLines | None
    weight: F64 | None
    """Weight of the rows of each node; None where all rows weigh alike."""


class GradientRun(BoostingRun):
    """Scores F of the training rows, and the rounds so far.

    Each round takes gradients g and hessians h of the loss at F, grows a tree on them (one for each score, or one with
    a number for each in its leaves), and moves F along it: F <- F + a b(x). The step a is the learning rate, times the
    best step if there is a line search. A round that would change nothing, as every later one, is dropped, unless it is
    the first: a committee needs a voter.

    Parameters
    ----------
    F : float64 array (n,) or (D, n)
        Scores of the rows before the first round of this run; changed in place.
    n_classes : int
        Number of classes, or of numbers that are predicted.
    intercept : float64 array (D,)
        The score before any round.
    earlier : Committee, RegressionCommittee or None
        The rounds that this run goes on from.
    shared : bool
        One tree for all scores.
    line_fit : LineFit or None
        How leaves get lines; None: they are constants.
    target, grower, binned, draws, learning_rate, search, n_threads
        What is boosted, the kernel and its table, what each round may see, and its step.
    """

    _idle = False

    def __init__(
        self,
        target: Target,
        grower: _core.GradientGrower,
        F: F64,
        binned: Binned,
        n_classes: int,
        *,
        intercept: F64,
        earlier: Committee | RegressionCommittee | None,
        shared: bool,
        draws: Draws,
        learning_rate: float,
        search: LineSearch | None,
        line_fit: LineFit | None,
        n_threads: int,
    ) -> None:
        self.target, self.F, self.binned, self.n_classes = target, F, binned, n_classes
        self.grower: _core.GradientGrower | RecordedGradientGrower = grower
        self.intercept, self.earlier = intercept, earlier
        self.n_rounds = self.n_earlier = earlier.n_voters if earlier else 0
        self.draws, self.learning_rate, self.search, self.n_threads = draws, learning_rate, search, n_threads
        self.line_fit = line_fit
        self.n_trees = 1 if shared or F.ndim == 1 else len(F)
        self.gradient, self.hessian = np.empty_like(F), np.empty_like(F)
        self.refit = refits(target.loss)
        self.grown: list[BoostedTree] = []
        self.steps: list[float] = []

    def has_next(self) -> bool:
        """Tell whether the last round has changed anything."""
        return not self._idle

    def advance(self) -> None:
        """Grow the trees of a round, and move the scores along them.

        Raises
        ------
        ValueError
            If leaf values overflow.
        """
        target, t = self.target, self.n_rounds
        rows, w = self.draws.rows_of_round(t)
        w = target.w if w is None else w
        target.write_gradients(self.F, w, self.gradient, self.hessian, self.n_threads)
        features = self.draws.features_of_round(t)
        # with a line search F waits until the step is known
        moved = self.F if self.search is None else np.zeros_like(self.F)
        step = self.learning_rate if self.search is None else 1.0
        grown = []
        for k in range(self.n_trees):
            own = slice(None) if self.n_trees == 1 else k
            seed = self.draws.seed + t * self.n_trees + k
            tree = self.grower.grow(self.gradient[own], self.hessian[own], rows, features, seed, k, w)
            grown.append(self._along(moved, tree, self.grower.leaf_of_row, rows, w, step, k))
        if self.search is not None:
            leaves = [one.value[one.tree.feature < 0] / self._unit(k) for k, one in enumerate(grown)]
            step = self.search.step(self.F, moved, leaves, self.learning_rate)
            self.F += step * moved
        self._idle = not self.draws.any and (step == 0.0 or not any(one.value.any() for one in grown))
        if self._idle and self.steps:
            return
        self.grown += grown
        self.steps.append(step)
        self.n_rounds += 1

    def replay(self, target: Target, penalty: LeafPenalty, intercept: F64, n_rounds: int) -> None:
        """Take the first rounds again on all rows, after some were held out: splits stay, leaves are refitted.

        Each leaf gets the penalised weight of all its rows, at the scores of the rounds before it, which are replayed
        as well. `intercept` is the best constant of all rows.
        """
        self.target, self.intercept = target, intercept
        self.F = np.repeat(intercept[:, None], self.F.shape[-1], axis=1).reshape(self.F.shape)
        grown, self.grown = self.grown, []
        for t in range(n_rounds):
            target.write_gradients(self.F, target.w, self.gradient, self.hessian, self.n_threads)
            for k in range(self.n_trees):
                own = slice(None) if self.n_trees == 1 else k
                tree = grown[t * self.n_trees + k].tree
                leaf = leaf_of_rows(self.binned, tree, None)
                tree = refitted_tree(tree, leaf, self.gradient[own], self.hessian[own], penalty)
                self.grown.append(self._along(self.F, tree, leaf, None, target.w, self.steps[t], k))
        self.steps = self.steps[:n_rounds]
        self.n_rounds = n_rounds

    def keep(self, record: FitRecord) -> None:
        """As `BoostingRun.keep`: the trees."""
        from committee.learners.base.recorded_growth import RecordedGradientGrower

        self.grower = RecordedGradientGrower(self.grower, self.binned, record)

    def voters(self, first: int, end: int) -> Forest | Rounds | LinearLeaves:
        """Return the rounds from `first` to `end`, earlier ones included, as voters."""
        if self.earlier is None or first >= self.n_earlier:
            return self._grown(first - self.n_earlier, end - self.n_earlier)
        before: Any = self.earlier.voters[first:end]
        return before if end <= self.n_earlier else joined(before, self._grown(0, end - self.n_earlier))

    def weights(self, first: int, end: int) -> F64:
        """Return the steps of these rounds."""
        before = [] if self.earlier is None else self.earlier.weights.tolist()
        return np.array([*before, *self.steps][first:end])

    def _grown(self, first: int, end: int) -> Forest | Rounds | LinearLeaves:
        """Rounds of this run alone as voters."""
        grown = self.grown[first * self.n_trees : end * self.n_trees]
        trees = [one.tree for one in grown]
        weight = [one.tree.count.astype(np.float64) if one.weight is None else one.weight for one in grown]
        per_tree = self.n_classes if self.n_trees == 1 else 1
        forest = forest_of(trees, self.binned.bins, per_tree, value=[one.value for one in grown], weight=weight)
        lines = [one.lines for one in grown if one.lines is not None]
        if lines:
            return LinearLeaves(forest, LeafLines.concatenate(lines), self.n_trees)
        return forest if self.n_trees == 1 else Rounds(forest, self.n_trees)

    def _unit(self, k: int) -> F64:
        """Units of the scores of a round's tree k."""
        if self.target.scale is None:
            return np.ones(1)
        return self.target.scale if self.n_trees == 1 else self.target.scale[k : k + 1]

    def _along(
        self,
        F: F64,
        tree: _core.GradientTree,
        leaf: NDArray[np.int32],
        rows: NDArray[np.int32] | None,
        w: F64 | None,
        step: float,
        k: int,
    ) -> BoostedTree:
        """Give a tree its numbers, and lines if it has any, and move scores along it."""
        value, lines = self._value(tree, leaf, rows, w, k), None
        add_tree(F, leaf, value, step, k, self.n_threads)
        if self.line_fit is not None:
            own = slice(None) if self.n_trees == 1 else k
            lines = self.line_fit.lines(tree, leaf, rows, self.gradient[own], self.hessian[own])
            lines = replace(lines, slope=lines.slope * self._unit(k))
            add_lines(F, lines, self.line_fit.X, leaf, step, k, self.n_threads)
        return BoostedTree(tree, value, lines, None if w is None else _weight_of_nodes(tree, leaf, w, rows))

    def _value(
        self, tree: _core.GradientTree, leaf: NDArray[np.int32], rows: NDArray[np.int32] | None, w: F64 | None, k: int
    ) -> F64:
        """Return the numbers that nodes add to the scores."""
        value = tree.value if self.target.scale is None else tree.value * self._unit(k)
        if not np.isfinite(value).all():
            raise ValueError(
                f"the scores overflow in round {self.n_rounds + 1}; lower learning_rate, or raise "
                "leaf_l2 or min_hessian_leaf."
            )
        if not self.refit:
            return value
        own = slice(None) if self.n_trees == 1 else slice(k, k + 1)
        seen = slice(None) if rows is None else rows
        y = np.atleast_2d(self.target.y)
        y = y[own] if len(y) > 1 else y
        residual = y[:, seen].astype(np.float64) - np.atleast_2d(self.F)[own][:, seen]
        bounds = tree.bounds if self.n_trees == 1 else tree.bounds * self._unit(k)
        return refitted(self.target, value, bounds, leaf[seen], residual, None if w is None else w[seen], first=k)


def joined(
    earlier: Forest | Rounds | LinearLeaves, later: Forest | Rounds | LinearLeaves
) -> Forest | Rounds | LinearLeaves:
    """Join the rounds of both, which are of one kind."""
    if isinstance(earlier, LinearLeaves) and isinstance(later, LinearLeaves):
        return LinearLeaves.concatenate([earlier, later])
    if isinstance(earlier, Rounds) and isinstance(later, Rounds):
        return Rounds(Forest.concatenate([earlier.forest, later.forest]), earlier.n_outputs)
    assert isinstance(earlier, Forest) and isinstance(later, Forest)
    return Forest.concatenate([earlier, later])


def _weight_of_nodes(tree: _core.GradientTree, leaf: NDArray[np.int32], w: F64, rows: NDArray[np.int32] | None) -> F64:
    """Weight of the rows that a tree was grown on, by node; children stand after their parent."""
    seen = slice(None) if rows is None else rows
    weight, child = np.bincount(leaf[seen], w[seen], len(tree.left)).tolist(), tree.left.tolist()
    for i in range(len(child) - 1, -1, -1):
        if child[i] >= 0:
            weight[i] = weight[child[i]] + weight[child[i] + 1]
    return np.array(weight)
