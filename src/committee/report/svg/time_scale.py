"""A scale of seconds whose ticks are days, months and years."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from committee.data.reading.time_forms import DURATION
from committee.data.reading.time_words import DAY, is_whole_days, time_words, unit_of_length
from committee.report.svg.scale import Scale, plain

_MONTHS = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 6000)
_SECONDS = (1.0, 5.0, 15.0, 30.0, 60.0, 300.0, 900.0, 1800.0, 3600.0, 7200.0, 10800.0, 21600.0, 43200.0)
_DAYS = (1.0, 2.0, 5.0, 10.0, 15.0)


@dataclass(frozen=True)
class TimeScale(Scale):
    """A scale of dates or times of the form that a column has in files.

    Examples
    --------
    >>> scale = TimeScale(0.0, 365.0 * DAY, form="%Y-%m-%d")
    >>> [scale.text(tick) for tick in scale.ticks(5)]
    ['1970-01', '1970-04', '1970-07', '1970-10', '1971-01']
    """

    form: str = "%Y-%m-%d"

    def ticks(self, most: int) -> list[float]:
        """Beginnings of years, months, days, hours or minutes, so many at most."""
        if self.form == DURATION:
            unit = unit_of_length(max(abs(self.low), abs(self.high)))[0]
            return [tick * unit for tick in Scale(self.low / unit, self.high / unit).ticks(most)]
        for step in () if is_whole_days(self.form) else _SECONDS:
            if len(found := self._multiples(step)) <= most:
                return found
        for step in _DAYS if "%Y" in self.form else (DAY,):
            if len(found := self._multiples(step * DAY)) <= most:
                return found
        length = (self.high - self.low) / (30.4 * DAY)
        wide = [months for months in _MONTHS if length / months <= most + 1]
        return next((found for months in wide if len(found := self._months(months)) <= most), super().ticks(most))

    def _multiples(self, step: float) -> list[float]:
        first, last = -int(-self.low // step), int(self.high // step)
        return [k * step for k in range(first, min(last, first + 50) + 1)]

    def _months(self, step: int) -> list[float]:
        """Firsts of months, those of years that the step divides."""
        try:
            low, high = (datetime.fromtimestamp(end, UTC) for end in (self.low, self.high))
        except (ValueError, OverflowError, OSError):
            return []
        months = range(low.year * 12 + low.month - 1, min(high.year * 12 + high.month, 9999 * 12))
        firsts = [datetime(m // 12, m % 12 + 1, 1, tzinfo=UTC).timestamp() for m in months if m % step == 0 and m >= 12]
        return [first for first in firsts if self.low <= first <= self.high]

    def text(self, value: float) -> str:
        """A tick in words, as short as the scale is long."""
        if self.form == DURATION:
            unit, name = unit_of_length(max(abs(self.low), abs(self.high)))
            return f"{plain(value / unit)} {name}"
        text, span = time_words(value, self.form), self.high - self.low
        if "%Y" not in self.form or len(text) < 10:
            return text
        if span > 6.0 * 366.0 * DAY:
            return text[:4]
        return text[:7] if span > 150.0 * DAY else text[:10] if span > 4.0 * DAY else text[5:]
