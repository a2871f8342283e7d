"""Parquet files, read some rows of a row group at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from committee.data.pieces.array_blocks import row_words
from committee.data.pieces.piece import Piece
from committee.data.pieces.source import rows_of_piece

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_BUFFER = 2**20
"""Bytes of a column that are read from the disk at a time."""


@dataclass(frozen=True, eq=False)
class ParquetFiles:
    """Files with the same columns, one after the other.

    Raises
    ------
    ImportError
        Without pyarrow.
    """

    files: tuple[Path, ...]

    def __post_init__(self) -> None:
        try:
            import pyarrow.parquet  # noqa: F401
        except ImportError as error:
            raise ImportError(
                "Parquet files are read in pieces by pyarrow, which is not installed: pip install pyarrow; or give "
                f"polars.scan_parquet({str(self.files[0])!r})"
            ) from error

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Columns of the first file."""
        with _opened(self.files[0]) as file:
            return tuple(file.schema_arrow.names)

    @cached_property
    def n_rows(self) -> int:
        """Rows of all files, as they say at their end."""
        count = 0
        for path in self.files:
            with _opened(path) as file:
                count += file.metadata.num_rows
        return count

    def pieces(self, columns: Sequence[str] | None) -> Iterator[Piece]:
        """Rows of one file after the other."""
        import pyarrow as pa

        try:
            yield from self._pieces(columns)
        finally:
            pa.default_memory_pool().release_unused()  # some 100 MB of buffers, that a fit has better uses for

    def _pieces(self, columns: Sequence[str] | None) -> Iterator[Piece]:
        import pyarrow as pa

        for path in self.files:
            first = 0
            with _opened(path) as file:
                names = file.schema_arrow.names
                if columns is not None and (missing := [name for name in columns if name not in names]):
                    raise ValueError(f"{str(path)!r}: there is no column {missing[0]!r}, which other files have")
                if columns is None and set(names) != set(self.names):
                    odd = sorted(set(names) ^ set(self.names))[0]
                    raise ValueError(
                        f"{str(path)!r}: column {odd!r} is not in all files; choose columns that are, with columns="
                    )
                size = rows_of_piece(len(names if columns is None else columns))
                for batch in _batches(path, file, size, list(self.names if columns is None else columns)):
                    table = pa.Table.from_batches([batch])
                    last = first + len(batch)
                    yield Piece(table, f"{str(path)!r}, {row_words(first, last)}")
                    first = last


def _batches(path: Path, file: pq.ParquetFile, size: int, columns: list[str]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    try:
        for batch in file.iter_batches(batch_size=size, columns=columns):
            yield batch.select(columns)  # files may have them in another order
    except pa.ArrowException as error:
        raise ValueError(f"{str(path)!r} cannot be read as Parquet: {error}") from error


@contextmanager
def _opened(path: Path) -> Iterator[pq.ParquetFile]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # by default all row groups are read ahead, which takes the file's size of memory
        file = pq.ParquetFile(path, pre_buffer=False, buffer_size=_BUFFER)
    except pa.ArrowException as error:
        raise ValueError(f"{str(path)!r} cannot be read as Parquet: {error}") from error
    with file:
        yield file
