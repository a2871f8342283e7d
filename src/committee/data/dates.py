"""Dates, times and durations as seconds: dates since 1970 in UTC, times of the day since midnight."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64

if TYPE_CHECKING:
    import narwhals as nw
    import pandas as pd
    import polars as pl


TimeKind = Literal["date", "time of day", "duration"]

DURATION_FORMAT = "duration"  # format of typed durations, which are not read from text

_CLOCK = ("%H:%M:%S%.f", "%H:%M")
_DAYS = (
    "%Y-%m-%d",
    "%Y/%m/%d",
    "%d.%m.%Y",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%d %b %Y",
    "%d-%b-%Y",
    "%b %d, %Y",
)
TIME_FORMAT = "%H:%M:%S%.f"  # format of typed times of the day
DATE_FORMAT, DATETIME_FORMAT = "%Y-%m-%d", "%Y-%m-%dT%H:%M:%S%.f"  # formats of typed dates, and of dates with a time
ZONED_FORMAT = "%Y-%m-%dT%H:%M:%S%.f%#z"  # format of typed dates with a time zone

TIME_FORMATS = (  # detected in text; for polars' strptime
    *_DAYS,
    *(f"{day} {clock}" for day in _DAYS for clock in _CLOCK),
    *(f"%Y-%m-%dT{clock}" for clock in _CLOCK),
    ZONED_FORMAT,
    "%Y-%m-%d %H:%M:%S%.f%#z",
    *_CLOCK,
)
KNOWN_TIME_FORMATS = frozenset({*TIME_FORMATS, DURATION_FORMAT})  # formats of columns whose numbers are seconds

SECONDS_PER_DAY = 86_400.0
_UNITS = ((SECONDS_PER_DAY, "days"), (3600.0, "hours"), (60.0, "minutes"))

_DAY_FIRST = ("%d/%m", "%d-%m")
_MONTH_FIRST = ("%m/%d", "%m-%d")
_SWAPPED = dict(zip((*_DAY_FIRST, *_MONTH_FIRST), (*_MONTH_FIRST, *_DAY_FIRST), strict=True))


def day_month_order(form: str) -> str | None:
    if form.startswith(_DAY_FIRST):
        return "day-first"
    return "month-first" if form.startswith(_MONTH_FIRST) else None


def swap_day_month(form: str) -> str | None:
    return next((form.replace(one, other) for one, other in _SWAPPED.items() if form.startswith(one)), None)


def allowed_formats(order: str | None) -> tuple[str, ...]:
    if order == "iso":
        return tuple(form for form in TIME_FORMATS if form.startswith("%Y") or form in _CLOCK)
    return tuple(form for form in TIME_FORMATS if order is None or day_month_order(form) in (None, order))


def parse_seconds(texts: pl.Series, form: str) -> pl.Series:
    import polars as pl

    if form in _CLOCK:
        return typed_seconds(texts.str.strip_chars().str.strptime(pl.Time, form, strict=False))
    zoned = form.endswith("z")
    kind = pl.Datetime("us", "UTC" if zoned else None)
    found = texts.str.strip_chars().str.strptime(kind, form, strict=False)
    return typed_seconds(found.set(found.dt.year() < 1000, None))  # "24" is no year


def typed_seconds(times: pl.Series) -> pl.Series:
    import polars as pl

    return pl.Series(times.name, polars_seconds(times), dtype=pl.Float64, nan_to_null=True)


def polars_seconds(times: pl.Series) -> F64:
    import polars as pl

    unit = "D" if times.dtype == pl.Date else getattr(times.dtype, "time_unit", "ns")  # a Time has nanoseconds
    ticks = times.to_physical().cast(pl.Int64).fill_null(0).to_numpy()
    return np.where(times.is_null().to_numpy(), np.nan, ticks_as_seconds(ticks, unit))


def restore_times(frame: pl.DataFrame, forms: Mapping[str, str]) -> pl.DataFrame:
    import polars as pl

    kinds: dict[TimeKind, Any] = {"date": pl.Datetime("us"), "time of day": pl.Time, "duration": pl.Duration("us")}
    restored = []
    for name, kind in ((name, kind_of_format(form)) for name, form in forms.items() if name in frame.columns):
        if frame[name].dtype.is_numeric():
            ticks = (frame[name] * (1e9 if kind == "time of day" else 1e6)).round().cast(pl.Int64)
            restored.append(ticks.cast(kinds[kind]))
    return frame.with_columns(restored)


def ticks_as_seconds(ticks: NDArray[np.int64], unit: Any) -> F64:
    if unit == "D":
        return np.asarray(ticks * SECONDS_PER_DAY)
    if unit != "ns":
        return np.asarray(ticks / {"s": 1.0, "ms": 1e3, "us": 1e6}[unit])
    micros, rest = np.divmod(ticks, 1000)
    seconds, parts = np.divmod(ticks, 10**9)
    # larger integers are not exact in float64
    return np.where(np.abs(ticks) <= 2**53, ticks / 1e9, np.where(rest == 0, micros / 1e6, seconds + parts / 1e9))


def infer_time_format(column: pl.Series, order: str | None = None) -> tuple[str | None, bool]:
    """Return a column's time format, and whether its order of day and month is certain."""
    import polars as pl

    typed = {pl.Date: DATE_FORMAT, pl.Datetime: DATETIME_FORMAT, pl.Time: TIME_FORMAT, pl.Duration: DURATION_FORMAT}
    form = next((form for kind, form in typed.items() if column.dtype == kind), None)
    if form is not None:
        return form, True
    present = column.drop_nulls()
    if column.dtype != pl.String or present.is_empty():
        return None, True
    first = present.head(1)
    for form in allowed_formats(order):  # one cell rules out nearly all of them
        if not parse_seconds(first, form).null_count() and not parse_seconds(present, form).null_count():
            other = swap_day_month(form)
            return form, order is not None or other is None or bool(parse_seconds(present, other).null_count())
    return None, True


def mixed_order_cells(present: pl.Series) -> tuple[str, str] | None:
    """Return a day-first and a month-first cell of a column that mixes these orders."""
    for form in TIME_FORMATS:
        other = swap_day_month(form) if day_month_order(form) == "day-first" else None
        if other is None or (
            parse_seconds(present.head(1), form).null_count() and parse_seconds(present.head(1), other).null_count()
        ):
            continue
        day, month = parse_seconds(present, form), parse_seconds(present, other)
        if (day.is_not_null() | month.is_not_null()).all():
            return present.filter(month.is_null())[0], present.filter(day.is_null())[0]
    return None


def non_time_cells(column: pl.Series) -> pl.Series:
    import polars as pl

    present = column.drop_nulls()
    for form in TIME_FORMATS:
        if parse_seconds(present.head(5), form).null_count() == len(present.head(5)):
            continue
        wrong = column.is_not_null() & parse_seconds(column, form).is_null()
        if 0 < wrong.sum() <= 0.1 * len(present):
            return wrong
    return pl.repeat(False, len(column), dtype=pl.Boolean, eager=True)


def kind_of_format(form: str) -> TimeKind:
    if form == DURATION_FORMAT:
        return "duration"
    return "date" if "%Y" in form else "time of day"


def is_whole_days(form: str) -> bool:
    return form != DURATION_FORMAT and "%H" not in form


def format_seconds(seconds: float, form: str) -> str:
    if form == DURATION_FORMAT:
        return format_duration(seconds)
    try:
        moment = dt.datetime.fromtimestamp(round(seconds, 6), dt.UTC)
    except (ValueError, OverflowError, OSError):
        return f"{seconds:.6g} s"
    if is_whole_days(form):
        return moment.date().isoformat()
    precision = "seconds" if moment.second else "minutes"
    if moment.microsecond:
        precision = "milliseconds" if moment.microsecond % 1000 == 0 else "microseconds"
    clock = moment.time().isoformat(precision)
    if "%Y" not in form:
        return clock
    return f"{moment.date().isoformat()} {clock}" + (" UTC" if form.endswith("z") else "")


def format_duration(seconds: float) -> str:
    unit, name = duration_unit(seconds)
    return f"{seconds / unit:.4g} {name}"


def duration_unit(seconds: float) -> tuple[float, str]:
    return next(((size, name) for size, name in _UNITS if abs(seconds) >= 2.0 * size), (1.0, "seconds"))


_MISSING = np.iinfo(np.int64).min  # of NumPy's times, as ticks


@dataclass(frozen=True, eq=False)
class Seconds:
    values: F64  # NaN if missing
    form: str


def read_seconds(series: nw.Series[Any]) -> Seconds | None:
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
    """Return dates, times or durations as seconds; `kind` is that of pandas' ``infer_dtype``."""
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
    kinds: dict[str, tuple[type, ...]] = {
        "date": (dt.date, np.datetime64),
        "time of day": (dt.time,),
        "duration": (dt.timedelta, np.timedelta64),
    }
    return next((kind for kind, types in kinds.items() if isinstance(value, types)), None)


def intervals_as_text(series: nw.Series[Any]) -> nw.Series[Any]:
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
