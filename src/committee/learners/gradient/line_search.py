"""Line search along the trees of a round: the minimum of a convex function of one number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

import numpy as np

from committee.data.number_types import F64
from committee.learners.gradient.leaf import LeafPenalty
from committee.learners.gradient.scores import Target

LARGEST_STEP = 64.0
"""A tree whose leaves are pure may be worth any step; more than this many Newton steps are not taken at once."""

LONGEST = 1.0
"""Most of Newton's steps along an antigradient that are taken at once, of losses whose curvature is known.

A voter that parts the classes lowers their loss with any step; such steps would leave probabilities of 0 and 1."""

FLAT = 1e-6
"""Share of the first slope below which a function that keeps falling is at its end; for losses without a curvature of
their own, whose steps along an antigradient have no limit."""

_MOST_TRIALS = 100


def best_step(
    slope: Callable[[float], tuple[float, float]],
    tolerance: float = 1e-9,
    start: float = 1.0,
    largest: float = LARGEST_STEP,
    flat: float = 0.0,
    *,
    curved: bool = True,
) -> float:
    """The a >= 0 at which a convex function is least, by Newton steps kept within brackets.

    Where a Newton step leaves the bracket, or no longer halves the slope (the curvature of absolute error is none of
    its own), the bracket is halved instead, or the step doubled.

    Equation: line-search (docs/theory.md).

    Parameters
    ----------
    slope : callable
        The derivative at a, and a curvature >= 0 that need not be the true one.
    tolerance : float, default=1e-9
        How close to the minimum, as a share of the step.
    start : float, default=1.0
        The first step that is tried.
    largest : float, default=LARGEST_STEP
        No step is larger.
    flat : float, default=0.0
        The function is at its end where its slope is no more than this share of that at 0.
    curved : bool, default=True
        Whether the curvature is the true one, so that a Newton step of no length tells the minimum. Otherwise brackets
        alone do.

    Returns
    -------
    float
        0 if the function rises at 0.

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
    for _ in range(_MOST_TRIALS):
        rise, curvature = slope(step)
        if rise == 0.0 or (rise < 0.0 and (step >= largest or rise > flat * first)):
            return step
        if rise < 0.0:
            low = step
        else:
            high = step  # a slope that is no number lies too far out
        newton = step - rise / curvature if curvature > 0.0 else inf
        told = curved or abs(newton - step) > tolerance * step
        if not (told and low < newton < min(high, 4.0 * step) and abs(rise) <= 0.5 * before):
            newton = 2.0 * step if high == inf else 0.5 * (low + high)
        before = abs(rise)
        newton = min(newton, largest)
        if abs(newton - step) <= tolerance * step:
            return newton
        step = newton
    return low


class LineSearch:
    """The step along a round's trees that lowers the objective most.

    F are the scores before the first round; they move in place.

    The objective is the summed loss of the training rows, and what the leaf weights of all trees cost. A direction that
    is Newton's has a natural length, and steps up to `LARGEST_STEP` of it are taken; one that follows the gradient
    alone has none: its search starts at Newton's step along it, and goes no further than `LONGEST` of these. A loss
    whose curvature is no second derivative has no Newton's step to measure by, and no limit.
    """

    def __init__(self, target: Target, penalty: LeafPenalty, F: F64, n_threads: int, *, newton: bool = True) -> None:
        self.target: Target = target
        self.penalty: LeafPenalty = penalty
        self.F = F
        self.n_threads: int = n_threads
        self.newton: bool = newton
        self.total: float = target.total
        self.spent = 0.0
        self.objectives: list[float] = [target.mean_loss(F)]
        """The objective over the total weight, before the first and after each round."""

    def step(self, direction: F64, leaves: Sequence[F64], learning_rate: float) -> float:
        """Move by `learning_rate` times the best step; by that itself, or not, where it would not lower the objective.

        Returns the step. A step of 1 adds `direction` to the scores F, ``(n,)`` or ``(D, n)``; `leaves` are the values
        ``(L, k)`` of each tree's, in the scores' units, none where voters are no trees.
        """
        F = self.F
        best = self._best(self._slope(F, direction, np.concatenate([np.empty(0), *(v.ravel() for v in leaves)])))
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

    def _slope(self, F: F64, direction: F64, leaves: F64) -> Callable[[float], tuple[float, float]]:
        """Derivative and curvature of the objective, without l0, by the step."""
        size, square = float(np.abs(leaves).sum()), float((leaves**2).sum())
        along = self.target.in_units(direction)
        g, h, squared = np.empty_like(F), np.empty_like(F), along**2

        def slope(a: float) -> tuple[float, float]:
            self.target.write_gradients(F + a * direction, self.target.w, g, h, self.n_threads)
            rise = float(np.vdot(g, along)) + self.penalty.l1 * size + self.penalty.l2 * a * square
            return rise, float(np.vdot(h, squared)) + self.penalty.l2 * square

        return slope
