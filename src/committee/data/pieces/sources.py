"""Which source a path, an array, a lazy frame or an iterable is."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from committee.data.frame_columns import is_frame
from committee.data.pieces.array_blocks import ArrayBlocks
from committee.data.pieces.folder_columns import FolderColumns
from committee.data.pieces.found_files import ENDINGS, FoundFile, files_of
from committee.data.pieces.iterables import IterablePieces
from committee.data.pieces.source import Source


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


def _of_files(found: tuple[FoundFile, ...]) -> Source:
    files = tuple(file.path for file in found)
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
    of_folders = FolderColumns.of(found)
    if kinds[files[0]] == ".parquet":
        from committee.data.pieces.parquet import ParquetFiles

        return ParquetFiles(files, of_folders)
    if of_folders.names:
        raise ValueError(
            f"{str(files[0])!r} is in a folder whose name gives column {of_folders.names[0]!r}, which is read of "
            "Parquet files alone; write Parquet, or give a LazyFrame that has the column"
        )
    from committee.data.pieces.text_files import TextFiles

    return TextFiles(files)


def _ending(file: Path) -> str | None:
    return next((ending for ending in ENDINGS if file.name.lower().endswith(ending)), None)
