"""Random tables, labels and weights of every kind that users bring, and of some that they should not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

Generator = np.random.Generator
Column = list[Any]

EXTREMES = (0.0, -0.0, 5e-324, 2.2e-308, 1e-300, 1e-17, 1.0, 1.0 + 2**-52, 2.0**53, 1e17, 1e150, 1e300, 1.79e308)
"""Magnitudes at which sums, squares and differences of float64 go wrong."""


def choose(rng: Generator, *options: Any) -> Any:
    return options[int(rng.integers(len(options)))]


def extremes(rng: Generator, n: int) -> list[float]:
    """Numbers of both signs from the whole range of float64."""
    few = rng.choice(EXTREMES, 4)
    return (rng.choice(few, n) * rng.choice([-1.0, 1.0], n)).tolist()  # type: ignore[no-any-return]


def _near_ties(rng: Generator, n: int) -> Column:
    start = float(rng.choice([1.0, -1e300, 5e-324, 1e17]))
    values = [start]
    for _ in range(3):
        values.append(float(np.nextafter(values[-1], np.inf)))
    return rng.choice(values, n).tolist()  # type: ignore[no-any-return]


NUMBERS: tuple[Callable[[Generator, int], Column], ...] = (
    lambda rng, n: rng.normal(size=n).tolist(),
    lambda rng, n: rng.normal(size=n).tolist(),
    lambda rng, n: rng.integers(-3, 4, n).astype(float).tolist(),
    lambda rng, n: [float(rng.normal())] * n,
    lambda rng, n: (rng.normal(size=n) * 10.0 ** rng.uniform(-300, 300, n)).tolist(),
    lambda rng, n: np.exp(rng.normal(size=n) * 8).tolist(),
    extremes,
    _near_ties,
)
"""Columns of finite numbers."""

OTHERS: tuple[Callable[[Generator, int], Column], ...] = (
    lambda rng, n: rng.integers(-5, 5, n).tolist(),
    lambda rng, n: (2**53 + rng.integers(-3, 4, n)).tolist(),
    lambda rng, n: rng.integers(-(2**63), 2**63 - 1, n).tolist(),
    lambda rng, n: (rng.random(n) < 0.4).tolist(),
    lambda rng, n: rng.choice(["red", "green", "blue", "", "Ä ö", "NaN", "\x1b[31m"], n).tolist(),
    lambda rng, n: [f"k{i}" for i in rng.integers(0, 3 * n + 1, n)],
)
"""Columns that only frames hold as they are."""


def with_gaps(rng: Generator, column: Column, gap: Any) -> Column:
    """The column with some values, or all, replaced by `gap`."""
    share = float(choose(rng, 0.1, 0.5, 1.0))
    return [gap if hit else value for hit, value in zip(rng.random(len(column)) < share, column, strict=True)]


def columns_of(rng: Generator, n: int, p: int, storm: bool) -> tuple[list[str], list[Column], bool]:
    """Names and columns, and whether all are numbers; a storm is of extreme numbers mostly."""
    plain = storm or rng.random() < 0.6
    columns = []
    for _ in range(p):
        kinds = NUMBERS[4:] if storm and rng.random() < 0.7 else NUMBERS if plain or rng.random() < 0.5 else OTHERS
        column = choose(rng, *kinds)(rng, n)
        if rng.random() < 0.2:
            column = with_gaps(rng, column, float("nan") if plain else None)
        columns.append(column)
    return [f"c{j}" for j in range(p)], columns, plain


def as_table(rng: Generator, names: list[str], columns: list[Column], plain: bool) -> Callable[[list[Column]], Any]:
    """A conversion of such columns to what users bring; the same for training and for later rows."""

    def frame(columns: list[Column]) -> pd.DataFrame:
        return pd.DataFrame(dict(zip(names, columns, strict=True)))

    def polars(columns: list[Column]) -> pl.DataFrame:
        return pl.DataFrame(dict(zip(names, columns, strict=True)), strict=False)

    def matrix(columns: list[Column]) -> Any:
        return np.array(columns, dtype=np.float64).reshape(len(columns), -1).T

    frames: list[Callable[[list[Column]], Any]] = [
        frame,
        polars,
        lambda columns: pa.table(dict(zip(names, columns, strict=True))),
    ]
    if not plain:
        frames.append(lambda columns: frame(columns).astype({names[0]: "category"}))
        frames.append(lambda columns: np.array(columns, dtype=object).reshape(len(columns), -1).T)
        return choose(rng, *frames)  # type: ignore[no-any-return]
    frames += [
        *([matrix] * 6),
        lambda columns: np.asfortranarray(matrix(columns)),
        lambda columns: matrix(columns).tolist(),
        lambda columns: matrix(columns).astype(object),
        lambda columns: frame(columns).astype("Float64"),
    ]
    if max((abs(value) for column in columns for value in column if value == value), default=0.0) < 1e4:
        frames += [lambda columns: matrix(columns).astype(np.float32), lambda columns: matrix(columns).astype("f2")]
    return choose(rng, *frames)  # type: ignore[no-any-return]


def later_rows(rng: Generator, columns: list[Column], plain: bool) -> list[Column]:
    """Rows to predict: some of training, with gaps and values never seen."""
    n = max(1, len(columns[0]) if columns else 1)
    later = [[column[i] for i in rng.integers(0, n, n)] for column in columns]
    for j, column in enumerate(later):
        if plain and rng.random() < 0.5:
            later[j] = with_gaps(rng, column, float(choose(rng, float("nan"), 1.7e308, -1.7e308, 5e-324, 0.3)))
    return later


def labels(rng: Generator, n: int) -> Any:
    """Class labels of every type, from one class to more classes than is usual; some of them rare."""
    k = int(choose(rng, 1, 2, 2, 2, 2, 3, 3, 3, 4, 7))
    y = rng.integers(0, k, n)
    if rng.random() < 0.2:
        y[rng.random(n) < 0.9] = 0
    text = np.array([f"class {j}" for j in range(k)])
    return choose(
        rng,
        lambda: y,
        lambda: y,
        lambda: text[y],
        lambda: text[y].astype(object),
        lambda: y.astype(float) - 1.0,
        lambda: (y - 2).astype(np.int8),
        lambda: pd.Series(text[y], dtype="category"),
        lambda: pl.Series(text[y]),
        lambda: y.tolist(),
        lambda: y == 0,
    )()


def targets(rng: Generator, n: int, storm: bool) -> Any:
    """Numbers to predict, of every magnitude."""
    y = np.array(choose(rng, *(NUMBERS[4:] if storm else NUMBERS))(rng, n))
    if rng.random() < 0.3:
        y = np.abs(y)
    return choose(rng, lambda: y, lambda: y, lambda: y.tolist(), lambda: pd.Series(y), lambda: pl.Series(y))()


def row_weights(rng: Generator, n: int, storm: bool) -> Any:
    """None, or weights: equal, with zeros, of many magnitudes, or such as cannot be."""
    kinds: list[Callable[[], Any]] = [
        lambda: np.ones(n),
        lambda: rng.exponential(size=n),
        lambda: rng.integers(0, 3, n),
        lambda: rng.exponential(size=n) * (rng.random(n) < 0.5),
        lambda: np.full(n, float(choose(rng, 1e-300, 1e-9, 1e9, 1e100, 1e300))),
        lambda: 10.0 ** rng.uniform(-9, 9, n),
        lambda: np.abs(extremes(rng, n)),
        lambda: np.abs(extremes(rng, n)),
        lambda: rng.normal(size=n),
        lambda: np.where(rng.random(n) < 0.1, np.nan, 1.0),
    ]
    return choose(rng, *kinds)() if rng.random() < (0.7 if storm else 0.4) else None
