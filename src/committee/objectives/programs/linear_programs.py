"""Linear and mixed-integer programs by HiGHS, and constraint generation over the lines of margins."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Event
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix

from committee.data.number_types import F64, Mask
from committee.data.packages import require_package
from committee.data.parallel import in_own_thread
from committee.objectives.programs.margin_matrix import MarginMatrix

TOLERANCE = 1e-9  # feasibility tolerance of HiGHS; programs are scaled so that a row's mean weight is 1

ROUNDING = 1e-11  # largest weight that counts as 0

LARGE = 10**6  # rows times variables from which on HiGHS runs in a thread of its own, as a step may take long

MOST_STEPS = 10**7  # default limit of simplex iterations


def _solver(use: str, **options: Any) -> Any:
    require_package("highspy", use)
    import highspy

    highs = highspy.Highs()
    # one thread, so that the result does not depend on their number
    tolerances = dict.fromkeys(("primal_feasibility_tolerance", "dual_feasibility_tolerance"), TOLERANCE)
    settings: dict[str, Any] = {"output_flag": False, "parallel": "off", **tolerances, **options}
    for name, value in settings.items():
        highs.setOptionValue(name, value)
    return highs


def simplex_solver(lower: F64, upper: F64, cost: F64) -> Any:
    n, none = len(cost), np.empty(0, dtype=np.int32)
    highs = _solver("a linear program", solver="simplex", simplex_iteration_limit=MOST_STEPS)
    highs.HandleUserInterrupt = True  # each iteration calls Python, which handles signals; the cost is not measurable
    highs.addCols(n, cost, lower, upper, 0, np.zeros(n, dtype=np.int32), none, np.empty(0))
    return highs


def add_rows(
    highs: Any, lower: F64, upper: F64, entries: NDArray[Any], columns: NDArray[np.signedinteger] | None = None
) -> None:
    """Add k constraints with coefficients `entries` (k, m) of variables `columns` (m,), or of all."""
    row, column = np.nonzero(entries)
    start = np.searchsorted(row, np.arange(len(entries)))
    variable = column if columns is None else columns[column]
    numbers = entries[row, column].astype(np.float64, copy=False)
    highs.addRows(len(entries), lower, upper, len(column), start.astype(np.int32), variable.astype(np.int32), numbers)


def run(highs: Any, *, limits: tuple[Any, ...] = (), time_limit: float | None = None) -> tuple[Any, str]:
    """Run HiGHS to the optimum or a status of `limits`; return the status, and as text."""
    import highspy

    for attempt in range(2):
        if time_limit is not None:  # HiGHS counts the time of all runs
            highs.setOptionValue("time_limit", highs.getRunTime() + time_limit)
        if highs.getNumRow() * highs.getNumCol() < LARGE:
            highs.run()
        else:
            run_interruptibly(highs, highs.cbSimplexInterrupt)
        status = highs.getModelStatus()
        if status in (highspy.HighsModelStatus.kOptimal, *limits):
            break
        if attempt == 0:
            highs.clearSolver()  # a basis may degrade in many updates
    return status, highs.modelStatusToString(status)


def run_interruptibly(highs: Any, *events: Any) -> None:
    """Run HiGHS in a thread of its own, and stop it on a signal at the next of the given events."""
    stopping = Event()

    def stop(event: Any) -> None:
        if stopping.is_set():
            event.interrupt()

    for each in events:
        each += stop
    try:
        in_own_thread(highs.run, stopping.set)
    finally:
        for each in events:
            each -= stop


def clip_to_simplex(weights: ArrayLike) -> F64:
    weights = np.asarray(weights, dtype=np.float64)
    weights = np.where(weights > ROUNDING, weights, 0.0)
    total = float(weights.sum())
    return weights / total if total > 0.0 else np.full(len(weights), 1.0 / len(weights))


FIRST, BATCH = 4, 2  # lines for each voter in the first program, and most that each round adds


class InfeasibleError(ValueError):
    pass


@dataclass(frozen=True, eq=False)
class Constraints:
    """One constraint for each row of a margin matrix S: ``sign * (S w) + level * z >= sign * bound``."""

    bound: F64  # (r,); -inf (or, with a sign of -1, inf): no constraint
    sign: int = 1  # 1: lower bounds; -1: upper bounds
    level: int = 0  # coefficient of z

    def missing(self, lines: F64, z: float) -> F64:
        return self.sign * (self.bound - lines) - self.level * z


@dataclass(frozen=True, eq=False)
class LinearSolution:
    weights: F64
    z: float
    value: float
    bound: float  # upper bound on the optimum, from the dual solution
    missed: float  # largest violation of a line
    status: str
    n_rows_used: int
    rounds: int


def constraint_generation(
    lines: MarginMatrix,
    cost: F64,
    constraints: list[Constraints],
    *,
    cost_of_z: float = 0.0,
    tol: float = 1e-8,
    enough: float | None = None,  # upper bound on the optimum at which it stops
) -> LinearSolution:
    """Maximise ``cost @ w + cost_of_z * z`` over the simplex by constraint generation."""
    T, n_groups = lines.n_voters, len(constraints)
    program = _Program(cost, cost_of_z)
    own = lines.values(lines.own)
    missed = np.stack([group.missing(own, 0.0) for group in constraints])
    bounded = np.isfinite(missed)
    waiting = bounded.copy()
    # some of every group, as without any line of a group z may be unbounded
    new = np.concatenate(
        [
            _worst(missed[s], group.sign * own, FIRST * T // n_groups) * n_groups + s
            for s, group in enumerate(constraints)
        ]
    )
    rounds = 0
    while True:
        for s, group in enumerate(constraints):
            which = new[new % n_groups == s] // n_groups
            if len(which):
                program.add(lines.taken(which), group, group.bound[which])
        waiting.T.flat[new] = False
        raw, z, status = program.solve()
        rounds += 1
        weights = clip_to_simplex(raw)
        at = lines.values(weights)
        missed = np.stack([group.missing(at, z) for group in constraints])
        bound = program.bound()
        done = enough is not None and bound <= enough
        worst = float(missed[bounded].max(initial=-np.inf))
        missed[~waiting] = -np.inf
        if done or not (missed > tol).any():
            break
        new = _worst(np.where(missed > tol, missed, -np.inf).T.ravel(), None, BATCH * T)
    value = float(cost @ weights) + cost_of_z * z
    return LinearSolution(weights, z, value, bound, worst, status, len(program), rounds)


def _worst(missed: F64, then: F64 | None, most: int) -> NDArray[np.intp]:
    short = np.flatnonzero(missed > -np.inf)
    if len(short) <= most:
        return short
    if then is None:
        return np.sort(short[np.argpartition(-missed[short], most - 1)[:most]])
    order = np.lexsort((then[short], -missed[short]))
    return np.sort(short[order[:most]])


class _Program:
    def __init__(self, cost: F64, cost_of_z: float) -> None:
        self.cost, self.cost_of_z = cost, cost_of_z
        self._rows: list[F64] = []
        self._levels: list[F64] = []
        self._bounds: list[F64] = []
        self._duals: F64 = np.empty(0)
        T = len(cost)
        lower, upper = np.zeros(T + 1), np.ones(T + 1)
        free = np.inf if cost_of_z else 0.0
        lower[T], upper[T] = -free, free
        self._highs = simplex_solver(lower, upper, -np.append(cost, cost_of_z))
        self._highs.addRow(1.0, 1.0, T, np.arange(T, dtype=np.int32), np.ones(T))

    def __len__(self) -> int:
        return sum(map(len, self._bounds))

    def add(self, rows: F64, group: Constraints, bound: F64) -> None:
        k, T = rows.shape
        signed = np.append(group.sign * rows, np.full((k, 1), float(group.level)), axis=1)
        self._rows.append(signed[:, :T])
        self._levels.append(signed[:, T])
        self._bounds.append(group.sign * bound)
        add_rows(self._highs, group.sign * bound, np.full(k, np.inf), signed)

    def solve(self) -> tuple[F64, float, str]:
        import highspy

        status = highspy.HighsModelStatus
        reached, said = run(self._highs)
        if reached == status.kOptimal:
            solution = self._highs.getSolution()
            columns = np.array(solution.col_value)
            self._duals = np.maximum(0.0, np.array(solution.row_dual[1:]))
            return columns[:-1], float(columns[-1]), said
        if reached in (status.kInfeasible, status.kUnboundedOrInfeasible):
            raise InfeasibleError(f"No weights satisfy all {len(self)} lines of the program (HiGHS: {said!r}).")
        raise RuntimeError(
            f"HiGHS reports the program of {len(self)} lines and {len(self.cost)} weights as {said!r}. "
            "Look for votes or row weights of very different size, or give fewer rows."
        )

    def bound(self) -> float:
        # the Lagrangian at the duals y >= 0: max_t (c + A'y)_t - y'b, with the coefficient of z brought to zero
        y = self._duals
        if self.cost_of_z:
            pull = float(np.concatenate(self._levels) @ y)
            if not pull * self.cost_of_z < 0.0:
                return float("inf")
            y = y * (-self.cost_of_z / pull)
        reduced, used = self.cost.copy(), 0.0
        at = 0
        for rows, bound in zip(self._rows, self._bounds, strict=True):
            some = y[at : at + len(bound)]
            reduced += some @ rows
            used += float(some @ bound)
            at += len(bound)
        return float(reduced.max()) - used


Outcome = Literal["optimal", "infeasible", "stopped"]


@dataclass(frozen=True, eq=False)
class MixedProgram:
    """Minimise ``cost @ x`` over ``low <= A x <= high``, ``lower <= x <= upper``, with some x integer."""

    cost: F64
    rows: csr_matrix
    low: F64
    high: F64
    lower: F64
    upper: F64
    whole: Mask

    def solve(self, seconds: float) -> MixedSolution:
        limits = {"threads": 1, "mip_feasibility_tolerance": TOLERANCE, "time_limit": max(seconds, 0.01)}
        highs = _solver("a mixed-integer program", mip_rel_gap=0.0, mip_abs_gap=0.0, **limits)
        import highspy

        highs.passModel(self._model(highspy))
        run_interruptibly(highs, highs.cbMipInterrupt, highs.cbSimplexInterrupt)
        return _read(highs, highspy)

    def _model(self, highspy: Any) -> Any:
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = len(self.cost), len(self.low)
        model.col_cost_, model.col_lower_, model.col_upper_ = self.cost, self.lower, self.upper
        model.row_lower_, model.row_upper_ = self.low, self.high
        rows = csr_matrix(self.rows)
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.a_matrix_.start_ = rows.indptr.astype(np.int32)
        model.a_matrix_.index_ = rows.indices.astype(np.int32)
        model.a_matrix_.value_ = rows.data.astype(np.float64)
        if self.whole.any():
            kinds = highspy.HighsVarType
            model.integrality_ = [kinds.kInteger if whole else kinds.kContinuous for whole in self.whole]
        return model


@dataclass(frozen=True, eq=False)
class MixedSolution:
    outcome: Outcome
    x: F64 | None  # `None` if none was found
    bound: float  # lower bound on the cost of any x


def _read(highs: Any, highspy: Any) -> MixedSolution:
    status, reached = highs.getModelStatus(), highspy.HighsModelStatus
    if status in (reached.kInfeasible, reached.kUnboundedOrInfeasible):
        return MixedSolution("infeasible", None, np.inf)
    info = highs.getInfo()
    has_x = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    x = np.array(highs.getSolution().col_value) if has_x else None
    if status == reached.kOptimal:
        return MixedSolution("optimal", x, float(info.objective_function_value))
    if status in (reached.kTimeLimit, reached.kInterrupt, reached.kIterationLimit, reached.kSolutionLimit):
        bound = float(info.mip_dual_bound)
        return MixedSolution("stopped", x, bound if np.isfinite(bound) else -np.inf)
    raise RuntimeError(f"HiGHS ends a program of {highs.getNumRow()} rows with {highs.modelStatusToString(status)!r}.")
