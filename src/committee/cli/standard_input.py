"""Tables that come by standard input, which `-` stands for: copied to a file, as tables are read more than once."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

STANDARD = Path("-")

_BEGINNINGS = {b"PAR1": ".parquet", b"ARROW1": ".feather", b"\x1f\x8b": ".csv.gz", b"{": ".jsonl"}


@contextmanager
def standard_input_as_file(data: Sequence[Path]) -> Iterator[list[Path]]:
    """Put a file with what comes by standard input in the place of `-`; it is removed when the context ends.

    What it is shows by how it begins: Parquet, Feather, a spreadsheet or another zip file, gzipped text, an object of
    JSON a line, or else separated text.

    Raises
    ------
    ValueError
        If `-` is named twice, or nothing comes.
    """
    from committee.files.writing import scratch_folder

    if STANDARD not in data:
        yield list(data)
        return
    if list(data).count(STANDARD) > 1:
        raise ValueError("- is named twice, and standard input can be read once")
    with scratch_folder() as folder:
        path = folder / "standard-input"
        with path.open("wb") as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
        named = path.rename(path.with_name(path.name + _ending(path)))
        yield [named if each == STANDARD else each for each in data]


def _ending(path: Path) -> str:
    with path.open("rb") as file:
        begins = file.read(8)
    if not begins:
        raise ValueError("nothing comes by standard input; send a table, such as by: cat table.csv | committee ...")
    if begins.startswith(b"PK"):
        return _of_zip(path)
    return next((ending for start, ending in _BEGINNINGS.items() if begins.startswith(start)), ".csv")


def _of_zip(path: Path) -> str:
    import zipfile

    with zipfile.ZipFile(path) as folder:
        names = folder.namelist()
    if "[Content_Types].xml" in names:
        return ".xlsx"
    return ".ods" if "content.xml" in names else ".zip"
