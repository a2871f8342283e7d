"""A figure of a model on some rows, with what it is to be compared with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Measured:
    """A figure of a model on some rows.

    Attributes
    ----------
    name : str
        In files, such as "log_loss".
    heading : str
        In tables.
    value : float
    remark : str, default=""
        What stands beside it: what it is to be compared with.
    interval : tuple (low, high), default=None
        What the figure of all such rows may be, with 95 % confidence; None where that is not told.
    """

    name: str
    heading: str
    value: float
    remark: str = ""
    interval: tuple[float, float] | None = None

    def words(self, text: Callable[[float], str]) -> str:
        """The interval, whose ends are spelled by `text`, and the remark."""
        between = "" if self.interval is None else " to ".join(map(text, self.interval)) + " with 95% confidence"
        return "; ".join(filter(None, [between, self.remark]))
