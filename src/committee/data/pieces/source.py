"""What a table in pieces is read from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from committee.data.pieces.piece import Piece

CELLS = 2**21
"""Cells of a piece, where a source leaves its size open: 16 MB as float64, which malloc keeps for the next one."""

LEAST_ROWS = 1024
"""Rows of a piece with many columns."""


class Source(Protocol):
    """A table that can be read piece by piece, as often as it is asked for, always in the same order of rows."""

    @property
    def names(self) -> tuple[str, ...] | None:
        """Column names where they are known without reading rows; else None."""

    def pieces(self, columns: Sequence[str] | None) -> Iterator[Piece]:
        """Read the pieces; of `columns` alone where the source has `names`, else with all columns."""


def rows_of_piece(n_columns: int) -> int:
    """Rows of a piece of so many columns.

    Examples
    --------
    >>> rows_of_piece(4)
    524288
    """
    return max(LEAST_ROWS, CELLS // max(1, n_columns))
