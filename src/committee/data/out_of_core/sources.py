"""Pieces of a table, and their sources: arrays, iterables, Dask collections, lazy frames, and the base of files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from committee.data.categories import UnknownCategoryError
from committee.data.columns import Column, is_frame, open_frame
from committee.data.labels import CodedText, Labels
from committee.data.text import suggest_names

if TYPE_CHECKING:
    import polars as pl


_ROW = re.compile(r"\brow \d")
CELLS = 2**21  # cells of a piece of free size: 16 MB as float64, which malloc reuses for the next piece
LEAST_ROWS = 1024  # rows of a piece with many columns


@dataclass(frozen=True)
class Piece:
    X: Any
    name: str  # in errors: the number or file of the piece, and its rows
    y: Any = None
    weight: Any = None
    place: Callable[[int], str] | None = None  # returns line or row of the file, for errors, from a row of the piece

    def __len__(self) -> int:
        return len(open_frame(self.X)) if is_frame(self.X) else len(self.X)

    @contextmanager
    def named_in_errors(self) -> Iterator[None]:
        try:
            yield
        except (TypeError, ValueError) as error:
            said, counted = str(error), "; rows are counted from the beginning of the piece"
            if isinstance(error, UnknownCategoryError):  # which adds the explanation to what was found
                said, counted = error.found, f" ({counted[2:]})"
            counted = counted if _ROW.search(said) else ""
            kind = ValueError if isinstance(error, UnicodeError) else type(error)  # a UnicodeError needs more arguments
            raise kind(f"{self.name}: {said}{counted}") from error

    def with_columns(self, columns: Sequence[str] | None, without: Sequence[str]) -> Piece:
        if not is_frame(self.X):
            if columns is not None:
                raise ValueError(
                    f"columns={list(columns)!r} are names, but the pieces are arrays, whose columns have none; give "
                    "frames, or columns=None"
                )
            return self
        frame = open_frame(self.X)
        wanted = [name for name in frame.columns if name not in without] if columns is None else list(columns)
        if wanted == frame.columns:
            return self
        _check_columns(wanted, frame.columns)
        return replace(self, X=frame.select(wanted).to_native())

    def column(self, name: str) -> Labels:
        import narwhals as nw

        if not is_frame(self.X):
            raise ValueError(
                f"{name!r} names a column, but the pieces are arrays, without names; give an array, or (X, y, weight)"
            )
        frame = open_frame(self.X)
        _check_columns([name], frame.columns)
        cells = frame[name]
        if cells.null_count():
            raise ValueError(f"column {name!r} is missing in {cells.null_count()} rows; leave such rows out")
        if isinstance(cells.dtype, nw.String | nw.Categorical | nw.Enum):
            column = Column.read(cells, name)
            if column.kind == "text":
                texts = np.array(sorted(map(str, column.distinct())), dtype=np.str_)
                codes = column.codes(texts.tolist())
                return CodedText.of_parts([CodedText(codes.astype(np.uint32), texts)])
        found: NDArray[Any] = cells.to_numpy()
        return found


def _check_columns(wanted: Sequence[str], names: Sequence[str]) -> None:
    for name in wanted:
        if name not in names:
            raise ValueError(f"there is no column {name!r}; {suggest_names(name, names)}")


@dataclass(frozen=True)
class FoundFile:
    path: Path
    folders: tuple[str, ...] = ()  # between the given folder or pattern and the file


class TableSource(Protocol):
    """Table that is read in pieces, repeatedly and in the same order of rows."""

    @property
    def names(self) -> tuple[str, ...] | None:
        """Column names, None if unknown before rows are read."""

    def pieces(self, columns: Sequence[str] | None) -> Iterator[Piece]:
        """Read the pieces with `columns` alone; None, or a source without names: all."""


def default_chunk_rows(n_columns: int) -> int:
    return max(LEAST_ROWS, CELLS // max(1, n_columns))


@dataclass(frozen=True, eq=False)
class ArraySource:
    array: NDArray[Any]

    def __post_init__(self) -> None:
        if self.array.ndim != 2:
            raise ValueError(f"scan was given an array of {self.array.ndim} dimensions; give one of rows and columns")

    @property
    def names(self) -> None: ...

    def pieces(self, columns: Sequence[str] | None) -> Iterator[Piece]:
        n, step = len(self.array), default_chunk_rows(self.array.shape[1])
        for first in range(0, n, step):
            last = min(first + step, n)
            yield Piece(self.array[first:last], row_range(first, last))


def row_range(first: int, last: int) -> str:
    return f"rows {first} to {last - 1}" if last - first > 1 else f"row {first}"


@dataclass(frozen=True, eq=False)
class IterableSource:
    """Iterable of pieces X, (X, y) or (X, y, weight)."""

    iterable: Iterable[Any]

    def __post_init__(self) -> None:
        if isinstance(self.iterable, Iterator):
            raise TypeError(
                f"scan was given a {type(self.iterable).__name__}, which can be read only once, and a fit reads its "
                "rows at least twice; give a list, or an object whose __iter__ begins anew"
            )

    @property
    def names(self) -> None: ...

    def pieces(self, columns: Sequence[str] | None) -> Iterator[Piece]:
        for number, given in enumerate(self.iterable):
            parts = given if isinstance(given, tuple) else (given,)
            if not 1 <= len(parts) <= 3:
                raise ValueError(f"piece {number} is a tuple of {len(parts)}; give X, (X, y) or (X, y, weight)")
            X, y, weight = (*parts, None, None)[:3]
            yield Piece(
                _table(X, number), f"piece {number}", _vector(y, "y", number), _vector(weight, "weight", number)
            )


def _table(X: Any, number: int) -> Any:
    if not isinstance(X, list):
        return X
    try:
        rows = np.asarray(X)
    except ValueError:  # rows of several lengths
        rows = np.empty(0)
    if rows.ndim != 2:
        raise ValueError(
            f"piece {number} is a list of {len(X)} that is no table; give rows of one length, and X with y as a tuple, "
            "(X, y)"
        )
    return rows


def _vector(values: Any, name: str, number: int) -> Any:
    if values is None or (hasattr(values, "__len__") and hasattr(values, "dtype")):
        return values
    try:
        return np.asarray(values)
    except ValueError as error:
        raise ValueError(f"piece {number}: its {name} has entries of several lengths; give one for each row") from error


@dataclass(frozen=True, eq=False)
class DaskSource:
    collection: Any

    def __post_init__(self) -> None:
        if not (self._is_frame or getattr(self.collection, "ndim", 0) == 2):
            raise TypeError(
                f"scan was given a Dask {type(self.collection).__name__}; give a Dask dataframe, or an array of rows "
                "and columns"
            )

    @property
    def _is_frame(self) -> bool:
        of_frame = all(hasattr(self.collection, name) for name in ("npartitions", "columns"))
        return of_frame and getattr(self.collection, "ndim", 0) == 2

    @property
    def names(self) -> tuple[str, ...] | None:
        columns = getattr(self.collection, "columns", None)
        if columns is None or not all(isinstance(name, str) for name in columns):
            return None
        return tuple(columns)

    def delayed_parts(self) -> list[Any]:
        whole = self.collection if self._is_frame else self.collection.rechunk({1: -1})
        return list(np.ravel(whole.to_delayed()))

    @property
    def known_sizes(self) -> list[int] | None:
        if self._is_frame:
            return None
        sizes = self.collection.chunks[0]
        return None if any(np.isnan(size) for size in sizes) else [int(size) for size in sizes]

    def computed(self, parts: Sequence[Any]) -> Iterator[Any]:
        return (part.compute() for part in parts)

    def pieces(self, columns: Sequence[str] | None) -> Iterator[Piece]:
        if self._is_frame:
            chosen = self.collection if columns is None else self.collection[list(columns)]
            partitions = [chosen.partitions[number] for number in range(chosen.npartitions)]
            for number, partition in enumerate(self.computed(partitions)):
                yield Piece(partition, f"partition {number}")
            return
        whole_rows, first = self.collection.rechunk({1: -1}), 0
        blocks = [whole_rows.blocks[number] for number in range(whole_rows.numblocks[0])]
        for number, block in enumerate(map(np.asarray, self.computed(blocks))):
            yield Piece(block, f"block {number}, {row_range(first, first + len(block))}")
            first += len(block)


@dataclass(frozen=True, eq=False)
class LazyFrameSource:
    frame: pl.LazyFrame
    of: str = ""  # file that the query reads, in errors and names of pieces

    @cached_property
    def names(self) -> tuple[str, ...]:
        with self._errors():
            return tuple(self.frame.collect_schema().names())

    def pieces(self, columns: Sequence[str] | None) -> Iterator[Piece]:
        wanted = list(self.names if columns is None else columns)
        _check_columns(wanted, self.names)
        chosen, size, first = self.frame.select(wanted), default_chunk_rows(len(wanted)), 0
        before = f"{self.of}, " if self.of else ""
        with self._errors():
            for frame in chosen.collect_batches(chunk_size=size, maintain_order=True):
                for begin in range(0, frame.height, size):
                    rows = frame.slice(begin, size)
                    last = first + rows.height
                    yield Piece(rows, f"{before}{row_range(first, last)}")
                    first = last

    @contextmanager
    def _errors(self) -> Iterator[None]:
        import polars as pl

        from committee.data.readers.formats import first_error_line

        try:
            yield
        except pl.exceptions.PolarsError as error:
            raise ValueError(f"{self.of or 'the LazyFrame'} cannot be read: {first_error_line(error)}") from error


@dataclass(frozen=True, eq=False)
class DerivedFiles:
    """Base of sources that change the pieces of files."""

    source: Any

    @property
    def files(self) -> tuple[Path, ...]:
        return self.source.files  # type: ignore[no-any-return]

    @property
    def names(self) -> tuple[str, ...]:
        return self.source.names  # type: ignore[no-any-return]

    @property
    def n_rows(self) -> int:
        return self.source.n_rows  # type: ignore[no-any-return]
