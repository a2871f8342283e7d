"""Files of predictions: written at once, or part by part as rows in pieces are answered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from committee.files.writing import replacing

if TYPE_CHECKING:
    import polars as pl

ARROW = (".feather", ".arrow", ".ipc")


def check_ending(path: Path) -> None:
    """Refuse a file of a kind that is not written."""
    if not path.name.lower().endswith((".csv", ".csv.gz", ".parquet", *ARROW)):
        raise ValueError(f"{path} has an unknown ending; write .csv, .csv.gz, .parquet or .feather")


def write_predictions(frame: pl.DataFrame, path: Path) -> None:
    """Write all predictions at once, in the format of the file's ending."""
    import gzip

    name = path.name.lower()
    with replacing(path) as file:
        if name.endswith(".csv"):
            frame.write_csv(file)
        elif name.endswith(".csv.gz"):
            file.write(gzip.compress(frame.write_csv().encode(), mtime=0))
        elif name.endswith(".parquet"):
            frame.write_parquet(file)
        else:
            frame.write_ipc(file)


@contextmanager
def predictions_by_parts(path: Path) -> Iterator[Callable[[pl.DataFrame], None]]:
    """Open a file of predictions, which takes its place when all parts are written; what fails leaves nothing.

    Raises
    ------
    OSError
        Naming the file, such as where the disk is full.
    """
    try:
        with replacing(path) as file:
            name = path.name.lower()
            if name.endswith(".csv"):
                yield _text_parts(file)
            elif name.endswith(".csv.gz"):
                import gzip

                with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
                    yield _text_parts(packed)
            else:
                with _ArrowParts(file, parquet=name.endswith(".parquet")) as write:
                    yield write
    except OSError as error:
        if error.filename is None and error.errno is not None:
            raise OSError(error.errno, f"{error.strerror or error}; nothing is written", str(path)) from error
        raise


def _text_parts(file: Any) -> Callable[[pl.DataFrame], None]:
    header = True

    def write(frame: pl.DataFrame) -> None:
        nonlocal header
        file.write(frame.write_csv(include_header=header).encode())
        header = False

    return write


class _ArrowParts:
    """Parquet or Feather, a group of rows for each part; by pyarrow, as polars writes whole tables."""

    def __init__(self, file: BinaryIO, *, parquet: bool) -> None:
        try:
            import pyarrow.parquet  # noqa: F401
        except ImportError as error:
            raise ValueError(
                "predictions of pieces are written as Parquet or Feather by pyarrow, which is not installed:"
                " pip install pyarrow; or write .csv"
            ) from error
        self._file, self._parquet = file, parquet
        self._writer: Any = None
        self._open = ExitStack()

    def __enter__(self) -> Callable[[pl.DataFrame], None]:
        return self._write

    def __exit__(self, kind: Any, *error: Any) -> None:
        if kind is None:  # what has failed needs no end
            self._open.close()

    def _write(self, frame: pl.DataFrame) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = frame.to_arrow()
        if self._writer is None:
            make = pq.ParquetWriter if self._parquet else pa.ipc.new_file
            self._writer = self._open.enter_context(make(self._file, table.schema))
        self._writer.write_table(table)
