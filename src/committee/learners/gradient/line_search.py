"""Line search of a boosting round: the minimum of a convex function of one number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

import numpy as np

from committee.data.number_types import F64
from committee.learners.gradient.leaf_values import LeafPenalty
from committee.learners.gradient.target import Target

LARGEST_STEP = 64.0
"""Largest step along Newton's direction: along a tree with pure leaves every longer one lowers the loss more."""
LONGEST = 1.0  # largest multiple of Newton's step along an antigradient: longer ones would give probabilities 0 and 1
FLAT = 1e-6  # share of the first slope at which the search ends, for losses without curvature of their own
_MAX_TRIALS = 100


def best_step(
    slope: Callable[[float], tuple[float, float]],
    tolerance: float = 1e-9,
    start: float = 1.0,
    largest: float = LARGEST_STEP,
    flat: float = 0.0,
    *,
    curved: bool = True,
) -> float:
    """Return the a >= 0 at which a convex function is least; 0 if it does not fall at 0.

    `slope` returns derivative and curvature at a, the true one if `curved`. The search takes Newton steps from `start`
    within brackets, and ends at `largest`, or where the slope is at most `flat` times that at 0.

    Equation: line-search (docs/theory.md).

    Examples
    --------
    >>> from committee.learners.gradient.line_search import best_step
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
        usable = curved or abs(newton - step) > tolerance * step
        if not (usable and low < newton < min(high, 4.0 * step) and abs(rise) <= 0.5 * before):
            newton = 2.0 * step if high == inf else 0.5 * (low + high)
        before = abs(rise)
        newton = min(newton, largest)
        if abs(newton - step) <= tolerance * step:
            return newton
        step = newton
    return low


class LineSearch:
    """Steps that lower the objective: summed loss of the training rows plus penalties of all leaf weights."""

    def __init__(self, target: Target, penalty: LeafPenalty, F: F64, n_threads: int, *, newton: bool = True) -> None:
        self.F = F
        self.target: Target = target
        self.penalty: LeafPenalty = penalty
        self.n_threads: int = n_threads
        self.newton: bool = newton
        self.spent = 0.0
        self.total: float = target.total
        self.objectives: list[float] = [target.mean_loss(F)]
        """The objective over the total weight, before the first and after each round."""

    def step(self, direction: F64, leaves: Sequence[F64], learning_rate: float) -> float:
        """Take the first step along `direction` that lowers the objective: `learning_rate` times the best, or the best.

        Returns the step taken, 0 if neither does. `leaves` ``(L, k)`` are each tree's leaf values over `Target.scale`.
        """
        F = self.F
        best = self._best(self._slope(direction, np.concatenate([np.empty(0), *(v.ravel() for v in leaves)])))
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

    def _slope(self, direction: F64, leaves: F64) -> Callable[[float], tuple[float, float]]:
        F, size, square = self.F, float(np.abs(leaves).sum()), float((leaves**2).sum())
        along = self.target.in_units(direction)
        g, h, squared = np.empty_like(F), np.empty_like(F), along**2

        def slope(a: float) -> tuple[float, float]:  # of the objective without l0
            self.target.write_gradients(F + a * direction, self.target.w, g, h, self.n_threads)
            rise = float(np.vdot(g, along)) + self.penalty.l1 * size + self.penalty.l2 * a * square
            return rise, float(np.vdot(h, squared)) + self.penalty.l2 * square

        return slope
