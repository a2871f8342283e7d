"""Dates and times as numbers: seconds since 1970 in UTC or since midnight, from text and back to text."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64

if TYPE_CHECKING:
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

TIME_FORMATS = (
    *_DAYS,
    *(f"{day} {clock}" for day in _DAYS for clock in _CLOCK),
    *(f"%Y-%m-%dT{clock}" for clock in _CLOCK),
    ZONED_FORMAT,
    "%Y-%m-%d %H:%M:%S%.f%#z",
    *_CLOCK,
)
"""Formats of text in the notation of polars' ``strptime``; years have four digits."""
KNOWN_TIME_FORMATS = frozenset({*TIME_FORMATS, DURATION_FORMAT})  # formats of columns whose numbers are seconds

SECONDS_PER_DAY = 86_400.0
_UNITS = ((SECONDS_PER_DAY, "days"), (3600.0, "hours"), (60.0, "minutes"))

_DAY_FIRST = ("%d/%m", "%d-%m")
_MONTH_FIRST = ("%m/%d", "%m-%d")
_SWAPPED = dict(zip((*_DAY_FIRST, *_MONTH_FIRST), (*_MONTH_FIRST, *_DAY_FIRST), strict=True))


def day_month_order(form: str) -> str | None:
    """Return ``"day-first"`` or ``"month-first"`` for formats such as ``%d/%m/%Y`` and ``%m-%d-%Y``, else None."""
    if form.startswith(_DAY_FIRST):
        return "day-first"
    return "month-first" if form.startswith(_MONTH_FIRST) else None


def swap_day_month(form: str) -> str | None:
    """Return a format with day and month exchanged, None for a format that has no `day_month_order`."""
    return next((form.replace(one, other) for one, other in _SWAPPED.items() if form.startswith(one)), None)


def allowed_formats(order: str | None) -> tuple[str, ...]:
    """Return the formats of an order: all for None, year first and times for "iso", else all but the other order."""
    if order == "iso":
        return tuple(form for form in TIME_FORMATS if form.startswith("%Y") or form in _CLOCK)
    return tuple(form for form in TIME_FORMATS if order is None or day_month_order(form) in (None, order))


def parse_seconds(texts: pl.Series, form: str) -> pl.Series:
    """Parse text as seconds; null for text of another format and for years before 1000."""
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
    """Return typed dates, times and durations as seconds, NaN if missing."""
    import polars as pl

    unit = "D" if times.dtype == pl.Date else getattr(times.dtype, "time_unit", "ns")  # a Time has nanoseconds
    ticks = times.to_physical().cast(pl.Int64).fill_null(0).to_numpy()
    return np.where(times.is_null().to_numpy(), np.nan, ticks_as_seconds(ticks, unit))


def restore_times(frame: pl.DataFrame, forms: Mapping[str, str]) -> pl.DataFrame:
    """Return a frame whose columns of seconds with these formats are typed dates (in UTC), times and durations."""
    import polars as pl

    kinds: dict[TimeKind, Any] = {"date": pl.Datetime("us"), "time of day": pl.Time, "duration": pl.Duration("us")}
    restored = []
    for name, kind in ((name, kind_of_format(form)) for name, form in forms.items() if name in frame.columns):
        if frame[name].dtype.is_numeric():
            ticks = (frame[name] * (1e9 if kind == "time of day" else 1e6)).round().cast(pl.Int64)
            restored.append(ticks.cast(kinds[kind]))
    return frame.with_columns(restored)


def ticks_as_seconds(ticks: NDArray[np.int64], unit: Any) -> F64:
    """Convert whole numbers of a unit of NumPy's times to seconds; equal times in different units are equal numbers."""
    if unit == "D":
        return np.asarray(ticks * SECONDS_PER_DAY)
    if unit != "ns":
        return np.asarray(ticks / {"s": 1.0, "ms": 1e3, "us": 1e6}[unit])
    micros, rest = np.divmod(ticks, 1000)
    seconds, parts = np.divmod(ticks, 10**9)
    # larger integers are not exact in float64
    return np.where(np.abs(ticks) <= 2**53, ticks / 1e9, np.where(rest == 0, micros / 1e6, seconds + parts / 1e9))


def infer_time_format(column: pl.Series, order: str | None = None) -> tuple[str | None, bool]:
    """Return the format of a column of dates or times, None if there is none, and whether day and month are certain.

    If each cell could have the day or the month first, the day is taken to be first, unless an `order` is given.
    """
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
    """Return two cells with day and month in different order, if all cells are dates of either order, else None."""
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
    """Return a mask of the cells that are no dates or times in a column of them; all False if these exceed 10 %."""
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
    """Return whether a format has days without a time of the day."""
    return form != DURATION_FORMAT and "%H" not in form


def format_seconds(seconds: float, form: str) -> str:
    """Return the date or time of a column of this format, as ``2024-02-01 10:30``, or a duration by `format_duration`.

    In a format of whole days, a moment within a day (such as a threshold) is that day. A number beyond the calendar
    stays in seconds.
    """
    if form == DURATION_FORMAT:
        return format_duration(seconds)
    try:
        moment = datetime.fromtimestamp(round(seconds, 6), UTC)
    except (ValueError, OverflowError, OSError):
        return f"{seconds:.6g} s"
    if is_whole_days(form):
        return moment.date().isoformat()
    clock = moment.time().isoformat(_precision(moment))
    if "%Y" not in form:
        return clock
    return f"{moment.date().isoformat()} {clock}" + (" UTC" if form.endswith("z") else "")


def format_duration(seconds: float) -> str:
    """Return a duration in the largest unit of which it has at least two, else in seconds."""
    unit, name = duration_unit(seconds)
    return f"{seconds / unit:.4g} {name}"


def duration_unit(seconds: float) -> tuple[float, str]:
    """Return the largest unit of which a duration has at least two, else the second: its seconds and its name."""
    return next(((size, name) for size, name in _UNITS if abs(seconds) >= 2.0 * size), (1.0, "seconds"))


def _precision(moment: datetime) -> str:
    if moment.microsecond:
        return "milliseconds" if moment.microsecond % 1000 == 0 else "microseconds"
    return "seconds" if moment.second else "minutes"
