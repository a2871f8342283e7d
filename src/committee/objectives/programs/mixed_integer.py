"""Mixed-integer linear programs on HiGHS: one thread, tight tolerances, a time limit, and interrupts that are seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_matrix

from committee.data.number_types import F64, Mask
from committee.data.packages import require_package
from committee.objectives.programs.highs import TOLERANCE, run_interruptibly

Outcome = Literal["optimal", "infeasible", "stopped"]


@dataclass(frozen=True, eq=False)
class MixedProgram:
    """Minimise ``cost @ x`` over ``low <= A x <= high``, ``lower <= x <= upper``, some x whole.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_matrix
    >>> from committee.objectives.programs.mixed_integer import MixedProgram
    >>> at_least_three = MixedProgram(
    ...     cost=np.ones(2), rows=csr_matrix([[2.0, 2.0]]), low=np.array([3.0]), high=np.array([np.inf]),
    ...     lower=np.zeros(2), upper=np.ones(2), whole=np.array([True, True]))
    >>> found = at_least_three.solve(10.0)
    >>> found.outcome, found.x.round(6).tolist()
    ('optimal', [1.0, 1.0])
    """

    cost: F64
    rows: csr_matrix
    low: F64
    high: F64
    lower: F64
    upper: F64
    whole: Mask

    def solve(self, seconds: float, *, gap: float = 0.0) -> MixedSolution:
        """Solve it, or stop after so many seconds, or with a value within the relative gap of the bound.

        Raises
        ------
        MissingExtraError
            If HiGHS is not installed.
        RuntimeError
            If HiGHS fails.
        """
        require_package("highspy", "a mixed-integer program")
        import highspy

        highs = highspy.Highs()
        for name, value in (
            ("output_flag", False),
            ("threads", 1),
            ("parallel", "off"),
            ("primal_feasibility_tolerance", TOLERANCE),
            ("dual_feasibility_tolerance", TOLERANCE),
            ("mip_feasibility_tolerance", TOLERANCE),
            ("mip_rel_gap", gap),
            ("mip_abs_gap", 0.0),
            ("time_limit", max(seconds, 0.01)),
        ):
            highs.setOptionValue(name, value)
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
    """What HiGHS found. `x` is None where it found nothing; no x has a cost below `bound`."""

    outcome: Outcome
    x: F64 | None
    bound: float


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
