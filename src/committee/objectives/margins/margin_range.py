"""The range of the margins squeezed: the low ones raised, the high ones free to decrease to the mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64
from committee.objectives.margins.margin_maximum import quantile
from committee.objectives.margins.margins_of_rows import sum_of_margins
from committee.objectives.margins.objective import Objective, Reweighting, check_share, check_tolerance
from committee.objectives.programs.constraint_generation import Constraints, InfeasibleError, constraint_generation
from committee.objectives.programs.margin_matrix import MarginMatrix


class OutOfReachError(ValueError):
    """No weights raise the margins as far as `xi` asks.

    Attributes
    ----------
    largest : float
        The largest xi for which some do.
    """

    def __init__(self, message: str, largest: float) -> None:
        super().__init__(message)
        self.largest = largest


@dataclass(frozen=True)
class Range(Objective):
    """Maximise the mean margin with all low margins raised to a quantile.

    With the ensemble's margins m_i, their mean and their quantile theta of order xi,

        max  sum_i m_i(w)   s.t.  m_i(w) >= theta where m_i <= mean,  m_i(w) >= mean where m_i > mean,

    w on the simplex: Algorithm 4 of W. Martinez, J. B. Gray, On the current state of research in explaining ensemble
    performance using margins, which calls it SM1. The document's weights sum to one. With more than two classes a
    row's margin is the least of its lines.

    Equation: squeeze-range (docs/theory.md).

    Parameters
    ----------
    xi : float, default=0.05
        Share of the rows, by weight, in (0, 1]. If it is too large there are no such weights.
    tol : float, default=1e-8
        By how much a line may be missed.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.objectives.programs.margin_matrix import MarginMatrix
    >>> from committee.objectives.margins.margin_range import Range
    >>> S = np.where(np.random.default_rng(0).random((40, 30)) < 0.7, 1, -1).astype(np.int8)
    >>> lines = MarginMatrix.of_matrix(S)
    >>> solved = Range(0.2).solve(lines)
    >>> lines.margins(lines.own).min().round(3), lines.margins(solved.weights).min().round(3)
    (np.float64(-0.067), np.float64(0.2))
    """

    name: ClassVar[str] = "range"
    xi: float = 0.05
    tol: float = 1e-8

    def __post_init__(self) -> None:
        check_share("xi", self.xi)
        check_tolerance(self.tol)

    def value(self, lines: MarginMatrix, weights: F64) -> float:
        """Weighted mean of the margins."""
        if lines.lines_of_row > 1:
            return float(lines.row_weight @ lines.margins(weights))
        return float(lines.mean_votes() @ weights)

    def solve(self, lines: MarginMatrix) -> Reweighting:
        """The best weights.

        Raises
        ------
        OutOfReachError
            If no weights raise the margins that far; it names the largest `xi` for which some do.
        """
        margins = lines.margins(lines.own)
        mean = float(lines.row_weight @ margins)
        theta = quantile(margins, lines.row_weight, self.xi)
        low = margins <= mean
        bound = np.where(low, theta, mean)
        try:
            if lines.lines_of_row > 1:
                solved = sum_of_margins(lines, lines.row_weight, bound, self.tol)
            else:
                solved = constraint_generation(lines, lines.mean_votes(), [Constraints(bound)], tol=self.tol)
        except InfeasibleError as error:
            largest = self._largest(lines, margins, mean, low)
            # rounded down to four digits, so that what the message says is feasible
            digits = 10.0 ** (3 - np.floor(np.log10(largest))) if largest > 0.0 else 1.0
            raise OutOfReachError(
                f"xi={self.xi} asks for margins of at least {theta:.4g} that no weights give; the largest xi for which "
                f"some do is {np.floor(largest * digits + 1e-6) / digits:.4g}.",
                largest,
            ) from error
        gap = max(0.0, solved.bound - solved.value)
        before = self.value(lines, lines.own)
        return Reweighting(solved.weights, solved.value, before, solved.status, solved.n_rows_used, solved.rounds, gap)

    def _largest(self, lines: MarginMatrix, margins: F64, mean: float, low: NDArray[np.bool_]) -> float:
        """The largest feasible xi: the share of rows up to the highest level that the low margins can be raised to.

        One more program finds that level, max z s.t. (S w)_i >= z where m_i <= mean; a quantile is within reach if and
        only if it is no higher.
        """
        low_lines = lines.of_rows(low)
        constraints = [
            Constraints(np.where(low_lines, 0.0, -np.inf), level=-1),
            Constraints(np.where(low_lines, -np.inf, mean)),
        ]
        found = constraint_generation(lines, np.zeros(lines.n_voters), constraints, cost_of_z=1.0, tol=self.tol)
        level = max(found.z, float(margins.min()))  # the own weights reach the lowest margin
        return float(lines.row_weight[margins <= level + 1e-10].sum())  # the same margins, but for rounding
