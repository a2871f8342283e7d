"""Objectives that raise margins by linear programs: minimum margin, soft margin, weighted sums, margin range."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from committee.data.number_types import F64
from committee.data.text import warn_user
from committee.objectives.margins.multiclass_margins import soft_margin_of_rows, sum_of_margins
from committee.objectives.margins.objective import (
    Objective,
    Reweighting,
    check_share,
    check_tolerance,
    is_finite_number,
)
from committee.objectives.programs.linear_programs import (
    Constraints,
    InfeasibleError,
    clip_to_simplex,
    constraint_generation,
)
from committee.objectives.programs.margin_matrix import MarginMatrix
from committee.objectives.programs.soft_margin import lowest_mean, soft_margin


@dataclass(frozen=True)
class MinMargin(Objective):
    """Maximise the least margin: max z s.t. (S w)_l >= z for every line l of the `MarginMatrix` S, w on the simplex.

    Source: A. Grove, D. Schuurmans (1998). Boosting in the limit: maximizing the margin of learned ensembles. AAAI.

    Equation: minimum-margin (docs/theory.md).
    """

    name: ClassVar[str] = "min_margin"
    tol: float = 1e-8  # tolerance of a line

    def __post_init__(self) -> None:
        check_tolerance(self.tol)

    def value(self, lines: MarginMatrix, weights: F64) -> float:
        return float(lines.values(weights).min())

    def solve(self, lines: MarginMatrix) -> Reweighting:
        constraint = Constraints(np.zeros(len(lines)), level=-1)
        solved = constraint_generation(lines, np.zeros(lines.n_voters), [constraint], cost_of_z=1.0, tol=self.tol)
        return Reweighting.of(solved, self.value(lines, solved.weights), self.value(lines, lines.own))


@dataclass(frozen=True)
class SoftMargin(Objective):
    """Maximise the soft margin, the mean of the lowest margins that have a share nu of the weight (LPBoost)."""

    name: ClassVar[str] = "soft_margin"
    nu: float = 0.5  # in (0, 1]; 1 gives the mean of all margins, near 0 the least

    def __post_init__(self) -> None:
        check_share("nu", self.nu)

    def value(self, lines: MarginMatrix, weights: F64) -> float:
        return lowest_mean(lines.margins(weights), lines.row_weight / self.nu)[1]

    def solve(self, lines: MarginMatrix) -> Reweighting:
        if lines.lines_of_row > 1:  # one slack for all lines of a row
            of_rows, _ = soft_margin_of_rows(lines, self.nu)
            return Reweighting.of(of_rows, of_rows.value, self.value(lines, lines.own))
        solved = soft_margin(lines.matrix, self.nu, lines.line_weight, scale=lines.scale)
        weights = clip_to_simplex(solved.weights)
        value, before = self.value(lines, weights), self.value(lines, lines.own)
        return Reweighting(weights, value, before, solved.status, len(lines), 1, max(0.0, solved.bound - value))


NO_ROOM = 1e-9  # gains below this count as none


@dataclass(frozen=True, kw_only=True)
class MarginMaximum(Objective):
    """Maximise a weighted sum of the margins, of which none may decrease by more than `slack`.

    With the ensemble's own margins m_i, the `MarginMatrix` S, and r_i the `emphasis` of a row times its weight,

        max  sum_i r_i min_l (S w)_il   s.t.  (S w)_il >= m_i - slack,  sum w = 1,  w >= 0,

    which is Algorithm 3 (MM) of W. Martinez, J. B. Gray, On the current state of research in explaining ensemble
    performance using margins.
    """

    slack: float = 0.0  # allowed decrease of each margin
    tol: float = 1e-8  # tolerance of a line, on top of `slack`

    def __post_init__(self) -> None:
        if not (is_finite_number(self.slack) and self.slack >= 0.0):
            raise ValueError(f"slack={self.slack!r} must be finite and not negative; 0 lets no margin decrease.")
        check_tolerance(self.tol)

    @abstractmethod
    def emphasis(self, margins: F64, row_weight: F64) -> F64:
        """Return the factor of each row in the sum, ``(n,)``, before its own weight."""

    def value(self, lines: MarginMatrix, weights: F64) -> float:
        emphasis = self._emphasis(lines, lines.margins(lines.own))
        if lines.lines_of_row > 1:
            return float(emphasis @ lines.margins(weights))
        return float(lines.dots(emphasis) @ weights)

    def solve(self, lines: MarginMatrix) -> Reweighting:
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
        if min(solved.bound, solved.value) > before + NO_ROOM:
            return Reweighting.of(solved, solved.value, before)
        beyond = f" by more than slack={self.slack}" if self.slack else ""
        warn_user(
            f"No weights are found that raise the objective by {NO_ROOM} and lower no margin{beyond} ({lines.n_rows} "
            f"rows, {lines.n_voters} voters): the ensemble keeps its own weights; raise slack, or choose another "
            "objective.",
            ConvergenceWarning,
        )
        return Reweighting.of(replace(solved, weights=lines.own.copy()), before, before)

    def _emphasis(self, lines: MarginMatrix, margins: F64) -> F64:
        r: F64 = self.emphasis(margins, lines.row_weight) * lines.row_weight
        return r / float(r.sum())


@dataclass(frozen=True, kw_only=True)
class Uniform(MarginMaximum):
    """Uniform weighting scheme (UWS) of `MarginMaximum`: the emphasis is 1.

    Equation: margin-maximum-uws (docs/theory.md).
    """

    name: ClassVar[str] = "uniform"

    def emphasis(self, margins: F64, row_weight: F64) -> F64:
        return np.ones(len(margins))


@dataclass(frozen=True, kw_only=True)
class Rank(MarginMaximum):
    """Exponential weighting scheme (EWS) of `MarginMaximum`: the emphasis is ((n + 1 - rank m_i) / n)^k.

    Equation: margin-maximum-ews (docs/theory.md).
    """

    name: ClassVar[str] = "rank"
    k: float = 5.0  # larger values give low margins more weight; the default is the document's

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (is_finite_number(self.k) and self.k >= 0.0):
            raise ValueError(f"k={self.k!r} must be finite and not negative; 0 counts all rows the same.")

    def emphasis(self, margins: F64, row_weight: F64) -> F64:
        rank = np.searchsorted(np.sort(margins), margins - 1e-12)  # 0 for the lowest
        return (1.0 - rank / len(margins)) ** self.k


@dataclass(frozen=True, kw_only=True)
class Percentile(MarginMaximum):
    """Percentile weighting scheme (PWS) of `MarginMaximum`: the emphasis is 1 up to the margins' xi-quantile, else 0.

    Equation: margin-maximum-pws (docs/theory.md).
    """

    name: ClassVar[str] = "percentile"
    xi: float = 0.2  # share of the rows, by weight, in (0, 1]

    def __post_init__(self) -> None:
        super().__post_init__()
        check_share("xi", self.xi)

    def emphasis(self, margins: F64, row_weight: F64) -> F64:
        return (margins <= quantile(margins, row_weight, self.xi) + 1e-12).astype(np.float64)


def quantile(margins: F64, row_weight: F64, xi: float) -> float:
    """Return the weighted quantile of order `xi`, in (0, 1]; weights sum to one."""
    order = np.argsort(margins, kind="stable")
    filled = np.cumsum(row_weight[order])
    at = int(np.searchsorted(filled, xi - 1e-12))
    return float(margins[order[min(at, len(order) - 1)]])


class OutOfReachError(ValueError):
    def __init__(self, message: str, largest: float) -> None:
        super().__init__(message)
        self.largest = largest  # feasible xi


@dataclass(frozen=True)
class Range(Objective):
    """Maximise the mean margin with all low margins raised to a quantile.

    With the ensemble's margins m_i, their mean and their quantile theta of order xi,

        max  mean m_i(w)   s.t.  m_i(w) >= theta where m_i <= mean,  m_i(w) >= mean where m_i > mean,

    w on the simplex: Algorithm 4 (SM1) of W. Martinez, J. B. Gray, On the current state of research in explaining
    ensemble performance using margins.

    Equation: squeeze-range (docs/theory.md).
    """

    name: ClassVar[str] = "range"
    xi: float = 0.05  # share of the rows, by weight, in (0, 1]; too large a share is infeasible
    tol: float = 1e-8  # tolerance of a line

    def __post_init__(self) -> None:
        check_share("xi", self.xi)
        check_tolerance(self.tol)

    def value(self, lines: MarginMatrix, weights: F64) -> float:
        if lines.lines_of_row > 1:
            return float(lines.row_weight @ lines.margins(weights))
        return float(lines.mean_votes() @ weights)

    def solve(self, lines: MarginMatrix) -> Reweighting:
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
            # the highest level that the low margins can be raised to, by one more program
            low_lines = lines.of_rows(low)
            constraints = [
                Constraints(np.where(low_lines, 0.0, -np.inf), level=-1),
                Constraints(np.where(low_lines, -np.inf, mean)),
            ]
            found = constraint_generation(lines, np.zeros(lines.n_voters), constraints, cost_of_z=1.0, tol=self.tol)
            level = max(found.z, float(margins.min()))  # the own weights reach the lowest margin
            # the same margins as `level` but for rounding count, too
            largest = float(lines.row_weight[margins <= level + 1e-10].sum())
            # rounded down to four digits, so that the xi of the message is feasible
            digits = 10.0 ** (3 - np.floor(np.log10(largest))) if largest > 0.0 else 1.0
            raise OutOfReachError(
                f"xi={self.xi} requires margins of at least {theta:.4g} on the rows up to the mean, which no weights "
                f"reach; the largest feasible xi is {np.floor(largest * digits + 1e-6) / digits:.4g}.",
                largest,
            ) from error
        return Reweighting.of(solved, solved.value, self.value(lines, lines.own))
