"""The files of a path, a folder or a pattern, without hidden ones, in the order of their numbers."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from committee.data.reading.table_file import SEPARATORS

TEXT_ENDINGS = tuple(ending + packed for ending in SEPARATORS for packed in ("", ".gz"))
ENDINGS = (".parquet", *TEXT_ENDINGS)

_REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


@dataclass(frozen=True)
class FoundFile:
    """A file, and the folders that it was looked for in.

    Parameters
    ----------
    path : Path
        The file.
    folders : tuple of str
        Names of the folders between it and the folder that was given, or the part of the pattern that is no pattern.
    """

    path: Path
    folders: tuple[str, ...] = ()


def files_of(given: str | os.PathLike[str]) -> tuple[FoundFile, ...]:
    """Files of a path, a folder or a pattern, in the order of their names and of the numbers in these.

    Of a folder or a pattern such files are left out as are hidden (``.name``) or made for a while (``_name``), and all
    in folders of such names, but for ``_name=value``, by which a table is parted; unless the pattern asks for them.

    Raises
    ------
    FileNotFoundError
        If there is none.
    ValueError
        If the path is that of another machine.
    """
    path = Path(given)
    if path.is_file():
        return (FoundFile(path),)
    if path.is_dir():
        below = (file for file in path.rglob("*") if file.name.lower().endswith(ENDINGS))
        found = _within(path, below, "")
    else:
        plain = len(_before_magic(path))
        matches = map(Path, glob.glob(os.fspath(given), recursive=True))  # noqa: PTH207
        asked = "".join(part[0] for part in path.parts[plain:])
        found = _within(Path(*path.parts[:plain]), matches, asked)
    if not found:
        if _REMOTE.match(os.fspath(given)):
            raise ValueError(
                f"{os.fspath(given)!r} is no path of this machine, and others are not read; copy the files, or give "
                "a LazyFrame, such as polars.scan_parquet of it, or a Dask dataframe"
            )
        raise FileNotFoundError(
            f"there is no file {os.fspath(given)!r}; endings that are read are {', '.join(ENDINGS)}"
        )
    return found


def natural_key(path: Path) -> list[str | int]:
    """Key by which paths are sorted as people count: the numbers in them as numbers.

    Examples
    --------
    >>> sorted([Path("part.10"), Path("part.2")], key=natural_key) == [Path("part.2"), Path("part.10")]
    True
    """
    return [int(part) if k % 2 else part for k, part in enumerate(re.split(r"(\d+)", path.as_posix()))]


def _before_magic(path: Path) -> tuple[str, ...]:
    """The parts of a pattern's path before the first that is a pattern."""
    parts = path.parts[:-1]
    return parts[: next((k for k, part in enumerate(parts) if glob.has_magic(part)), len(parts))]


def _within(folder: Path, paths: Iterable[Path], asked: str) -> tuple[FoundFile, ...]:
    """Files in a folder, but for hidden ones; `asked` are the letters that parts of a pattern begin with."""
    n = len(folder.parts)
    kept = [path for path in paths if not any(_is_hidden(part, asked) for part in path.parts[n:]) and path.is_file()]
    return tuple(FoundFile(path, path.parts[n:-1]) for path in sorted(kept, key=natural_key))


def _is_hidden(name: str, asked: str) -> bool:
    hidden = name.startswith(".") or (name.startswith("_") and "=" not in name)
    return hidden and name[0] not in asked
