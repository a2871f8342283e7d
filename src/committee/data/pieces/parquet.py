"""Parquet files, read some rows of a row group at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from committee.data.frame_columns import refuse_duplicates
from committee.data.names import hint_of_names
from committee.data.pieces.array_blocks import row_words
from committee.data.pieces.folder_columns import FolderColumns
from committee.data.pieces.piece import Piece
from committee.data.pieces.source import rows_of_piece
from committee.data.reading.table_file import named_in_utf_8

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
    of_folders: FolderColumns = field(default_factory=FolderColumns)
    """Columns in the names of folders; such as are in the first file, too, are read there."""

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
        """Columns of the first file, and those that names of folders give."""
        return (*self._names_in_files, *self._added.names)

    @cached_property
    def _names_in_files(self) -> tuple[str, ...]:
        with _opened(self.files[0]) as file:
            names: list[str] = file.schema_arrow.names
        refuse_duplicates(names)
        return tuple(names)

    @cached_property
    def _added(self) -> FolderColumns:
        return self.of_folders.without(self._names_in_files)

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
        added = self._added.names
        wanted = list(self.names if columns is None else columns)
        in_files = [name for name in wanted if name not in added]
        for number, path in enumerate(self.files):
            first = 0
            with _opened(path) as file:
                self._check_columns(path, file.schema_arrow.names, None if columns is None else in_files)
                for batch in _batches(path, file, rows_of_piece(len(wanted)), in_files):
                    table, last = self._with_added(number, batch, wanted), first + len(batch)
                    yield Piece(table, f"{str(path)!r}, {row_words(first, last)}")
                    first = last

    def _with_added(self, number: int, batch: pa.RecordBatch, wanted: list[str]) -> pa.Table:
        """Rows of a file with columns in the order that is wanted, those of folders among them."""
        import pyarrow as pa

        fields = [pa.field(name, pa.null()) if name in self._added.names else batch.field(name) for name in wanted]
        cells = [
            self._added.cells(number, name, len(batch)) if name in self._added.names else batch[name] for name in wanted
        ]
        fields = [each.with_type(values.type) for each, values in zip(fields, cells, strict=True)]
        return pa.Table.from_arrays(cells, schema=pa.schema(fields, batch.schema.metadata))

    def _check_columns(self, path: Path, names: Sequence[str], wanted: Sequence[str] | None) -> None:
        """Raise if a file lacks columns that are read of it, or has other ones where all are read."""
        refuse_duplicates(names)
        missing = [name for name in wanted or () if name not in names]
        if missing and missing[0] in self._names_in_files:
            raise ValueError(f"{str(path)!r}: there is no column {missing[0]!r}, which other files have")
        if missing:
            raise ValueError(
                f"{str(path)!r}: there is no column {missing[0]!r}; {hint_of_names(missing[0], self.names)}"
            )
        of_both = [name for name in self._added.names if name in names]
        if of_both or (wanted is None and set(names) != set(self._names_in_files)):
            odd = of_both[0] if of_both else sorted(set(names) ^ set(self._names_in_files))[0]
            raise ValueError(
                f"{str(path)!r}: column {odd!r} is not in all files; choose columns that are, with columns="
            )


def _batches(path: Path, file: pq.ParquetFile, size: int, columns: list[str]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    try:
        yield from file.iter_batches(batch_size=size, columns=columns)
    except pa.ArrowException as error:
        raise ValueError(f"{str(path)!r} cannot be read as Parquet: {error}") from error


@contextmanager
def _opened(path: Path) -> Iterator[pq.ParquetFile]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # by default all row groups are read ahead, which takes the file's size of memory
        file = pq.ParquetFile(named_in_utf_8(path), pre_buffer=False, buffer_size=_BUFFER)
    except pa.ArrowException as error:
        raise ValueError(f"{str(path)!r} cannot be read as Parquet: {error}") from error
    with file:
        yield file
