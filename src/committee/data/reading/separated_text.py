"""Separated text as a frame: rows of a wrong length are refused, and types are those of whole columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING

import numpy as np

from committee.data.reading import memory_room
from committee.data.reading.cells import MISSING, as_numbers
from committee.data.reading.column_names import distinct_names
from committee.data.reading.file_format import FileFormat
from committee.data.reading.memory_room import too_long_a_line, unpacked
from committee.data.reading.separator import MOST_LINES, recognised_separator
from committee.data.reading.table_file import BROKEN, SEPARATORS, TableFile, named_in_utf_8

if TYPE_CHECKING:
    import polars as pl

_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
"""Marks at the beginning of a file that say how the bytes of its characters are ordered."""


@dataclass(frozen=True)
class SeparatedText:
    """A text file, its encoding and the separator of its cells.

    Parameters
    ----------
    file : TableFile
        The file.
    separator : str
        Between cells.
    encoding : str
        As Python names it.
    recognised : bool
        Whether the separator is another than is customary, and nobody has given it.
    """

    file: TableFile
    separator: str
    encoding: str
    recognised: bool = False
    missing: tuple[str, ...] = ()
    """Texts of cells that the user takes for missing."""

    @classmethod
    def of(cls, file: TableFile, form: FileFormat) -> SeparatedText:
        """Find out the encoding and the separator, where they are not given.

        Raises
        ------
        ValueError
            If the first lines are no text of the encoding, or have no end.
        """
        with file.opened() as opened, _errors(file):
            begins = opened.read(2)
        encoding = form.encoding or ("utf-16" if begins in _UTF_16 else "utf-8-sig")
        if encoding.lower().replace("_", "-") in ("utf-8", "utf8"):
            encoding = "utf-8-sig"  # a mark at the beginning is no letter of the first name
        customary = SEPARATORS[file.ending]
        text = cls(file, form.separator or customary, encoding, missing=form.missing)
        if form.separator is not None:
            return text
        with text.opened() as lines:
            found = recognised_separator(list(_some(text.lines(lines))), customary)
        return replace(text, separator=found, recognised=found != customary)

    @property
    def is_utf_8(self) -> bool:
        """Whether other readers can take the file as it is."""
        return self.encoding == "utf-8-sig"

    @contextmanager
    def opened(self) -> Iterator[IO[str]]:
        """Its text; errors of the encoding and of packed files are ``ValueError``."""
        with self.errors(), self.file.opened() as opened:
            yield io.TextIOWrapper(opened, self.encoding, newline="")

    @contextmanager
    def errors(self, row: int | None = None) -> Iterator[None]:
        """Name the file in an error of its encoding, or of its being packed."""
        with _errors(self.file):
            try:
                yield
            except UnicodeError as error:
                raise ValueError(self.not_decoded()) from error

    def not_decoded(self, place: str = "") -> str:
        """Words of the error for bytes that are no text."""
        if not self.is_utf_8:
            return f"{self.file} is not {self.encoding} text{place}; give the right encoding by --encoding"
        return (
            f"{self.file} is not UTF-8 text{place}; say what it is, e.g. --encoding cp1252 for a file of Windows in"
            " Western Europe, or convert it, e.g. with iconv"
        )

    def lines(self, opened: IO[str]) -> Iterator[str]:
        """Lines, none of which may be too long."""
        longest = memory_room.MAX_LINE
        while line := opened.readline(longest + 1):
            if len(line) > longest:
                raise ValueError(too_long_a_line(self.file))
            yield line

    def as_utf_8(self) -> io.BytesIO:
        """The whole of it, unpacked, in UTF-8."""
        with self.file.opened() as opened, self.errors():
            whole = unpacked(self.file, opened, memory_room.MAX_LINE)
            if self.is_utf_8:
                return whole
            return io.BytesIO(whole.read().decode(self.encoding).encode())


def _some(lines: Iterator[str]) -> Iterator[str]:
    for _, line in zip(range(MOST_LINES), lines, strict=False):
        yield line


@contextmanager
def _errors(file: TableFile) -> Iterator[None]:
    try:
        yield
    except BROKEN as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise ValueError(f"{file} cannot be read: {first_line(error)}") from error


def read_separated(text: SeparatedText, as_text: Iterable[str] = ()) -> pl.DataFrame:
    """Read separated text, refuse rows of a wrong length, and find out the types, but for columns wanted `as_text`.

    Raises
    ------
    ValueError
        If the file is broken, or has no header that names each column once.
    """
    import polars as pl

    header = header_of(text)
    names = distinct_names(text.file, header)
    texts = set(as_text).intersection(names)
    plain = text.file.packing is None and text.is_utf_8
    try:
        frame = pl.read_csv(
            named_in_utf_8(text.file.path) if plain else text.as_utf_8(),
            separator=text.separator,
            null_values=[*MISSING, *text.missing],
            infer_schema_length=None,
            schema_overrides=dict.fromkeys(map(_quotes_doubled, texts), pl.String),
            glob=False,
        )
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, *BROKEN) as error:
        lines_without_cells(text, len(names))
        raise ValueError(f"{text.file} cannot be read: {first_line(error)}") from error
    # the reader gives names of its own to those that are there twice, which only empty ones may be
    if len(set(header)) == len(header) and frame.columns != list(map(_quotes_doubled, names)):
        raise ValueError(f"{text.file} has an unreadable first line; it must hold the column names")
    frame.columns = names
    frame = _without_blank_lines(text, frame)
    # a frame's schema, and a column by its name, take time that grows with the number of columns
    inferred = [column for column in frame.get_columns() if column.dtype == pl.String and column.name not in texts]
    read = ((as_numbers(column), column) for column in inferred)
    return frame.with_columns(number for number, column in read if number.null_count() == column.null_count())


def read_texts(text: SeparatedText, names: Sequence[str]) -> pl.DataFrame:
    """Read some columns, of a file that has been read before, as the text that stands there."""
    import polars as pl

    plain = text.file.packing is None and text.is_utf_8
    at = [j for j, name in enumerate(distinct_names(text.file, header_of(text))) if name in set(names)]
    frame = pl.read_csv(
        named_in_utf_8(text.file.path) if plain else text.as_utf_8(),
        separator=text.separator,
        null_values=[*MISSING, *text.missing],
        infer_schema=False,
        columns=at,
        glob=False,
    )
    frame.columns = [name for name in distinct_names(text.file, header_of(text)) if name in set(names)]
    return frame


def read_cells(text: SeparatedText, names: Sequence[str]) -> pl.DataFrame:
    """Read some columns, of a file that has been read before, as text in which no word means missing.

    The rows are those of `read_separated`, which leaves out blank lines.
    """
    import polars as pl

    header = distinct_names(text.file, header_of(text))
    plain = text.file.packing is None and text.is_utf_8
    frame = pl.read_csv(
        named_in_utf_8(text.file.path) if plain else text.as_utf_8(),
        separator=text.separator,
        infer_schema=False,
        glob=False,
    )
    frame.columns = header
    return _without_blank_lines(text, frame).select(name for name in header if name in set(names))


def _without_blank_lines(text: SeparatedText, frame: pl.DataFrame) -> pl.DataFrame:
    """Leave out blank lines, which the reader takes for rows without cells; raise at a line that is too short."""
    import polars as pl

    # short rows are filled up with null, so they can only be where the last column has one
    if not frame.height or frame.width < 2 or not frame[frame.columns[-1]].null_count():
        return frame
    blank = lines_without_cells(text, frame.width)
    return frame.filter(~pl.Series(np.isin(np.arange(frame.height), blank))) if blank else frame


def _quotes_doubled(name: str) -> str:
    """Spell a column name as the CSV reader leaves it."""
    return name.replace('"', '""')


def header_of(text: SeparatedText) -> tuple[str, ...]:
    """Return the column names as they are; polars would rename duplicates.

    Raises
    ------
    ValueError
        If there are none, or the line is none that can be read.
    """
    file, taken = text.file, list[str]()

    def lines(opened: IO[str]) -> Iterator[str]:
        for line in text.lines(opened):
            taken.append(line)
            yield line

    with text.opened() as opened:
        try:
            names = next(csv.reader(lines(opened), delimiter=text.separator), [])
        except csv.Error as error:
            raise ValueError(f"{file} cannot be read: {first_line(error)}") from error
    if taken and taken[-1].endswith("\r"):
        raise ValueError(
            f"{file} ends its lines by carriage returns alone, as no system does any more; end them by line feeds,"
            " e.g. with tr '\\r' '\\n'"
        )
    if any("\0" in name for name in names):  # as UTF-16 without a mark looks
        raise ValueError(text.not_decoded())
    if not names:
        raise ValueError(f"{file} has an empty first line; it must hold the column names")
    stray = next((name for name in names if '"' in name and f'"{_quotes_doubled(name)}"' not in "".join(taken)), None)
    if stray is not None:
        raise ValueError(
            f"{file} has a stray quotation mark in the column name {stray!r}; remove it, or double it and put the name"
            " in quotation marks"
        )
    return tuple(names)


def lines_without_cells(text: SeparatedText, n_columns: int) -> Sequence[int]:
    """Return which rows of a text file are blank lines; raise at one with a wrong number of cells."""
    blank = []
    row = 0
    try:
        with text.file.opened() as opened:
            reader = csv.reader(io.TextIOWrapper(opened, text.encoding, newline=""), delimiter=text.separator)
            next(reader)
            for row, cells in enumerate(reader):
                if not cells:
                    blank.append(row)
                elif len(cells) != n_columns:
                    raise ValueError(
                        f"{text.file} has {len(cells)} cells in line {reader.line_num}, but {n_columns} column names;"
                        " correct that line, or name the separator with --sep if it is another than"
                        f" {text.separator!r}"
                    )
    except UnicodeError as error:
        raise ValueError(text.not_decoded(f" (row {row + 1})")) from error
    except (*BROKEN, csv.Error) as error:
        raise ValueError(f"{text.file} cannot be read at row {row + 1}: {first_line(error)}") from error
    return blank


def first_line(error: BaseException) -> str:
    """First line of an error's message."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
