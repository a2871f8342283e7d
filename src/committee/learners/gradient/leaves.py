"""Number of leaves of a boosted tree, by the rows that it is grown on."""

from __future__ import annotations

MORE_LEAVES = ((50_000, 63), (10_000, 31))
"""From how many rows on trees have more leaves than `LEAVES`, and how many; measured in docs/defaults.md."""
LEAVES = 15


def leaves_by_rows(n: float) -> int:
    """Return the most leaves of a tree on n rows.

    Examples
    --------
    >>> leaves_by_rows(500), leaves_by_rows(10_000), leaves_by_rows(1e6)
    (15, 31, 63)
    """
    return next((leaves for rows, leaves in MORE_LEAVES if n >= rows), LEAVES)
