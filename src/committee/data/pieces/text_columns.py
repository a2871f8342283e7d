"""Columns of files that are read as text though they look numeric, so that each value is a category of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from committee.data.pieces.parquet import ParquetFiles
from committee.data.pieces.piece import Piece
from committee.data.pieces.source import Source
from committee.data.pieces.text_files import TextFiles


@dataclass(frozen=True, eq=False)
class TypedFilesWithText:
    """Parquet files of which some columns are made text."""

    source: ParquetFiles
    text: tuple[str, ...]

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that are read."""
        return self.source.files

    @property
    def names(self) -> tuple[str, ...]:
        """Columns of the first file."""
        return self.source.names

    @property
    def n_rows(self) -> int:
        """Rows of all files."""
        return self.source.n_rows

    def pieces(self, columns: Sequence[str] | None) -> Iterator[Piece]:
        """Rows of one file after the other."""
        import polars as pl

        for piece in self.source.pieces(columns):
            table = piece.X
            for name in (name for name in self.text if name in table.column_names):
                cells = pl.DataFrame(table.select([name]))[name]
                if cells.dtype.is_nested():
                    raise ValueError(f"{piece.name}: column {name!r} holds {cells.dtype}, no text; leave it out")
                text = cells.cast(pl.String).to_arrow()
                # of the other columns polars would lose the order that pandas declares
                table = table.set_column(table.column_names.index(name), name, text)
            yield replace(piece, X=table)


def with_text(source: Source, names: Sequence[str]) -> Source:
    """Return files with these columns as text."""
    if not names:
        return source
    if isinstance(source, TextFiles):
        return replace(source, text=tuple(names))
    assert isinstance(source, ParquetFiles)
    return TypedFilesWithText(source, tuple(names))
