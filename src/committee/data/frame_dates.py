"""Dates, times and durations of data frames as seconds, and intervals as text."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from committee.data.dates import (
    DATE_FORMAT,
    DATETIME_FORMAT,
    DURATION_FORMAT,
    SECONDS_PER_DAY,
    TIME_FORMAT,
    ZONED_FORMAT,
    polars_seconds,
    ticks_as_seconds,
)
from committee.data.number_types import F64

if TYPE_CHECKING:
    import narwhals as nw
    import pandas as pd

_MISSING = np.iinfo(np.int64).min


@dataclass(frozen=True, eq=False)
class Seconds:
    """Cells of a column of dates, times or durations: seconds, NaN if missing, and their format."""

    values: F64
    form: str

    @property
    def shortest_form(self) -> str:
        """Format of dates without a time of the day if all are whole days without a zone, else that of the type."""
        if self.form != DATETIME_FORMAT or (self.values % SECONDS_PER_DAY > 0.0).any():
            return self.form
        return DATE_FORMAT


def read_seconds(series: nw.Series[Any]) -> Seconds | None:
    """Return the cells of a typed column as seconds, None if its type has neither dates nor times nor durations."""
    import narwhals as nw

    dtype = series.dtype
    forms = {nw.Date: DATE_FORMAT, nw.Datetime: DATETIME_FORMAT, nw.Time: TIME_FORMAT, nw.Duration: DURATION_FORMAT}
    form = next((form for kind, form in forms.items() if isinstance(dtype, kind)), None)
    if isinstance(dtype, nw.Datetime) and dtype.time_zone is not None:
        form = ZONED_FORMAT
    if series.implementation.is_polars() and form is not None:
        return Seconds(polars_seconds(series.to_native()), form)
    if series.implementation.is_pyarrow():
        if form is None and str(series.to_native().type) == "date64[ms]":
            form = DATE_FORMAT
        return None if form is None else Seconds(_arrow_seconds(series.to_native()), form)
    if not series.implementation.is_pandas_like():
        return None
    import pandas as pd

    native = series.to_native()
    if isinstance(native.dtype, pd.PeriodDtype):
        return Seconds(_numpy_seconds(native.dt.to_timestamp(how="start").to_numpy()), DATETIME_FORMAT)
    if form is None:
        return None
    cells = series.to_pandas()
    if isinstance(cells.dtype, pd.ArrowDtype):
        import pyarrow as pa

        return Seconds(_arrow_seconds(pa.chunked_array([pa.array(cells.array)])), form)
    return Seconds(_pandas_seconds(cells), form)


def read_object_seconds(cells: pd.Series[Any], kind: str) -> Seconds | None:
    """Return Python dates, times or durations as seconds, None for others; `kind` is that of pandas' `infer_dtype`."""
    import pandas as pd

    present = cells.dropna()
    form = DATETIME_FORMAT
    if kind in ("datetime", "datetime64", "date") or (
        kind == "mixed" and all(kind_of_moment(cell) == "date" for cell in present)
    ):
        zoned = any(getattr(cell, "tzinfo", None) is not None for cell in present)
        form = ZONED_FORMAT if zoned else DATETIME_FORMAT
        try:
            found = _pandas_seconds(pd.to_datetime(present, utc=True))
        except (ValueError, OverflowError):  # beyond the years that nanoseconds reach
            found = _numpy_seconds(np.array([_naive(cell) for cell in present], dtype="M8[us]"))
    elif kind == "period" or (kind == "mixed" and all(isinstance(cell, pd.Period) for cell in present)):
        found = _numpy_seconds(np.array([cell.start_time.to_datetime64() for cell in present], dtype="M8[ns]"))
    elif kind in ("timedelta", "timedelta64"):
        form = DURATION_FORMAT
        try:
            found = _pandas_seconds(pd.to_timedelta(present))
        except (ValueError, OverflowError):
            found = _numpy_seconds(np.array(present.tolist(), dtype="m8[us]"))
    elif kind == "time":
        form = TIME_FORMAT
        ticks = [((cell.hour * 60 + cell.minute) * 60 + cell.second) * 10**6 + cell.microsecond for cell in present]
        found = ticks_as_seconds(np.array(ticks, dtype=np.int64), "us")
    else:
        return None
    values = np.full(len(cells), np.nan)
    values[cells.notna().to_numpy()] = found
    return Seconds(values, form)


def kind_of_moment(value: object) -> str | None:
    """Return the kind of a Python object that is a date, a time of the day or a duration, else None."""
    kinds: dict[str, tuple[type, ...]] = {
        "date": (dt.date, np.datetime64),
        "time of day": (dt.time,),
        "duration": (dt.timedelta, np.timedelta64),
    }
    return next((kind for kind, types in kinds.items() if isinstance(value, types)), None)


def intervals_as_text(series: nw.Series[Any]) -> nw.Series[Any]:
    """Return a pandas column of intervals, or of intervals as categories, as categories of text; others as they are."""
    import pandas as pd

    native = series.to_native()
    if str(native.dtype) == "object" and pd.api.types.infer_dtype(native, skipna=True) == "interval":
        native = native.astype(pd.IntervalIndex(native.dropna()).dtype)  # as pd.concat returns them
    if isinstance(native.dtype, pd.IntervalDtype):
        native = native.astype(pd.CategoricalDtype(sorted(native.dropna().unique()), ordered=True))
    if not isinstance(native.dtype, pd.CategoricalDtype):
        return series
    categories = native.cat.categories
    if not isinstance(categories.dtype, pd.IntervalDtype):
        return series
    import narwhals as nw

    return nw.from_native(native.cat.rename_categories([str(each) for each in categories]), series_only=True)


def _naive(cell: Any) -> Any:
    return cell.astimezone(dt.UTC).replace(tzinfo=None) if getattr(cell, "tzinfo", None) is not None else cell


def _pandas_seconds(cells: pd.Series[Any]) -> F64:
    if getattr(cells.dtype, "tz", None) is not None:
        cells = cells.dt.tz_convert("UTC").dt.tz_localize(None)
    return _numpy_seconds(cells.to_numpy())


def _numpy_seconds(times: NDArray[Any]) -> F64:
    ticks = times.view(np.int64)
    return np.where(ticks == _MISSING, np.nan, ticks_as_seconds(ticks, np.datetime_data(times.dtype)[0]))


def _arrow_seconds(cells: Any) -> F64:
    import pyarrow as pa

    kind = cells.type
    unit = getattr(kind, "unit", "D" if kind == pa.date32() else "ms")
    whole = cells.cast(pa.int32()) if kind.bit_width == 32 else cells
    ticks = whole.cast(pa.int64()).fill_null(0).to_numpy()
    return np.where(cells.is_null().to_numpy(), np.nan, ticks_as_seconds(ticks, unit))
