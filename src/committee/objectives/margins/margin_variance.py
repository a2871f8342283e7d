"""Margins squeezed towards their mean: six measures of how far from it they are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64
from committee.data.packages import require_package
from committee.objectives.margins.objective import Objective, Reweighting, check_share, is_finite_number
from committee.objectives.programs.constraint_generation import Constraints, constraint_generation
from committee.objectives.programs.highs import on_the_simplex, run, simplex_solver
from committee.objectives.programs.margin_matrix import MarginMatrix
from committee.objectives.programs.simplex_quadratic import simplex_quadratic
from committee.vote.signed_votes import BLOCK

Form = Literal["free", "simplex", "lad", "chebyshev", "lts", "lms"]


@dataclass(frozen=True)
class Variance(Objective):
    """Bring the margins close to the mean of the ensemble's own margins, mean(m).

    Least-squares regression of mean(m) on the votes, without an intercept, is Algorithm 5 (there SM2) of W. Martinez,
    J. B. Gray, On the current state of research in explaining ensemble performance using margins,

        "free"       min  mean (mean(m) - S w)^2, any w; then w / sum w,

    and five forms keep w on the simplex, so that the margins stay about that mean, with which they can be compared:

        "simplex"    min  mean (mean(m) - S w)^2,
        "lad"        min  mean |mean(m) - S w|,
        "chebyshev"  min  max  |mean(m) - S w|,
        "lts"        min  mean of the smallest (mean(m) - S w)^2, of a share `coverage` of the lines [1]_,
        "lms"        min  the largest of these distances: with a half of the lines their median [1]_.

    Means are weighted and run over lines, a row's lines sharing its weight; mean(m) is that of the lines at the own
    weights, or `target` in its place. On the simplex the variance of the lines is no larger than before: the own
    weights are one of its points.

    The last two are not convex. They are brought down by concentration steps [2]_ from the own weights, and from the
    "simplex" ones: the lines that are nearest now are kept, the weights are found that suit these best, and so on until
    nothing gets better. What is found is no worse than either start, and the best near it; nothing proves it the best
    of all, so that `gap` is NaN.

    Equation: squeeze-variance (docs/theory.md).

    Parameters
    ----------
    form : {"free", "simplex", "lad", "chebyshev", "lts", "lms"}, default="simplex"
        Weights of the free form may be negative. Of all its solutions it takes the shortest.
    target : float, default=None
        What the margins are brought close to; None: mean(m). A larger one trades a larger mean for a larger variance
        (section 4.2 of the paper). Not of the free form: its weights grow in proportion and are divided again.
    coverage : float, default=0.5
        In (0, 1], of "lts" and "lms": share of the lines' weight whose distances count; the others, the farthest, are
        taken for outliers.

    References
    ----------
    .. [1] P. Rousseeuw (1984). Least median of squares regression. JASA 79.
    .. [2] P. Rousseeuw, K. Van Driessen (2006). Computing LTS regression for large data sets. Data Mining and Knowledge
       Discovery 12.

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
    target: float | None = None
    coverage: float = 0.5

    def __post_init__(self) -> None:
        if self.form not in get_args(Form):
            raise ValueError(f"form={self.form!r} is unknown; choose from {', '.join(get_args(Form))}.")
        if self.target is not None and not is_finite_number(self.target):
            raise ValueError(f"target={self.target!r} must be a finite number or None.")
        if self.target is not None and self.form == "free":
            raise ValueError(
                f"target={self.target!r} has no meaning for form='free', whose weights are divided by their sum; use "
                "form='simplex'."
            )
        check_share("coverage", self.coverage)

    def value(self, lines: MarginMatrix, weights: F64) -> float:
        """Mean square, mean or largest distance from mean(m); the free form's with the weights after division."""
        away = np.abs(self._centre(lines) - lines.values(weights))
        if self.form == "chebyshev":
            return float(away.max())
        if self.form == "lms":
            return float(away[nearest(away, lines.line_weight, self.coverage) > 0.0].max())
        if self.form == "lts":
            return float(nearest(away, lines.line_weight, self.coverage) @ away**2) / self.coverage
        return float(lines.line_weight @ (away if self.form == "lad" else away**2))

    def solve(self, lines: MarginMatrix) -> Reweighting:
        """The best weights.

        Raises
        ------
        ValueError
            If the free form's weights do not have a positive sum, by which they would be divided.
        """
        centre = self._centre(lines)
        if self.form in ("lts", "lms"):
            weights, gap, status, used, rounds = self._concentrated(lines, centre)
        else:
            solve = {"free": _free, "simplex": _simplex, "lad": _least_absolute, "chebyshev": _chebyshev}[self.form]
            weights, gap, status, used, rounds = solve(lines, centre)
        return Reweighting(weights, self.value(lines, weights), self.value(lines, lines.own), status, used, rounds, gap)

    def _centre(self, lines: MarginMatrix) -> float:
        return float(lines.mean_votes() @ lines.own) if self.target is None else float(self.target)

    def _concentrated(self, lines: MarginMatrix, centre: float) -> Answer:
        """Concentration steps from two starts, of which the better end is taken; no step makes the value larger."""
        best, least, rounds = lines.own, np.inf, 0
        for weights in (lines.own, _simplex(lines, centre)[0]):
            value = self.value(lines, weights)
            while True:
                share = nearest(np.abs(centre - lines.values(weights)), lines.line_weight, self.coverage)
                if self.form == "lts":
                    each_a_row = replace(lines, first=np.arange(len(lines)), row_weight=share / self.coverage)
                    further = _simplex(each_a_row, centre)[0]
                else:
                    further = _chebyshev(lines, centre, share > 0.0)[0]
                rounds += 1
                lower = self.value(lines, further)
                if not lower < value - _STEP * max(value, _STEP):
                    break
                weights, value = further, lower
            if value < least:
                best, least = weights, value
        return best, float("nan"), "Local optimum", len(lines), rounds


Answer = tuple[F64, float, str, int, int]

_STEP = 1e-9
"""Concentration ends where a step lowers the value by a smaller share."""


def nearest(away: F64, weight: F64, coverage: float) -> F64:
    """Weight of the lines that are nearest, up to a share of all weight; of the last one only what is left of that.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.objectives.margins.margin_variance import nearest
    >>> nearest(np.array([0.3, 0.1, 0.2]), np.array([0.25, 0.25, 0.5]), 0.5).tolist()
    [0.0, 0.25, 0.25]
    """
    order = np.argsort(away, kind="stable")
    before = np.append(0.0, np.cumsum(weight[order])[:-1])
    taken = np.zeros(len(away))
    taken[order] = np.clip(coverage - before, 0.0, weight[order])
    return taken


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


def _chebyshev(lines: MarginMatrix, centre: float, among: NDArray[np.bool_] | None = None) -> Answer:
    """The largest distance of all lines, or of those in `among`."""
    held = np.ones(len(lines), dtype=bool) if among is None else among
    constraints = [Constraints(np.where(held, centre, -side * np.inf), side, level=1) for side in (1, -1)]
    solved = constraint_generation(lines, np.zeros(lines.n_voters), constraints, cost_of_z=-1.0)
    gap = max(0.0, solved.bound - solved.value)
    return solved.weights, gap, solved.status, solved.n_rows_used, solved.rounds


def _least_absolute(lines: MarginMatrix, centre: float) -> Answer:
    """The dual program: a line for each voter, and a bounded number u for each line of S.

    min over the simplex of sum_l c_l |centre - (S w)_l| is the largest beta - centre * sum u with S'u >= beta and
    |u_l| <= c_l, so that a basis is as small as the number of voters, whose weights are the rows' duals.
    """
    require_package("highspy", "a linear program")
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
