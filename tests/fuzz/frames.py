"""The same table in frames of every type: the same model as of floats and categories; and weights of every scale."""

from __future__ import annotations

import datetime as dt
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from numpy.testing import assert_array_equal
from sklearn.base import clone, is_regressor

from tests.fuzz import tables
from tests.fuzz.inputs import LEARNERS, RefusedByVoterError, learner_of
from tests.fuzz.tables import Generator, choose

EPOCH = dt.datetime(1970, 1, 1)
WORDS = ("red", "green", "blue", "Ä ö", "two words", "a", "NaN", "0")
KINDS = ("number", "number", "whole", "flag", "text", "text", "date", "moment", "zoned", "duration", "time")

Cells = list[Any]
"""Python values of a column, None where one is missing."""


def random_cells(rng: Generator, kind: str, n: int) -> Cells:
    seconds = rng.integers(0, 2_000_000_000, n)
    make: dict[str, Callable[[int], Any]] = {
        "number": lambda i: float(np.round(rng.normal(), 3)),
        "whole": lambda i: int(rng.integers(-9, 9)),
        "flag": lambda i: bool(rng.integers(2)),
        "text": lambda i: str(rng.choice(WORDS)),
        "date": lambda i: (EPOCH + dt.timedelta(int(seconds[i]) // 86400)).date(),
        "moment": lambda i: EPOCH + dt.timedelta(seconds=int(seconds[i])),
        "zoned": lambda i: (EPOCH + dt.timedelta(seconds=int(seconds[i]))).replace(tzinfo=dt.UTC),
        "duration": lambda i: dt.timedelta(seconds=int(seconds[i]) % 100_000),
        "time": lambda i: (EPOCH + dt.timedelta(seconds=int(seconds[i]))).time(),
    }
    missing = rng.random(n) < choose(rng, 0.0, 0.0, 0.2)
    return [None if gap else make[kind](i) for i, gap in enumerate(missing)]


def plain(kind: str, cells: Cells) -> Any:
    """A column of floats, flags, or categories in the order of text."""
    if kind == "flag":
        return pd.array(cells, dtype="boolean")
    if kind == "text":
        return pd.Categorical(cells, categories=sorted(set(cells).difference([None])))
    as_number: dict[str, Callable[[Any], float]] = {
        "date": lambda cell: (dt.datetime.combine(cell, dt.time()) - EPOCH).total_seconds(),
        "moment": lambda cell: (cell - EPOCH).total_seconds(),
        "zoned": lambda cell: (cell.replace(tzinfo=None) - EPOCH).total_seconds(),
        "duration": dt.timedelta.total_seconds,
        "time": lambda cell: float((cell.hour * 60 + cell.minute) * 60 + cell.second),
    }
    read = as_number.get(kind, float)
    return [np.nan if cell is None else read(cell) for cell in cells]


PANDAS: dict[str, tuple[Any, ...]] = {
    "number": ("float64", "Float64", "double[pyarrow]", object),
    "whole": ("Int64", "Int8", "int64[pyarrow]", "float64"),
    "flag": ("boolean", "bool[pyarrow]"),
    "text": (object, "string", "category", "string[pyarrow]"),
    "date": (object, "datetime64[ns]", "datetime64[s]", "date32[pyarrow]", "period[D]"),
    "moment": (object, "datetime64[ns]", "datetime64[us]", "timestamp[ms][pyarrow]", "period[s]"),
    "zoned": (object, "datetime64[ns, UTC]", "datetime64[us, Asia/Tokyo]", "timestamp[us, tz=UTC][pyarrow]"),
    "duration": (object, "timedelta64[ns]", "timedelta64[s]", "duration[ms][pyarrow]"),
    "time": (object,),
}
"""Types of pandas' columns."""

POLARS: dict[str, tuple[Any, ...]] = {
    "number": (pl.Float64,),
    "whole": (pl.Int64, pl.Int8, pl.Int32),
    "flag": (pl.Boolean,),
    "text": (pl.String, pl.Categorical),
    "date": (pl.Date,),
    "moment": (pl.Datetime("ns"), pl.Datetime("us"), pl.Datetime("ms")),
    "zoned": (pl.Datetime("us", "UTC"), pl.Datetime("ms", "Europe/Oslo")),
    "duration": (pl.Duration("ns"), pl.Duration("ms")),
    "time": (pl.Time,),
}


def any_frame(rng: Generator, names: list[str], kinds: list[str]) -> Callable[[list[Cells]], Any]:
    """A conversion to a frame of pandas, polars or pyarrow, of the same types for training and for later rows."""
    own = [choose(rng, *PANDAS[kind]) for kind in kinds]
    of_polars = [choose(rng, *POLARS[kind]) for kind in kinds]

    def pandas(columns: list[Cells]) -> pd.DataFrame:
        made = {}
        for name, kind, dtype, cells in zip(names, kinds, own, columns, strict=True):
            series = pd.Series(cells, dtype=object)
            if str(dtype).startswith(("datetime64", "timedelta64", "period")):
                times = pd.to_timedelta(series) if kind == "duration" else pd.to_datetime(series, utc=kind == "zoned")
                series = times.dt.to_period(dtype[7]) if dtype[:6] == "period" else times.astype(dtype)
            elif dtype is not object:
                series = series.astype(dtype)
            made[name] = series
        return pd.DataFrame(made)

    def polars(columns: list[Cells]) -> pl.DataFrame:
        typed = zip(names, of_polars, columns, strict=True)
        return pl.DataFrame([pl.Series(name, cells, strict=False).cast(dtype) for name, dtype, cells in typed])

    return choose(rng, pandas, pandas, polars, lambda columns: polars(columns).to_arrow())  # type: ignore[no-any-return]


def same_weights(rng: Generator, n: int) -> tuple[Any, Any]:
    """Two sets of row weights that mean the same."""
    relative = rng.exponential(size=n) + 0.01
    counts = rng.integers(1, 4, n)
    scale = 2.0 ** rng.integers(-60, 60)
    return choose(  # type: ignore[no-any-return]
        rng,
        (None, None),
        (None, np.full(n, float(choose(rng, 1e-9, 1.0 / n, 1.0, 7.5, 1e9, 1e-200, 1e200)))),
        (relative, relative * scale),
        (relative, pd.Series(relative * scale)),
        (relative, (relative * scale).tolist()),
        (counts, counts.astype(float)),
        (counts, pl.Series(counts)),
    )


class Frames:
    """Frames of dates, text and numbers in every type; see `tests.fuzz.Fuzzer`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def case(self, random: Random) -> bytes:
        return json.dumps({"learner": random.choice(LEARNERS), "seed": random.getrandbits(32)}).encode()

    def run(self, case: bytes) -> str:
        made = json.loads(case)
        rng = np.random.default_rng(made["seed"])
        n, p = int(choose(rng, 20, 40, 60)), int(choose(rng, 1, 2, 4))
        names, kinds = [f"c{j}" for j in range(p)], [str(choose(rng, *KINDS)) for _ in range(p)]
        columns = [random_cells(rng, kind, n) for kind in kinds]
        later = [[cells[i] for i in rng.integers(0, n, n)] for cells in columns]
        model = learner_of(rng, made["learner"], names)
        if "categorical_features" in model.get_params():
            model.set_params(categorical_features="from_dtype")
        if isinstance(model.get_params().get("n_draws"), str):  # which depend on the time
            model.set_params(n_draws=5)
        y = tables.targets(rng, n, False) if is_regressor(model) else rng.integers(0, int(choose(rng, 2, 2, 3)), n)
        weights, same = same_weights(rng, n)
        typed, rows = any_frame(rng, names, kinds), [columns, later]
        if made["learner"].startswith("Committee"):  # which makes further columns of dates and text
            clean = [pl.DataFrame(dict(zip(names, each, strict=True)), strict=False) for each in rows]
        else:
            clean = [
                pd.DataFrame({name: plain(*each) for name, *each in zip(names, kinds, one, strict=True)})
                for one in rows
            ]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = outcome(clone(model), clean, y, weights)
            found = outcome(model, [typed(each) for each in rows], y, same)
        if isinstance(expected, str) or isinstance(found, str):
            assert isinstance(expected, str) and isinstance(found, str), f"{kinds}: {found}\n{expected}"
            return "refused alike"
        for one, other in zip(found, expected, strict=True):
            assert_array_equal(one, other)
        return "the same model"


def outcome(model: Any, frames: list[Any], y: Any, weights: Any) -> list[Any] | str:
    """Predictions for rows of training and later ones, or the words of a refusal."""
    try:
        model.fit(frames[0], y, weights)
        method = model.predict if is_regressor(model) else model.predict_proba
        return [method(frame) for frame in frames]
    except RefusedByVoterError:
        return "refused by a voter of the user's"
    except (ValueError, TypeError) as error:
        return f"{type(error).__name__}: {error}"
