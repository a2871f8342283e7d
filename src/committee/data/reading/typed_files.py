"""Formats that bring their types along: Parquet, Feather, JSON lines and spreadsheets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from committee.data.reading import memory_room
from committee.data.reading.memory_room import unpacked
from committee.data.reading.separated_text import first_line
from committee.data.reading.table_file import BROKEN, TableFile, named_in_utf_8

if TYPE_CHECKING:
    import polars as pl


def read_typed(file: TableFile) -> pl.DataFrame:
    """Read Parquet, Feather or JSON lines.

    Raises
    ------
    ValueError
        If the file is broken, or holds more than the memory does.
    """
    if file.kind == "lines":
        return _read_lines(file)
    import polars as pl

    name = "Parquet" if file.kind == "parquet" else "Feather (Arrow IPC)"
    with _errors(file, name):
        if file.packing is not None:
            with file.opened() as opened:
                source = unpacked(file, opened)
            scanned = pl.scan_parquet(source) if file.kind == "parquet" else pl.scan_ipc(source)
        elif file.kind == "parquet":
            scanned = pl.scan_parquet(named_in_utf_8(file.path), glob=False)
        else:
            scanned = pl.scan_ipc(named_in_utf_8(file.path), glob=False)
        # a few bytes can stand for any number of equal rows, and without memory the reader ends the process
        rows, columns = scanned.select(pl.len()).collect().item(), len(scanned.collect_schema())
        memory_room.refuse_more_cells(rows, columns)
        return scanned.collect()


def _read_lines(file: TableFile) -> pl.DataFrame:
    """Read an object a line, whose names are the columns."""
    import polars as pl

    with _errors(file, "JSON lines"), file.opened() as opened:
        return pl.read_ndjson(unpacked(file, opened), infer_schema_length=None)


@contextmanager
def _errors(file: TableFile, kind: str) -> Iterator[None]:
    import polars as pl

    try:
        yield
    except PermissionError:
        raise
    # polars' reader panics on some broken files, which is no Exception
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, ValueError, *BROKEN) as error:
        raise ValueError(f"{file} cannot be read as {kind}: {first_line(error)}") from error
