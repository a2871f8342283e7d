"""Files of tables: their format as given or by the first lines, their kind by the ending, and their bytes."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import os
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Literal, Self, TypeAlias, cast

from committee.data.readers.cells import MISSING
from committee.data.text import quoted

NAMED_SEPARATORS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}

DATE_ORDERS = ("day-first", "month-first", "iso")  # readings of dates such as 01/02/2024


@dataclass(frozen=True)
class FileFormat:
    """Format of a file as the user gives it; None: detected."""

    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    sheet: str | None = None  # name, or number from 1; None: the first
    missing: tuple[str, ...] = ()  # cells that mean missing, besides those that always do
    dates: str | None = None  # of `DATE_ORDERS`; "iso" reads only dates that begin with the year
    skip_lines: int | None = None  # lines before the column names
    comment: str | None = None  # start of lines that are left out
    header: bool | None = True  # None: if ``column_`` is in one of the first lines

    def __post_init__(self) -> None:
        mark = self.separator
        if mark is not None and (len(mark) != 1 or not mark.isascii() or mark.isalnum() or mark in '"\r\n.-+'):
            raise ValueError(
                f"separator {mark!r} is no character that separates cells; give one such as ',', ';', '|' or 'tab'"
            )
        if self.decimal not in (None, ".", ","):
            raise ValueError(f"decimal {self.decimal!r} is neither '.' nor ','")
        if self.encoding is not None:
            try:
                known = codecs.lookup(self.encoding)._is_text_encoding  # there are also encodings of bytes to bytes
            except (LookupError, ValueError):
                known = False
            if not known:
                raise ValueError(
                    f"there is no text encoding {self.encoding!r}; often met are utf-8, cp1252, latin-1 and utf-16"
                )
        if self.dates not in (None, *DATE_ORDERS):
            raise ValueError(f"dates {self.dates!r} is none of {', '.join(DATE_ORDERS)}")
        if self.skip_lines is not None and self.skip_lines < 0:
            raise ValueError(f"skip_lines {self.skip_lines} is a negative number of lines; give 0 or more")
        if self.comment is not None and (not 1 <= len(self.comment) <= 5 or not self.comment.isprintable()):
            raise ValueError(f"comment {self.comment!r} is not the start of lines; give 1 to 5 characters, such as '#'")

    @classmethod
    def of_words(cls, separator: str | None, **named: Any) -> Self:
        mark = None if separator is None else NAMED_SEPARATORS.get(separator.lower(), separator)
        return cls(mark, **named)


DEFAULT_FORMAT = FileFormat()


Kind: TypeAlias = Literal["text", "lines", "sheets", "parquet", "arrow"]

SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".psv": "|", ".txt": ","}

KINDS: dict[str, Kind] = {
    **dict.fromkeys(SEPARATORS, "text"),
    **dict.fromkeys((".jsonl", ".ndjson"), "lines"),
    **dict.fromkeys((".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"), "sheets"),
    ".parquet": "parquet",
    **dict.fromkeys((".feather", ".arrow", ".ipc"), "arrow"),
}

PACKED = tuple(ending for ending, kind in KINDS.items() if kind in ("text", "lines"))  # .gz may follow

BROKEN = (OSError, EOFError, zlib.error, zipfile.BadZipFile)  # errors of reading a damaged packed file

_GZIP = b"\x1f\x8b"

MAX_LINE = 2**26  # longest line of a text file, in characters: twenty for each of three million columns
_COPIES = 2  # a table is in memory twice: as a frame, and as the encoded matrix


@dataclass(frozen=True)
class TableFile:
    path: Path
    ending: str  # without that of a packed file, a key of `KINDS`
    packing: Literal["gzip", "zip"] | None = None
    member: str = ""  # name of the table inside a zip file

    def __str__(self) -> str:
        return repr(str(self.path))

    @property
    def kind(self) -> Kind:
        return KINDS[self.ending]

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        if self.packing == "gzip":
            with gzip.open(self.path) as unpacked:
                yield cast("BinaryIO", unpacked)
        elif self.packing == "zip":
            with zipfile.ZipFile(self.path) as folder, folder.open(self.member) as inside:
                yield cast("BinaryIO", inside)
        else:
            with self.path.open("rb") as plain:
                yield plain


def check_utf_8_path(path: Path) -> Path:
    if os.fsencode(path) != str(path).encode("utf-8", "replace"):
        raise ValueError(
            f"{str(path)!r} cannot be opened, as its name or the locale is not UTF-8; rename the file or the folder,"
            " or set PYTHONUTF8=1"
        )
    return path


def table_file(path: str | os.PathLike[str]) -> TableFile:
    file = Path(path)
    if not file.exists():
        check_ending(file)
        raise FileNotFoundError(f"there is no file {str(file)!r}")
    if file.is_dir():
        raise ValueError(f"{str(file)!r} is a folder; give a file in it")
    if file.stat().st_size == 0:
        raise ValueError(f"{str(file)!r} is empty (0 bytes)")
    check_ending(file)
    name = file.name.lower()
    if name.endswith(".zip"):
        return _in_zip(file)
    packed = name.endswith(".gz")
    with file.open("rb") as opened:
        is_gzip = opened.read(2) == _GZIP
    if packed and not is_gzip:
        raise ValueError(f"{str(file)!r} is not a gzip file though its name ends so; rename or compress it")
    if is_gzip and not packed:
        remedy = f"name it {file.name}.gz" if ending_of(name) in PACKED else "unpack it"
        raise ValueError(f"{str(file)!r} is a gzip file; {remedy}")
    ending = ending_of(name.removesuffix(".gz"))
    assert ending is not None
    return TableFile(file, ending, "gzip" if packed else None)


def check_ending(path: Path) -> None:
    name = path.name.lower()
    inner = name.removesuffix(".gz")
    ending = ending_of(inner)
    if not name.endswith(".zip") and (ending is None or (inner != name and ending not in PACKED)):
        with_gz = [known for ending in KINDS for known in ([ending, f"{ending}.gz"] if ending in PACKED else [ending])]
        raise ValueError(f"{str(path)!r} has an unknown ending; it must be one of {', '.join([*with_gz, '.zip'])}")


def ending_of(name: str) -> str | None:
    return next((ending for ending in KINDS if name.lower().endswith(ending)), None)


def _in_zip(file: Path) -> TableFile:
    try:
        with zipfile.ZipFile(file) as folder:
            names = [entry.filename for entry in folder.infolist() if not entry.is_dir()]
            locked = {entry.filename for entry in folder.infolist() if entry.flag_bits & 1}
    except zipfile.BadZipFile as error:
        raise ValueError(f"{str(file)!r} is no zip file though its name ends so, or a damaged one: {error}") from error
    # macOS adds files of its own
    parts = {name: PurePosixPath(name).parts for name in names}
    seen = [name for name, path in parts.items() if "__MACOSX" not in path and not path[-1].startswith(".")]
    tables = [(name, ending) for name in seen if (ending := ending_of(name)) is not None]
    if not tables:
        raise ValueError(f"{str(file)!r} holds no {', '.join(KINDS)}, but {quoted(seen) or 'nothing'}")
    if len(tables) > 1:
        raise ValueError(
            f"{str(file)!r} holds {len(tables)} tables ({quoted([name for name, _ in tables], 5)}); unpack it, and"
            " give the one that is meant"
        )
    ((member, ending),) = tables
    if member in locked:
        raise ValueError(f"{str(file)!r} is locked by a password; unpack it, and give {member!r}")
    return TableFile(file, ending, "zip", member)


def total_memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not on Windows
        return 2**63


def check_table_size(rows: int, columns: int) -> None:
    if (needed := _COPIES * 8 * rows * columns) > total_memory():
        raise ValueError(
            f"{rows:,} rows x {columns:,} columns need {needed / 2**30:,.0f} GiB of memory, of which this"
            f" machine has {total_memory() / 2**30:,.0f}; take fewer rows"
        )


def read_unpacked(file: TableFile, opened: BinaryIO, longest_line: int | None = None) -> io.BytesIO:
    whole, length = io.BytesIO(), 0
    while part := opened.read(MAX_LINE // 64):
        length = len(part) - part.rfind(b"\n") - 1 + (length if b"\n" not in part else 0)
        if longest_line is not None and length > longest_line:
            raise ValueError(long_line_message(file))
        if whole.tell() > total_memory() // 2:
            raise ValueError(f"{file} unpacks to more than half of this machine's memory; take fewer rows")
        whole.write(part)
    whole.seek(0)
    return whole


def long_line_message(file: TableFile) -> str:
    return f"{file} has a line of more than {MAX_LINE:,} characters, which is no row of a table; correct it"


@dataclass(frozen=True)
class KnownColumns:
    text: frozenset[str] = frozenset()
    numbers: frozenset[str] = frozenset()  # plain numbers: leading zeros are no codes, and marks mean missing
    forms: Mapping[str, str] = field(default_factory=dict)  # formats of columns not written as plain numbers
    verbatim: frozenset[str] = frozenset()  # columns that are not converted
    answers: frozenset[str] = frozenset()  # numeric targets, which may be written as percentages

    @property
    def plain(self) -> frozenset[str]:
        return self.numbers | self.answers


NO_KNOWN_COLUMNS = KnownColumns()


_CANDIDATES = (",", ";", "\t", "|")
_MOST_ABOVE = 50  # lines among which the column names are searched


def detect_separator(lines: Sequence[str], usual: str) -> str:
    """Return the separator that splits most lines into the same number of cells."""
    marks = candidate_separators(usual)
    if may_be_in_numbers(lines[1:] or lines, ","):
        others = tuple(mark for mark in marks if mark != "," and 2 * _most_alike(lines, mark)[0] > len(lines))
        marks = others or marks
    cells = {mark: cells_per_line(lines, mark) for mark in marks}
    best = max(cells, key=lambda mark: cells[mark])  # the usual one is the first of equals
    return best if cells[best] > 1 else max(marks, key=lambda mark: _most_alike(lines, mark))


def may_be_in_numbers(lines: Sequence[str], decimal: str | None) -> bool:
    """Return whether all commas of lines may be inside numbers."""
    if decimal is None:
        return False
    after = r"\d" if decimal == "," else r"\d{3}(?!\d)"
    return not any(re.search(rf"(?<!\d),|,(?!{after})", line) for line in lines)


def _most_alike(lines: Sequence[str], mark: str) -> tuple[int, bool, int]:
    # most lines with the same number of cells, whether the first is one of them, and this number
    try:
        lengths = [len(row) for row in csv.reader(lines, delimiter=mark) if row]
    except csv.Error:
        lengths = []
    (width, n), *_ = *Counter(length for length in lengths if length > 1).most_common(1), (0, 0)
    return n, lengths[:1] == [width], width


def candidate_separators(usual: str) -> tuple[str, ...]:
    return usual, *(mark for mark in _CANDIDATES if mark != usual)


def are_aligned(lines: Sequence[str], usual: str) -> bool:
    """Return whether runs of blanks separate the cells."""
    rows = [line.split() for line in lines if line.strip()]
    width, alike = Counter(map(len, rows)).most_common(1)[0] if rows else (0, 0)
    # one of five lines may differ: an error names it
    if alike < 2 or width < 2 or alike < len(rows) - (len(rows) >= 5) or any('"' in line for line in lines):
        return False
    if any(mark in line for line in lines for mark in candidate_separators(usual) if mark not in ",\t"):
        return False
    return _has_numbers([row for row in rows[1:] if len(row) == width])


def is_number(cell: str) -> bool:
    return re.fullmatch(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", cell) is not None


def lines_above_names(lines: Sequence[str], marks: Sequence[str], comment: str | None) -> int:
    kept = [k for k, line in enumerate(lines) if not (comment is not None and line.startswith(comment))]
    blank = next((k for k in kept if lines[k].strip()), 0)
    kept = kept[kept.index(blank) :] if kept else []
    found = []
    for mark in marks:
        try:
            k = _line_of_names([lines[k] for k in kept], mark)
        except csv.Error:
            continue
        if k == 0:
            return blank
        found += [] if k is None else [kept[k]]
    if found:
        return min(found)
    return next((k for k in kept[:_MOST_ABOVE] if not _is_remark(lines, k)), blank)


def _line_of_names(lines: Sequence[str], mark: str) -> int | None:
    # the first line below titles and remarks from which on all lines have the same number of cells
    certain = True  # whether all lines above are remarks, filled up with separators, or apart by an empty line
    for k, line in enumerate(lines[:_MOST_ABOVE]):
        row = next(csv.reader([line], delimiter=mark), [])
        if _filled(row) > 1 and cells_per_line(lines[k:], mark) > 1:
            body = [] if k == 0 else list(filter(None, csv.reader(lines[k + 1 :], delimiter=mark)))
            sure = certain or mark != "," or _has_numbers(body)  # sentences have commas
            if k == 0 or (body and not any(map(is_number, row)) and sure):
                return k
        if k == 0 and len(row) == 2 and cells_per_line(lines, mark) == 2:  # a column of row names has no name
            return k
        if _filled(row) > 1 and not line.startswith("#"):
            return None
        certain = not line.strip() or (certain and (line.startswith("#") or len(row) > 1))
    return None


def _has_numbers(rows: Sequence[Sequence[str]]) -> bool:
    # whether a column has numbers, also with decimal commas or as (1.23) or 1.23-, and missing cells alone
    for column in zip(*rows, strict=True):
        present = [cell.replace(",", ".").strip("() ") for cell in column if cell.strip() not in MISSING]
        if present and all(is_number(cell.removesuffix("-")) for cell in present):
            return True
    return False


def _filled(row: Sequence[str]) -> int:
    return sum(bool(cell.strip()) for cell in row)


def _is_remark(lines: Sequence[str], k: int) -> bool:
    # a line that begins with # is one of column names if the next line has as many cells, or the table one column
    if not lines[k].strip() or not lines[k].startswith("#"):
        return not lines[k].strip()
    following = next((line for line in lines[k + 1 :] if line.strip() and not line.startswith("#")), "")
    if any(cells_per_line([lines[k], following], mark) > 1 for mark in _CANDIDATES):
        return False
    return any(cells_per_line([following], mark) > 1 for mark in _CANDIDATES)


def cells_per_line(lines: Sequence[str], mark: str) -> int:
    found = 0
    try:
        for row in filter(None, csv.reader(lines, delimiter=mark)):
            if found not in (0, len(row)):
                return 0
            found = len(row)
    except csv.Error:
        return 0
    return found
