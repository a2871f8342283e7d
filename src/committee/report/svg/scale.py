"""From numbers to places in a picture, and the round numbers that its axes name."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from committee.data.number_types import F64


@dataclass(frozen=True)
class Scale:
    """A straight scale between two numbers.

    Examples
    --------
    >>> scale = Scale.over([0.1, 0.93])
    >>> scale.ticks(5), [scale.text(tick) for tick in scale.ticks(5)]
    ([0.2, 0.4, 0.6, 0.8], ['0.2', '0.4', '0.6', '0.8'])
    """

    low: float
    high: float
    begin: float = 0.0
    """Where `low` is in the picture."""
    end: float = 1.0
    """Where `high` is."""
    percent: bool = False
    """Whether its numbers are shares, to be named in per cent."""

    @classmethod
    def over(cls, values: F64 | list[float], *, margin: float = 0.0, percent: bool = False) -> Self:
        """A scale from the least to the largest of the values, and some share of the span more at both ends."""
        finite = np.asarray(values, dtype=np.float64)
        finite = finite[np.isfinite(finite)]
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
        if low == high:
            aside = abs(low) / 2.0 or 0.5
            low, high = low - aside, high + aside
        beyond = margin * (high - low)
        return cls(low - beyond, high + beyond, percent=percent)

    def placed(self, begin: float, end: float) -> Scale:
        """The same scale somewhere in a picture."""
        return replace(self, begin=begin, end=end)

    def at(self, value: float) -> float:
        """Place of a number."""
        return self.begin + (value - self.low) / (self.high - self.low) * (self.end - self.begin)

    @property
    def _zoom(self) -> float:
        return 100.0 if self.percent else 1.0

    def ticks(self, most: int) -> list[float]:
        """Round numbers on the scale, so many at most and two at least, if there are."""
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
