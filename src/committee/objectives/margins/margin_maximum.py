"""Margins made larger, none of them smaller: one linear program, three ways to count the rows."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from committee.data.number_types import F64
from committee.objectives.margins.margins_of_rows import sum_of_margins
from committee.objectives.margins.objective import (
    Objective,
    Reweighting,
    check_share,
    check_tolerance,
    is_finite_number,
)
from committee.objectives.programs.constraint_generation import Constraints, constraint_generation
from committee.objectives.programs.margin_matrix import MarginMatrix

NO_ROOM = 1e-9
"""A gain below this is none."""


@dataclass(frozen=True, kw_only=True)
class MarginMaximum(Objective):
    """Maximise a weighted sum of the margins, of which none may decrease.

    With the ensemble's own margins m_i and row weights r,

        max  sum_i r_i min_l (S w)_il   s.t.  (S w)_il >= m_i - slack,  sum w = 1,  w >= 0,

    which is Algorithm 3 (there MM) of W. Martinez, J. B. Gray, On the current state of research in explaining ensemble
    performance using margins. Two classes have one line for each row; with more a row's margin is its least line l, in
    the sum as in the constraints. The value is divided by sum r. The ensemble's own weights always satisfy the lines;
    with many more rows than voters they are often the only ones that do, which a warning says. `slack` gives room.

    Parameters
    ----------
    slack : float, default=0.0
        By how much each margin may decrease.
    tol : float, default=1e-8
        By how much a line may be missed, on top of `slack`.
    """

    slack: float = 0.0
    tol: float = 1e-8

    def __post_init__(self) -> None:
        if not (is_finite_number(self.slack) and self.slack >= 0.0):
            raise ValueError(f"slack={self.slack!r} must be finite and not negative; 0 lets no margin decrease.")
        check_tolerance(self.tol)

    @abstractmethod
    def emphasis(self, margins: F64, row_weight: F64) -> F64:
        """Factor of each row in the sum, ``(n,)``, before its own weight; the largest is 1."""

    def value(self, lines: MarginMatrix, weights: F64) -> float:
        """Weighted mean of the margins."""
        emphasis = self._emphasis(lines, lines.margins(lines.own))
        if lines.lines_of_row > 1:
            return float(emphasis @ lines.margins(weights))
        return float(lines.dots(emphasis) @ weights)

    def solve(self, lines: MarginMatrix) -> Reweighting:
        """The best weights; the ensemble's own, with a warning, where there is nothing to gain.

        Warns
        -----
        ConvergenceWarning
            If the gain is below 1e-9.
        """
        margins = lines.margins(lines.own)
        emphasis = self._emphasis(lines, margins)
        bound = margins - self.slack
        if lines.lines_of_row > 1:
            before = float(emphasis @ margins)
            solved = sum_of_margins(lines, emphasis, bound, self.tol, before + NO_ROOM)
        else:
            cost = lines.dots(emphasis)
            before = float(cost @ lines.own)
            solved = constraint_generation(lines, cost, [Constraints(bound)], tol=self.tol, enough=before + NO_ROOM)
        numbers = solved.status, solved.n_rows_used, solved.rounds
        if min(solved.bound, solved.value) > before + NO_ROOM:
            return Reweighting(solved.weights, solved.value, before, *numbers, max(0.0, solved.bound - solved.value))
        remedy = "raise slack, by which each margin may decrease" if not self.slack else f"raise slack={self.slack}"
        warnings.warn(
            f"No weights gain {NO_ROOM} without lowering a margin ({lines.n_rows} rows, {lines.n_voters} voters): the "
            f"ensemble keeps its own weights; {remedy}, or choose another objective.",
            ConvergenceWarning,
            stacklevel=2,
        )
        return Reweighting(lines.own.copy(), before, before, *numbers, max(0.0, solved.bound - before))

    def _emphasis(self, lines: MarginMatrix, margins: F64) -> F64:
        r: F64 = self.emphasis(margins, lines.row_weight) * lines.row_weight
        return r / float(r.sum())


@dataclass(frozen=True, kw_only=True)
class Uniform(MarginMaximum):
    """All rows count the same, r_i = 1: the source's uniform weighting scheme (UWS); see `MarginMaximum`.

    Equation: margin-maximum-uws (docs/theory.md).

    Examples
    --------
    >>> import numpy as np
    >>> from committee.objectives.programs.margin_matrix import MarginMatrix
    >>> from committee.objectives.margins.margin_maximum import Uniform
    >>> S = np.array([[1, 1, 1, -1], [1, 1, -1, 1], [1, -1, 1, 1], [-1, 1, 1, -1]], dtype=np.int8)
    >>> lines = MarginMatrix.of_matrix(S)
    >>> solved = Uniform().solve(lines)
    >>> lines.margins(lines.own).tolist(), lines.margins(solved.weights).round(6).tolist()
    ([0.5, 0.5, 0.5, 0.0], [1.0, 0.5, 0.5, 0.0])
    """

    name: ClassVar[str] = "uniform"

    def emphasis(self, margins: F64, row_weight: F64) -> F64:
        """One for every row."""
        return np.ones(len(margins))


@dataclass(frozen=True, kw_only=True)
class Rank(MarginMaximum):
    """Low margins count most: the source's exponential weighting scheme (EWS); see `MarginMaximum`.

    r_i = ((n + 1 - rank m_i) / n)^k: 1 for the lowest margin. Rows of equal margins have the rank of the first of them.

    Equation: margin-maximum-ews (docs/theory.md).

    Parameters
    ----------
    k : float, default=5.0
        Power; the larger, the more the low margins count. The document's is 5.
    """

    name: ClassVar[str] = "rank"
    k: float = 5.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (is_finite_number(self.k) and self.k >= 0.0):
            raise ValueError(f"k={self.k!r} must be finite and not negative; 0 counts all rows the same.")

    def emphasis(self, margins: F64, row_weight: F64) -> F64:
        """Power of the reversed rank."""
        rank = np.searchsorted(np.sort(margins), margins - 1e-12)  # 0 for the lowest
        return (1.0 - rank / len(margins)) ** self.k


@dataclass(frozen=True, kw_only=True)
class Percentile(MarginMaximum):
    """Only the lowest margins count: the source's percentile weighting scheme (PWS); see `MarginMaximum`.

    r_i = 1 for the ceil(n xi) rows of lowest margin, and for those whose margin equals the last of these; else 0.

    Equation: margin-maximum-pws (docs/theory.md).

    Parameters
    ----------
    xi : float, default=0.2
        Share of the rows, by weight, in (0, 1].
    """

    name: ClassVar[str] = "percentile"
    xi: float = 0.2

    def __post_init__(self) -> None:
        super().__post_init__()
        check_share("xi", self.xi)

    def emphasis(self, margins: F64, row_weight: F64) -> F64:
        """One for the rows up to the quantile."""
        return (margins <= quantile(margins, row_weight, self.xi) + 1e-12).astype(np.float64)


def quantile(margins: F64, row_weight: F64, xi: float) -> float:
    """The least margin up to which rows have a share `xi`, in (0, 1], of the weight, which sums to one.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.objectives.margins.margin_maximum import quantile
    >>> quantile(np.array([0.4, -0.2, 0.1, 0.3]), np.full(4, 0.25), 0.5)
    0.1
    """
    order = np.argsort(margins, kind="stable")
    filled = np.cumsum(row_weight[order])
    at = int(np.searchsorted(filled, xi - 1e-12))
    return float(margins[order[min(at, len(order) - 1)]])
