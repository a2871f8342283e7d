"""Time that a fit may take: whether another part of it should begin."""

from __future__ import annotations

import time


class OutOfTimeError(Exception):
    """No further part should begin."""


class TimeLimit:
    """Seconds for a fit of parts that take their time each.

    Parameters
    ----------
    seconds : float or None
        For all parts together; None: any time.
    begun : float
        When the fit began, by `time.perf_counter`.
    """

    def __init__(self, seconds: float | None, begun: float) -> None:
        self._seconds, self._begun = seconds, begun
        self._longest, self._last = 0.0, begun
        self.binding = False
        """Until something is ready, parts begin however late it is."""

    def check(self) -> None:
        """Begin a part.

        Raises
        ------
        OutOfTimeError
            If it would end too late, were it to take as long as the longest part so far.
        """
        now = time.perf_counter()
        self._longest, self._last = max(self._longest, now - self._last), now
        if self.binding and self._seconds is not None and now - self._begun + self._longest > self._seconds:
            raise OutOfTimeError
