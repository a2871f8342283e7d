"""An objective of the margins: a number that weights have, and the weights for which it is best."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from committee.data.number_types import F64, is_number
from committee.data.typed_json import NamedParameters
from committee.objectives.programs.margin_matrix import MarginMatrix


@dataclass(frozen=True, eq=False)
class Reweighting:
    """Weights that an objective chose, and how they were computed.

    Parameters
    ----------
    weights : float64 array (T,)
        They sum to one; not negative but in the free form of the variance.
    value : float
        The objective at `weights`.
    before : float
        The objective at the ensemble's own weights.
    status : str
        What the solver said, such as "Optimal".
    n_rows_used : int
        Lines that the program held in the end; all others are satisfied without having been in it.
    rounds : int
        Programs that were solved, each with more lines than the last.
    gap : float
        By how much `value` can fall short of the best, where the solver proves a bound; NaN where none does.
    """

    weights: F64
    value: float
    before: float
    status: str
    n_rows_used: int
    rounds: int = 1
    gap: float = float("nan")


class Objective(NamedParameters, ABC):
    """A program over the weights w of fixed voters, w >= 0 and sum w = 1; one small class each.

    Its parameters are checked when it is made, and `solve` does not change the lines.
    """

    name: ClassVar[str]
    maximises: ClassVar[bool] = True
    """Larger values are better."""
    on_unseen_rows: ClassVar[bool] = False
    """It means nothing on rows that the voters were trained on."""

    @abstractmethod
    def value(self, lines: MarginMatrix, weights: F64) -> float:
        """The objective at any weights, ``(T,)``."""

    @abstractmethod
    def solve(self, lines: MarginMatrix) -> Reweighting:
        """The best weights.

        Raises
        ------
        ValueError
            If no weights satisfy the objective's constraints.
        RuntimeError
            If the solver fails.
        """


def check_share(name: str, value: float) -> None:
    """Refuse what is no share of rows, in (0, 1]."""
    if not (is_finite_number(value) and 0.0 < value <= 1.0):
        raise ValueError(f"{name}={value!r} is not in (0, 1]; it is a share of the rows.")


def check_tolerance(tol: float) -> None:
    """Refuse a tolerance of lines that is not positive."""
    if not (is_number(tol) and tol > 0.0):
        raise ValueError(f"tol={tol!r} must be positive; HiGHS itself is exact to 1e-9.")


def is_finite_number(value: object) -> bool:
    """A finite number."""
    return is_number(value) and math.isfinite(value)
