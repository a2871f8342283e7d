"""Columns in the names of folders, ``year=2019/part-0.parquet``, as Hive parts tables and many programs since."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

from committee.data.pieces.found_files import FoundFile

if TYPE_CHECKING:
    import pyarrow as pa

_WHOLE = re.compile(r"-?[0-9]+")
_NULL = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class FolderColumns:
    """Columns that have one value in all rows of a file.

    Parameters
    ----------
    names : tuple of str
        The columns.
    values : tuple of tuple
        For each file the value of each column; None where it is missing.

    Examples
    --------
    >>> from pathlib import Path
    >>> files = [FoundFile(Path("a.parquet"), ("year=2019",)), FoundFile(Path("b.parquet"), ("year=2020",))]
    >>> columns = FolderColumns.of(files)
    >>> columns.names, columns.values
    (('year',), ((2019,), (2020,)))
    """

    names: tuple[str, ...] = ()
    values: tuple[tuple[str | int | None, ...], ...] = ()

    @classmethod
    def of(cls, files: Sequence[FoundFile]) -> FolderColumns:
        """Read the names of folders, with the types that Arrow's datasets give: 32-bit whole numbers, or text.

        Raises
        ------
        ValueError
            If files are in folders of other columns, or were given one by one from folders of several values.
        """
        texts = [_pairs(file) for file in files]
        names = tuple(texts[0])
        for file, found in zip(files, texts, strict=True):
            if set(found) != set(names):
                odd = sorted(set(found) ^ set(names))[0]
                raise ValueError(
                    f"{str(file.path)!r}: column {odd!r}, which names of folders give, is not in all files; scan files "
                    "with the same columns"
                )
        _refuse_lost_values(files)
        columns = [_typed([found[name] for found in texts]) for name in names]
        return cls(names, tuple(zip(*columns, strict=True)) if columns else ((),) * len(files))

    def without(self, names: Sequence[str]) -> FolderColumns:
        """Return the columns but for those of these names."""
        kept = [k for k, name in enumerate(self.names) if name not in names]
        return FolderColumns(
            tuple(self.names[k] for k in kept), tuple(tuple(row[k] for k in kept) for row in self.values)
        )

    def cells(self, file: int, name: str, n: int) -> pa.Array:
        """Return the cells of a column in n rows of a file."""
        import pyarrow as pa

        k = self.names.index(name)
        whole = any(isinstance(row[k], int) for row in self.values)
        return pa.repeat(pa.scalar(self.values[file][k], pa.int32() if whole else pa.string()), n)


def _pairs(file: FoundFile) -> dict[str, str | None]:
    """Columns and values in the names of a file's folders."""
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


def _refuse_lost_values(files: Sequence[FoundFile]) -> None:
    """Raise if folders that are not read, as they hold what was given, have other values than those of other files."""
    parts = [
        tuple(part for part in file.path.parts[: -1 - len(file.folders)] if part.partition("=")[1]) for file in files
    ]
    other = next((k for k, found in enumerate(parts) if found != parts[0]), None)
    if other is not None:
        raise ValueError(
            f"{str(files[0].path)!r} and {str(files[other].path)!r} are in folders whose names give other values of a "
            "column, which are read of a folder or a pattern alone; give the folder that holds all of them, or a "
            'pattern in quotation marks, such as "folder/*/*.parquet"'
        )
