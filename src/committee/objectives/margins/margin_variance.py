"""Margins squeezed towards their mean: four measures of how far from it they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np

from committee.data.extras import needed
from committee.data.number_types import F64
from committee.objectives.margins.objective import Objective, Reweighting
from committee.objectives.programs.constraint_generation import Constraints, constraint_generation
from committee.objectives.programs.highs import on_the_simplex, run, simplex_solver
from committee.objectives.programs.margin_matrix import MarginMatrix
from committee.objectives.programs.simplex_quadratic import simplex_quadratic
from committee.vote.signed_votes import BLOCK

Form = Literal["free", "simplex", "lad", "chebyshev"]


@dataclass(frozen=True)
class Variance(Objective):
    """Bring the margins close to the mean of the ensemble's own margins, mean(m).

    Least-squares regression of mean(m) on the votes, without an intercept, is Algorithm 5 (there SM2) of W. Martinez,
    J. B. Gray, On the current state of research in explaining ensemble performance using margins,

        "free"       min  mean (mean(m) - S w)^2, any w; then w / sum w,

    and three forms keep w on the simplex, so that the margins stay about that mean, with which they can be compared:

        "simplex"    min  mean (mean(m) - S w)^2,
        "lad"        min  mean |mean(m) - S w|,
        "chebyshev"  min  max  |mean(m) - S w|.

    Means are weighted and run over lines, a row's lines sharing its weight; mean(m) is that of the lines at the own
    weights. On the simplex the variance of the lines is no larger than before: the own weights are one of its points.

    Equation: squeeze-variance (docs/theory.md).

    Parameters
    ----------
    form : {"free", "simplex", "lad", "chebyshev"}, default="simplex"
        Weights of the free form may be negative. Of all its solutions it takes the shortest.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.objectives.programs.margin_matrix import MarginMatrix
    >>> from committee.objectives.margins.margin_variance import Variance
    >>> S = np.where(np.random.default_rng(0).random((50, 9)) < 0.7, 1, -1).astype(np.int8)
    >>> lines = MarginMatrix.of_matrix(S)
    >>> solved = Variance().solve(lines)
    >>> bool(lines.margins(solved.weights).var() < lines.margins(lines.own).var())
    True
    """

    name: ClassVar[str] = "variance"
    maximises: ClassVar[bool] = False
    form: Form = "simplex"

    def __post_init__(self) -> None:
        if self.form not in get_args(Form):
            raise ValueError(f"form={self.form!r} is unknown; choose from {', '.join(get_args(Form))}.")

    def value(self, lines: MarginMatrix, weights: F64) -> float:
        """Mean square, mean or largest distance from mean(m); the free form's with the weights after division."""
        away = self._away(lines, weights)
        if self.form == "chebyshev":
            return float(away.max())
        return float(lines.line_weight @ (away if self.form == "lad" else away**2))

    def solve(self, lines: MarginMatrix) -> Reweighting:
        """The best weights.

        Raises
        ------
        ValueError
            If the free form's weights do not have a positive sum, by which they would be divided.
        """
        centre = self._centre(lines)
        solve = {"free": _free, "simplex": _simplex, "lad": _least_absolute, "chebyshev": _chebyshev}[self.form]
        weights, gap, status, used, rounds = solve(lines, centre)
        return Reweighting(weights, self.value(lines, weights), self.value(lines, lines.own), status, used, rounds, gap)

    def _centre(self, lines: MarginMatrix) -> float:
        return float(lines.mean_votes() @ lines.own)

    def _away(self, lines: MarginMatrix, weights: F64) -> F64:
        return np.abs(self._centre(lines) - lines.values(weights))


Answer = tuple[F64, float, str, int, int]


def _free(lines: MarginMatrix, centre: float) -> Answer:
    """Least squares by one triangle for all rows, built block by block: as exact as on all rows at once."""
    T = lines.n_voters
    root = np.sqrt(lines.line_weight)
    triangle: F64 = np.empty((0, T + 1))
    step = max(T + 1, BLOCK // (T + 1))
    for at in range(0, len(lines), step):
        some = np.arange(at, min(at + step, len(lines)))
        block = np.append(lines.taken(some), np.full((len(some), 1), centre), axis=1) * root[some, None]
        triangle = np.asarray(np.linalg.qr(np.append(triangle, block, axis=0), mode="r"), dtype=np.float64)
    w = np.asarray(np.linalg.lstsq(triangle[:, :T], triangle[:, T], rcond=None)[0], dtype=np.float64)
    total = float(w.sum())
    if not total > 1e-9 * float(np.abs(w).sum()):
        raise ValueError(
            f"form='free' gives weights whose sum is {total:.3g}, by which they cannot be divided; use form='simplex'."
        )
    return w / total, float("nan"), "Optimal", len(lines), 1


def _simplex(lines: MarginMatrix, centre: float) -> Answer:
    # as the weights sum to one, the centre may be taken from every voter's votes
    mean_votes = lines.mean_votes()
    centred = lines.gram() - centre * (mean_votes[:, None] + mean_votes) + centre**2
    weights, gap = simplex_quadratic(centred)
    return weights, gap, "Optimal", len(lines), 1


def _chebyshev(lines: MarginMatrix, centre: float) -> Answer:
    bound = np.full(len(lines), centre)
    constraints = [Constraints(bound, 1, level=1), Constraints(bound, -1, level=1)]
    solved = constraint_generation(lines, np.zeros(lines.n_voters), constraints, cost_of_z=-1.0)
    gap = max(0.0, solved.bound - solved.value)
    return solved.weights, gap, solved.status, solved.n_rows_used, solved.rounds


def _least_absolute(lines: MarginMatrix, centre: float) -> Answer:
    """The dual program: a line for each voter, and a bounded number u for each line of S.

    min over the simplex of sum_l c_l |centre - (S w)_l| is the largest beta - centre * sum u with S'u >= beta and
    |u_l| <= c_l, so that a basis is as small as the number of voters, whose weights are the rows' duals.
    """
    needed("highspy", "a linear program")
    import highspy

    r, T = len(lines), lines.n_voters
    share = lines.line_weight * r  # a mean weight of 1, as HiGHS's tolerances are made for
    cost = np.append(np.full(r, centre), -1.0)
    highs = simplex_solver(np.append(-share, -np.inf), np.append(share, np.inf), cost)
    for t in range(T):
        votes = lines.matrix[:, t] * (1.0 if lines.scale is None else lines.scale)
        column = np.append(np.flatnonzero(votes), r).astype(np.int32)
        highs.addRow(0.0, np.inf, len(column), column, np.append(votes[column[:-1]], -1.0))
    said, status = run(highs)
    if said != highspy.HighsModelStatus.kOptimal:
        raise RuntimeError(
            f"HiGHS reports the program of least absolute deviations of {r} lines as {status!r}. "
            "Look for votes or row weights of very different size."
        )
    solution = highs.getSolution()
    weights = on_the_simplex(np.array(solution.row_dual))
    u = np.clip(np.array(solution.col_value[:r]), -share, share) / r
    proved = float((lines.dots(u)).min()) - centre * float(u.sum())
    reached = float(lines.line_weight @ np.abs(centre - lines.values(weights)))
    return weights, max(0.0, reached - proved), status, r, 1
