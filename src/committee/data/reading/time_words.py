"""Seconds as the dates, times and lengths of time that they stand for, in words."""

from __future__ import annotations

from datetime import UTC, datetime

from committee.data.reading import time_forms

TIMES = frozenset({*time_forms.FORMS, time_forms.DURATION})
"""Forms of columns whose numbers are seconds."""

DAY = 86_400.0
"""Seconds of a day."""

_UNITS = ((DAY, "days"), (3600.0, "hours"), (60.0, "minutes"))


def is_whole_days(form: str) -> bool:
    """Whether a form has days without a time of the day."""
    return form != time_forms.DURATION and "%H" not in form


def time_words(seconds: float, form: str) -> str:
    """Write seconds, as a column of that form has them, as ISO 8601 has dates and times; a length in its largest unit.

    Of days what is between two is the first, as at a threshold. What is no date of the calendar is left in seconds.

    Examples
    --------
    >>> time_words(86400.0 * 1.5, "%d.%m.%Y"), time_words(86400.0 * 1.5, "%Y-%m-%d %H:%M")
    ('1970-01-02', '1970-01-02 12:00')
    >>> time_words(45000.0, "%H:%M"), time_words(1.08e6, "duration")
    ('12:30', '12.5 days')
    """
    if form == time_forms.DURATION:
        return length_words(seconds)
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


def length_words(seconds: float) -> str:
    """Write a length of time in the largest unit of which there are two at least.

    Examples
    --------
    >>> length_words(45.0), length_words(-7200.0)
    ('45 seconds', '-2 hours')
    """
    unit, name = unit_of_length(seconds)
    return f"{seconds / unit:.4g} {name}"


def unit_of_length(seconds: float) -> tuple[float, str]:
    """The largest unit of which a length of time has two at least, in seconds, and what it is called."""
    return next(((size, name) for size, name in _UNITS if abs(seconds) >= 2.0 * size), (1.0, "seconds"))


def _precision(moment: datetime) -> str:
    """How much of a clock is shown: no more than there is."""
    if moment.microsecond:
        return "milliseconds" if moment.microsecond % 1000 == 0 else "microseconds"
    return "seconds" if moment.second else "minutes"
