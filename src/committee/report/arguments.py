"""Validation of arguments of displays."""

from __future__ import annotations

from committee.data.number_types import is_whole


def check_most(name: str, given: object, *, none: str = "") -> None:
    """Refuse a number of things to draw that is below 1; `none` describes the selection of `None`, if it is allowed."""
    if (given is None and none) or (is_whole(given) and given >= 1):
        return
    what = name.removeprefix("max_")
    also = f", or None for {none}" if none else ""
    raise ValueError(f"{name}={given!r} is not a number of {what} to draw; give a whole number of 1 or more{also}")


def place(name: str, given: object, n: int) -> int:
    """Return an index of n things from 0 on; negative ones count from the last."""
    if not (is_whole(given) and -n <= given < n):
        raise ValueError(f"{name}={given!r} is not there; {name}s are numbered from 0 to {n - 1}, -1 is the last")
    return int(given) % n
