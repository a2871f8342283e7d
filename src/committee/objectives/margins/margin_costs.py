"""Costs of the margins to minimise: distance from a centre, second moment, sigmoid cost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64
from committee.data.packages import require_package
from committee.objectives.margins.objective import Objective, Reweighting, check_share, is_finite_number
from committee.objectives.programs.linear_programs import (
    Constraints,
    clip_to_simplex,
    constraint_generation,
    run,
    simplex_solver,
)
from committee.objectives.programs.margin_matrix import MarginMatrix
from committee.objectives.programs.simplex_quadratic import simplex_quadratic
from committee.vote.signed_votes import BLOCK

Form = Literal["free", "simplex", "lad", "chebyshev", "lts", "lms"]


@dataclass(frozen=True)
class Variance(Objective):
    """Minimise the distance of the margins S w from the mean of the ensemble's own margins, mean(m).

    "free" is Algorithm 5 (SM2) of W. Martinez, J. B. Gray, On the current state of research in explaining ensemble
    performance using margins; the other forms keep w on the simplex:

        "free"       min  mean (mean(m) - S w)^2, any w; then w / sum w,
        "simplex"    min  mean (mean(m) - S w)^2,
        "lad"        min  mean |mean(m) - S w|,
        "chebyshev"  min  max  |mean(m) - S w|,
        "lts"        min  mean of the smallest (mean(m) - S w)^2, of a share `coverage` of the lines,
        "lms"        min  max |mean(m) - S w| of the nearest lines, a share `coverage` (Rousseeuw 1984).

    "lts" and "lms" end at a local optimum, by concentration steps (Rousseeuw and Van Driessen 2006).

    Equation: squeeze-variance (docs/theory.md).
    """

    name: ClassVar[str] = "variance"
    maximises: ClassVar[bool] = False
    form: Form = "simplex"  # "free" may have negative weights; of several solutions it takes that of least norm
    target: float | None = None  # replaces mean(m): a larger one raises mean and variance (section 4.2 of the paper)
    coverage: float = 0.5  # in (0, 1]: share of the lines' weight that counts in "lts" and "lms", the nearest first

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
        away = np.abs(self._centre(lines) - lines.values(weights))
        if self.form == "chebyshev":
            return float(away.max())
        if self.form == "lms":
            return float(away[nearest_lines(away, lines.line_weight, self.coverage) > 0.0].max())
        if self.form == "lts":
            return float(nearest_lines(away, lines.line_weight, self.coverage) @ away**2) / self.coverage
        return float(lines.line_weight @ (away if self.form == "lad" else away**2))

    def solve(self, lines: MarginMatrix) -> Reweighting:
        centre = self._centre(lines)
        solvers = {"free": _free, "simplex": _simplex, "lad": _least_absolute, "chebyshev": _chebyshev}
        solve = solvers.get(self.form, self._concentration_steps)
        weights, gap, status, used, rounds = solve(lines, centre)
        return Reweighting(weights, self.value(lines, weights), self.value(lines, lines.own), status, used, rounds, gap)

    def _centre(self, lines: MarginMatrix) -> float:
        return float(lines.mean_votes() @ lines.own) if self.target is None else float(self.target)

    def _concentration_steps(self, lines: MarginMatrix, centre: float) -> Solution:
        best, least, rounds = lines.own, np.inf, 0
        for weights in (lines.own, _simplex(lines, centre)[0]):
            value = self.value(lines, weights)
            while True:
                share = nearest_lines(np.abs(centre - lines.values(weights)), lines.line_weight, self.coverage)
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


Solution = tuple[F64, float, str, int, int]  # weights, gap, status, lines used, rounds

_STEP = 1e-9  # relative decrease of the value below which concentration ends


def nearest_lines(away: F64, weight: F64, coverage: float) -> F64:
    """Return the counted weight of each line: the nearest ones up to a share `coverage`, the last of them in part."""
    order = np.argsort(away, kind="stable")
    before = np.append(0.0, np.cumsum(weight[order])[:-1])
    taken = np.zeros(len(away))
    taken[order] = np.clip(coverage - before, 0.0, weight[order])
    return taken


def _free(lines: MarginMatrix, centre: float) -> Solution:
    # a QR decomposition updated block by block, as exact as one of all rows
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
            f"form='free' divides weights by their sum, here {total:.3g}, which is not clearly above 0; use "
            "form='simplex'."
        )
    return w / total, float("nan"), "Optimal", len(lines), 1


def _simplex(lines: MarginMatrix, centre: float) -> Solution:
    # as the weights sum to one, the centre may be subtracted from every voter's votes
    mean_votes = lines.mean_votes()
    centred = lines.gram() - centre * (mean_votes[:, None] + mean_votes) + centre**2
    weights, gap = simplex_quadratic(centred)
    return weights, gap, "Optimal", len(lines), 1


def _chebyshev(lines: MarginMatrix, centre: float, among: NDArray[np.bool_] | None = None) -> Solution:
    held = np.ones(len(lines), dtype=bool) if among is None else among
    constraints = [Constraints(np.where(held, centre, -side * np.inf), side, level=1) for side in (1, -1)]
    solved = constraint_generation(lines, np.zeros(lines.n_voters), constraints, cost_of_z=-1.0)
    gap = max(0.0, solved.bound - solved.value)
    return solved.weights, gap, solved.status, solved.n_rows_used, solved.rounds


def _least_absolute(lines: MarginMatrix, centre: float) -> Solution:
    # the dual: max beta - centre * sum u with S'u >= beta and |u_l| <= c_l, whose basis is as small as the number of
    # voters
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
            "Look for votes or row weights of very different size, or give fewer rows."
        )
    solution = highs.getSolution()
    weights = clip_to_simplex(np.array(solution.row_dual))
    u = np.clip(np.array(solution.col_value[:r]), -share, share) / r
    proved = float((lines.dots(u)).min()) - centre * float(u.sum())
    reached = float(lines.line_weight @ np.abs(centre - lines.values(weights)))
    return weights, max(0.0, reached - proved), status, r, 1


@dataclass(frozen=True)
class MinCq(Objective):
    """Minimise the second moment of the margins S w at a fixed first moment,

        min  mean (S w)^2   s.t.  mean (S w) = mu,  sum w = 1,  w >= 0,

    which at mu > 0 minimises the C-bound 1 - mean^2 / second moment at that mean. P. Germain, A. Lacasse, F.
    Laviolette, M. Marchand, J.-F. Roy (2015). Risk bounds for the majority vote: from a PAC-Bayesian analysis to a
    learning algorithm. JMLR 16.

    Equation: mincq (docs/theory.md).
    """

    name: ClassVar[str] = "mincq"
    maximises: ClassVar[bool] = False
    mu: float | None = None  # first moment; None: that of the ensemble's own weights

    def __post_init__(self) -> None:
        if self.mu is not None and not is_finite_number(self.mu):
            raise ValueError(f"mu={self.mu!r} must be a finite number or None.")

    def value(self, lines: MarginMatrix, weights: F64) -> float:
        return float(lines.line_weight @ lines.values(weights) ** 2)

    def solve(self, lines: MarginMatrix) -> Reweighting:
        mean_votes = lines.mean_votes()
        mu = float(mean_votes @ lines.own) if self.mu is None else float(self.mu)
        least, most = float(mean_votes.min()), float(mean_votes.max())
        if not least - 1e-12 <= mu <= most + 1e-12:
            raise ValueError(
                f"mu={mu:.6g} is the mean margin of no weights, as single voters have from {least:.6g} to "
                f"{most:.6g}; choose mu between, or None."
            )
        weights, gap = simplex_quadratic(lines.gram(), mean_votes=mean_votes, mean=mu)
        value, before = self.value(lines, weights), self.value(lines, lines.own)
        if self.mu is None and value > before:  # by rounding
            weights, value = lines.own.copy(), before
        return Reweighting(weights, value, before, "Optimal", len(lines), 1, gap)


RIVALS = 2  # lines of each row in the descents from several starts

SHARPNESS = 4.0  # steepness of the smooth minimum of a row's lines, relative to that of the cost


@dataclass(frozen=True)
class Doom(Objective):
    """Minimise the mean of ``1 - tanh(steepness * margin)`` over the simplex.

    The cost of DOOM II (L. Mason, P. Bartlett, J. Baxter, M. Frean 2000) is not convex: projected gradient steps with a
    Barzilai-Borwein length start from the own weights and from random draws around them.
    """

    name: ClassVar[str] = "doom"
    maximises: ClassVar[bool] = False
    steepness: float = 5.0
    restarts: int = 4  # draws to start from, after the own weights
    max_iter: int = 200  # steps from each start
    random_state: int = 0  # seed of the draws

    def __post_init__(self) -> None:
        if not (is_finite_number(self.steepness) and self.steepness > 0.0):
            raise ValueError(f"steepness={self.steepness!r} must be finite and positive.")
        if self.restarts < 0 or self.max_iter < 1:
            raise ValueError(
                f"restarts={self.restarts!r} must not be negative, and max_iter={self.max_iter!r} at least 1."
            )

    def value(self, lines: MarginMatrix, weights: F64) -> float:
        if lines.lines_of_row > 1:
            return self._cost(lines, weights)[0]
        return float(lines.line_weight @ (1.0 - np.tanh(self.steepness * lines.values(weights))))

    def solve(self, lines: MarginMatrix) -> Reweighting:
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
                return clip_to_simplex(w), cost, True, step
            while True:
                there = project_on_simplex(w - length * slope)
                lower, next_slope = self._cost(lines, there)
                if lower <= cost + 1e-4 * float(slope @ (there - w)):
                    break
                length /= 2.0
                if length < 1e-12:
                    return clip_to_simplex(w), cost, True, step
            moved, turned = there - w, next_slope - slope
            bent = float(moved @ turned)
            length = float(np.clip(moved @ moved / bent, 1e-6, 1e6)) if bent > 0.0 else 2.0 * length
            w, cost, slope = there, lower, next_slope
        return clip_to_simplex(w), cost, False, self.max_iter

    def _cost(self, lines: MarginMatrix, weights: F64) -> tuple[float, F64]:
        if lines.lines_of_row == 1:
            bent = np.tanh(self.steepness * lines.values(weights))
            share = lines.line_weight
            return float(share @ (1.0 - bent)), lines.dots(-self.steepness * share * (1.0 - bent**2))
        sharp = SHARPNESS * self.steepness
        at = lines.values(weights).reshape(lines.n_rows, -1)
        least = at.min(axis=1)  # the largest exponential is made 1
        each = np.exp(-sharp * (at - least[:, None]))
        bent = np.tanh(self.steepness * (least - np.log(each.mean(axis=1)) / sharp))
        pull = -self.steepness * lines.row_weight * (1.0 - bent**2) / each.sum(axis=1)
        return float(lines.row_weight @ (1.0 - bent)), lines.dots((each * pull[:, None]).ravel())


def project_on_simplex(point: F64) -> F64:
    decreasing = np.sort(point)[::-1]
    over = (np.cumsum(decreasing) - 1.0) / np.arange(1, len(point) + 1)
    last = int(np.flatnonzero(decreasing > over)[-1])
    nearest: F64 = np.maximum(0.0, point - over[last])
    return nearest
