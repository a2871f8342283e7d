"""Cells as they stand in files, given out for as many rows as other pieces of the same files have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from committee.data.pieces.source import Source
from committee.data.pieces.text_files import TextFiles

if TYPE_CHECKING:
    import polars as pl


class CellsAlongside:
    """Some columns of files: the text of text files, of others the values in their own types.

    The files are read once more, beside the pass over the columns that a model learned from, which may be the same
    columns as numbers.

    Parameters
    ----------
    source : Source
        Files, as they are opened.
    names : sequence of str
        Columns; none: nothing is read.
    """

    def __init__(self, source: Source, names: Sequence[str]) -> None:
        self._names = list(names)
        self._frames = _frames(source, self._names)
        self._left: pl.DataFrame | None = None

    def next_rows(self, n: int) -> pl.DataFrame:
        """The next `n` rows.

        Raises
        ------
        ValueError
            If there are not so many.
        """
        import polars as pl

        if not self._names:
            return pl.DataFrame()
        parts: list[pl.DataFrame] = []
        while n:
            if self._left is None or not self._left.height:
                self._left = next(self._frames, None)
                if self._left is None:
                    raise ValueError(
                        "the files have fewer rows than a moment ago; leave them alone while they are read"
                    )
            part, self._left = self._left[:n], self._left[n:]
            parts.append(part)
            n -= part.height
        return pl.concat(parts, how="vertical_relaxed")


def _frames(source: Source, names: Sequence[str]) -> Iterator[pl.DataFrame]:
    import polars as pl

    pieces = source.cells(names) if isinstance(source, TextFiles) else source.pieces(names)
    for piece in pieces:
        yield pl.DataFrame(piece.X)
