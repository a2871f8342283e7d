"""Base class of the objectives of margins, which re-weighting optimises over the weights of fixed voters."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from committee.data.number_types import F64, is_number
from committee.data.typed_json import NamedParameters
from committee.objectives.programs.linear_programs import LinearSolution
from committee.objectives.programs.margin_matrix import MarginMatrix


@dataclass(frozen=True, eq=False)
class Reweighting:
    weights: F64  # (T,) They sum to one; negative only in the free form of `Variance`
    value: float  # the objective at `weights`
    before: float  # the objective at the ensemble's own weights
    status: str  # solver status, such as "Optimal"
    n_rows_used: int  # margin constraints in the last program; the optimum satisfies all others too
    rounds: int = 1  # programs solved, or descent steps or tangents of an objective without programs
    # by how much `value` can fall short of the best, where the solver proves a bound; NaN where none does
    gap: float = float("nan")

    @classmethod
    def of(cls, solved: LinearSolution, value: float, before: float) -> Reweighting:
        gap = max(0.0, solved.bound - value)
        return cls(solved.weights, value, before, solved.status, solved.n_rows_used, solved.rounds, gap)


class Objective(NamedParameters, ABC):
    name: ClassVar[str]
    maximises: ClassVar[bool] = True  # larger values are better
    on_unseen_rows: ClassVar[bool] = False  # True if it is valid only on rows that the voters were not trained on

    @abstractmethod
    def value(self, lines: MarginMatrix, weights: F64) -> float: ...

    @abstractmethod
    def solve(self, lines: MarginMatrix) -> Reweighting:
        """Return the best weights that are found; raise a ValueError if none satisfy the constraints."""


def check_share(name: str, value: float) -> None:
    if not (is_finite_number(value) and 0.0 < value <= 1.0):
        raise ValueError(f"{name}={value!r} is not in (0, 1]; it is a share.")


def check_tolerance(tol: float) -> None:
    if not (is_number(tol) and tol > 0.0):
        raise ValueError(f"tol={tol!r} must be positive; HiGHS itself is exact to 1e-9.")


def is_finite_number(value: object) -> bool:
    return is_number(value) and math.isfinite(value)
