"""The rounds of gradient boosting: gradients, trees that follow them, a step, new scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, isfinite
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.bins import Binned, Bins
from committee.data.number_types import F64, I32, Mask
from committee.data.rows import Rows, TargetRows
from committee.learners.base.boosting import BoostingRun
from committee.learners.base.fit_record import FitRecord, RecordedGradientGrower, leaf_of_rows
from committee.learners.base.row_sampling import RowUnits, upper_bound
from committee.learners.gradient.leaf_values import LeafPenalty, LineFit, leaf_terms, node_sums, refitted_tree
from committee.learners.gradient.target import Target, add_tree, refits
from committee.objectives.losses.base import has_kernel
from committee.vote.committee import Committee, RegressionCommittee
from committee.voters.forest import Forest
from committee.voters.growing import forest_from_grown
from committee.voters.rounds import LeafLines, LinearLeaves, Rounds

TreeVoters: TypeAlias = Forest | Rounds | LinearLeaves

LARGEST_STEP = 64.0  # along Newton's direction: along a tree with pure leaves every longer step lowers the loss more
LONGEST = 1.0  # largest multiple of Newton's step along an antigradient: longer ones would give probabilities 0 and 1
FLAT = 1e-6  # share of the first slope at which the search ends, for losses without curvature of their own
_MAX_TRIALS = 100
_TOLERANCE = 1e-9  # change of a step, as a share of it, at which the search ends


@dataclass(frozen=True)
class Draws:
    seed: int
    n_features: int
    subsample: float
    features_of_tree: int
    by_node: bool  # the grower draws columns for each node
    units: RowUnits | None  # rows as they are drawn; None where every round has all of them
    training: Mask | None = None  # units of the training rows; None: all
    feature_weights: NDArray[np.uint32] | None = None  # of columns that are drawn; None: all alike
    columns: I32 | None = None  # of all rounds, without draws; None: all or drawn ones
    thresholds: bool = False  # the grower draws thresholds in all trees or a share of them

    @property
    def any(self) -> bool:
        return self.by_node or self.thresholds or self.subsample < 1.0 or self._draws_columns

    @property
    def _draws_columns(self) -> bool:
        return self.columns is None and self.features_of_tree < self.n_features

    def rows_of_round(self, t: int) -> tuple[I32 | None, F64 | None]:
        """Return the rows of round t and the weights ``(n,)``; None: all rows, or unchanged weights."""
        if self.units is None:
            return None, None
        if self.subsample < 1.0:
            return self.units.rows_drawn(self.subsample, self.seed + t, self.training)
        assert self.training is not None
        return self.units.rows_of(self.training)

    def features_of_round(self, t: int) -> I32 | None:
        if not self._draws_columns:
            return self.columns
        random, size, shares = np.random.default_rng((self.seed, t)), self.features_of_tree, None
        if (weights := self.feature_weights) is not None:
            size, shares = min(size, int(np.count_nonzero(weights))), weights / weights.sum(dtype=np.float64)
        chosen = random.choice(self.n_features, size, replace=False, p=shares, shuffle=False)
        return np.sort(chosen).astype(np.int32)


class ScoredRows(ABC):
    """Training rows with their scores F, in memory or sharded over workers."""

    n_rows: int
    line_fit: LineFit | None  # None: leaves are constants

    def rounds(self, draws: Draws, step: float) -> _core.BoostingRounds | None:
        """Return rounds of one kernel call each, if possible."""
        return None

    @abstractmethod
    def begin(self, draws: Draws, t: int) -> None: ...

    @abstractmethod
    def grow(self, k: int, features: I32 | None, seed: int) -> _core.GradientTree: ...

    @abstractmethod
    def best_constants(self, tree: _core.GradientTree, value: F64, bounds: F64, k: int) -> F64: ...

    @abstractmethod
    def move(
        self, tree: _core.GradientTree, value: F64, unit: F64, step: float, k: int, along: F64 | None
    ) -> LeafLines | None:
        """Move the scores, or the array `along`, by `step` along the tree grown last, and return its lines."""

    @abstractmethod
    def scores(self, rows: NDArray[np.integer]) -> F64: ...

    @abstractmethod
    def restart(self, target: Target, intercept: F64) -> None: ...

    @abstractmethod
    def begin_on_all(self) -> None: ...

    @abstractmethod
    def regrown(self, tree: _core.GradientTree, k: int, penalty: LeafPenalty) -> _core.GradientTree:
        """Return the tree with leaf weights of all rows."""

    @abstractmethod
    def keep(self, record: FitRecord) -> None: ...


@dataclass(eq=False)
class RowsInMemory(ScoredRows):
    target: Target
    grower: _core.GradientGrower | RecordedGradientGrower
    F: F64
    binned: Binned
    line_fit: LineFit | None
    X: F64 | None  # encoded rows, for lines in leaves
    n_threads: int

    def __post_init__(self) -> None:
        self.n_rows = self.F.shape[-1]
        self.gradient, self.hessian = np.empty_like(self.F), np.empty_like(self.F)
        self.rows: I32 | None = None
        self.w: F64 | None = None
        self.leaf = np.empty(0, dtype=np.int32)

    def rounds(self, draws: Draws, step: float) -> _core.BoostingRounds | None:
        target, units, lines = self.target, draws.units, self.line_fit
        weighted = target.w is not None or (units is not None and units.weight is not None)
        some_columns = draws.features_of_tree < draws.n_features
        if isinstance(self.grower, RecordedGradientGrower) or weighted or some_columns or target.scale is not None:
            return None
        if not has_kernel(target.loss):
            return None
        F, samples = np.atleast_2d(self.F), draws.subsample < 1.0
        return _core.BoostingRounds(
            *(self.grower, *target.loss.kernel_target(target.y, self.F), F, step),
            rows=None if units is None or samples or draws.training is None else units.rows_of(draws.training)[0],
            place=units.place if units is not None and samples else None,
            bound=upper_bound(draws.subsample),
            among=None if draws.training is None else draws.training.view(np.uint8),
            X=None if lines is None else self.X,
            numeric=np.empty(0, dtype=np.uint8) if lines is None else lines.numeric,
            l2=0.0 if lines is None else lines.l2,
        )

    def begin(self, draws: Draws, t: int) -> None:
        self.rows, w = draws.rows_of_round(t)
        self.w = self.target.w if w is None else w
        self.begin_on_all()

    def begin_on_all(self) -> None:
        self.target.write_gradients(self.F, self.w, self.gradient, self.hessian, self.n_threads)

    def grow(self, k: int, features: I32 | None, seed: int) -> _core.GradientTree:
        gradient, hessian = self._derivatives(k)
        tree = self.grower.grow(gradient, hessian, self.rows, features, seed, k, self.w)
        self.leaf = self.grower.leaf_of_row
        return tree

    def _derivatives(self, k: int) -> tuple[F64, F64]:
        scores = slice(None) if self.F.ndim == 1 or self.grower.n_outputs > 1 else k
        return self.gradient[scores], self.hessian[scores]

    def best_constants(self, tree: _core.GradientTree, value: F64, bounds: F64, k: int) -> F64:
        used: Any = slice(None) if self.rows is None else self.rows
        target = self.target.of_rows(used, None if self.w is None else self.w[used])
        return target.best_constants(self.F[..., used], self.leaf[used], value, bounds, k)

    def move(
        self, tree: _core.GradientTree, value: F64, unit: F64, step: float, k: int, along: F64 | None
    ) -> LeafLines | None:
        lines = None
        if self.line_fit is not None:
            assert self.X is not None
            sums = self.line_fit.sums(self.X, tree, self.leaf, self.rows, *self._derivatives(k), self.n_threads)
            lines = LeafLines(*sums.lines(self.line_fit.l2)).scaled(unit)
        add_tree(self.F if along is None else along, self.leaf, value, lines, self.X, step, k, self.n_threads)
        return lines

    def scores(self, rows: NDArray[np.integer]) -> F64:
        return self.F[..., rows]

    def restart(self, target: Target, intercept: F64) -> None:
        self.target, self.rows, self.w = target, None, target.w
        self.F = target.first_scores(intercept)

    def regrown(self, tree: _core.GradientTree, k: int, penalty: LeafPenalty) -> _core.GradientTree:
        self.leaf = leaf_of_rows(self.binned, tree, None)
        sums = node_sums(leaf_terms(*self._derivatives(k), self.w), self.leaf, len(tree.feature))
        count = np.bincount(self.leaf, minlength=len(tree.feature))
        return refitted_tree(tree, sums, count, penalty, weighted=self.w is not None)

    def keep(self, record: FitRecord) -> None:
        self.grower = RecordedGradientGrower(self.grower, self.binned, record)


# --- line search ------------------------------------------------------------------------------------------------------


def best_step(
    slope: Callable[[float], tuple[float, float]],
    start: float = 1.0,
    largest: float = LARGEST_STEP,
    flat: float = 0.0,
    *,
    curved: bool = True,
) -> float:
    """Return the a >= 0 at which a convex function is least; 0 if it does not fall at 0.

    `slope` returns derivative and curvature at a, the true one if `curved`. The search takes Newton steps from `start`
    within brackets, and ends at `largest`, or where a falling slope has at most `flat` times its size at 0.

    Equation: line-search (docs/theory.md).

    Examples
    --------
    >>> from committee.learners.gradient.rounds import best_step
    >>> best_step(lambda a: (2.0 * (a - 3.0), 2.0))
    3.0
    """
    first = slope(0.0)[0]
    if not first < 0.0:
        return 0.0
    low, high, step, before = 0.0, inf, start, inf
    for _ in range(_MAX_TRIALS):
        rise, curvature = slope(step)
        if rise == 0.0 or (rise < 0.0 and (step >= largest or rise > flat * first)):
            return step
        if rise < 0.0:
            low = step
        else:
            high = step  # a slope of NaN lies too far out
        newton = step - rise / curvature if curvature > 0.0 else inf
        usable = curved or abs(newton - step) > _TOLERANCE * step
        if not (usable and low < newton < min(high, 4.0 * step) and abs(rise) <= 0.5 * before):
            newton = 2.0 * step if high == inf else 0.5 * (low + high)
        before = abs(rise)
        newton = min(newton, largest)
        if abs(newton - step) <= _TOLERANCE * step:
            return newton
        step = newton
    return low


class LineSearch:
    """Steps that lower the objective: summed loss of the training rows plus penalties of leaf weights."""

    def __init__(self, target: Target, penalty: LeafPenalty, F: F64, n_threads: int, *, newton: bool = True) -> None:
        self.F = F
        self.target: Target = target
        self.penalty: LeafPenalty = penalty
        self.n_threads: int = n_threads
        self.newton: bool = newton
        self.spent = 0.0
        self.total: float = target.total
        self.objectives: list[float] = [target.mean_loss(F)]  # over the total weight, after 0, 1, ... rounds

    def step(self, direction: F64, leaves: Sequence[F64], learning_rate: float) -> float:
        """Move F by the first step along `direction` that lowers the objective, and return it; 0 if none does."""
        F, along = self.F, self.target.in_units(direction)
        # leaves: values (L, k) of each tree in units of `Target.scale`
        values = np.concatenate([np.empty(0), *(v.ravel() for v in leaves)])
        size, square = float(np.abs(values).sum()), float((values**2).sum())
        g, h, squared = np.empty_like(F), np.empty_like(F), along**2

        def slope(a: float) -> tuple[float, float]:  # of the objective without l0
            self.target.write_gradients(F + a * direction, self.target.w, g, h, self.n_threads)
            rise = float(np.vdot(g, along)) + self.penalty.l1 * size + self.penalty.l2 * a * square
            return rise, float(np.vdot(h, squared)) + self.penalty.l2 * square

        best = self._best(slope)
        for step in (learning_rate * best, best):
            spent = self.spent + sum(self.penalty.cost(step * v) for v in leaves)
            objective = self.target.mean_loss(F + step * direction) + spent / self.total
            if step and objective < self.objectives[-1]:
                self.spent = spent
                self.objectives.append(objective)
                F += step * direction
                return step
        self.objectives.append(self.objectives[-1])
        return 0.0

    def _best(self, slope: Callable[[float], tuple[float, float]]) -> float:
        curved = self.target.loss.hessian_is_true
        if self.newton:
            return best_step(slope, curved=curved)
        rise, curvature = slope(0.0)
        start = -rise / curvature if curvature > 0.0 else 1.0
        if curved:
            return best_step(slope, start=start, largest=LONGEST * start)
        return best_step(slope, start=start, largest=inf, flat=FLAT, curved=False)


# --- rounds -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class BoostedTree:
    tree: _core.GradientTree
    value: F64
    lines: LeafLines | None


@dataclass(eq=False)
class GradientRun(BoostingRun):
    target: Target
    scored: ScoredRows
    bins: Bins
    n_classes: int
    intercept: F64
    earlier: Committee | RegressionCommittee | None
    shared: bool
    draws: Draws
    learning_rate: float
    search: LineSearch | None
    most_rounds = 0
    _idle = False

    def __post_init__(self) -> None:
        self.n_rounds = self.n_earlier = self.earlier.n_voters if self.earlier else 0
        self.n_trees: int = 1 if self.shared else len(self.intercept)
        self.refit: bool = refits(self.target.loss)
        self.grown: list[BoostedTree] = []
        self.steps: list[float] = []

    def has_next(self) -> bool:
        return not self._idle

    @cached_property
    def _rounds(self) -> _core.BoostingRounds | None:
        return None if self.search is not None or self.refit else self.scored.rounds(self.draws, self.learning_rate)

    def advance(self) -> None:
        if self._rounds is None:
            step, grown = self._round()
        else:
            step, seed = self.learning_rate, self.draws.seed
            trees, lines, largest = self._rounds.advance(seed + self.n_rounds, seed + self.n_rounds * self.n_trees)
            self._check(largest)
            of_trees = [LeafLines(*lines[k]) if lines else None for k in range(len(trees))]
            grown = [BoostedTree(tree, tree.value, of_tree) for tree, of_tree in zip(trees, of_trees, strict=True)]
        self._idle = not self.draws.any and (step == 0.0 or not any(_core.largest_size(one.value) for one in grown))
        if self._idle and self.steps:
            return
        self.grown += grown
        self.steps.append(step)
        self.n_rounds += 1

    def _round(self) -> tuple[float, list[BoostedTree]]:
        t, search = self.n_rounds, self.search
        self.scored.begin(self.draws, t)
        features = self.draws.features_of_round(t)
        # with a line search F waits until the step is known
        direction = None if search is None else np.zeros_like(search.F)
        step = self.learning_rate if search is None else 1.0
        grown = []
        for k in range(self.n_trees):
            tree = self.scored.grow(k, features, self.draws.seed + t * self.n_trees + k)
            grown.append(self._along(tree, step, k, direction))
        if search is not None and direction is not None:
            leaves = [one.value[one.tree.feature < 0] / self._unit(k) for k, one in enumerate(grown)]
            step = search.step(direction, leaves, self.learning_rate)
        return step, grown

    def replay(self, target: Target, penalty: LeafPenalty, intercept: F64, n_rounds: int) -> None:
        """Refit the leaves of the first rounds on all rows; splits and steps stay."""
        self.target, self.intercept = target, intercept
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
        self.scored.keep(record)

    def _unit(self, k: int) -> F64:
        return self.target.unit(k, shared=self.n_trees == 1)

    def _check(self, largest_value: float) -> None:
        if not isfinite(largest_value):
            raise ValueError(
                f"a leaf weight overflows in round {self.n_rounds + 1}; raise leaf_l2 or min_hessian_leaf"
                f"{', or lower learning_rate' if self.n_rounds else ''}."
            )

    def _along(self, tree: _core.GradientTree, step: float, k: int, direction: F64 | None = None) -> BoostedTree:
        value = tree.value if self.target.scale is None else tree.value * self._unit(k)
        self._check(_core.largest_size(value))
        if self.refit:
            bounds = tree.bounds if self.n_trees == 1 else tree.bounds * self._unit(k)
            value = self.scored.best_constants(tree, value, bounds, k)
        return BoostedTree(tree, value, self.scored.move(tree, value, self._unit(k), step, k, direction))

    # --- voters -----------------------------------------------------------------------------------------------------

    def committee(self, n_rounds: int) -> tuple[TreeVoters, F64]:
        return self.voters(0, n_rounds), self.weights(0, n_rounds)

    def voters(self, first: int, end: int) -> TreeVoters:
        n = self.n_earlier
        if self.earlier is None or first >= n:
            return self._grown(first - n, end - n)
        before: Any = self.earlier.voters[first:end]
        return before if end <= n else _concatenated(before, self._grown(0, end - n))

    def weights(self, first: int, end: int) -> F64:
        before = [] if self.earlier is None else self.earlier.weights.tolist()
        return np.array([*before, *self.steps][first:end])

    def _grown(self, first: int, end: int) -> TreeVoters:
        grown = self.grown[first * self.n_trees : end * self.n_trees]
        trees = [one.tree for one in grown]
        weight = [w for tree in trees if (w := tree.weight) is not None]
        assert len(weight) in (0, len(trees))  # rows have weights in all rounds or in none
        per_tree = self.n_classes if self.n_trees == 1 else 1
        forest = forest_from_grown(
            trees, self.bins, per_tree, value=[one.value for one in grown], weight=weight or "rows"
        )
        lines = [one.lines for one in grown if one.lines is not None]
        if lines:
            return LinearLeaves(forest, LeafLines.concatenate(lines), self.n_trees)
        return forest if self.n_trees == 1 else Rounds(forest, self.n_trees)


def binned_loss(run: GradientRun, held_out: Rows | TargetRows, n_threads: int) -> Callable[[int], float]:
    """Return a function for the mean loss of held-out rows, to call after each round in turn."""
    target = Target.of(run.target.loss, held_out, run.target.scale)
    F = target.first_scores(run.intercept)
    binned = Binned(run.bins, run.bins.encode(held_out.dense, n_threads))

    def loss_after(t: int) -> float:
        step = run.steps[t - 1]
        for k, one in enumerate(run.grown[(t - 1) * run.n_trees : t * run.n_trees]):
            add_tree(F, leaf_of_rows(binned, one.tree, None), one.value, None, None, step, k, n_threads)
        return target.mean_loss(F)

    return loss_after


def _concatenated(earlier: TreeVoters, later: Any) -> TreeVoters:
    if isinstance(earlier, LinearLeaves):
        return LinearLeaves.concatenate([earlier, later])
    if isinstance(earlier, Rounds):
        return Rounds(Forest.concatenate([earlier.forest, later.forest]), earlier.n_outputs)
    return Forest.concatenate([earlier, later])
