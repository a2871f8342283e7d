"""Files of separated text, read in pieces by polars' streaming scan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from committee.data.extras import needed
from committee.data.pieces.lazy_frames import LazyFramePieces
from committee.data.pieces.piece import Piece
from committee.data.reading.cells import MISSING
from committee.data.reading.column_names import distinct_names
from committee.data.reading.file_format import UNSAID, FileFormat
from committee.data.reading.separated_text import SeparatedText, header_of, lines_without_cells
from committee.data.reading.table_file import named_in_utf_8, table_file

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False)
class TextFiles:
    """CSV or TSV files with the same columns, one after the other.

    A column has one type in all files: text where a cell of any file is text. So all of them are read for the types
    alone before the first piece.
    """

    files: tuple[Path, ...]
    text: tuple[str, ...] = ()
    """Columns to read as text though they look numeric."""
    form: FileFormat = UNSAID
    """What is known of how they are written."""

    def __post_init__(self) -> None:
        needed("polars", "reading text files in pieces")

    @cached_property
    def types(self) -> tuple[dict[str, pl.DataType], ...]:
        """Types of each file's columns, in their order there: those of all files, or such as hold those of all."""
        import polars as pl

        own = [_types_of(path, self.form) for path in self.files]
        common: dict[str, pl.DataType] = {}
        for path, types in zip(self.files, own, strict=True):
            if set(types) != set(own[0]):
                odd = sorted(set(types) ^ set(own[0]))[0]
                raise ValueError(f"{str(path)!r}: column {odd!r} is not in all files; scan files with the same columns")
            for name, dtype in _types_of_cells(path, self.form, types, own).items():
                common[name] = dtype if name not in common else _common(common[name], dtype)
        common |= {name: own[0][name] for name in own[0] if name not in common}
        common |= {name: pl.String() for name in self.text}
        return tuple({name: common[name] for name in types} for types in own)

    @property
    def names(self) -> tuple[str, ...]:
        """Columns of the first file."""
        return tuple(self.types[0])

    @property
    def separator(self) -> str:
        """What separates the cells of the first file."""
        return SeparatedText.of(table_file(self.files[0]), self.form).separator

    @cached_property
    def lines(self) -> tuple[tuple[int, Sequence[int]], ...]:
        """Of each file the number of its lines below the header, and which of them are blank; the files are read."""
        return tuple(_lines_of(path, self.form) for path in self.files)

    @property
    def n_rows(self) -> int:
        """Rows of all files; a blank line is none."""
        return sum(n - len(blank) for n, blank in self.lines)

    def pieces(self, columns: Sequence[str] | None) -> Iterator[Piece]:
        """Rows of one file after the other."""
        for path, types, (_, blank) in zip(self.files, self.types, self.lines, strict=True):
            with _errors_of(path):
                rows = LazyFramePieces(_scanned(path, self.form, blank, schema=types), repr(str(path)))
                for piece in rows.pieces(None):  # of fewer columns the scan would not see lines of too many cells
                    yield piece.with_columns(columns or self.names, ())

    def cells(self, columns: Sequence[str]) -> Iterator[Piece]:
        """Rows of one file after the other as the text that stands there, of which no word means missing."""
        for path, (_, blank) in zip(self.files, self.lines, strict=True):
            with _errors_of(path):
                rows = _scanned(path, self.form, blank, null_values=None, infer_schema=False)
                yield from LazyFramePieces(rows, repr(str(path))).pieces(columns)


def _types_of(path: Path, form: FileFormat) -> dict[str, pl.DataType]:
    text = SeparatedText.of(table_file(path), form)
    distinct_names(text.file, header_of(text))  # polars would rename those that are there twice
    with _errors_of(path):
        return dict(_scanned(path, form, infer_schema_length=None).collect_schema())


def _types_of_cells(
    path: Path, form: FileFormat, types: dict[str, pl.DataType], of_files: Sequence[dict[str, pl.DataType]]
) -> dict[str, pl.DataType]:
    """Types of the columns but of those that have no cell here and other types elsewhere: no cell is read as text."""
    import polars as pl

    asked = [
        name
        for name, dtype in types.items()
        if dtype == pl.String and any(other.get(name, dtype) != dtype for other in of_files)
    ]
    if not asked:
        return types
    with _errors_of(path):
        cells = _scanned(path, form, schema=types).select(pl.col(asked).count()).collect().row(0, named=True)
    return {name: dtype for name, dtype in types.items() if cells.get(name) != 0}


def _lines_of(path: Path, form: FileFormat) -> tuple[int, Sequence[int]]:
    """The number of lines below the header, and which are blank, which the scan takes for rows without cells."""
    import polars as pl

    text = SeparatedText.of(table_file(path), form)
    names = header_of(text)
    with _errors_of(path):
        empty = pl.all_horizontal(pl.all().is_null()).sum()
        n, n_empty = _scanned(path, form, infer_schema=False).select(pl.len(), empty.alias("")).collect().row(0)
    # in a file of one column a blank line is a missing cell; and rows of separators alone are rows
    return n, lines_without_cells(text, len(names)) if n_empty and len(names) > 1 else ()


def _scanned(path: Path, form: FileFormat, blank: Sequence[int] = (), **options: Any) -> pl.LazyFrame:
    """The query of a file's rows, without those of its lines that are `blank`."""
    import polars as pl

    text = SeparatedText.of(table_file(path), form)
    if not text.is_utf_8:
        raise ValueError(f"{str(path)!r} is {text.encoding} text; files that are read in pieces must be UTF-8")
    path = named_in_utf_8(path)
    options = {"null_values": [*MISSING, *form.missing], **options}
    if not blank:
        return pl.scan_csv(path, separator=text.separator, glob=False, **options)
    number = max(header_of(text), key=len) + "#"  # longer than the name of any column, so another one
    rows = pl.scan_csv(path, separator=text.separator, glob=False, row_index_name=number, **options)
    return rows.filter(~pl.col(number).is_in(blank)).drop(number)


@contextmanager
def _errors_of(path: Path) -> Iterator[None]:
    import polars as pl

    try:
        yield
    except (pl.exceptions.PolarsError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ValueError(f"{str(path)!r} cannot be read: {reason}") from error


def _common(one: pl.DataType, other: pl.DataType) -> pl.DataType:
    """The type that holds the cells of both."""
    import polars as pl

    if one == other:
        return one
    if one.is_numeric() and other.is_numeric():
        return pl.Float64()
    return pl.String()
