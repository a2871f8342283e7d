"""Numbers as places along an axis, in percent, and the round numbers to name there."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, log10


@dataclass(frozen=True)
class Scale:
    """An axis from one number to a greater one.

    Examples
    --------
    >>> scale = Scale.around([0.81, 0.99])
    >>> [f"{text} at {at:.0f}%" for at, text in scale.ticks(4)]
    ['0.80 at 2%', '0.85 at 26%', '0.90 at 50%', '0.95 at 74%', '1.00 at 98%']
    >>> Scale(10.0, 1000.0, log=True).at(100.0)
    50.0
    """

    low: float
    high: float
    log: bool = False

    @classmethod
    def around(cls, values: list[float], *, log: bool = False) -> Scale:
        """A scale with a little room on either side of values."""
        low, high = min(values), max(values)
        if log:
            return cls(low / 1.5, high * 1.5, log=True)
        room = 0.08 * (high - low) or 0.05 * abs(high) or 1.0
        return cls(low - room, high + room)

    def at(self, value: float) -> float:
        """Place of a value, in percent from the low end."""
        if self.log:
            return 100.0 * (log10(value) - log10(self.low)) / (log10(self.high) - log10(self.low))
        return 100.0 * (value - self.low) / (self.high - self.low)

    def ticks(self, most: int) -> list[tuple[float, str]]:
        """Places and texts of round numbers, about as many as asked for."""
        return [(self.at(value), text) for value, text in (self._powers(most) if self.log else self._steps(most))]

    def _steps(self, most: int) -> list[tuple[float, str]]:
        rough = (self.high - self.low) / most
        power = 10.0 ** floor(log10(rough))
        step = min((factor * power for factor in (1.0, 2.0, 5.0, 10.0)), key=lambda each: abs(each - rough))
        decimals = max(0, -floor(log10(step) + 1e-9))
        first, last = ceil(self.low / step - 1e-9), floor(self.high / step + 1e-9)
        return [(i * step, f"{i * step:,.{decimals}f}") for i in range(first, last + 1)]

    def _powers(self, most: int) -> list[tuple[float, str]]:
        """Of 1, 2 and 5 times powers of ten, or fewer, as many as there is room for."""
        powers = range(floor(log10(self.low)), ceil(log10(self.high)) + 1)
        for factors in ((1, 2, 5), (1, 3), (1,)):
            found = [f * 10.0**p for p in powers for f in factors if self.low <= f * 10.0**p <= self.high]
            if len(found) <= most:
                break
        return [(value, f"{value:,.0f}" if value >= 1.0 else f"{value:g}") for value in found]
