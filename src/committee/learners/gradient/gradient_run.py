"""The rounds of gradient boosting: gradients, trees that follow them, a step, new scores."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from committee import _core
from committee.data.binning import Bins
from committee.data.number_types import F64
from committee.learners.base.boosting import BoostingRun
from committee.learners.gradient.leaf import LeafPenalty
from committee.learners.gradient.leaf_refit import refits
from committee.learners.gradient.line_search import LineSearch
from committee.learners.gradient.round_draws import Draws
from committee.learners.gradient.scored_rows import ScoredRows
from committee.learners.gradient.scores import Target
from committee.vote.committee import Committee
from committee.vote.regression import RegressionCommittee
from committee.voters.forest import Forest
from committee.voters.growing import forest_of
from committee.voters.leaf_lines import LeafLines
from committee.voters.linear_leaves import LinearLeaves
from committee.voters.rounds import Rounds

if TYPE_CHECKING:
    from committee.learners.base.fit_record import FitRecord


UNIT_OF_ONE = np.ones(1)
"""Of scores that are in the units of the loss."""
UNIT_OF_ONE.flags.writeable = False


@dataclass(frozen=True, eq=False)
class BoostedTree:
    """A tree of a round: its structure, and what its nodes add to the scores."""

    tree: _core.GradientTree
    value: F64
    lines: LeafLines | None


class GradientRun(BoostingRun):
    """Scores F of the training rows, and the rounds so far.

    Each round takes gradients g and hessians h of the loss at F, grows a tree on them (one for each score, or one with
    a number for each in its leaves), and moves F along it: F <- F + a b(x). The step a is the learning rate, times the
    best step if there is a line search. A round that would change nothing, as every later one, is dropped, unless it is
    the first: a committee needs a voter.

    Parameters
    ----------
    target : Target
        What is boosted.
    scored : ScoredRows
        The rows with their scores before the first round of this run.
    bins : Bins
        Those of the table, whose edges become thresholds.
    n_classes : int
        Number of classes, or of numbers that are predicted.
    intercept : float64 array (D,)
        The score before any round.
    earlier : Committee, RegressionCommittee or None
        The rounds that this run goes on from.
    shared : bool
        One tree for all scores.
    draws, learning_rate, search
        What each round may see, and its step.
    """

    _idle = False

    def __init__(
        self,
        target: Target,
        scored: ScoredRows,
        bins: Bins,
        n_classes: int,
        *,
        intercept: F64,
        earlier: Committee | RegressionCommittee | None,
        shared: bool,
        draws: Draws,
        learning_rate: float,
        search: LineSearch | None,
    ) -> None:
        self.target = target
        self.scored: ScoredRows = scored
        self.bins: Bins = bins
        self.n_classes: int = n_classes
        self.intercept = intercept
        self.earlier: Committee | RegressionCommittee | None = earlier
        self.n_rounds = self.n_earlier = earlier.n_voters if earlier else 0
        self.draws: Draws = draws
        self.learning_rate: float = learning_rate
        self.search: LineSearch | None = search
        self.n_trees: int = 1 if shared else len(intercept)
        self.refit: bool = refits(target.loss)
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
        t = self.n_rounds
        self.scored.begin(self.draws, t)
        features = self.draws.features_of_round(t)
        # with a line search F waits until the step is known
        moved = None if self.search is None else np.zeros_like(self.search.F)
        step = self.learning_rate if self.search is None else 1.0
        grown = []
        for k in range(self.n_trees):
            tree = self.scored.grow(k, features, self.draws.seed + t * self.n_trees + k)
            grown.append(self._along(tree, step, k, moved))
        if self.search is not None:
            assert moved is not None
            leaves = [one.value[one.tree.feature < 0] / self._unit(k) for k, one in enumerate(grown)]
            step = self.search.step(moved, leaves, self.learning_rate)
        self._idle = not self.draws.any and (step == 0.0 or not any(_core.largest_size(one.value) for one in grown))
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
        self.target = target
        self.intercept = intercept
        self.scored.restart(target, intercept)
        grown, self.grown = self.grown, []
        for t in range(n_rounds):
            self.scored.begin_on_all()
            for k in range(self.n_trees):
                tree = self.scored.regrown(grown[t * self.n_trees + k].tree, k, penalty)
                self.grown.append(self._along(tree, self.steps[t], k))
        self.steps = self.steps[:n_rounds]
        self.n_rounds = n_rounds

    def keep(self, record: FitRecord) -> None:
        """As `BoostingRun.keep`: the trees."""
        self.scored.keep(record)

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
        weight = [w for tree in trees if (w := tree.weight) is not None]
        assert len(weight) in (0, len(trees))  # rows have weights in all rounds or in none
        per_tree = self.n_classes if self.n_trees == 1 else 1
        forest = forest_of(trees, self.bins, per_tree, value=[one.value for one in grown], weight=weight or "rows")
        lines = [one.lines for one in grown if one.lines is not None]
        if lines:
            return LinearLeaves(forest, LeafLines.concatenate(lines), self.n_trees)
        return forest if self.n_trees == 1 else Rounds(forest, self.n_trees)

    def _unit(self, k: int) -> F64:
        """Units of the scores of a round's tree k."""
        if self.target.scale is None:
            return UNIT_OF_ONE
        return self.target.scale if self.n_trees == 1 else self.target.scale[k : k + 1]

    def _along(self, tree: _core.GradientTree, step: float, k: int, along: F64 | None = None) -> BoostedTree:
        """Give a tree its numbers, and lines if it has any, and move scores along it."""
        value = self._value(tree, k)
        return BoostedTree(tree, value, self.scored.move(tree, value, self._unit(k), step, k, along))

    def _value(self, tree: _core.GradientTree, k: int) -> F64:
        """Return the numbers that nodes add to the scores."""
        value = tree.value if self.target.scale is None else tree.value * self._unit(k)
        if not math.isfinite(_core.largest_size(value)):
            raise ValueError(
                f"the scores overflow in round {self.n_rounds + 1}; lower learning_rate, or raise "
                "leaf_l2 or min_hessian_leaf."
            )
        if not self.refit:
            return value
        bounds = tree.bounds if self.n_trees == 1 else tree.bounds * self._unit(k)
        return self.scored.best_constants(tree, value, bounds, k)


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
