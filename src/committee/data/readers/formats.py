"""Separated text, Parquet, Feather and JSON lines as polars frames."""

from __future__ import annotations

import csv
import functools
import io
import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from committee.data.readers import file_format
from committee.data.readers.cells import MISSING, parse_plain_numbers, text_columns
from committee.data.readers.file_format import (
    BROKEN,
    SEPARATORS,
    FileFormat,
    TableFile,
    are_aligned,
    candidate_separators,
    cells_per_line,
    check_utf_8_path,
    detect_separator,
    is_number,
    lines_above_names,
    long_line_message,
    may_be_in_numbers,
    read_unpacked,
)
from committee.data.text import quoted

if TYPE_CHECKING:
    import polars as pl

_BYTE_ORDER_MARKS = (b"\xff\xfe", b"\xfe\xff")  # of UTF-16
_MOST_LINES = 200  # lines by which the separator is detected
NO_HEADER = "--no-header names the columns column_1, column_2, ..."
_NAMELESS = "\0nameless "  # prefix of temporary names of the second and further columns without a name


@dataclass(frozen=True)
class SeparatedText:
    file: TableFile
    separator: str
    encoding: str
    recognised: bool = False  # whether the separator was detected and is not the usual one of the file's ending
    missing: tuple[str, ...] = ()  # cells that the user takes for missing
    above: tuple[str, ...] = ()  # lines before the column names
    comment: str | None = None  # start of lines that are left out
    header: bool = True  # whether the first line holds the column names
    numbered: bool = False  # whether columns without names are numbered as those of a model
    aligned: bool = False  # whether runs of blanks separate the cells, read as if they were tabs

    @classmethod
    def of(cls, file: TableFile, form: FileFormat) -> SeparatedText:
        with file.opened() as opened, _errors(file):
            begins = opened.read(2)
        encoding = form.encoding or ("utf-16" if begins in _BYTE_ORDER_MARKS else "utf-8-sig")
        if encoding.lower().replace("_", "-") in ("utf-8", "utf8"):
            encoding = "utf-8-sig"  # a byte order mark is no letter of the first name
        usual = SEPARATORS[file.ending]
        text = cls(file, form.separator or usual, encoding, missing=form.missing, comment=form.comment)
        with text.opened() as opened:
            lines = list(islice(text.lines(opened), _MOST_LINES + (form.skip_lines or 0)))
        n_above = form.skip_lines or 0
        header = any("column_" in line for line in lines) if form.header is None else form.header
        if form.skip_lines is None and header:
            n_above = lines_above_names(
                lines, (form.separator,) if form.separator else candidate_separators(usual), form.comment
            )
        text = replace(text, above=tuple(lines[:n_above]), header=header, numbered=form.header is None and not header)
        if form.separator is not None:
            return text
        rows = [line for line in lines[n_above:] if not text.is_comment(line)]
        found = detect_separator(rows, usual)
        in_numbers = found == "," and may_be_in_numbers(rows[header:], form.decimal)
        if (in_numbers or cells_per_line(rows, found) < 2) and are_aligned(rows, usual):
            return replace(text, separator="\t", recognised=True, aligned=True)
        return replace(text, separator=found, recognised=found != usual)

    def is_comment(self, line: str) -> bool:
        return self.comment is not None and line.startswith(self.comment)

    @property
    def separator_name(self) -> str:
        return "blanks" if self.aligned else repr(self.separator)

    @property
    def notes(self) -> tuple[str, ...]:
        notes = [f"the cells of {self.file} are taken to be separated by {self.separator_name}"] * self.recognised
        if self.numbered:
            notes.append(f"{self.file} is read without column names, as in training; its columns are column_1, ...")
        if self.above:
            n = len(self.above)
            what = "1 line before the column names is" if n == 1 else f"{n} lines before the column names are"
            shown = ", ".join(repr(line.strip()[:40]) for line in self.above[:3]) + (", ..." if n > 3 else "")
            notes.append(f"{what} left out ({shown}); --skip-lines names another number of lines")
        return tuple(notes)

    @property
    def options(self) -> dict[str, Any]:
        lines = {} if self.aligned else {"skip_lines": len(self.above), "comment_prefix": self.comment}
        return {"separator": self.separator, "glob": False, "has_header": self.header, **lines}

    def numbered_lines(self, opened: IO[str]) -> Iterator[tuple[int, str]]:
        for number, line in enumerate(self.lines(opened), 1):
            if number > len(self.above) and not self.is_comment(line):
                yield number, "\t".join(line.split()) + "\n" if self.aligned else line

    def rows(self, opened: IO[str]) -> Iterator[tuple[int, list[str]]]:
        last = 0

        def lines() -> Iterator[str]:
            nonlocal last
            for number, line in self.numbered_lines(opened):
                last = number
                yield line

        rows = csv.reader(lines(), delimiter=self.separator)
        if self.header:
            next(rows, None)
        for cells in rows:
            yield last, cells  # number of the last line of the row

    def line_of_row(self, row: int, n_columns: int) -> int:
        with self.opened() as opened:
            lines = (line for line, cells in self.rows(opened) if cells or n_columns == 1)
            return next(islice(lines, row, None))

    @property
    def is_utf_8(self) -> bool:
        return self.encoding == "utf-8-sig"

    @contextmanager
    def opened(self) -> Iterator[IO[str]]:
        with self.errors(), self.file.opened() as opened:
            yield io.TextIOWrapper(opened, self.encoding, newline="")

    @contextmanager
    def errors(self) -> Iterator[None]:
        with _errors(self.file):
            try:
                yield
            except UnicodeError as error:
                raise ValueError(self.encoding_message()) from error

    def encoding_message(self, place: str = "") -> str:
        if not self.is_utf_8:
            return f"{self.file} is not {self.encoding} text{place}; give the right encoding by --encoding"
        return (
            f"{self.file} is not UTF-8 text{place}; give its encoding, e.g. --encoding cp1252 for a file of Windows in"
            " Western Europe, or convert it, e.g. with iconv"
        )

    def lines(self, opened: IO[str]) -> Iterator[str]:
        longest = file_format.MAX_LINE
        while line := opened.readline(longest + 1):
            if len(line) > longest:
                raise ValueError(long_line_message(self.file))
            yield line

    def read_csv(self, **options: Any) -> pl.DataFrame:
        import polars as pl

        if self.file.packing is None and self.is_utf_8 and not self.aligned:
            return pl.read_csv(check_utf_8_path(self.file.path), **self.options, **options)
        with self.file.opened() as opened, self.errors():
            unpacked = read_unpacked(self.file, opened, file_format.MAX_LINE)
            if self.aligned:
                lines = self.numbered_lines(io.TextIOWrapper(unpacked, self.encoding, newline=""))
                unpacked = io.BytesIO("".join(line for _, line in lines).encode())
            elif not self.is_utf_8:
                unpacked = io.BytesIO(unpacked.read().decode(self.encoding).encode())
        return pl.read_csv(unpacked, **self.options, **options)


@contextmanager
def _errors(file: TableFile) -> Iterator[None]:
    try:
        yield
    except BROKEN as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise ValueError(f"{file} cannot be read: {first_error_line(error)}") from error


def first_error_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def read_separated(text: SeparatedText, as_text: Iterable[str]) -> pl.DataFrame:
    import polars as pl

    header = written_header(text)
    names = distinct_header(text.file, stripped_names(header))
    texts = set(as_text).intersection(names)
    written = names_of_polars(text, header)
    of_texts = [name for name, own in zip(written, names, strict=True) if own in texts]
    try:
        frame = text.read_csv(
            null_values=[*MISSING, *text.missing],
            infer_schema_length=None,
            schema_overrides=dict.fromkeys(of_texts, pl.String),
        )
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, *BROKEN) as error:
        blank_lines(text, len(names))
        raise ValueError(f"{text.file} cannot be read: {first_error_line(error)}") from error
    # polars renames duplicates, and only empty names may occur twice
    if len(set(header)) == len(header) and frame.columns != written:
        blank_lines(text, len(names))  # a longer line adds columns to a file without names
        raise ValueError(f"{text.file} has unreadable column names; write each in quotation marks, or without any")
    frame.columns = names
    frame = _without_blank_lines(text, frame)
    # a frame's schema, and a column by its name, take time that grows with the number of columns
    read = ((parse_plain_numbers(column), column) for column in text_columns(frame, texts))
    return frame.with_columns(number for number, column in read if number.null_count() == column.null_count())


def read_texts(text: SeparatedText, names: Sequence[str]) -> pl.DataFrame:
    """Read columns as text; blank lines are rows of null."""
    header = distinct_header(text.file, read_header(text))
    at = [j for j, name in enumerate(header) if name in set(names)]
    frame = text.read_csv(null_values=[*MISSING, *text.missing], infer_schema=False, columns=at)
    frame.columns = [header[j] for j in at]
    return frame


def read_cells(text: SeparatedText, names: Collection[str]) -> pl.DataFrame:
    """Read columns as text in which empty cells are null."""
    header = distinct_header(text.file, read_header(text))
    frame = text.read_csv(infer_schema=False)
    frame.columns = header
    return _without_blank_lines(text, frame).select(name for name in header if name in set(names))


def _without_blank_lines(text: SeparatedText, frame: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    # polars reads blank lines as rows of null, so there are none without a null in the last column
    if not frame.height or frame.width < 2 or not frame[frame.columns[-1]].null_count():
        return frame
    blank = blank_lines(text, frame.width)
    return frame.filter(~pl.Series(np.isin(np.arange(frame.height), blank))) if blank else frame


def quotes_doubled(name: str) -> str:
    # as polars leaves them
    return name.replace('"', '""')


def read_header(text: SeparatedText) -> tuple[str, ...]:
    return stripped_names(written_header(text))


def names_of_polars(text: SeparatedText, header: Sequence[str]) -> list[str]:
    if text.header:
        repeated = itertools.count()  # only empty names may repeat
        return [
            quotes_doubled(name) if name or j == header.index("") else f"_duplicated_{next(repeated)}"
            for j, name in enumerate(header)
        ]
    first = _first_number()
    return [f"column_{j + first}" for j in range(len(header))]


@functools.cache
def _first_number() -> int:
    # versions of polars number columns without names from 0 or from 1
    import polars as pl

    return int(pl.read_csv(io.BytesIO(b"0\n"), has_header=False).columns[0].removeprefix("column_"))


def stripped_names(names: Sequence[str]) -> tuple[str, ...]:
    counts = Counter(name.strip() for name in names)
    return tuple(name.strip() if counts[name.strip()] == 1 or not name.strip() else name for name in names)


def stripped_names_note(written: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    changed = [own for own, name in zip(written, names, strict=True) if own != name and name]
    return (f"blanks around column names are left out: {quoted(changed)}",) if changed else ()


def written_header(text: SeparatedText) -> tuple[str, ...]:
    file, taken = text.file, list[str]()

    def lines(opened: IO[str]) -> Iterator[str]:
        for _, line in text.numbered_lines(opened):
            taken.append(line)
            yield line

    with text.opened() as opened:
        try:
            names = next(csv.reader(lines(opened), delimiter=text.separator), [])
        except csv.Error as error:
            raise ValueError(f"{file} cannot be read: {first_error_line(error)}") from error
    if taken and taken[-1].endswith("\r"):
        raise ValueError(
            f"{file} ends its lines by carriage returns alone, as no system does any more; end them by line feeds,"
            " e.g. with tr '\\r' '\\n'"
        )
    if any("\0" in name for name in names):
        line = taken[-1]
        if 4 * line.count("\0") > len(line):  # UTF-16 without a byte order mark
            raise ValueError(text.encoding_message())
        place = next(j for j, name in enumerate(names) if "\0" in name)
        raise ValueError(_nul_message(text, len(text.above) + 1, f"column_{place + 1}"))
    if not names:
        what = "the column names" if text.header else "the first row"
        raise ValueError(f"{file} has nothing where {what} must be")
    if not text.header:
        return tuple(f"column_{j + 1}" for j in range(len(names)))
    stray = next((name for name in names if '"' in name and f'"{quotes_doubled(name)}"' not in "".join(taken)), None)
    if stray is not None:
        raise ValueError(
            f"{file} has a stray quotation mark in the column name {stray!r}; remove it, or double it and put the name"
            " in quotation marks"
        )
    return tuple(names)


def blank_lines(text: SeparatedText, n_columns: int) -> Sequence[int]:
    """Check the number of cells of each row, and return the indices of blank lines."""
    blank = []
    row = 0
    try:
        with text.file.opened() as opened:
            decoded = io.TextIOWrapper(opened, text.encoding, newline="")  # kept, or it is closed with a warning
            for row, (line, cells) in enumerate(text.rows(decoded)):
                if not cells:
                    blank.append(row)
                elif len(cells) != n_columns:
                    raise ValueError(
                        f"{text.file} has {len(cells)} cells in line {line}, but {n_columns} column names;"
                        " correct that line, or name the separator with --sep if it is another than"
                        f" {text.separator_name}, or the number of lines before the column names with --skip-lines"
                    )
    except UnicodeError as error:
        raise ValueError(text.encoding_message(f" (row {row + 1})")) from error
    except (*BROKEN, csv.Error) as error:
        raise ValueError(f"{text.file} cannot be read at row {row + 1}: {first_error_line(error)}") from error
    return blank


def reject_nul_bytes(text: SeparatedText, frame: pl.DataFrame) -> None:
    for column in text_columns(frame):
        found = column.str.contains("\0", literal=True).fill_null(False)
        if found.any():
            line = text.line_of_row(int(found.arg_max() or 0), frame.width)
            raise ValueError(_nul_message(text, line, column.name))


def reject_nul_bytes_of_file(text: SeparatedText) -> None:
    with text.file.opened() as opened, text.errors():
        if not any(b"\0" in block for block in iter(lambda: opened.read(2**20), b"")):
            return
    names = read_header(text)
    with text.opened() as decoded:
        for line, cells in text.rows(decoded):
            for name, cell in zip(names, cells, strict=False):
                if "\0" in cell:
                    raise ValueError(_nul_message(text, line, name))


def _nul_message(text: SeparatedText, line: int, column: str) -> str:
    return (
        f"{text.file} has a NUL byte in line {line} (column {column!r}), so it is damaged or of another encoding;"
        " export it again, or remove the bytes, e.g. with tr -d '\\000'"
    )


def no_header_note(text: SeparatedText, frame: pl.DataFrame) -> tuple[str, ...]:
    numeric = [column.dtype.is_numeric() for column in frame.get_columns()]
    names = [name for name, own in zip(frame.columns, numeric, strict=True) if own]
    if not text.header or not names or not all(map(is_number, names)):
        return ()
    if all(name.strip().isdecimal() for name in names) and len({int(name) - k for k, name in enumerate(names)}) == 1:
        return ()  # consecutive, such as the numbers of columns, and years
    others = (column for column, own in zip(frame.get_columns(), numeric, strict=True) if not own)
    if not all(column.name in set(map(str, column.to_list())) for column in others):
        return ()
    return (f"the column names of {text.file} look like a row of data ({quoted(frame.columns, 5)}); {NO_HEADER}",)


def distinct_header(file: TableFile, names: Sequence[str]) -> list[str]:
    repeated = next((name for name, count in Counter(names).items() if count > 1 and name), None)
    if repeated is not None:
        as_data = is_number(repeated) and file.kind == "text"
        what = f"if the first line is a row of data, {NO_HEADER}" if as_data else "rename or remove one"
        raise ValueError(f"{file} has the column {repeated!r} more than once; {what}")
    found: list[str] = []
    for j, name in enumerate(names):
        found.append(f"{_NAMELESS}{j}" if not name and "" in found else name)
    return found


def is_nameless(name: str) -> bool:
    return name.startswith(_NAMELESS)


def drop_nameless(file: TableFile, frame: pl.DataFrame) -> tuple[pl.DataFrame, tuple[str, ...]]:
    nameless = [name for name in frame.columns if not name or is_nameless(name)]
    empty = [name for name in nameless if frame[name].null_count() == frame.height]
    filled = [name for name in nameless if name not in empty]
    if len(filled) > 1:
        raise ValueError(f"{file} has {len(filled)} columns without a name; give each a name, or remove them")
    if not empty:
        return frame, ()
    frame = frame.drop(empty).rename(dict.fromkeys(filled, ""))
    return frame, (empty_columns_note(len(empty), file),)


def empty_columns_note(n: int, file: TableFile) -> str:
    return f"{'1 column' if n == 1 else f'{n} columns'} of {file} with neither name nor cells left out"


def read_typed(file: TableFile) -> pl.DataFrame:
    import polars as pl

    name = {"lines": "JSON lines", "parquet": "Parquet"}.get(file.kind, "Feather (Arrow IPC)")
    packed = file.packing is not None or file.kind == "lines"
    try:
        if packed:
            with file.opened() as opened:
                source: Any = read_unpacked(file, opened)
                if file.kind == "lines":
                    return pl.read_ndjson(source, infer_schema_length=None)
        else:
            source = check_utf_8_path(file.path)
        scan: Any = pl.scan_parquet if file.kind == "parquet" else pl.scan_ipc
        scanned: pl.LazyFrame = scan(source, **({} if packed else {"glob": False}))
        # a few bytes can stand for any number of equal rows, and without memory the reader ends the process
        rows, columns = scanned.select(pl.len()).collect().item(), len(scanned.collect_schema())
        file_format.check_table_size(rows, columns)
        return scanned.collect()
    except PermissionError:
        raise
    # some broken files make polars panic, and a panic is no Exception
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, ValueError, *BROKEN) as error:
        raise ValueError(f"{file} cannot be read as {name}: {first_error_line(error)}") from error
