"""Public tables: their sources, download, raw formats, and conversion to CSV."""

from __future__ import annotations

import csv
import hashlib
import json
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from http.client import HTTPException, HTTPMessage
from importlib.resources import files
from io import BufferedIOBase, BytesIO, StringIO
from typing import IO, Any, TypeAlias
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import HTTPRedirectHandler, Request, build_opener

MAGIC = b"\x1f\x9d"
FIRST_BITS = 9
CLEAR = 256  # the code that empties the table of words


def decompressed(content: bytes) -> bytes:
    """Decompress content of UNIX ``compress`` (LZW)."""
    if content[:2] != MAGIC or len(content) < 3 or not content[2] & 0x80:
        raise ValueError("the file is not one of UNIX compress in block mode")
    most_bits = content[2] & 0x1F
    words = [bytes([code]) for code in range(256)] + [b""]
    found: list[bytes] = []
    before = b""
    bits, at, group = FIRST_BITS, 24, 24
    while at + bits <= 8 * len(content):
        start = at >> 3
        code = int.from_bytes(content[start : start + 4], "little") >> (at & 7) & ((1 << bits) - 1)
        at += bits
        if code == CLEAR:
            at = group = _end_of_group(at, group, bits)
            del words[CLEAR + 1 :]
            bits, before = FIRST_BITS, b""
            continue
        if code < len(words):
            word = words[code]
        elif code == len(words) and before:
            word = before + before[:1]
        else:
            raise ValueError(f"the file is damaged: at bit {at - bits} it has an unknown code")
        found.append(word)
        if before and len(words) < 1 << most_bits:
            words.append(before + word[:1])
        before = word
        if len(words) == 1 << bits and bits < most_bits:
            at = group = _end_of_group(at, group, bits)
            bits += 1
    return b"".join(found)


def _end_of_group(at: int, group: int, bits: int) -> int:
    return at + (group - at) % (8 * bits)


WHITESPACE = " "  # as a delimiter: any run of blanks and tabs


@dataclass(frozen=True)
class RawFormat:
    kind: str = "text"  # "text": delimited lines; "matlab": the matrices ``X`` and ``Y`` of a .mat file, the label last
    delimiter: str = ","
    quote: str = '"'
    header_lines: int = 0  # lines before the first row
    after: str | None = None  # line before the first row, given in lower case, as ``@data`` of ARFF files
    compressed: bool = False  # by UNIX ``compress`` (a file ``.Z``)

    def rows(self, content: bytes) -> list[list[str]]:
        if self.compressed:
            content = decompressed(content)
        return _matrices(content) if self.kind == "matlab" else list(self._lines(content))

    def _lines(self, content: bytes) -> Iterator[list[str]]:
        lines = iter(content.decode("utf-8-sig").splitlines())
        for _ in range(self.header_lines):
            next(lines, None)
        if self.after is not None and not any(line.strip().lower() == self.after for line in lines):
            raise ValueError(f"there is no line {self.after!r} before the rows")
        told = (line for line in lines if line.strip() and not line.startswith("%"))
        if self.delimiter == WHITESPACE:
            yield from (line.split() for line in told)
            return
        for cells in csv.reader(told, delimiter=self.delimiter, quotechar=self.quote, skipinitialspace=True):
            yield [cell.strip() for cell in cells]


def _matrices(content: bytes) -> list[list[str]]:
    from scipy.io import loadmat

    opened: Any = BytesIO(content)
    found = loadmat(opened)
    return [
        [str(int(value)) for value in (*row, *label)]
        for row, label in zip(found["X"].tolist(), found["Y"].tolist(), strict=True)
    ]


TARGET = "target"  # the column of labels, in the raw file and in the finished one


@dataclass(frozen=True)
class RawFile:
    repository: str
    commit: str
    path: str
    size: int  # in bytes
    sha256: str

    @property
    def address(self) -> str:
        return f"https://raw.githubusercontent.com/{self.repository}/{self.commit}/{quote(self.path)}"


@dataclass(frozen=True)
class PublicTable:
    name: str
    title: str
    rows: int
    files: tuple[RawFile, ...]  # their rows are concatenated, unless `step` uses the second file otherwise
    columns: tuple[str, ...]  # of the raw file; the label is `TARGET`
    csv_sha256: str  # of the finished table
    format: RawFormat = field(default_factory=RawFormat)
    drop: tuple[str, ...] = ()
    missing: str | None = None  # text of a missing cell
    decode: dict[str, dict[str, str]] = field(default_factory=dict)  # by column: replacements of cells
    lower_case: bool = False
    plain_numbers: bool = False
    """True: remove leading zeros and trailing points of numbers, and add a zero before a leading point."""
    decimals: int | None = None  # numbers are rounded to so many digits after the point
    step: str | None = None  # name in `STEPS` of a special conversion
    categorical: tuple[str, ...] = ()  # columns to be read as text
    compared: str = "byte for byte"  # with the table that the pages' figures were computed on
    notes: str = ""

    @property
    def kept(self) -> tuple[str, ...]:
        return (*(name for name in self.columns if name not in (*self.drop, TARGET)), TARGET)

    @property
    def file(self) -> str:
        return f"{self.name}.csv"


@cache
def public_tables() -> dict[str, PublicTable]:
    found = json.loads((files("committee.papers.public_tables") / "tables.json").read_text("utf-8"))
    repositories = {key: (name, commit) for key, (name, commit) in found["repositories"].items()}
    return {entry["name"]: _table(entry, repositories) for entry in found["tables"]}


def _table(entry: Mapping[str, Any], repositories: Mapping[str, tuple[str, str]]) -> PublicTable:
    named = {
        key: tuple(name for part in entry.get(key, ()) for name in _range(part))
        for key in ("columns", "drop", "categorical")
    }
    raw = tuple(RawFile(*repositories[where], path, size, digest) for where, path, size, digest in entry["files"])
    return PublicTable(**{**entry, **named, "files": raw, "format": RawFormat(**entry.get("format", {}))})


def _range(names: str) -> list[str]:
    found = re.fullmatch(r"([a-zA-Z]+)(\d+)\.\.\1(\d+)", names)
    if found is None:
        return [names]
    return [f"{found[1]}{number}" for number in range(int(found[2]), int(found[3]) + 1)]


Rows = list[list[str]]


def converted(table: PublicTable, contents: Sequence[bytes]) -> bytes:
    rows = STEPS[table.step](table, contents)
    for row in rows:
        if len(row) != len(table.columns):
            raise ValueError(f"a row has {len(row)} cells, not {len(table.columns)}: {','.join(row)[:60]!r}")
    places = [(name, table.columns.index(name)) for name in table.kept]
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.kept)
    writer.writerows([_cell(table, name, row[place]) for name, place in places] for row in rows)
    return text.getvalue().encode()


def _cell(table: PublicTable, name: str, cell: str) -> str:
    if cell == table.missing:
        return ""
    cell = table.decode.get(name, {}).get(cell, cell)
    if table.lower_case:
        cell = cell.lower()
    if table.plain_numbers and re.fullmatch(r"\d*\.?\d*", cell) and cell not in ("", "."):
        whole, point, rest = cell.partition(".")
        cell = (whole.lstrip("0") or "0") + (point + rest if rest else "")
    if table.decimals is not None and name != TARGET:
        cell = str(float(Decimal(cell).quantize(Decimal(1).scaleb(-table.decimals), ROUND_HALF_UP)))
    return cell


def _one_after_the_other(table: PublicTable, contents: Sequence[bytes]) -> Rows:
    return [row for content in contents for row in table.format.rows(content)]


def _broken_line_joined(table: PublicTable, contents: Sequence[bytes]) -> Rows:
    return _one_after_the_other(table, [re.sub(rb",\r?\n", b",", content) for content in contents])


_LETTERS = {"-1": "A", "-0.333333": "G", "0.333333": "C", "1": "T"}  # of `splice` in its copy of numbers


def _first_as_in_copy(table: PublicTable, contents: Sequence[bytes]) -> Rows:
    own, copy = table.format.rows(contents[0]), RawFormat(delimiter=WHITESPACE).rows(contents[1])
    letters = slice(1, -1)
    label = table.columns.index(TARGET)
    kept = [row for row in own if set(row[letters]) <= set(_LETTERS.values())]
    places: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for i, row in reversed(list(enumerate(kept))):
        places["1" if row[label] == "N" else "-1", *row[letters]].append(i)
    try:
        first = [places[row[0], *(_LETTERS[cell] for cell in row[1:])].pop() for row in copy]
    except (IndexError, KeyError):
        raise ValueError("a row of the copy that gives the order is not in the table") from None
    chosen = set(first)
    return [kept[i] for i in first] + [row for i, row in enumerate(kept) if i not in chosen]


STEPS: dict[str | None, Callable[[PublicTable, Sequence[bytes]], Rows]] = {
    None: _one_after_the_other,
    "broken line joined": _broken_line_joined,
    "first as in copy": _first_as_in_copy,
}


SILENCE = 30.0  # seconds without data after which a server has timed out
LONGEST = 300.0  # seconds that one file may take
PIECE = 1 << 16

Opener: TypeAlias = Callable[[str], AbstractContextManager[BufferedIOBase]]  # opens an address for reading


class NoConnectionError(ValueError):
    pass


class _NoWayDown(HTTPRedirectHandler):
    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        if not newurl.startswith("https://"):
            raise URLError(f"it redirects to {newurl}, which is not https")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def open_https(address: str) -> AbstractContextManager[BufferedIOBase]:
    if not address.startswith("https://"):
        raise ValueError(f"{address} is not an https address")
    request = Request(address, headers={"User-Agent": "committee"})
    found: AbstractContextManager[BufferedIOBase] = build_opener(_NoWayDown).open(request, timeout=SILENCE)
    return found


def downloaded(file: RawFile, opener: Opener = open_https) -> bytes:
    try:
        with opener(file.address) as answer:
            content = _read(answer, file)
    except HTTPError as error:
        raise ValueError(
            f"{file.address} returned {error.code} {error.reason}; try again later, or, if it has been withdrawn, leave"
            " the table out with --tables"
        ) from error
    except (URLError, ConnectionError, TimeoutError) as error:
        reason = getattr(error, "reason", None) or error
        raise NoConnectionError(
            f"{file.address} cannot be reached ({reason}); check the network or its proxy (HTTPS_PROXY), then run the"
            " same command again"
        ) from error
    except (OSError, HTTPException) as error:
        raise ValueError(f"{file.address} broke off ({error!r}); run the same command again") from error
    digest = hashlib.sha256(content).hexdigest()
    if digest != file.sha256:
        raise ValueError(
            f"{file.address} differs from the expected file: {len(content):,} bytes read, with"
            f" sha256 {digest[:12]}..., not {file.size:,} with {file.sha256[:12]}...; a proxy may have changed"
            " or cut it: try again from another network, or leave the table out with --tables"
        )
    return content


def _read(answer: BufferedIOBase, file: RawFile) -> bytes:
    until = time.monotonic() + LONGEST
    content = bytearray()
    while len(content) <= file.size:
        if time.monotonic() > until:
            raise ValueError(f"{file.address} takes longer than {LONGEST:.0f} seconds; run the same command again")
        piece = answer.read1(min(PIECE, file.size + 1 - len(content)))
        if not piece:
            break
        content += piece
    return bytes(content)
