"""Time limits of commands that train."""

from __future__ import annotations


def check_time_limit(seconds: float | None) -> None:
    """Refuse a limit that leaves no time, before a table is read.

    Raises
    ------
    ValueError
        If it is no number above 0.

    Examples
    --------
    >>> check_time_limit(0.5), check_time_limit(None)
    (None, None)
    """
    if seconds is not None and not seconds > 0.0:
        raise ValueError(f"--time-limit {seconds:g} must be a number of seconds above 0")
