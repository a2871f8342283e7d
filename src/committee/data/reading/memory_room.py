"""How much memory the machine has, and what a table would take of it."""

from __future__ import annotations

import io
import os
from typing import BinaryIO

from committee.data.reading.table_file import TableFile

COPIES = 2
"""A table stands in memory twice: as a frame, and as the matrix that is made of it."""

MAX_LINE = 2**26
"""Longest line of a text file, in characters: twenty for each of three million columns."""


def memory() -> int:
    """Bytes of memory that the machine has; where it does not say, as many as one can address."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not on Windows
        return 2**63


def refuse_more_cells(rows: int, columns: int) -> None:
    """Raise ``ValueError`` for a table that the memory cannot hold: without memory a reader ends the process."""
    if (needed := COPIES * 8 * rows * columns) > memory():
        raise ValueError(
            f"its {rows:,} rows x {columns:,} columns need {needed / 2**30:,.0f} GiB of memory, of which this"
            f" machine has {memory() / 2**30:,.0f}; take fewer rows"
        )


def unpacked(file: TableFile, opened: BinaryIO, longest_line: int | None = None) -> io.BytesIO:
    """Unpack a file, which may be a thousand times as long: up to a line or a whole that no table needs.

    Raises
    ------
    ValueError
        If it takes more than half of the machine's memory, or has a line longer than `longest_line`.
    """
    whole, length = io.BytesIO(), 0
    while part := opened.read(MAX_LINE // 64):
        length = len(part) - part.rfind(b"\n") - 1 + (length if b"\n" not in part else 0)
        if longest_line is not None and length > longest_line:
            raise ValueError(too_long_a_line(file))
        if whole.tell() > memory() // 2:
            raise ValueError(f"{file} unpacks to more than half of this machine's memory; take fewer rows")
        whole.write(part)
    whole.seek(0)
    return whole


def too_long_a_line(file: TableFile) -> str:
    """Words of the error for a line that is too long."""
    return f"{file} has a line of more than {MAX_LINE:,} characters, which is no row of a table; correct it"
