"""Amounts of memory as text."""

from __future__ import annotations

import re
from numbers import Real

_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_UNITS |= {"kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}


def bytes_of(limit: float | str, name: str = "memory_limit") -> float:
    """Read an amount of memory: bytes, or text with a unit.

    Raises
    ------
    ValueError
        If it is no number above 0, or text of such a one, naming the parameter.

    Examples
    --------
    >>> bytes_of("3 GB"), bytes_of("1.5GiB"), bytes_of(2e6)
    (3000000000.0, 1610612736.0, 2000000.0)
    """
    if isinstance(limit, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-z]*)\s*", limit.lower())
        amount = float(found[1]) * _UNITS.get(found[2], 0) if found else 0.0
    else:
        amount = float(limit) if isinstance(limit, Real) and not isinstance(limit, bool) else 0.0
    if not amount > 0.0:
        raise ValueError(f"{name}={limit!r} is no amount of memory; give bytes, or text such as '3 GB' or '500 MiB'.")
    return amount


def text_of(amount: float) -> str:
    """Write bytes as text of three digits that is no less.

    Examples
    --------
    >>> text_of(3e9), text_of(1_234_001), text_of(999)
    ('3 GB', '1.24 MB', '1 kB')
    """
    power = max(1, next((k for k in range(1, 5) if amount <= 999.0 * 1000.0**k), 4))
    scaled, unit = amount / 1000.0**power, ("kB", "MB", "GB", "TB")[power - 1]
    digits = 0 if scaled > 99.0 else 1 if scaled > 9.9 else 2
    rounded = -(-round(scaled * 10**digits, 9) // 1) / 10**digits
    return f"{rounded:.{digits}f}".rstrip("0").rstrip(".") + f" {unit}" if digits else f"{rounded:.0f} {unit}"
