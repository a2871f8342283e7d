"""Linear, logarithmic and time scales: positions of numbers, round ticks and their labels."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Self

import numpy as np

from committee.data.dates import DURATION_FORMAT, SECONDS_PER_DAY, duration_unit, format_seconds, is_whole_days
from committee.data.number_types import F64

# mantissas of logarithmic ticks; the first row with few enough ticks is used
_MANTISSAS = ((1, 2, 3, 4, 5, 6, 7, 8, 9), (1, 2, 3, 4, 6, 8), (1, 2, 3, 5), (1, 2, 5), (1, 3), (1,))
_MONTHS = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 6000)
_SECONDS = (1.0, 5.0, 15.0, 30.0, 60.0, 300.0, 900.0, 1800.0, 3600.0, 7200.0, 10800.0, 21600.0, 43200.0)
_DAYS = (1.0, 2.0, 5.0, 10.0, 15.0)


@dataclass(frozen=True)
class Scale:
    """Scale from `low` to `high`, which lie at `begin` and `end` of a picture."""

    low: float
    high: float
    begin: float = 0.0
    end: float = 1.0
    percent: bool = False
    log: bool = False
    whole: bool = False  # ticks are integers
    years: bool = False  # labels have no separators

    @classmethod
    def over(cls, values: F64 | list[float], *, margin: float = 0.0, percent: bool = False, log: bool = False) -> Self:
        finite = np.asarray(values, dtype=np.float64)
        finite = finite[np.isfinite(finite)]
        if log:
            finite = np.log(finite)
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
        if low == high:
            aside = 0.5 if log else 0.05 * abs(low) or 0.5
            low, high = low - aside, high + aside
        low, high = low - margin * (high - low), high + margin * (high - low)
        if log:
            low, high = math.exp(low), math.exp(high)
        return cls(low, high, percent=percent, log=log)

    def placed(self, begin: float, end: float) -> Scale:
        return replace(self, begin=begin, end=end)

    def at(self, value: float) -> float:
        low, high = self.low, self.high
        if self.log:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return self.begin + (value - low) / (high - low) * (self.end - self.begin)

    def ticks(self, most: int) -> list[float]:
        if not self.log:
            return self._even_ticks(most)
        ticks = self._log_ticks(most)
        # even steps give more ticks on a range such as 1,000 to 1,300
        return ticks if len(ticks) > 2 or self.high >= 10.0 * self.low else self._even_ticks(most)

    def _even_ticks(self, most: int) -> list[float]:
        power = 10.0 ** math.floor(math.log10((self.high - self.low) / max(1, most - 1)))
        ticks: list[float] = []
        for mantissa in (1.0, 2.0, 2.5, 5.0, 10.0):
            step = mantissa * power
            if self.whole and step % 1.0:
                continue
            first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
            ticks = [float(f"{k * step:.12g}") for k in range(first, last + 1)]
            if len(ticks) <= most:
                break
        return ticks

    def _log_ticks(self, most: int) -> list[float]:
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        ticks: list[float] = []
        for mantissas in _MANTISSAS:
            numbers = (float(f"{mantissa}e{power}") for power in powers for mantissa in mantissas)
            ticks = [value for value in numbers if self.low <= value <= self.high]
            if len(ticks) <= most:
                return ticks
        return ticks[:: math.ceil(len(ticks) / most)]

    def text(self, value: float) -> str:
        if self.years:
            return f"{value:g}"
        return f"{format_number(100.0 * value)}%" if self.percent else format_number(value)


@dataclass(frozen=True)
class TimeScale(Scale):
    """Scale of dates or times in seconds, with ticks that are round in the format `form`."""

    form: str = "%Y-%m-%d"

    def ticks(self, most: int) -> list[float]:
        if self.form == DURATION_FORMAT:
            unit, _ = self._duration_unit
            return [tick * unit for tick in Scale(self.low / unit, self.high / unit).ticks(most)]
        steps = list(() if is_whole_days(self.form) else _SECONDS)
        steps += [step * SECONDS_PER_DAY for step in (_DAYS if "%Y" in self.form else (1.0,))]
        for step in steps:
            first, last = -int(-self.low // step), int(self.high // step)
            if last - first < most:
                return [k * step for k in range(first, last + 1)]
        length = (self.high - self.low) / (30.4 * SECONDS_PER_DAY)
        for months in _MONTHS:
            if length / months <= most + 1 and len(ticks := self._first_days(months)) <= most:
                return ticks
        return super().ticks(most)

    @property
    def _duration_unit(self) -> tuple[float, str]:
        return duration_unit(max(abs(self.low), abs(self.high)))

    def _first_days(self, step: int) -> list[float]:
        try:
            low, high = (datetime.fromtimestamp(end, UTC) for end in (self.low, self.high))
        except (ValueError, OverflowError, OSError):
            return []
        months = range(low.year * 12 + low.month - 1, min(high.year * 12 + high.month, 9999 * 12))
        firsts = [datetime(m // 12, m % 12 + 1, 1, tzinfo=UTC).timestamp() for m in months if m % step == 0 and m >= 12]
        return [first for first in firsts if self.low <= first <= self.high]

    def text(self, value: float) -> str:
        if self.form == DURATION_FORMAT:
            unit, name = self._duration_unit
            return f"{format_number(value / unit)} {name}"
        text, span = format_seconds(value, self.form), self.high - self.low
        if "%Y" not in self.form or len(text) < 10:
            return text
        if span > 6.0 * 366.0 * SECONDS_PER_DAY:
            return text[:4]
        return text[:7] if span > 150.0 * SECONDS_PER_DAY else text[:10] if span > 4.0 * SECONDS_PER_DAY else text[5:]


@dataclass(frozen=True)
class DatePartScale(Scale):
    part: str = "month"

    def ticks(self, most: int) -> list[float]:
        whole = [float(k) for k in range(math.ceil(self.low), math.floor(self.high) + 1)]
        return whole[:: max(1, math.ceil(len(whole) / max(1, most)))]

    def text(self, value: float) -> str:
        from committee.data.derived_columns import part_text  # few axes have parts of dates

        return part_text(value, self.part) or super().text(value)


def format_number(value: float, digits: int = 4) -> str:
    size = abs(value)
    if size >= 1e9 or 0.0 < size < 1e-4:
        text = f"{value:.{digits - 1}g}"
    elif size >= 10.0 ** (digits - 1):
        text = f"{value:,.0f}"
    else:
        text = f"{value:.{digits}g}"
    return text.replace("-", "−")


def format_signed(value: float) -> str:
    return ("+" if value >= 0.0 else "") + format_number(value, 3)


def format_percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.0995 else f"{share:.1%}"
