"""Numbers of things in words."""

from __future__ import annotations


def counted(n: int, one: str, several: str = "") -> str:
    """Return a number with its noun; several of them end in s, unless said otherwise.

    Examples
    --------
    >>> counted(1, "row"), counted(1200, "row"), counted(2, "class", "classes")
    ('1 row', '1,200 rows', '2 classes')
    """
    return f"{n:,} {one if n == 1 else several or one + 's'}"
