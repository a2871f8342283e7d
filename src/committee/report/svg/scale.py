"""From numbers to places in a picture, and the round numbers that its axes name."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from committee.data.number_types import F64

_FACTORS = ((1, 2, 3, 4, 5, 6, 7, 8, 9), (1, 2, 3, 4, 6, 8), (1, 2, 3, 5), (1, 2, 5), (1, 3), (1,))
"""Of powers of ten: what a logarithmic axis names, the first of these for which there is room."""


@dataclass(frozen=True)
class Scale:
    """A scale between two numbers, straight or logarithmic.

    Examples
    --------
    >>> scale = Scale.over([0.1, 0.93])
    >>> scale.ticks(5), [scale.text(tick) for tick in scale.ticks(5)]
    ([0.2, 0.4, 0.6, 0.8], ['0.2', '0.4', '0.6', '0.8'])
    >>> Scale(2.0, 20.0, log=True).ticks(6)
    [2.0, 3.0, 5.0, 10.0, 20.0]
    >>> Scale(2.7, 14.0, log=True).ticks(6)
    [3.0, 4.0, 6.0, 8.0, 10.0]
    """

    low: float
    high: float
    begin: float = 0.0
    """Where `low` is in the picture."""
    end: float = 1.0
    """Where `high` is."""
    percent: bool = False
    """Whether its numbers are shares, to be named in per cent."""
    log: bool = False
    """Whether equal steps are equal factors; its numbers are above 0."""

    @classmethod
    def over(cls, values: F64 | list[float], *, margin: float = 0.0, percent: bool = False, log: bool = False) -> Self:
        """A scale from the least to the largest of the values, and some share of the span more at both ends."""
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
        """The same scale somewhere in a picture."""
        return replace(self, begin=begin, end=end)

    def at(self, value: float) -> float:
        """Place of a number."""
        low, high = self.low, self.high
        if self.log:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return self.begin + (value - low) / (high - low) * (self.end - self.begin)

    @property
    def _zoom(self) -> float:
        return 100.0 if self.percent else 1.0

    def ticks(self, most: int) -> list[float]:
        """Round numbers on the scale, so many at most and two at least, if there are."""
        if not self.log:
            return self._steps(most)
        named = self._factors(most)
        # of a range such as 1,000 to 1,300 even steps name more
        return named if len(named) > 2 or self.high >= 10.0 * self.low else self._steps(most)

    def _steps(self, most: int) -> list[float]:
        span = self.high - self.low
        raw = span / max(1, most - 1)
        power = 10.0 ** math.floor(math.log10(raw))
        found: list[float] = []
        for step in (1.0, 2.0, 2.5, 5.0, 10.0):
            each = step * power
            first, last = math.ceil(self.low / each - 1e-9), math.floor(self.high / each + 1e-9)
            found = [float(f"{k * each:.12g}") for k in range(first, last + 1)]
            if len(found) <= most:
                break
        return found

    def _factors(self, most: int) -> list[float]:
        """Round numbers whose ratios are alike, those of many powers of ten left out evenly."""
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        found: list[float] = []
        for factors in _FACTORS:
            each = (float(f"{factor}e{power}") for power in powers for factor in factors)
            found = [value for value in each if self.low <= value <= self.high]
            if len(found) <= most:
                return found
        return found[:: math.ceil(len(found) / most)]

    def text(self, value: float) -> str:
        """A tick in words."""
        shown = value * self._zoom
        return f"{plain(shown)}%" if self.percent else plain(shown)


def plain(value: float, digits: int = 4) -> str:
    """A number as short as it is read: thousands separated, powers of ten only where they are far away.

    Examples
    --------
    >>> plain(123456.0), plain(0.25), plain(-3.0), plain(1.5e-7), plain(2e12)
    ('123,456', '0.25', '−3', '1.5e−07', '2e+12')
    """
    size = abs(value)
    if size >= 1e9 or 0.0 < size < 1e-4:
        text = f"{value:.{digits - 1}g}"
    elif size >= 10.0 ** (digits - 1):
        text = f"{value:,.0f}"
    else:
        text = f"{value:.{digits}g}"
    return text.replace("-", "−")
