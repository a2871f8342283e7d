"""Theorem 2 tried out: T = n^nu rounds of boosting on n rows of the simulation, whose best error is known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import Any

import numpy as np

from committee.data.number_types import F64
from committee.files.journal import Cell
from committee.learners.bagging.sbpmt import SBPMTClassifier
from committee.papers.sbpmt.figure2 import BENCHMARK, errors_by_round
from committee.papers.shared.cells import Task
from committee.papers.shared.mease_wyner import NOISE, mease_wyner
from committee.papers.shared.pages import grid_of
from committee.papers.shared.paired import standard_error
from committee.report.grid import Grid


@dataclass(frozen=True)
class Growth:
    """Sizes of the experiment."""

    rows: tuple[int, ...] = (250, 500, 1000, 2000, 4000, 8000)
    """Numbers n of training rows."""
    exponents: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75)
    """Values of nu, for T = n^nu rounded up; 0 is one tree."""
    test_rows: int = 10_000

    def rounds(self, n: int, exponent: float) -> int:
        """Rounds of boosting on n rows."""
        return ceil(float(n**exponent))


FULL = Growth()
SMALL = Growth((100, 200), (0.0, 0.5), 500)


def tasks(growth: Growth, repeats: int, seed: int) -> list[Task]:
    """Every number of rows, drawn anew in each repeat."""
    return [
        Task({"n": n, "repeat": repeat}, partial(error_cell, growth, n, seed, repeat), f"n = {n}")
        for n in growth.rows
        for repeat in range(repeats)
    ]


def described(growth: Growth, seed: int) -> dict[str, Any]:
    """Return all that the cells depend on, but for the numbers of rows."""
    sizes = {"exponents": list(growth.exponents), "test_rows": growth.test_rows}
    return {"study": "consistency", **sizes, "seed": seed, "q": NOISE, **SBPMTClassifier(**BENCHMARK).get_params()}


def error_cell(growth: Growth, n: int, seed: int, repeat: int) -> Cell:
    """Test errors for each exponent: the rounds do not look ahead, so one long fit has those of all."""
    random = np.random.default_rng([seed, repeat, n])
    X, y = mease_wyner(n, random)
    X_test, y_test = mease_wyner(growth.test_rows, random)
    most = max(growth.rounds(n, exponent) for exponent in growth.exponents)
    model = SBPMTClassifier(**{**BENCHMARK, "n_boosting_rounds": most}, random_state=repeat).fit(X, y)
    errors = errors_by_round(model, X_test, y_test, most)
    return {"errors": [errors[growth.rounds(n, exponent) - 1] for exponent in growth.exponents]}


def errors_of(cells: Iterable[Cell], growth: Growth) -> F64:
    """Test errors, ``(n_sizes, repeats, n_exponents)``."""
    found = list(cells)
    return np.array([[cell["errors"] for cell in found if cell["n"] == n] for n in growth.rows])


def grid(errors: F64, growth: Growth) -> Grid:
    """Mean test errors by the number of rows."""
    columns = [f"T = n^{exponent:g}" if exponent else "T = 1" for exponent in growth.exponents]
    means = 100.0 * errors.mean(axis=1)
    body = [(f"{n}", *(f"{mean:.2f}" for mean in line)) for n, line in zip(growth.rows, means, strict=True)]
    title = f"Test error in percent, mean of {errors.shape[1]} run(s); the best rule has {100 * NOISE:g}"
    return grid_of(title, ("rows", *columns), body, text=0)


def records(errors: F64, growth: Growth) -> Iterator[dict[str, object]]:
    """The errors as lines of CSV: their mean for each number of rows and each exponent, and its standard error."""
    for n, of_size in zip(growth.rows, errors, strict=True):
        for exponent, runs in zip(growth.exponents, of_size.T, strict=True):
            yield {
                "rows": n,
                "exponent": exponent,
                "rounds": growth.rounds(n, exponent),
                "test_error": f"{runs.mean():.6f}",
                "standard_error": f"{standard_error(runs):.6f}",
                "runs": len(runs),
            }
