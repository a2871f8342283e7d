"""The lowest margins as large as can be: the least one alone, or the mean of a share of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from committee.data.number_types import F64
from committee.objectives.margins.margins_of_rows import soft_margin_of_rows
from committee.objectives.margins.objective import Objective, Reweighting, check_share, check_tolerance
from committee.objectives.programs.constraint_generation import Constraints, constraint_generation
from committee.objectives.programs.highs import on_the_simplex
from committee.objectives.programs.margin_matrix import MarginMatrix
from committee.objectives.programs.soft_margin import lowest_mean, soft_margin


@dataclass(frozen=True)
class MinMargin(Objective):
    """Maximise the least margin [1]_: max z s.t. (S w)_l >= z for every line l, w on the simplex.

    With more than two classes a row's margin is its least line, so the least line is the least margin.

    Equation: minimum-margin (docs/theory.md).

    Parameters
    ----------
    tol : float, default=1e-8
        By how much a line may be below the level of the program.

    References
    ----------
    .. [1] A. Grove, D. Schuurmans (1998). Boosting in the limit: maximizing the margin of learned ensembles. AAAI.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.objectives.margins.least_margin import MinMargin
    >>> from committee.objectives.programs.margin_matrix import MarginMatrix
    >>> S = np.array([[1, 1, -1], [1, -1, 1], [-1, 1, 1]], dtype=np.int8)
    >>> lines = MarginMatrix.of_matrix(S, np.array([0.8, 0.1, 0.1]))
    >>> solved = MinMargin().solve(lines)
    >>> round(solved.before, 6), round(solved.value, 6)
    (-0.6, 0.333333)
    """

    name: ClassVar[str] = "min_margin"
    tol: float = 1e-8

    def __post_init__(self) -> None:
        check_tolerance(self.tol)

    def value(self, lines: MarginMatrix, weights: F64) -> float:
        """The least margin."""
        return float(lines.values(weights).min())

    def solve(self, lines: MarginMatrix) -> Reweighting:
        """The best weights."""
        constraint = Constraints(np.zeros(len(lines)), level=-1)
        solved = constraint_generation(lines, np.zeros(lines.n_voters), [constraint], cost_of_z=1.0, tol=self.tol)
        value = self.value(lines, solved.weights)
        before = self.value(lines, lines.own)
        gap = max(0.0, solved.bound - value)
        return Reweighting(solved.weights, value, before, solved.status, solved.n_rows_used, solved.rounds, gap)


@dataclass(frozen=True)
class SoftMargin(Objective):
    """Maximise the soft margin, the mean of the lowest margins that have a share nu of the weight.

    LPBoost's program on fixed voters, `committee.objectives.programs.soft_margin`; with more than two classes,
    where a row has one slack for all its lines, that of `committee.objectives.margins.margins_of_rows`.

    Parameters
    ----------
    nu : float, default=0.5
        In (0, 1]: the share; 1 is the mean of all margins, and close to 0 the least of them.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.objectives.margins.least_margin import SoftMargin
    >>> from committee.objectives.programs.margin_matrix import MarginMatrix
    >>> lines = MarginMatrix.of_matrix(np.array([[1, 1], [1, -1], [-1, 1]], dtype=np.int8))
    >>> round(SoftMargin(0.5).solve(lines).value, 6)
    0.0
    """

    name: ClassVar[str] = "soft_margin"
    nu: float = 0.5

    def __post_init__(self) -> None:
        check_share("nu", self.nu)

    def value(self, lines: MarginMatrix, weights: F64) -> float:
        """The mean of the lowest margins."""
        return lowest_mean(lines.margins(weights), lines.row_weight / self.nu)[1]

    def solve(self, lines: MarginMatrix) -> Reweighting:
        """The best weights."""
        if lines.lines_of_row > 1:
            of_rows = soft_margin_of_rows(lines, self.nu)
            before, gap = self.value(lines, lines.own), max(0.0, of_rows.bound - of_rows.value)
            how = of_rows.status, of_rows.n_rows_used, of_rows.rounds
            return Reweighting(of_rows.weights, of_rows.value, before, *how, gap)
        solved = soft_margin(lines.matrix, self.nu, lines.line_weight, scale=lines.scale)
        weights = on_the_simplex(solved.weights)
        value, before = self.value(lines, weights), self.value(lines, lines.own)
        return Reweighting(weights, value, before, solved.status, len(lines), 1, max(0.0, solved.bound - value))
