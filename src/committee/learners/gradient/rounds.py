"""The rounds of gradient boosting: gradients, trees that follow them, a step, new scores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.binning import Bins
from committee.learners.gradient.leaf import LeafPenalty
from committee.learners.gradient.leaf_refit import refits, refitted
from committee.learners.gradient.line_search import LineSearch
from committee.learners.gradient.round_draws import Draws
from committee.learners.gradient.scores import Target, add_tree
from committee.objectives.losses import write_gradients
from committee.voters.forest import Forest
from committee.voters.growing import forest_of
from committee.voters.rounds import Rounds

F64 = NDArray[np.float64]


class GradientRounds:
    """The state of a run: scores F of the training rows, and the rounds so far.

    Each round takes gradients g and hessians h of the loss at F, grows a tree on them (one for each score, or one
    with a number for each in its leaves), and moves F along it: F <- F + a b(x). The step a is the learning rate,
    times the best step if there is a line search.

    Parameters
    ----------
    target : Target
        What is boosted.
    grower : GradientGrower
        Grows trees over the binned training rows.
    F : float64 array (n,) or (D, n)
        Scores of the rows before the first round of this run; changed in place.
    first : int
        Number of that round, where a run goes on from another.
    shared : bool
        One tree for all scores.
    draws : Draws
        What each round may see.
    learning_rate : float
    penalty : LeafPenalty
        What leaf weights cost, for the line search.
    line_search : bool
    n_threads : int
    """

    def __init__(
        self,
        target: Target,
        grower: _core.GradientGrower,
        F: F64,
        *,
        first: int,
        shared: bool,
        draws: Draws,
        learning_rate: float,
        penalty: LeafPenalty,
        line_search: bool,
        n_threads: int,
    ) -> None:
        self.target, self.grower, self.F, self.first = target, grower, F, first
        self.draws, self.learning_rate, self.n_threads = draws, learning_rate, n_threads
        self.n_trees = 1 if shared or F.ndim == 1 else len(F)
        self.gradient, self.hessian = np.empty_like(F), np.empty_like(F)
        self.refit = refits(target.loss)
        self.search = LineSearch(target, penalty, F, n_threads) if line_search else None
        self.trees: list[_core.GradientTree] = []
        self.values: list[F64] = []
        self.node_weights: list[F64] = []
        self.steps: list[float] = []

    def __len__(self) -> int:
        return len(self.steps)

    def round(self) -> bool:
        """One round more; False if it changes nothing and every later one would do the same.

        Such a round is dropped, unless it is the first: a committee needs a voter.

        Raises
        ------
        ValueError
            If leaf values overflow.
        """
        target = self.target
        write_gradients(target.loss, target.y, self.F, target.w, self.gradient, self.hessian, self.n_threads)
        t = self.first + len(self.steps)
        rows, features = self.draws.of_round(t)
        # with a line search F waits until the step is known
        moved = self.F if self.search is None else np.zeros_like(self.F)
        step = self.learning_rate if self.search is None else 1.0
        trees, values, node_weights = [], [], []
        for k in range(self.n_trees):
            own = slice(None) if self.n_trees == 1 else k
            seed = self.draws.seed + t * self.n_trees + k
            tree = self.grower.grow(self.gradient[own], self.hessian[own], rows, features, seed)
            leaf = self.grower.leaf_of_row
            value = self._value(tree, leaf, rows, k)
            add_tree(moved, leaf, value, step, k, self.n_threads)
            trees.append(tree)
            values.append(value)
            if target.w is not None:
                node_weights.append(_weight_of_leaves(leaf, target.w, rows, len(value)))
        if self.search is not None:
            leaves = [value[tree.feature < 0] for value, tree in zip(values, trees, strict=True)]
            step = self.search.step(self.F, moved, leaves, self.learning_rate)
            self.F += step * moved
        idle = step == 0.0 or not any(value.any() for value in values)
        if idle and not self.draws.any and self.steps:
            return False
        self.trees += trees
        self.values += values
        self.node_weights += node_weights
        self.steps.append(step)
        return self.draws.any or not idle

    def voters(self, bins: Bins, n_classes: int, first: int, last: int) -> Forest | Rounds:
        """The rounds of this run from `first` to `last` as voters.

        Parameters
        ----------
        bins : Bins
            The bins that the trees were grown on.
        n_classes : int
            Number of classes, or of numbers that are predicted.
        first, last : int
            Of the rounds of this run.
        """
        chosen = slice(first * self.n_trees, last * self.n_trees)
        trees = self.trees[chosen]
        weights = None
        if self.node_weights:
            weights = [_rolled_up(t.left, w) for t, w in zip(trees, self.node_weights[chosen], strict=True)]
        weights = weights or [tree.count.astype(np.float64) for tree in trees]
        per_tree = n_classes if self.n_trees == 1 else 1
        forest = forest_of(trees, bins, per_tree, value=self.values[chosen], weight=weights)
        return forest if self.n_trees == 1 else Rounds(forest, self.n_trees)

    def _value(self, tree: _core.GradientTree, leaf: NDArray[np.int32], rows: NDArray[np.int32] | None, k: int) -> F64:
        """What the nodes add to the scores."""
        value = tree.value
        if not np.isfinite(value).all():
            raise ValueError(
                f"the scores overflow in round {self.first + len(self.steps) + 1}; lower learning_rate, or raise "
                "leaf_l2 or min_hessian_leaf."
            )
        if not self.refit:
            return value
        F = self.F.reshape(-1, self.F.shape[-1])
        F = F if self.n_trees == 1 else F[k : k + 1]
        seen = slice(None) if rows is None else rows
        residual = self.target.y[seen].astype(np.float64) - F[:, seen]
        w = None if self.target.w is None else self.target.w[seen]
        return refitted(self.target.loss, value, tree.bounds, leaf[seen], residual, w, first=k)


def joined(earlier: Forest | Rounds, later: Forest | Rounds) -> Forest | Rounds:
    """All rounds of both."""
    if isinstance(earlier, Rounds) and isinstance(later, Rounds):
        return Rounds(Forest.concatenate([earlier.forest, later.forest]), earlier.n_outputs)
    assert isinstance(earlier, Forest) and isinstance(later, Forest)
    return Forest.concatenate([earlier, later])


def _weight_of_leaves(leaf: NDArray[np.int32], w: F64, rows: NDArray[np.int32] | None, n_nodes: int) -> F64:
    """Weight of the rows that a tree was grown on, by leaf; 0 for inner nodes."""
    seen = slice(None) if rows is None else rows
    return np.asarray(np.bincount(leaf[seen], weights=w[seen], minlength=n_nodes), dtype=np.float64)


def _rolled_up(left: NDArray[np.int32], weight: F64) -> F64:
    """Weights of all nodes from those of the leaves; children stand after their parent."""
    rolled, child = weight.tolist(), left.tolist()
    for i in range(len(child) - 1, -1, -1):
        if child[i] >= 0:
            rolled[i] = rolled[child[i]] + rolled[child[i] + 1]
    return np.array(rolled)
