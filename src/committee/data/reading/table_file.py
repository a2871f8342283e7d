"""One file of a table: its kind by its ending, and its bytes, unpacked if it is a gzip or zip file."""

from __future__ import annotations

import gzip
import os
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Literal, TypeAlias, cast

from committee.data.names import listing

Kind: TypeAlias = Literal["text", "lines", "sheets", "parquet", "arrow"]

SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".psv": "|", ".txt": ","}
"""Endings of separated text, and the separator that each is customary with."""

KINDS: dict[str, Kind] = {
    **dict.fromkeys(SEPARATORS, "text"),
    **dict.fromkeys((".jsonl", ".ndjson"), "lines"),
    **dict.fromkeys((".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"), "sheets"),
    ".parquet": "parquet",
    **dict.fromkeys((".feather", ".arrow", ".ipc"), "arrow"),
}
"""Endings that are known, and the kind of file that each has."""

PACKED = tuple(ending for ending, kind in KINDS.items() if kind in ("text", "lines"))
"""Endings that may be followed by ``.gz``."""

BROKEN = (OSError, EOFError, zlib.error, zipfile.BadZipFile)
"""What reading a packed file that is damaged or cut off raises."""

_GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class TableFile:
    """A file, and how it is read.

    Parameters
    ----------
    path : Path
        Where it is.
    ending : str
        Its ending without that of a packed file, a key of `KINDS`.
    packing : {"gzip", "zip"} or None
        How it is packed.
    member : str
        Of a zip file: the file in it.
    """

    path: Path
    ending: str
    packing: Literal["gzip", "zip"] | None = None
    member: str = ""

    def __str__(self) -> str:
        return repr(str(self.path))

    @property
    def kind(self) -> Kind:
        """What it holds."""
        return KINDS[self.ending]

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """Its bytes, unpacked."""
        if self.packing == "gzip":
            with gzip.open(self.path) as unpacked:
                yield cast("BinaryIO", unpacked)
        elif self.packing == "zip":
            with zipfile.ZipFile(self.path) as folder, folder.open(self.member) as inside:
                yield cast("BinaryIO", inside)
        else:
            with self.path.open("rb") as plain:
                yield plain


def named_in_utf_8(path: Path) -> Path:
    """Return the path of a file that polars opens, which needs its name in UTF-8.

    Raises
    ------
    ValueError
        If the name is in another encoding, or the locale is.
    """
    if os.fsencode(path) != str(path).encode("utf-8", "replace"):
        raise ValueError(
            f"{str(path)!r} cannot be opened, as its name or the locale is not UTF-8; rename the file or the folder,"
            " or set PYTHONUTF8=1"
        )
    return path


def table_file(path: str | os.PathLike[str]) -> TableFile:
    """Find out what kind of file a table is.

    Raises
    ------
    FileNotFoundError
        If there is none.
    ValueError
        If it is a folder or empty, its ending is not known or not what it holds, or a zip file holds no table or
        several.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "people.CSV"
    >>> _ = path.write_text("age,city\\n31,Oslo\\n")
    >>> table_file(path).kind
    'text'
    """
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
        raise ValueError(f"{str(file)!r} is not a gzip file though its name says so; rename or compress it")
    if is_gzip and not packed:
        raise ValueError(f"{str(file)!r} is a gzip file; name it {file.name}.gz")
    ending = ending_of(name.removesuffix(".gz"))
    assert ending is not None
    return TableFile(file, ending, "gzip" if packed else None)


def check_ending(path: Path) -> None:
    """Raise ``ValueError`` for an ending that is not known."""
    name = path.name.lower()
    inner = name.removesuffix(".gz")
    ending = ending_of(inner)
    if not name.endswith(".zip") and (ending is None or (inner != name and ending not in PACKED)):
        with_gz = [known for ending in KINDS for known in ([ending, f"{ending}.gz"] if ending in PACKED else [ending])]
        raise ValueError(f"{str(path)!r} has an unknown ending; known are {', '.join([*with_gz, '.zip'])}")


def ending_of(name: str) -> str | None:
    """Return the known ending of a file that is not packed, None if it has none.

    Examples
    --------
    >>> ending_of("People.XLSX"), ending_of("people.doc")
    ('.xlsx', None)
    """
    return next((ending for ending in KINDS if name.lower().endswith(ending)), None)


def _in_zip(file: Path) -> TableFile:
    """Find the one table in a zip file."""
    try:
        with zipfile.ZipFile(file) as folder:
            names = [entry.filename for entry in folder.infolist() if not entry.is_dir()]
            locked = {entry.filename for entry in folder.infolist() if entry.flag_bits & 1}
    except zipfile.BadZipFile as error:
        raise ValueError(f"{str(file)!r} is no zip file though its name says so, or a damaged one: {error}") from error
    # macOS puts files of its own beside those that were packed
    parts = {name: PurePosixPath(name).parts for name in names}
    seen = [name for name, path in parts.items() if "__MACOSX" not in path and not path[-1].startswith(".")]
    tables = [(name, ending) for name in seen if (ending := ending_of(name)) is not None]
    if not tables:
        raise ValueError(f"{str(file)!r} holds no table that is read, but {listing(seen) or 'nothing'}")
    if len(tables) > 1:
        raise ValueError(
            f"{str(file)!r} holds {len(tables)} tables ({listing([name for name, _ in tables], 5)}); unpack it, and"
            " give the one that is meant"
        )
    ((member, ending),) = tables
    if member in locked:
        raise ValueError(f"{str(file)!r} is locked by a password; unpack it, and give {member!r}")
    return TableFile(file, ending, "zip", member)
