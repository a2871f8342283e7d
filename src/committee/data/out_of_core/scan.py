"""Tables that need not fit in memory: `scan`, its pieces, and samples of their rows."""

from __future__ import annotations

import glob
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from committee.data.columns import is_frame
from committee.data.matrices import OutOfCoreTable
from committee.data.out_of_core.sources import (
    ArraySource,
    DaskSource,
    FoundFile,
    IterableSource,
    LazyFrameSource,
    Piece,
    TableSource,
)
from committee.data.readers.file_format import SEPARATORS
from committee.data.text import parse_bytes

if TYPE_CHECKING:
    import polars as pl


ENDINGS = (".parquet", *(ending + packed for ending in SEPARATORS for packed in ("", ".gz")))

_REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


@dataclass(frozen=True, eq=False)
class Pieces(OutOfCoreTable):
    """A table that is read piece by piece; created by `scan`.

    Parameters
    ----------
    source : TableSource
        Source of the pieces.
    columns : tuple of str, default=None
        Feature columns; None: all that are neither labels nor weights.
    memory_limit : float, default=None
        Most bytes of bin numbers in memory; None: no limit.
    scratch : Path, default=None
        Parent of the scratch folder of a fit; None: the system's folder for temporary files.
    without : tuple of str, default=()
        Columns that are labels or weights.
    """

    source: TableSource
    columns: tuple[str, ...] | None = None
    memory_limit: float | None = None
    scratch: Path | None = None
    without: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Piece]:
        """Read the pieces with features, labels and weights."""
        columns = None if self.columns is None else tuple(dict.fromkeys([*self.columns, *self.without]))
        return self._read(columns)

    def feature_pieces(self) -> Iterator[Piece]:
        """Read the pieces with the feature columns alone."""
        columns, names = self.columns, self.source.names
        if columns is None and names is not None:
            columns = tuple(name for name in names if name not in self.without)
        for piece in self._read(columns):
            with piece.named_in_errors():
                features = piece.with_columns(self.columns, self.without)
            yield features

    def with_targets(self, names: tuple[str, ...]) -> Pieces:
        """Return the pieces with these columns as labels and weights."""
        for name in names:
            if name in (self.columns or ()):
                raise ValueError(
                    f"column {name!r} holds labels or weights, and columns= names it among the features; leave it out"
                    " there"
                )
        return replace(self, without=names)

    def for_model(self, names: Sequence[str] | None, without: tuple[str, ...]) -> Pieces:
        """Return pieces with `without` as targets, and `names` as features unless columns are chosen or lack names."""
        if names is None or self.columns is not None or self.source.names is None:
            return self.with_targets(without)
        return replace(self, columns=tuple(names), without=without)

    def _read(self, columns: tuple[str, ...] | None) -> Iterator[Piece]:
        return self.source.pieces(None if self.source.names is None else columns)

    @property
    def files(self) -> FileStamps:
        return FileStamps.of(getattr(self.source, "files", ()))


def scan(
    source: Any,
    *,
    columns: Sequence[str] | None = None,
    memory_limit: float | str | None = None,
    scratch: str | os.PathLike[str] | None = None,
) -> Pieces:
    """Read a table in pieces, for `fit`, `predict` and `score` of the learners that support it.

    Parameters
    ----------
    source : path, array, lazy frame, Dask collection or iterable
        A file, a folder or a pattern such as ``"big/*.parquet"`` of Parquet or CSV (TSV, ...) files, or a list of such;
        an array, also memory-mapped; a polars LazyFrame; a Dask dataframe or array; or an object that yields the same
        pieces at each iteration: X, (X, y) or (X, y, weight), with X a frame or an array.
    columns : sequence of str, default=None
        Feature columns; None: all that are neither labels nor weights, or if a model reads named columns, its own.
    memory_limit : int or str, default=None
        Most memory for the bin numbers of a fit (one or two bytes a cell), such as ``"2 GB"``. Beyond it they are
        written to a file of a scratch folder and mapped. None: they are in memory.
    scratch : path, default=None
        Parent of a fit's scratch folder, which is removed at its end; None: the system's folder for temporary files.

    Returns
    -------
    Pieces

    Raises
    ------
    FileNotFoundError
        If there is no such file or scratch folder.
    TypeError, ValueError
        If `source` is none of these or can be read only once, or another argument is invalid.

    Examples
    --------
    >>> import committee, numpy as np
    >>> X = np.arange(8.0).reshape(4, 2)
    >>> model = committee.TreeVoter(min_samples_leaf=1).fit(scan([(X[:3], [0, 0, 1]), (X[3:], [1])]))
    >>> model.predict(scan(X)).tolist()
    [0, 0, 1, 1]
    """
    limit = None if memory_limit is None else parse_bytes(memory_limit)
    if isinstance(columns, str):
        raise TypeError(f"columns must be a list of names, got the string {columns!r}; write [{columns!r}]")
    chosen = None if columns is None else tuple(columns)
    if chosen is not None and not chosen:
        raise ValueError("columns must name at least one column, or be None")
    folder = None if scratch is None else Path(scratch)
    if folder is not None and not folder.is_dir():
        raise FileNotFoundError(f"scratch={str(folder)!r} is no folder; make it first")
    return Pieces(source_of(source), chosen, limit, folder)


def as_pieces(X: Any) -> Pieces:
    return X if isinstance(X, Pieces) else scan(X)


def find_files(given: str | os.PathLike[str]) -> tuple[FoundFile, ...]:
    """Return the files of a path, a folder or a pattern, in natural order."""
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
        asked = "".join(part[0] for part in path.parts[plain:])  # patterns of hidden files find these
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
    kept = []
    for path in paths:
        hidden = [part for part in path.parts[n:] if part[0] == "." or (part[0] == "_" and "=" not in part)]
        if all(part[0] in asked for part in hidden) and path.is_file():
            kept.append(path)
    return tuple(FoundFile(path, path.parts[n:-1]) for path in sorted(kept, key=natural_key))


def source_of(given: Any) -> TableSource:
    if isinstance(given, str | os.PathLike):
        return _of_files(find_files(given))
    if isinstance(given, list | tuple) and given and all(isinstance(each, str | os.PathLike) for each in given):
        return _of_files(tuple(file for each in given for file in find_files(each)))
    if isinstance(given, np.ndarray):
        return ArraySource(given)
    library = type(given).__module__.partition(".")[0]
    if library == "polars" and type(given).__name__ == "LazyFrame":
        return LazyFrameSource(given)
    if library.startswith("dask") and hasattr(given, "dask"):
        return DaskSource(given)
    if is_frame(given):
        raise TypeError(
            f"scan was given a {type(given).__name__}; pass a frame in memory to fit or predict as it is, and a lazy "
            "one as a polars LazyFrame"
        )
    if not hasattr(given, "__iter__"):
        raise TypeError(
            f"scan was given a {type(given).__name__}; give a path, an array, a LazyFrame, a Dask collection, or an "
            "object that gives pieces whenever it is iterated"
        )
    return IterableSource(given)


def _of_files(found: tuple[FoundFile, ...]) -> TableSource:
    from committee.data.out_of_core.file_sources import ParquetFiles, PartitionColumns, TextFiles  # few fits read files

    files = tuple(file.path for file in found)
    twice = next((file for file, count in Counter(map(os.path.realpath, files)).items() if count > 1), None)
    if twice is not None:
        raise ValueError(f"{str(twice)!r} is named twice, and its rows would count twice; name it once")
    kinds = {file: next((end for end in ENDINGS if file.name.lower().endswith(end)), None) for file in files}
    odd = next((file for file in files if kinds[file] is None), None)
    if odd is not None:
        raise ValueError(f"{str(odd)!r} has an unknown ending; files read in pieces end in {', '.join(ENDINGS)}")
    if len(set(kinds.values())) > 1:
        other = next(file for file in files if kinds[file] != kinds[files[0]])
        raise ValueError(
            f"files are of several kinds, such as {str(files[0])!r} and {str(other)!r}; scan those of one kind"
        )
    of_folders = PartitionColumns.of(found)
    if kinds[files[0]] == ".parquet":
        return ParquetFiles(files, of_folders)
    if of_folders.names:
        raise ValueError(
            f"{str(files[0])!r} is in a folder whose name gives column {of_folders.names[0]!r}, but such "
            "columns are read for Parquet files only; write Parquet, or give a LazyFrame that has the column"
        )
    return TextFiles(files)


@dataclass(frozen=True)
class FileStamps:
    states: tuple[tuple[Path, int, int], ...]

    @classmethod
    def of(cls, files: Sequence[Path]) -> Self:
        return cls(tuple(map(_state, files)))

    @property
    def paths(self) -> list[Path]:
        return [path for path, *_ in self.states]

    def check_unchanged(self) -> None:
        for path, size, time in self.states:
            try:
                same = _state(path) == (path, size, time)
            except OSError:
                same = False
            if not same:
                raise ValueError(
                    f"{str(path)!r} has changed since its rows were first read; begin again, and leave it alone"
                )


def _state(path: Path) -> tuple[Path, int, int]:
    found = path.stat()
    return path, found.st_size, found.st_mtime_ns


SEED = 0


def draw_stratified_rows(y: NDArray[Any], n: int) -> NDArray[np.int64]:
    classes, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    if n >= len(y):
        return np.arange(len(y))
    if n < len(classes):
        raise ValueError(f"a sample of {n:,} rows has no room for the {len(classes):,} classes; draw more")
    # shares rounded down, the rest by the largest remainders
    shares = counts * (n / counts.sum())
    sizes: NDArray[np.int64] = np.maximum(1, np.floor(shares).astype(np.int64))
    over = int(sizes.sum()) - n
    if over <= 0:
        sizes[np.argsort(sizes - shares, kind="stable")[:-over]] += 1
    for _ in range(over):  # classes with a share of less than one row take it from larger ones
        sizes[np.argmax(np.where(sizes > 1, sizes - shares, -np.inf))] -= 1
    rng = np.random.default_rng(SEED)
    by_class = np.split(np.argsort(codes, kind="stable"), np.cumsum(counts)[:-1])
    drawn = [rng.choice(rows, size, replace=False) for rows, size in zip(by_class, sizes, strict=True)]
    found: NDArray[np.int64] = np.sort(np.concatenate(drawn))
    return found


def read_numbered_rows(pieces: Pieces, rows: NDArray[np.int64]) -> pl.DataFrame:
    import polars as pl

    found: list[pl.DataFrame] = []
    first = 0
    for piece in pieces:
        begin, end = np.searchsorted(rows, [first, first + len(piece)])
        part = pl.DataFrame(piece.X)[rows[begin:end] - first]
        first += len(piece)
        found.append(part)
        with piece.named_in_errors():
            for (name, before), here in zip(found[0].schema.items(), part.schema.values(), strict=True):
                if before != here and not (before.is_numeric() and here.is_numeric()):
                    raise ValueError(
                        f"column {name!r} holds {here} here and {before} in pieces before; make their types the same"
                    )
    return pl.concat(found, how="vertical_relaxed")
