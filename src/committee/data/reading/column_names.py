"""Names in the header of a file: each column needs one of its own, but for such as hold nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from committee.data.reading.table_file import TableFile

if TYPE_CHECKING:
    import polars as pl

_NAMELESS = "\0nameless {}"
"""What second and further columns without a name are called until it is known whether they hold anything."""


def distinct_names(file: TableFile, names: Sequence[str]) -> list[str]:
    """Return the names as they are, but for the second and further empty ones, which get one for the while.

    Raises
    ------
    ValueError
        If another name is there twice.
    """
    repeated = next((name for name, count in Counter(names).items() if count > 1 and name), None)
    if repeated is not None:
        raise ValueError(f"{file} has the column {repeated!r} more than once; rename or remove one")
    found: list[str] = []
    for j, name in enumerate(names):
        found.append(_NAMELESS.format(j) if not name and "" in found else name)
    return found


def without_nameless(file: TableFile, frame: pl.DataFrame) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Leave out columns that have neither a name nor a cell, as separators at the ends of lines make them.

    Raises
    ------
    ValueError
        If more than one column without a name holds cells.
    """
    nameless = [name for name in frame.columns if not name or name.startswith("\0nameless ")]
    empty = [name for name in nameless if frame[name].null_count() == frame.height]
    filled = [name for name in nameless if name not in empty]
    if len(filled) > 1:
        raise ValueError(f"{file} has {len(filled)} columns without a name; give each a name, or remove them")
    if not empty:
        return frame, ()
    what = "1 column" if len(empty) == 1 else f"{len(empty)} columns"
    frame = frame.drop(empty).rename(dict.fromkeys(filled, ""))
    return frame, (f"{what} of {file} with neither name nor cells left out",)
