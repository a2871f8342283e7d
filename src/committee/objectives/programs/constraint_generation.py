"""Constraint generation: linear programs over voters' weights, with very many lines of which few are ever tight."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64
from committee.objectives.programs.highs import add_rows, on_the_simplex, run, simplex_solver
from committee.objectives.programs.margin_matrix import MarginMatrix

FIRST, BATCH = 4, 2
"""Lines for each voter in the first program, and most that each round adds.

A program of fewer lines than four times its weights is solved whole. A batch much smaller than twice the weights makes
more rounds, a larger one fills the program with lines that are never tight.
"""


class InfeasibleError(ValueError):
    """No weights satisfy all lines."""


@dataclass(frozen=True, eq=False)
class Constraints:
    """One constraint for each line: ``sign * (S w) + level * z >= sign * bound``; z is a number the program is free in.

    Parameters
    ----------
    bound : float64 array (r,)
        What each line is held against; -inf (or, with a sign of -1, inf) does not bind it.
    sign : int, default=1
        1: the line may not be below its bound; -1: not rise above.
    level : int, default=0
        Coefficient of z.
    """

    bound: F64
    sign: int = 1
    level: int = 0

    def missing(self, lines: F64, z: float) -> F64:
        """By how much every line misses its bound; negative where it does not."""
        return self.sign * (self.bound - lines) - self.level * z


@dataclass(frozen=True, eq=False)
class LinearSolution:
    """An optimum of `constraint_generation`; the names are those of `Reweighting`.

    ``bound`` is what no weights exceed that satisfy all lines: it follows from the dual solution by arithmetic, and
    does not rely on the solver. ``missed`` is the most by which a line misses its bound.
    """

    weights: F64
    z: float
    value: float
    bound: float
    missed: float
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
    enough: float | None = None,
) -> LinearSolution:
    """Maximise ``cost @ w + cost_of_z * z`` over the simplex, all constraints satisfied.

    The program starts with the lines that the ensemble's own weights leave shortest. It is solved, all lines are looked
    at, and those that are missed most are added to the living program, which goes on from its last basis; until none
    is missed by more than `tol`. The optimum is that of the whole program, as a relaxation's solution that satisfies
    all of it.

    Parameters
    ----------
    lines : MarginMatrix
        S.
    cost : float64 array (T,)
        c.
    constraints : list of Constraints
        Each has one for every line.
    cost_of_z : float, default=0.0
        Where it is 0 there is no z.
    tol : float, default=1e-8
        By how much a line may be missed.
    enough : float, default=None
        Stop when the bound is down to this: the caller knows weights that reach it, and needs no others.

    Returns
    -------
    LinearSolution

    Raises
    ------
    InfeasibleError
        If some lines contradict each other.
    RuntimeError
        If HiGHS reports anything else than an optimum.

    Examples
    --------
    The largest mean margin for which no row is below 0, of two voters:

    >>> import numpy as np
    >>> from committee.objectives.programs.margin_matrix import MarginMatrix
    >>> from committee.objectives.programs.constraint_generation import Constraints, constraint_generation
    >>> lines = MarginMatrix.of_matrix(np.array([[1, 1], [1, -1], [1, -1], [-1, 1]], dtype=np.int8))
    >>> solved = constraint_generation(lines, lines.mean_votes(), [Constraints(np.zeros(4))])
    >>> solved.weights.round(6).tolist(), round(solved.value, 6)
    ([0.5, 0.5], 0.25)
    """
    T, n_groups = lines.n_voters, len(constraints)
    program = _Program(cost, cost_of_z)
    own = lines.values(lines.own)
    missed = np.stack([group.missing(own, 0.0) for group in constraints])
    bounded = np.isfinite(missed)
    waiting = bounded.copy()
    # of every group some, as without any line of a group z may have no bound
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
        weights = on_the_simplex(raw)
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
    """Places of what is missed most, ties by `then`, least first; -inf does not count."""
    short = np.flatnonzero(missed > -np.inf)
    if len(short) <= most:
        return short
    if then is None:
        return np.sort(short[np.argpartition(-missed[short], most - 1)[:most]])
    order = np.lexsort((then[short], -missed[short]))
    return np.sort(short[order[:most]])


class _Program:
    """The program as it is in HiGHS, with the lines it has so far."""

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
            "Look for votes or row weights of very different size."
        )

    def bound(self) -> float:
        """The Lagrangian at the duals y >= 0: max_t (c + A'y)_t - y'b, with z's own coefficient brought to zero."""
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
