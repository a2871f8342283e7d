"""Dates and times as numbers: seconds since the beginning of 1970 in UTC, or since midnight."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

DURATION = "duration"
"""The form of typed lengths of time, which are not read from text."""

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
OF_DAY = "%H:%M:%S%.f"
"""The form of typed times of the day."""
DAY, MOMENT = "%Y-%m-%d", "%Y-%m-%dT%H:%M:%S%.f"
"""The forms of typed dates, and of dates with a time."""

FORMS = (
    *_DAYS,
    *(f"{day} {clock}" for day in _DAYS for clock in _CLOCK),
    *(f"%Y-%m-%dT{clock}" for clock in _CLOCK),
    "%Y-%m-%dT%H:%M:%S%.f%#z",
    "%Y-%m-%d %H:%M:%S%.f%#z",
    *_CLOCK,
)
"""How dates and times are written, as the formats of strftime have it; years have four digits."""

_DAY_FIRST = ("%d/%m", "%d-%m")
_MONTH_FIRST = ("%m/%d", "%m-%d")
_SWAPPED = dict(zip((*_DAY_FIRST, *_MONTH_FIRST), (*_MONTH_FIRST, *_DAY_FIRST), strict=True))


def order_of(form: str) -> str | None:
    """Return which of day and month a form has first, where both are numbers that only their order tells apart.

    Examples
    --------
    >>> order_of("%d/%m/%Y %H:%M"), order_of("%m-%d-%Y"), order_of("%d.%m.%Y"), order_of("%Y-%m-%d")
    ('day-first', 'month-first', None, None)
    """
    if form.startswith(_DAY_FIRST):
        return "day-first"
    return "month-first" if form.startswith(_MONTH_FIRST) else None


def swapped(form: str) -> str | None:
    """Return a form with day and month in the other order; None where no such form is known.

    Examples
    --------
    >>> swapped("%d/%m/%Y"), swapped("%d.%m.%Y")
    ('%m/%d/%Y', None)
    """
    return next((form.replace(one, other) for one, other in _SWAPPED.items() if form.startswith(one)), None)


def forms_in_order(order: str | None) -> tuple[str, ...]:
    """Return the forms that an order of dates allows: all, such as have not the other one, or those of ISO 8601."""
    if order == "iso":
        return tuple(form for form in FORMS if form.startswith("%Y") or form in _CLOCK)
    return tuple(form for form in FORMS if order is None or order_of(form) in (None, order))


def seconds(texts: pl.Series, form: str) -> pl.Series:
    """Read text of a form as seconds, null where it is none of it.

    Examples
    --------
    >>> import polars as pl
    >>> seconds(pl.Series(["02.01.1970", "soon"]), "%d.%m.%Y").to_list()
    [86400.0, None]
    """
    import polars as pl

    if form in _CLOCK:
        return seconds_of_typed(texts.str.strip_chars().str.strptime(pl.Time, form, strict=False))
    zoned = form.endswith("z")
    kind = pl.Datetime("us", "UTC" if zoned else None)
    found = texts.str.strip_chars().str.strptime(kind, form, strict=False)
    return seconds_of_typed(found.set(found.dt.year() < 1000, None))  # "24" is no year


def seconds_of_typed(times: pl.Series) -> pl.Series:
    """Return typed dates, times and lengths of time as seconds.

    Examples
    --------
    >>> import datetime
    >>> import polars as pl
    >>> seconds_of_typed(pl.Series([datetime.date(1970, 1, 2), None])).to_list()
    [86400.0, None]
    """
    import polars as pl

    if times.dtype == pl.Time:
        return times.cast(pl.Int64).cast(pl.Float64) / 1e9
    if isinstance(times.dtype, pl.Duration):
        return times.dt.total_microseconds().cast(pl.Float64) / 1e6
    return times.cast(pl.Datetime("us", getattr(times.dtype, "time_zone", None))).dt.epoch("us").cast(pl.Float64) / 1e6


def form_of_times(column: pl.Series, order: str | None = None) -> tuple[str | None, bool]:
    """Return the form in which all cells of a column are dates or times, None if there is none; whether days are sure.

    Days that could as well be months are taken for days, and are not sure, unless an `order` is given.

    Examples
    --------
    >>> import polars as pl
    >>> form_of_times(pl.Series(["03/04/2024", None])), form_of_times(pl.Series(["03/14/2024"]))
    (('%d/%m/%Y', False), ('%m/%d/%Y', True))
    >>> form_of_times(pl.Series(["03/04/2024"]), "month-first")
    ('%m/%d/%Y', True)
    """
    import polars as pl

    typed = {pl.Date: DAY, pl.Datetime: MOMENT, pl.Time: OF_DAY, pl.Duration: DURATION}
    form = next((form for kind, form in typed.items() if column.dtype == kind), None)
    if form is not None:
        return form, True
    if column.dtype != pl.String or column.null_count() == len(column):
        return None, True
    present = column.drop_nulls()
    first = present.head(1)
    for form in forms_in_order(order):  # one cell rules out nearly all of them
        if not seconds(first, form).null_count() and not seconds(present, form).null_count():
            other = swapped(form)
            return form, order is not None or other is None or bool(seconds(present, other).null_count())
    return None, True


def mixed_orders(present: pl.Series) -> tuple[str, str] | None:
    """Return two cells that settle the order of day and month in different ways, where all cells are such dates.

    Examples
    --------
    >>> import polars as pl
    >>> mixed_orders(pl.Series(["31/12/2024", "01/02/2024", "12/31/2024"]))
    ('31/12/2024', '12/31/2024')
    """
    for form in FORMS:
        other = swapped(form) if order_of(form) == "day-first" else None
        if other is None or (
            seconds(present.head(1), form).null_count() and seconds(present.head(1), other).null_count()
        ):
            continue
        day, month = seconds(present, form), seconds(present, other)
        if (day.is_not_null() | month.is_not_null()).all():
            return present.filter(month.is_null())[0], present.filter(day.is_null())[0]
    return None


def cells_that_are_no_times(column: pl.Series) -> pl.Series:
    """Say which cells of text keep a column from being dates or times: a tenth of them at most, else none.

    Examples
    --------
    >>> import polars as pl
    >>> cells_that_are_no_times(pl.Series(["2024-12-31"] * 10 + ["soon"])).arg_true().to_list()
    [10]
    """
    import polars as pl

    present = column.drop_nulls()
    for form in FORMS:
        if seconds(present.head(5), form).null_count() == len(present.head(5)):
            continue
        wrong = column.is_not_null() & seconds(column, form).is_null()
        if 0 < wrong.sum() <= 0.1 * len(present):
            return wrong
    return pl.repeat(False, len(column), dtype=pl.Boolean, eager=True)
