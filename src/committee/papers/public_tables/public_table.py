"""The map of the public tables: where each one is, how its rows stand there, and what is made of them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import quote

from committee.papers.public_tables.raw_formats import RawFormat

TARGET = "target"
"""The column of labels, in the raw file and in the finished one."""


@dataclass(frozen=True)
class RawFile:
    """A file of a public repository, at one commit: its address does not change, and neither does what is there."""

    repository: str
    commit: str
    path: str
    size: int
    """In bytes."""
    sha256: str

    @property
    def address(self) -> str:
        """Where it is fetched from.

        Examples
        --------
        >>> from committee.papers.public_tables.public_table import RawFile
        >>> RawFile("owner/name", "c0ffee", "a b.csv", 0, "").address
        'https://raw.githubusercontent.com/owner/name/c0ffee/a%20b.csv'
        """
        return f"https://raw.githubusercontent.com/{self.repository}/{self.commit}/{quote(self.path)}"


@dataclass(frozen=True)
class PublicTable:
    """A public table: its raw files, and what is declared of them."""

    name: str
    title: str
    rows: int
    files: tuple[RawFile, ...]
    """Their rows follow each other, but where `step` uses the second one otherwise."""
    columns: tuple[str, ...]
    """Of the raw file; the label is `TARGET`."""
    csv_sha256: str
    """Of the finished table."""
    format: RawFormat = field(default_factory=RawFormat)
    drop: tuple[str, ...] = ()
    missing: str | None = None
    """A cell of this text is missing."""
    decode: dict[str, dict[str, str]] = field(default_factory=dict)
    """By column: what stands for what."""
    lower_case: bool = False
    plain_numbers: bool = False
    """Numbers lose zeros that lead and points that end them, and gain a zero before a leading point."""
    decimals: int | None = None
    """Numbers are rounded to so many digits after the point."""
    step: str | None = None
    """One of `committee.papers.public_tables.conversion.STEPS`, for what nothing else here says."""
    categorical: tuple[str, ...] = ()
    """Columns to be read as text."""
    compared: str = ""
    """How what this makes of the files compares with the tables that the pages' figures were computed on."""
    notes: str = ""

    @property
    def kept(self) -> tuple[str, ...]:
        """Columns of the finished table, the label last."""
        return (*(name for name in self.columns if name not in (*self.drop, TARGET)), TARGET)

    @property
    def file(self) -> str:
        """Name of the finished table's file."""
        return f"{self.name}.csv"


@cache
def public_tables() -> dict[str, PublicTable]:
    """All tables of the map by name.

    Examples
    --------
    >>> from committee.papers.public_tables.public_table import public_tables
    >>> table = public_tables()["musk2"]
    >>> table.rows, table.columns[-3:], table.drop
    (6598, ('f165', 'f166', 'target'), ('molecule', 'conformation'))
    """
    found = json.loads((files("committee.papers.public_tables") / "tables.json").read_text("utf-8"))
    repositories = {key: (name, commit) for key, (name, commit) in found["repositories"].items()}
    return {entry["name"]: _table(entry, repositories) for entry in found["tables"]}


def _table(entry: Mapping[str, Any], repositories: Mapping[str, tuple[str, str]]) -> PublicTable:
    """A table of an entry of the map, in which lists of names may have ranges such as ``f1..f500``."""
    named = {key: _in_full(entry.get(key, ())) for key in ("columns", "drop", "categorical")}
    raw = tuple(RawFile(*repositories[where], path, size, digest) for where, path, size, digest in entry["files"])
    return PublicTable(**{**entry, **named, "files": raw, "format": RawFormat(**entry.get("format", {}))})


def _in_full(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for part in names for name in _range(part))


def _range(names: str) -> list[str]:
    found = re.fullmatch(r"([a-zA-Z]+)(\d+)\.\.\1(\d+)", names)
    if found is None:
        return [names]
    return [f"{found[1]}{number}" for number in range(int(found[2]), int(found[3]) + 1)]
