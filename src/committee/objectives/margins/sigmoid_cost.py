"""A sigmoid cost of the margins, lowered along its gradient: DOOM on fixed voters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from committee.data.number_types import F64
from committee.objectives.margins.objective import Objective, Reweighting, is_finite_number
from committee.objectives.programs.highs import on_the_simplex
from committee.objectives.programs.margin_matrix import MarginMatrix

RIVALS = 2
"""Lines of each row that the descents from several starts look at."""

SHARPNESS = 4.0
"""Steepness of the smooth minimum of a row's lines, in units of the cost's steepness."""


@dataclass(frozen=True)
class Doom(Objective):
    """Minimise the mean of ``1 - tanh(steepness * margin)`` over the simplex.

    The cost of L. Mason, P. Bartlett, J. Baxter, M. Frean (DOOM II, 2000): close to twice the share of margins below
    zero if it is steep, and flat for rows that are far on the wrong side, which it gives up. It is not convex.
    Projected gradient steps, whose length follows the last two gradients and is halved until the cost decreases, start
    from the ensemble's own weights, and again from draws around them; the best end is taken, so the cost is never above
    that of the own weights.

    With more than two classes a row's margin is the least of its K - 1 lines, which has corners. In the cost a smooth
    number stands for it that is no less, and no more than ln(K - 1) / (4 steepness) above,

        - log mean_l exp(-4 steepness (S w)_il) / (4 steepness).

    The descents then look at the two lowest lines of each row at the own weights, and the best goes on from its end
    with all lines.

    Parameters
    ----------
    steepness : float, default=5.0
        lambda.
    restarts : int, default=4
        Draws to start from, after the own weights.
    max_iter : int, default=200
        Steps from each start.
    random_state : int, default=0
        Draws them.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.objectives.programs.margin_matrix import MarginMatrix
    >>> from committee.objectives.margins.sigmoid_cost import Doom
    >>> S = np.where(np.random.default_rng(0).random((50, 9)) < 0.6, 1, -1).astype(np.int8)
    >>> solved = Doom().solve(MarginMatrix.of_matrix(S))
    >>> solved.value < solved.before
    True
    """

    name: ClassVar[str] = "doom"
    maximises: ClassVar[bool] = False
    steepness: float = 5.0
    restarts: int = 4
    max_iter: int = 200
    random_state: int = 0

    def __post_init__(self) -> None:
        if not (is_finite_number(self.steepness) and self.steepness > 0.0):
            raise ValueError(f"steepness={self.steepness!r} must be finite and positive.")
        if self.restarts < 0 or self.max_iter < 1:
            raise ValueError(
                f"restarts={self.restarts!r} must not be negative, and max_iter={self.max_iter!r} at least 1."
            )

    def value(self, lines: MarginMatrix, weights: F64) -> float:
        """The mean cost."""
        if lines.lines_of_row > 1:
            return self._cost(lines, weights)[0]
        return float(lines.line_weight @ (1.0 - np.tanh(self.steepness * lines.values(weights))))

    def solve(self, lines: MarginMatrix) -> Reweighting:
        """The best weights of the descents; nothing says that there are no better ones."""
        random = np.random.default_rng(self.random_state)
        starts = [lines.own]
        for _ in range(self.restarts):
            starts.append((lines.own + random.dirichlet(np.ones(lines.n_voters))) / 2.0)
        every = lines.as_numbers()
        some = every.lowest(RIVALS)
        ends = [self._descend(some, start) for start in starts]
        weights, value, settled, rounds = min(ends, key=lambda end: end[1])
        if some is not every:
            weights, value, settled, more = self._descend(every, weights)
            rounds += more
        status = "Stationary" if settled else "Iteration limit"
        before = self.value(lines, lines.own)
        if value >= before:
            weights, value = lines.own.copy(), before
        return Reweighting(weights, value, before, status, len(lines), rounds)

    def _descend(self, lines: MarginMatrix, start: F64) -> tuple[F64, float, bool, int]:
        w, (cost, slope) = start, self._cost(lines, start)
        length = 1.0 / max(1e-12, float(np.abs(slope).max()))
        for step in range(self.max_iter):
            if float(slope @ w - slope.min()) < 1e-9:  # no vertex of the simplex is downhill
                return on_the_simplex(w), cost, True, step
            while True:
                there = project(w - length * slope)
                lower, next_slope = self._cost(lines, there)
                if lower <= cost + 1e-4 * float(slope @ (there - w)):
                    break
                length /= 2.0
                if length < 1e-12:
                    return on_the_simplex(w), cost, True, step
            moved, turned = there - w, next_slope - slope
            bent = float(moved @ turned)
            length = float(np.clip(moved @ moved / bent, 1e-6, 1e6)) if bent > 0.0 else 2.0 * length
            w, cost, slope = there, lower, next_slope
        return on_the_simplex(w), cost, False, self.max_iter

    def _cost(self, lines: MarginMatrix, weights: F64) -> tuple[float, F64]:
        if lines.lines_of_row > 1:
            return self._cost_of_rivals(lines, weights)
        bent = np.tanh(self.steepness * lines.values(weights))
        share = lines.line_weight
        return float(share @ (1.0 - bent)), lines.dots(-self.steepness * share * (1.0 - bent**2))

    def _cost_of_rivals(self, lines: MarginMatrix, weights: F64) -> tuple[float, F64]:
        sharp = SHARPNESS * self.steepness
        at = lines.values(weights).reshape(lines.n_rows, -1)
        least = at.min(axis=1)  # the largest exponential is made 1
        each = np.exp(-sharp * (at - least[:, None]))
        bent = np.tanh(self.steepness * (least - np.log(each.mean(axis=1)) / sharp))
        pull = -self.steepness * lines.row_weight * (1.0 - bent**2) / each.sum(axis=1)
        return float(lines.row_weight @ (1.0 - bent)), lines.dots((each * pull[:, None]).ravel())


def project(point: F64) -> F64:
    """The nearest point of the simplex.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.objectives.margins.sigmoid_cost import project
    >>> project(np.array([0.9, 0.5, -0.2])).round(6).tolist()
    [0.7, 0.3, 0.0]
    """
    decreasing = np.sort(point)[::-1]
    over = (np.cumsum(decreasing) - 1.0) / np.arange(1, len(point) + 1)
    last = int(np.flatnonzero(decreasing > over)[-1])
    nearest: F64 = np.maximum(0.0, point - over[last])
    return nearest
