"""Which source a path, an array, a lazy frame or an iterable is."""

from __future__ import annotations

import glob
import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from committee.data.frame_columns import is_frame
from committee.data.pieces.array_blocks import ArrayBlocks
from committee.data.pieces.iterables import IterablePieces
from committee.data.pieces.source import Source

TEXT_ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
ENDINGS = (".parquet", *TEXT_ENDINGS)


def source_of(given: Any) -> Source:
    """Find the source that reads what `scan` was given.

    Raises
    ------
    FileNotFoundError
        If a path or pattern is of no file.
    TypeError, ValueError
        If it is nothing that can be read in pieces.

    Examples
    --------
    >>> type(source_of(np.zeros((1, 2)))).__name__
    'ArrayBlocks'
    """
    if isinstance(given, str | os.PathLike):
        return _of_files(files_of(given))
    if isinstance(given, list | tuple) and given and all(isinstance(each, str | os.PathLike) for each in given):
        return _of_files(tuple(file for each in given for file in files_of(each)))
    if isinstance(given, np.ndarray):
        return ArrayBlocks(given)
    library = type(given).__module__.partition(".")[0]
    if library == "polars" and type(given).__name__ == "LazyFrame":
        from committee.data.pieces.lazy_frames import LazyFramePieces

        return LazyFramePieces(given)
    if library.startswith("dask") and hasattr(given, "dask"):
        from committee.data.pieces.dask_collections import DaskPartitions

        return DaskPartitions(given)
    if is_frame(given):
        raise TypeError(
            f"scan was given a {type(given).__name__}, which is in memory already; pass it to fit or predict as it is"
        )
    if not hasattr(given, "__iter__"):
        raise TypeError(
            f"scan was given a {type(given).__name__}; give a path, an array, a LazyFrame, a Dask collection, or an "
            "object that gives pieces whenever it is iterated"
        )
    return IterablePieces(given)


def files_of(given: str | os.PathLike[str]) -> tuple[Path, ...]:
    """Files of a path, a folder or a pattern, in the order of their names.

    Raises
    ------
    FileNotFoundError
        If there is none.
    ValueError
        If they are of several kinds, or of none that can be read.
    """
    path = Path(given)
    if path.is_file():
        found = [path]
    elif path.is_dir():
        found = sorted(file for file in path.rglob("*") if file.name.lower().endswith(ENDINGS))
    else:
        found = sorted(Path(name) for name in glob.glob(os.fspath(given), recursive=True))  # noqa: PTH207
    found = [file for file in found if file.is_file()]
    if not found:
        raise FileNotFoundError(
            f"there is no file {os.fspath(given)!r}; endings that are read are {', '.join(ENDINGS)}"
        )
    return tuple(found)


def _of_files(files: tuple[Path, ...]) -> Source:
    twice = next((file for file, count in Counter(map(os.path.realpath, files)).items() if count > 1), None)
    if twice is not None:
        raise ValueError(f"{str(twice)!r} is named twice, and its rows would count twice; name it once")
    kinds = {file: _ending(file) for file in files}
    odd = next((file for file in files if kinds[file] is None), None)
    if odd is not None:
        raise ValueError(f"{str(odd)!r} has an unknown ending; read in pieces are {', '.join(ENDINGS)}")
    if len(set(kinds.values())) > 1:
        other = next(file for file in files if kinds[file] != kinds[files[0]])
        raise ValueError(
            f"files are of several kinds, such as {str(files[0])!r} and {str(other)!r}; scan those of one kind"
        )
    if kinds[files[0]] == ".parquet":
        from committee.data.pieces.parquet import ParquetFiles

        return ParquetFiles(files)
    from committee.data.pieces.text_files import TextFiles

    return TextFiles(files)


def _ending(file: Path) -> str | None:
    return next((ending for ending in ENDINGS if file.name.lower().endswith(ending)), None)
