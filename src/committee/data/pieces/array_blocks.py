"""Arrays, memory-mapped or not, as blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from committee.data.pieces.piece import Piece
from committee.data.pieces.source import rows_of_piece


@dataclass(frozen=True, eq=False)
class ArrayBlocks:
    """A two-dimensional array of numbers.

    Examples
    --------
    >>> import numpy as np
    >>> [piece.name for piece in ArrayBlocks(np.zeros((3, 2)), 2).pieces(None)]
    ['rows 0 to 1', 'row 2']
    """

    array: NDArray[Any]
    rows: int | None = None
    """Rows of a block; None: some 2 million cells."""

    def __post_init__(self) -> None:
        if self.array.ndim != 2:
            raise ValueError(f"scan was given an array of {self.array.ndim} dimensions; give one of rows and columns")

    @property
    def names(self) -> None:
        """Arrays have none."""

    def pieces(self, columns: Sequence[str] | None) -> Iterator[Piece]:
        """Blocks of rows."""
        n = len(self.array)
        step = self.rows or rows_of_piece(self.array.shape[1])
        for first in range(0, n, step):
            last = min(first + step, n)
            yield Piece(self.array[first:last], row_words(first, last))


def row_words(first: int, last: int) -> str:
    """Name the rows ``first, ..., last - 1``."""
    return f"rows {first} to {last - 1}" if last - first > 1 else f"row {first}"
