"""HiGHS as the linear programs use it: one thread, the simplex method, rows that join a living program."""

from __future__ import annotations

from threading import Event
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.data.number_types import F64
from committee.data.packages import require_package
from committee.data.parallel import in_own_thread

TOLERANCE = 1e-9
"""By how much HiGHS may miss a bound or a row; programs are scaled so that a row's mean weight is 1."""

ROUNDING = 1e-11
"""A weight up to this is 0 but for rounding."""


LARGE = 10**6
"""Rows times variables of a program in which HiGHS may take longer for a step than an interrupt should."""

MOST_STEPS = 10**7
"""Steps of the simplex before HiGHS gives up, where no lower limit is asked for."""


def simplex_solver(lower: F64, upper: F64, cost: F64) -> Any:
    """HiGHS with variables of these limits and costs, which it is to minimise, and no rows yet."""
    require_package("highspy", "a linear program")
    import highspy

    n, none = len(cost), np.empty(0, dtype=np.int32)
    highs = highspy.Highs()
    # one thread, always the same: the result must not depend on how many there are
    for name, value in (
        ("output_flag", False),
        ("parallel", "off"),
        ("solver", "simplex"),
        ("primal_feasibility_tolerance", TOLERANCE),
        ("dual_feasibility_tolerance", TOLERANCE),
        ("simplex_iteration_limit", MOST_STEPS),
    ):
        highs.setOptionValue(name, value)
    highs.HandleUserInterrupt = (
        True  # each iteration calls Python, which sees signals there; its cost is not measurable
    )
    highs.addCols(n, cost, lower, upper, 0, np.zeros(n, dtype=np.int32), none, np.empty(0))
    return highs


def add_rows(
    highs: Any, lower: F64, upper: F64, entries: NDArray[Any], columns: NDArray[np.signedinteger] | None = None
) -> None:
    """Add a row for each line of `entries`, whose zeros are left out; `columns` are the variables, None: all."""
    row, column = np.nonzero(entries)
    start = np.searchsorted(row, np.arange(len(entries)))
    variable = column if columns is None else columns[column]
    numbers = entries[row, column].astype(np.float64, copy=False)
    highs.addRows(len(entries), lower, upper, len(column), start.astype(np.int32), variable.astype(np.int32), numbers)


def run(highs: Any, *, limits: tuple[Any, ...] = (), time_limit: float | None = None) -> tuple[Any, str]:
    """Let HiGHS work until it has a solution or stands at one of the limits; return its status and that in words.

    A basis may go bad in many updates: anything else is tried once more, from nothing.
    """
    import highspy

    for attempt in range(2):
        if time_limit is not None:  # HiGHS counts the time of all runs
            highs.setOptionValue("time_limit", highs.getRunTime() + time_limit)
        _run_once(highs)
        status = highs.getModelStatus()
        if status in (highspy.HighsModelStatus.kOptimal, *limits):
            break
        if attempt == 0:
            highs.clearSolver()
    return status, highs.modelStatusToString(status)


def _run_once(highs: Any) -> None:
    """Let HiGHS work, and see signals."""
    if highs.getNumRow() * highs.getNumCol() < LARGE:
        highs.run()
    else:
        run_interruptibly(highs, highs.cbSimplexInterrupt)


def run_interruptibly(highs: Any, *asking: Any) -> None:
    """Let HiGHS work in a thread of its own, and end it on a signal where one of its events asks."""
    stopping = Event()

    def look(event: Any) -> None:
        if stopping.is_set():
            event.interrupt()

    for each in asking:
        each += look
    try:
        in_own_thread(highs.run, stopping.set)
    finally:
        for each in asking:
            each -= look


def on_the_simplex(weights: ArrayLike) -> F64:
    """A solver's weights without what is there by rounding alone: not negative, sum to one."""
    weights = np.asarray(weights, dtype=np.float64)
    weights = np.where(weights > ROUNDING, weights, 0.0)
    total = float(weights.sum())
    return weights / total if total > 0.0 else np.full(len(weights), 1.0 / len(weights))
