"""Lazy frames of polars, collected some rows at a time by its streaming engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from committee.data.names import hint_of_names
from committee.data.pieces.array_blocks import row_words
from committee.data.pieces.piece import Piece
from committee.data.pieces.source import rows_of_piece
from committee.data.reading.separated_text import first_line

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False)
class LazyFramePieces:
    """A LazyFrame, whose query runs once for each pass.

    Examples
    --------
    >>> import polars as pl
    >>> source = LazyFramePieces(pl.LazyFrame({"age": [31, 40], "city": ["Oslo", "Bern"]}))
    >>> [(piece.name, piece.X.columns) for piece in source.pieces(["age"])]
    [('rows 0 to 1', ['age'])]
    """

    frame: pl.LazyFrame
    of: str = ""
    """What errors and the pieces' names begin with, where the query is not the user's."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Columns of the query's result."""
        with self._errors():
            return tuple(self.frame.collect_schema().names())

    def pieces(self, columns: Sequence[str] | None) -> Iterator[Piece]:
        """Rows in the order of the query."""
        wanted = list(self.names if columns is None else columns)
        for name in wanted:
            if name not in self.names:
                raise ValueError(f"there is no column {name!r}; {hint_of_names(name, self.names)}")
        chosen, size, first = self.frame.select(wanted), rows_of_piece(len(wanted)), 0
        before = f"{self.of}, " if self.of else ""
        with self._errors():
            for frame in chosen.collect_batches(chunk_size=size, maintain_order=True):
                for begin in range(0, frame.height, size):
                    rows = frame.slice(begin, size)
                    last = first + rows.height
                    yield Piece(rows, f"{before}{row_words(first, last)}")
                    first = last

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Say in one line what polars says in several, with the plan of the query."""
        import polars as pl

        try:
            yield
        except pl.exceptions.PolarsError as error:
            raise ValueError(f"{self.of or 'the LazyFrame'} cannot be read: {first_line(error)}") from error
