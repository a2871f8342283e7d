"""Files of a path, a folder or a pattern, and the columns in the names of Hive-style folders (``year=2019``)."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from committee.data.readers.file_format import SEPARATORS

if TYPE_CHECKING:
    import pyarrow as pa


ENDINGS = (".parquet", *(ending + packed for ending in SEPARATORS for packed in ("", ".gz")))

_REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_WHOLE = re.compile(r"-?[0-9]+")
_NULL = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class FoundFile:
    path: Path
    folders: tuple[str, ...] = ()  # between the given folder or pattern and the file


def find_files(given: str | os.PathLike[str]) -> tuple[FoundFile, ...]:
    """Return the files of a path, a folder or a pattern, in natural order.

    Hidden and temporary files and folders (``.name``, and ``_name`` other than ``_name=value``) are left out unless the
    pattern has such names.
    """
    path = Path(given)
    if path.is_file():
        return (FoundFile(path),)
    if path.is_dir():
        below = (file for file in path.rglob("*") if file.name.lower().endswith(ENDINGS))
        found = _within(path, below, "")
    else:
        folders = path.parts[:-1]
        plain = next((k for k, part in enumerate(folders) if glob.has_magic(part)), len(folders))
        matches = map(Path, glob.glob(os.fspath(given), recursive=True))  # noqa: PTH207
        asked = "".join(part[0] for part in path.parts[plain:])
        found = _within(Path(*path.parts[:plain]), matches, asked)
    if not found:
        if _REMOTE.match(os.fspath(given)):
            raise ValueError(
                f"{os.fspath(given)!r} is a remote path, which is not supported; copy the files, or give "
                "a LazyFrame, such as polars.scan_parquet of it, or a Dask dataframe"
            )
        what = f"no file to read in folder {os.fspath(given)!r}" if path.is_dir() else f"no file {os.fspath(given)!r}"
        raise FileNotFoundError(f"there is {what}; endings that are read are {', '.join(ENDINGS)}")
    return found


def natural_key(path: Path) -> list[str | int]:
    return [int(part) if k % 2 else part for k, part in enumerate(re.split(r"(\d+)", path.as_posix()))]


def _within(folder: Path, paths: Iterable[Path], asked: str) -> tuple[FoundFile, ...]:
    n = len(folder.parts)
    kept = [path for path in paths if not any(_is_hidden(part, asked) for part in path.parts[n:]) and path.is_file()]
    return tuple(FoundFile(path, path.parts[n:-1]) for path in sorted(kept, key=natural_key))


def _is_hidden(name: str, asked: str) -> bool:
    hidden = name.startswith(".") or (name.startswith("_") and "=" not in name)
    return hidden and name[0] not in asked


@dataclass(frozen=True)
class PartitionColumns:
    """Columns in the names of folders, with one value per file."""

    names: tuple[str, ...] = ()
    values: tuple[tuple[str | int | None, ...], ...] = ()

    @classmethod
    def of(cls, files: Sequence[FoundFile]) -> PartitionColumns:
        texts = [_pairs(file) for file in files]
        names = tuple(texts[0])
        for file, found in zip(files, texts, strict=True):
            if set(found) != set(names):
                odd = sorted(set(found) ^ set(names))[0]
                raise ValueError(
                    f"{str(file.path)!r}: column {odd!r}, which names of folders give, is not in all files; scan files "
                    "with the same columns"
                )
        _check_ignored_folders(files)
        columns = [_typed([found[name] for found in texts]) for name in names]
        return cls(names, tuple(zip(*columns, strict=True)) if columns else ((),) * len(files))

    def without(self, names: Sequence[str]) -> PartitionColumns:
        kept = [k for k, name in enumerate(self.names) if name not in names]
        return PartitionColumns(
            tuple(self.names[k] for k in kept), tuple(tuple(row[k] for k in kept) for row in self.values)
        )

    def cells(self, file: int, name: str, n: int) -> pa.Array:
        import pyarrow as pa

        k = self.names.index(name)
        whole = any(isinstance(row[k], int) for row in self.values)
        return pa.repeat(pa.scalar(self.values[file][k], pa.int32() if whole else pa.string()), n)


def _pairs(file: FoundFile) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for folder in file.folders:
        name, equals, text = folder.partition("=")
        if not (name and equals):
            continue
        if name in found:
            raise ValueError(f"{str(file.path)!r}: two folders give column {name!r}; rename one of them")
        try:
            found[name] = None if text == _NULL else unquote(text, errors="strict")
        except UnicodeDecodeError as error:
            raise ValueError(f"{str(file.path)!r}: {folder!r} stands for text that is not UTF-8; rename it") from error
    return found


def _typed(texts: Sequence[str | None]) -> list[str | None] | list[int | None]:
    whole = all(text is None or (_WHOLE.fullmatch(text) and -(2**31) <= int(text) < 2**31) for text in texts)
    return [None if text is None else int(text) for text in texts] if whole else list(texts)


def _check_ignored_folders(files: Sequence[FoundFile]) -> None:
    # folders above the given ones are ignored, so files must not differ in their values
    parts = [
        tuple(part for part in file.path.parts[: -1 - len(file.folders)] if part.partition("=")[1]) for file in files
    ]
    other = next((k for k, found in enumerate(parts) if found != parts[0]), None)
    if other is not None:
        raise ValueError(
            f"{str(files[0].path)!r} and {str(files[other].path)!r} are in folders whose names give different values "
            "of a column, which are read only below a given folder or pattern; give the folder that holds all of them, "
            'or a pattern in quotation marks, such as "folder/*/*.parquet"'
        )
