"""The separator of a text file, found out from its first lines."""

from __future__ import annotations

import csv
from collections.abc import Sequence

CANDIDATES = (",", ";", "\t", "|")

MOST_LINES = 200
"""Lines that are looked at."""


def recognised_separator(lines: Sequence[str], customary: str) -> str:
    """Return the separator by which all lines have the same number of cells, the most if several do so.

    Where none does, lines have one cell or the file is broken, and the customary one is returned.

    Parameters
    ----------
    lines : sequence of str
        The first lines, ends included, the header first.
    customary : str
        That of the file's ending.

    Examples
    --------
    >>> recognised_separator(["name;price\\n", "tea;1,50\\n"], ","), recognised_separator(["name\\n", "tea\\n"], ",")
    (';', ',')
    """
    others = [mark for mark in CANDIDATES if mark != customary]
    cells = {mark: _cells(lines, mark) for mark in (customary, *others)}
    best = max(cells, key=lambda mark: cells[mark])  # the customary one is the first of equals
    return best if cells[best] > 1 else _of_header(lines, customary, others)


def _cells(lines: Sequence[str], mark: str) -> int:
    """Number of cells that all lines have; 0 if not all have the same."""
    try:
        found = {len(row) for row in csv.reader(lines, delimiter=mark) if row}
    except csv.Error:
        return 0
    return found.pop() if len(found) == 1 else 0


def _of_header(lines: Sequence[str], customary: str, others: Sequence[str]) -> str:
    """The separator of the header alone, so that a broken line below is named with what it should have."""
    header = next(csv.reader(lines[:1]), [])
    if not lines or len(header) > 1 or len(next(csv.reader(lines[:1], delimiter=customary), [])) > 1:
        return customary
    return next((mark for mark in others if len(next(csv.reader(lines[:1], delimiter=mark), [])) > 1), customary)
