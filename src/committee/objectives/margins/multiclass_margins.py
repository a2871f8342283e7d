"""Programs of soft margins and of sums of margins, to which rows, lines and voters are added as needed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64, I8, Index
from committee.data.parallel import one_blas_thread
from committee.objectives.programs.linear_programs import (
    InfeasibleError,
    LinearSolution,
    add_rows,
    clip_to_simplex,
    run,
)
from committee.objectives.programs.margin_matrix import MarginMatrix
from committee.objectives.programs.soft_margin import (
    VOTERS_AT_ONCE,
    SoftMarginSolution,
    dual_program,
    interior_point,
    lowest_mean,
    most_common_votes,
)

LITTLE = 1e-3  # weight of a voter, relative to the mean, up to which it is not in the first program

INSIDE = 1e-3  # least relative excess of a row's cap over its weight for an interior point

MOST_CELLS = 1 << 26  # most float32 votes for the interior-point method; of a larger table it uses a part of the rows

ROWS_AT_FIRST = 2  # rows of the first program for each voter, those nearest to the threshold

ROWS_AT_ONCE = 1  # most rows that a round adds for each voter, unless the program has more rows already


class _HeldLines:
    # the lines that a program has, at first the least of some rows at given weights; `fixed` are dual weights of others
    def __init__(self, lines: MarginMatrix, values: F64, rows: Index) -> None:
        self.lines, self._shape = lines, values.shape
        self._least: Index = lines.first + values.argmin(axis=1)  # the line with the cap of a row below the threshold
        self._held = np.zeros(lines.n_rows, dtype=bool)
        self._held[rows] = True
        self._waiting = np.ones(values.shape, dtype=bool)
        self._fixed = np.zeros(len(lines))
        self.places: Index = self._least[rows]
        self._waiting.flat[self.places] = False

    def add(self, places: Index) -> None:
        self.places = np.append(self.places, places)
        self._waiting.flat[places] = False

    def of_all(self, u: F64) -> F64:
        every = self._fixed.copy()
        every[self.places] = u
        return every

    def lower(self, weights: F64, tol: float, rho: float = np.inf) -> Index:
        # the least line of each held row below rho, if it is lower than its held lines by more than `tol`
        values = self.lines.values(weights).reshape(self._shape)
        held = np.minimum(rho, np.where(self._waiting, np.inf, values).min(axis=1))
        lower: Index = (self.lines.first + values.argmin(axis=1))[self._held & (values.min(axis=1) < held - tol)]
        return lower


class _ActiveRows(_HeldLines):
    # Rows above the threshold of the soft margin have no dual weight, rows below it their whole cap on their least
    # line. Only rows near the threshold have to be in the program.
    def __init__(self, lines: MarginMatrix, cap: F64, weights: F64) -> None:
        self.cap, self.weights = cap, weights
        values = lines.values(weights).reshape(lines.n_rows, lines.lines_of_row)
        margins = values.min(axis=1)
        rho, _ = lowest_mean(margins, cap)
        away = np.abs(margins - rho)
        order = np.argsort(margins, kind="stable")
        rank = np.empty(lines.n_rows, dtype=np.intp)
        rank[order] = np.arange(lines.n_rows)
        # rank of the row with which the caps of the lowest margins come to one
        last = min(int(np.searchsorted(np.cumsum(cap[order]), 1.0 - 1e-12)), len(margins) - 1)
        # of equal margins those next to that rank, so that the rows have room for the rest of the caps
        self.rows: Index = np.sort(np.lexsort((np.abs(rank - last), away))[: ROWS_AT_FIRST * lines.n_voters])
        self._near = float(away[self.rows].max())
        super().__init__(lines, values, self.rows)
        self._full = ~self._held & (rank < last)
        self._fix()

    def _fix(self) -> None:
        self._fixed = np.zeros(len(self.lines))
        self._fixed[self._least[self._full]] = self.cap[self._full]
        self.fixed_edges: F64 = self.lines.dots(self._fixed)
        self.total: float = max(0.0, min(1.0, float(self.cap.sum())) - float(self.cap[self._full].sum()))

    def violated(self, weights: F64, rho: float, tol: float) -> Index:
        # rows outside that weights and threshold contradict by more than `tol`, the worst first
        values = self.lines.values(weights).reshape(self._shape)
        margins = values.min(axis=1)
        wrong = rho - margins
        full = self._full
        wrong[full] = np.maximum(margins[full] - rho, values.flat[self._least[full]] - margins[full])
        wrong[self._held] = -np.inf
        most = max(ROWS_AT_ONCE * self.lines.n_voters, int(np.count_nonzero(self._held)))
        rows: Index = np.argsort(-wrong, kind="stable")[:most]
        violated: Index = rows[wrong[rows] > tol]
        return violated

    def add_rows(self, rows: Index, weights: F64) -> None:
        values = self.lines.values(weights).reshape(self._shape)[rows]
        self._held[rows], self._full[rows] = True, False
        self._least[rows] = self.lines.first[rows] + values.argmin(axis=1)
        self.add(self._least[rows])
        self._fix()

    def near(self, weights: F64, rows: Index) -> Index:
        # for each of the rows the next line that could be its least at weights not far from these
        values = self.lines.values(weights).reshape(self._shape)[rows]
        waiting = np.where(self._waiting[rows], values, np.inf)
        some = waiting.min(axis=1) < values.min(axis=1) + self._near
        near: Index = (self.lines.first[rows] + waiting.argmin(axis=1))[some]
        return near


def soft_margin_of_rows(
    lines: MarginMatrix, nu: float, near: F64 | None = None, tol: float = 1e-9
) -> tuple[LinearSolution, F64]:
    """Maximise the mean of the lowest margins that have a share nu of the rows' weight.

    With row weights r and c_i = r_i / nu,

        max  rho - sum_i c_i xi_i   s.t.  (S w)_il >= rho - xi_i for each line l,  sum w = 1,  w, xi >= 0.

    Return the solution from weights `near` (T,) on, whose ``z`` is rho, and the dual solution u of all lines, ``(r,)``.
    """
    cap = lines.row_weight / nu
    active = _ActiveRows(lines, cap, _weights_near_the_best(lines, cap) if near is None else near)
    limits = np.zeros(lines.n_rows)
    program = MulticlassDual(limits, cap, limits, active.total, active.rows)
    order: Index = np.empty(0, dtype=np.intp)
    lower: Index = np.empty(0, dtype=np.intp)
    weights, rounds = active.weights, 0
    voters, rows = np.flatnonzero(weights > LITTLE / lines.n_voters), active.rows
    while True:
        program.add_voters(lines.part(active.places, voters), active.fixed_edges[voters])
        order = np.append(order, voters)
        if rounds and len(rows):
            active.add_rows(rows, weights)
            S = lines.part(active.places[-len(rows) :], order)
            program.release_rows(rows, S, active.total, active.fixed_edges[order])
        lower = np.append(lower, active.near(weights, rows))
        program.add_lines(lower // lines.lines_of_row, lines.part(lower, order))
        active.add(lower)
        weights = np.zeros(lines.n_voters)
        weights[order], u = program.solve()
        rounds += 1
        every = active.of_all(u)
        edges = lines.dots(every)
        bound, limit = float(edges.max()), float(edges[order].max()) + tol
        edges[order] = -np.inf
        voters = np.argsort(-edges, kind="stable")[:VOTERS_AT_ONCE]
        voters = voters[edges[voters] > limit]
        rows, lower = active.violated(weights, program.level, tol), active.lower(weights, tol, program.level)
        if not len(voters) and not len(rows) and not len(lower):
            rho, value = lowest_mean(lines.margins(weights), cap)
            found = LinearSolution(weights, rho, value, bound, 0.0, "Optimal", len(active.places), rounds)
            return found, every


def _weights_near_the_best(lines: MarginMatrix, cap: F64) -> F64:
    share = float((cap / lines.row_weight).min())
    if share < 1.0 + INSIDE:
        return lines.own
    every = -(-lines.matrix.size // MOST_CELLS)
    if every > 1:
        lines = lines.weighted(np.where(np.arange(lines.n_rows) % every == 0, lines.row_weight, 0.0))
    weights, _ = interior_point(lines, lines.row_weight * share)
    return weights


def sum_of_margins(
    lines: MarginMatrix, emphasis: F64, bound: F64, tol: float = 1e-8, enough: float = -np.inf
) -> LinearSolution:
    """Maximise the weighted sum of the rows' margins, none below its bound, unless no weights can exceed `enough`.

    max  sum_i emphasis_i z_i   s.t.  (S w)_il >= z_i >= bound_i,  sum w = 1,  w >= 0.
    """
    everyone = np.arange(lines.n_voters)
    values = lines.values(lines.own).reshape(lines.n_rows, lines.lines_of_row)
    held = _HeldLines(lines, values, np.arange(lines.n_rows))
    program = MulticlassDual(emphasis, np.full(lines.n_rows, np.inf), bound, None)
    for at in range(0, lines.n_voters, VOTERS_AT_ONCE):
        program.add_voters(lines.part(held.places, everyone[at : at + VOTERS_AT_ONCE]))
    rounds = 0
    while True:
        weights, u = program.solve()
        rounds += 1
        most = float(lines.dots(held.of_all(u)).max()) - float(bound @ (program.of_rows(u) - emphasis))
        lower = held.lower(weights, tol)
        if not len(lower) or most <= enough:
            margins = lines.margins(weights)
            missed = float((bound - margins).max())
            return LinearSolution(
                weights, 0.0, float(emphasis @ margins), most, missed, "Optimal", len(held.places), rounds
            )
        program.add_lines(lower // lines.lines_of_row, lines.part(lower, everyone))
        held.add(lower)


class MulticlassDual:
    """The dual program of multiclass margins over the weights u of lines, to which voters, rows and lines can be added.

    With limits a (`least`) and c (`most`) of the rows, rewards b and, if given, the sum of the program's u (`total`),

        min  beta - sum_il b_i u_il   s.t.  sum_il u_il S_ilt <= beta for each voter t,
                                            a_i <= sum_l u_il <= c_i,  u >= 0.

    Its duals are the voters' weights, and the rows' margins less b and the threshold.
    """

    def __init__(self, least: F64, most: F64, reward: F64, total: float | None, rows: Index | None = None) -> None:
        n = len(least)
        rows = np.arange(n) if rows is None else rows
        self.least: F64 = n * least
        self.most: F64 = n * most
        self.reward: F64 = reward
        self._total = total
        of_all = None if total is None else n * total
        self.highs: Any = dual_program(self.least[rows], self.most[rows], -reward[rows], of_all)
        self._beta = len(rows)
        self._columns, self._row = np.arange(len(rows)), rows  # variable and row of every line
        self._first: Index = np.full(n, -1)  # position of every row's first line in these
        self._first[rows] = np.arange(len(rows))
        self._voters: Index = np.empty(0, dtype=np.intp)  # constraint of every voter
        self._common: F64 = np.empty(0)
        self._limit: Index = np.full(n, -1)  # constraint of every row with two lines or more
        self.level = float("nan")  # after solve: the dual of the sum of u, the threshold of the margins

    def add_voters(self, S: NDArray[Any], fixed: F64 | None = None) -> None:
        """Add k voters with the votes `S` (lines, k); `fixed` (k,) are their edges on the rows outside the program."""
        k = S.shape[1]
        # where the sum of u is fixed, a constant may move from a voter's votes to the right-hand side
        common = np.zeros(k, dtype=S.dtype) if self._total is None else most_common_votes(S)
        entries = np.append(S - common, np.full((1, k), -1, dtype=S.dtype), axis=0).T
        self._voters = np.append(self._voters, self.highs.getNumRow() + np.arange(k))
        self._common = np.append(self._common, common.astype(np.float64))
        upper = self._right_sides(common.astype(np.float64), np.zeros(k) if fixed is None else fixed)
        add_rows(self.highs, np.full(k, -np.inf), upper, entries, np.append(self._columns, self._beta))

    def _right_sides(self, common: F64, fixed: F64) -> F64:
        n = len(self.least)
        return -common * n * (0.0 if self._total is None else self._total) - n * fixed

    def release_rows(self, rows: Index, S: NDArray[Any], total: float, fixed: F64) -> None:
        """Move k rows into the program, with the votes `S` (k, voters) of one line each."""
        self._total = total
        n, k, upper = len(self.least), len(self._voters), self._right_sides(self._common, fixed)
        self.highs.changeRowBounds(0, n * total, n * total)
        self.highs.changeRowsBounds(k, self._voters.astype(np.int32), np.full(k, -np.inf), upper)
        self._first[rows] = len(self._row) + np.arange(len(rows))
        self._add_columns(rows, S, self.least[rows], self.most[rows], None)

    def add_lines(self, row: Index, S: NDArray[Any]) -> None:
        """Add a line to each of k rows, with the votes `S` (k, voters)."""
        fresh = row[self._limit[row] < 0]
        if len(fresh):
            columns, k = self._columns[self._first[fresh]], len(fresh)
            self._limit[fresh] = self.highs.getNumRow() + np.arange(k)
            one_each = k, np.arange(k, dtype=np.int32), columns.astype(np.int32), np.ones(k)
            self.highs.addRows(k, self.least[fresh], self.most[fresh], *one_each)
            self.highs.changeColsBounds(k, columns.astype(np.int32), np.zeros(k), np.full(k, np.inf))
        self._add_columns(row, S, np.zeros(len(row)), np.full(len(row), np.inf), self._limit[row])

    def _add_columns(self, row: Index, S: NDArray[Any], lower: F64, upper: F64, limit: Index | None) -> None:
        k = len(S)
        column, voter = np.nonzero(S - self._common)
        once = np.arange(k)
        columns, rows = np.append(column, once), np.append(self._voters[voter], np.zeros(k, dtype=np.intp))
        entries = np.append((S - self._common)[column, voter], np.ones(k))
        if limit is not None:
            columns, rows, entries = np.append(columns, once), np.append(rows, limit), np.append(entries, np.ones(k))
        order = np.argsort(columns, kind="stable")
        start = np.searchsorted(columns[order], once).astype(np.int32)
        self._columns = np.append(self._columns, self.highs.getNumCol() + once)
        self._row = np.append(self._row, row)
        index, value = rows[order].astype(np.int32), entries[order].astype(np.float64, copy=False)
        self.highs.addCols(k, -self.reward[row], lower, upper, len(order), start, index, value)

    def solve(self) -> tuple[F64, F64]:
        """Return the weights of the voters, on the simplex, and u within the limits."""
        import highspy

        status = highspy.HighsModelStatus
        reached, said = run(self.highs)
        if reached == status.kOptimal:
            solution = self.highs.getSolution()
            u = np.array(solution.col_value)[self._columns] / len(self.least)
            duals = np.array(solution.row_dual)
            self.level = float(duals[0] - duals[self._voters] @ self._common)
            return clip_to_simplex(-duals[self._voters]), self._feasible(u)
        what = f"{len(self._row)} lines and {len(self._voters)} voters"
        if reached in (status.kUnbounded, status.kUnboundedOrInfeasible):
            raise InfeasibleError(f"No weights satisfy all lines of the program of {what} (HiGHS: {said!r}).")
        raise RuntimeError(
            f"HiGHS reports the program of {what} as {said!r}. Look for votes or row weights of very different size, "
            "or give fewer rows."
        )

    def of_rows(self, u: F64) -> F64:
        sums = np.bincount(self._row, u, minlength=len(self.least))
        return sums.astype(np.float64, copy=False)

    def _feasible(self, u: F64) -> F64:
        n, u = len(self.least), np.maximum(u, 0.0)
        rows = np.flatnonzero(self._first >= 0)
        first = self._first[rows]
        of_row = self.of_rows(u)
        u *= np.minimum(1.0, self.most / n / np.where(of_row > 0.0, of_row, 1.0))[self._row]
        u[first] += np.maximum(0.0, (self.least / n - self.of_rows(u))[rows])
        if self._total is None:
            return u
        short = self._total - float(u.sum())
        if short <= 0.0:
            return u * (self._total / (self._total - short))
        room = np.maximum(0.0, (self.most / n - self.of_rows(u))[rows])
        if room.any():
            u[first] += room * min(1.0, short / float(room.sum()))
        return u


MANY_ROWS = 2000  # rows from which `ManyRows` takes less time than a program of all rows
NO_EDGE = 1e-10  # edge of a voter that counts as none
SMALL_EDGE = 1e-3  # `balanced` moves edges above minus this to zero


class ManyRows:
    """The program of `SoftMarginLP` for many rows, solved from an interior point; row `weights` are positive."""

    def __init__(self, weights: F64, nu: float) -> None:
        self.nu = nu
        self._weights = weights / weights.sum()
        self._votes: list[I8] = []
        self._opposite: tuple[int, int] | None = None

    def add_voters(self, signed: I8) -> None:
        """Add the columns of the signed votes y_i h_j(x_i), ``(n, k)``, of -1 and 1."""
        self._votes.append(signed)

    def solve(self) -> SoftMarginSolution:
        S = np.concatenate(self._votes, axis=1)
        first, twin = distinct_lines(S)
        share: F64 = np.bincount(twin, self._weights).astype(np.float64, copy=False)
        lines = MarginMatrix.of_matrix(S[first], row_weight=share)
        with one_blas_thread():  # the number of threads would change the last bits of sums over rows
            weights, u = self._solved(lines, share / self.nu)
            margins, bound = lines.values(weights)[twin], float(lines.dots(u).max())
        rho, value = lowest_mean(margins, self._weights / self.nu)
        row_weights = u[twin] * (self._weights / share[twin])
        return SoftMarginSolution(rho, weights, row_weights, margins, value, bound, "Optimal")

    def _solved(self, lines: MarginMatrix, cap: F64) -> tuple[F64, F64]:
        if self.nu >= 1.0 - INSIDE or lines.matrix.size > MOST_CELLS:
            found, u = soft_margin_of_rows(lines, self.nu)
            return found.weights, u
        near, inside = interior_point(lines, cap)
        self._opposite = self._opposite or opposite_voters(lines.matrix)
        if self._opposite is not None:
            u = balanced(lines, cap, inside[:, 0])
            if float(lines.dots(u).max()) <= NO_EDGE:
                weights = np.zeros(lines.n_voters)
                weights[list(self._opposite)] = 0.5
                return weights, u
        found, u = soft_margin_of_rows(lines, self.nu, near)
        return found.weights, u


def distinct_lines(S: I8) -> tuple[Index, Index]:
    """Return the index of a row with each distinct combination of votes, and every row's combination among these."""
    n, T = S.shape
    if T > 64:  # hardly any rows have the same votes
        return np.arange(n), np.arange(n)
    bits = np.zeros((n, 8), dtype=np.uint8)
    bits[:, : (T + 7) // 8] = np.packbits(S > 0, axis=1)
    _, first, twin = np.unique(bits.view(np.uint64)[:, 0], return_index=True, return_inverse=True)
    return first, twin


def opposite_voters(S: NDArray[Any]) -> tuple[int, int] | None:
    """Return two voters of opposite votes on every row, which in equal parts give margins of 0."""
    yes, no = np.packbits(S > 0, axis=0).T, np.packbits(S < 0, axis=0).T
    place = {one.tobytes(): t for t, one in enumerate(yes)}
    return next(((t, place[one.tobytes()]) for t, one in enumerate(no) if one.tobytes() in place), None)


def balanced(lines: MarginMatrix, cap: F64, u: F64) -> F64:
    """Row weights `u`, moved to edges of zero of voters whose edge is near zero or above, if they stay in [0, cap]."""
    S = lines.matrix.astype(np.float64)
    edges = u @ S
    near = edges > -SMALL_EDGE
    A = np.column_stack([S[:, near], np.ones(len(S))])
    AD = A * np.minimum(u, cap - u)[:, None]
    v: F64 = u + AD @ np.linalg.lstsq(AD.T @ A, np.append(-edges[near], 1.0 - u.sum()), rcond=1e-13)[0]
    return v if ((v >= 0.0) & (v <= cap)).all() else u
