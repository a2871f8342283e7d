"""Columns that identify the rows of a table: row numbers, keys, and text that mostly differs."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

LEAST_ROWS = 20  # in smaller tables few measurements may all differ, and be sorted
DISTINCT_TEXT = 0.95  # text with a larger share of distinct values identifies the rows

_NAME = re.compile(
    r"(^|[^a-z])(id|ids|uuid|guid|pk)([^a-z]|$)"
    r"|(^|[^a-z])(no|nr|number|key)[^a-z]*$"  # a number of something is a count
    r"|^(row.?)?(index|idx)$"
)


def is_named_like_an_identifier(name: str) -> bool:
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    return not name or name.startswith("Unnamed: ") or _NAME.search(words) is not None


def text_reason(n_distinct: int, n: float) -> str | None:
    if n < LEAST_ROWS or n_distinct <= DISTINCT_TEXT * n:
        return None
    return f"is text with {n_distinct:,} different values in {n:,.0f} rows"


def whole_number_reason(name: str, cells: NDArray[np.integer]) -> str | None:
    n = len(cells)
    if n < LEAST_ROWS or len(np.unique(cells)) < n:
        return None
    if (np.diff(cells) == cells[1] - cells[0]).all():  # also where differences exceed 64 bits, as these wrap around
        return "counts the rows"
    if int(cells.max()) - int(cells.min()) == n - 1:
        return f"holds each of {n:,} consecutive numbers once"
    return f"has another number in each of the {n:,} rows" if is_named_like_an_identifier(name) else None
