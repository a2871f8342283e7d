"""Training pieces: a first pass for labels, weights and columns, and the encoded matrix of later passes."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from committee import _core
from committee.data.categories import UnknownCategoryError
from committee.data.columns import CategoricalFeatures, is_frame, open_frame
from committee.data.labels import CodedText, Labels
from committee.data.matrices import OutOfCoreTable
from committee.data.number_types import F64, Mask
from committee.data.out_of_core.scan import FileStamps, Pieces
from committee.data.out_of_core.sources import Piece
from committee.data.out_of_core.table_summary import TableSummary, category_hashes, column_edges, concatenate_edges
from committee.data.table_schema import TableSchema

_ZEROS = 2**20  # bytes that are written at a time if the system cannot reserve space


@dataclass(frozen=True, eq=False)
class TrainingPieces(OutOfCoreTable):
    is_remote: ClassVar[bool] = False  # whether workers encode the pieces, and `matrix` gives the encoded rows

    pieces: Pieces
    summary: TableSummary
    counted: Mask | None  # rows with weight, which `summary` describes; None for all
    n_rows: int
    example: Any  # one row
    y: Any
    weights: Any
    files: FileStamps
    storage: Storage

    def __len__(self) -> int:
        return self.n_rows

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_rows, len(self.summary.columns)

    def rescan(self, counted: Mask | None, max_bins: int) -> TrainingPieces:
        if self.is_summary_of(counted, max_bins):
            return self
        self.files.check_unchanged()
        summary, first = TableSummary(self.summary.categorical_features, max_bins), 0
        for piece in self.pieces.feature_pieces():
            last = first + len(piece)
            if last > self.n_rows:
                self.check_row_count(last)
            with piece.named_in_errors():
                summary.add(piece.X, summary.n_rows, None if counted is None else counted[first:last])
            first = last
        self.check_row_count(first)
        return replace(self, summary=summary, counted=counted)

    def is_summary_of(self, counted: Mask | None, max_bins: int) -> bool:
        same = counted is self.counted or (
            counted is not None and self.counted is not None and np.array_equal(counted, self.counted)
        )
        return same and max_bins <= self.summary.max_bins

    def check_row_count(self, n_rows: int) -> None:
        self.files.check_unchanged()
        if n_rows != self.n_rows:
            raise ValueError(
                f"the pieces had {self.n_rows} rows in the first pass, and {n_rows} in the next; they must be the same "
                "whenever they are read"
            )


def scan_training_pieces(
    pieces: Pieces,
    y: Any,
    sample_weight: Any,
    storage: Storage,
    categorical_features: CategoricalFeatures = "from_dtype",
    max_bins: int = 255,
) -> TrainingPieces:
    """Make the first pass; `y` and `sample_weight` are arrays, column names, or None for those of the pieces."""
    found = TargetCollector(y, sample_weight)
    pieces = pieces.with_targets(found.named)
    summary, example, files = TableSummary(categorical_features, max_bins), None, pieces.files
    for piece in pieces:
        with piece.named_in_errors():
            counted = found.take(piece)
            features = piece.with_columns(pieces.columns, pieces.without).X
            summary.add(features, summary.n_rows, counted)
        if example is None and len(piece):
            example = open_frame(features).head(1).to_native() if is_frame(features) else features[:1]
    if example is None:
        raise ValueError("the pieces have 0 rows; at least one is needed.")
    files.check_unchanged()
    weights = found.weights()
    counted_rows = None if weights is None else found.counted_rows()
    if counted_rows is not None and counted_rows.all():
        counted_rows = None
    return TrainingPieces(
        pieces, summary, counted_rows, found.n_rows, example, found.coded_labels(), weights, files, storage
    )


@dataclass(eq=False)
class TargetCollector:
    y: Any
    sample_weight: Any
    n_rows: int = 0
    _labels: list[Labels] = field(default_factory=list)
    _weights: list[NDArray[Any]] = field(default_factory=list)
    _counted: list[Mask] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.y, self.sample_weight = _computed(self.y), _computed(self.sample_weight)
        given = self.sample_weight
        self._given = None if given is None or isinstance(given, str) else np.asarray(given)

    @property
    def named(self) -> tuple[str, ...]:
        return tuple(name for name in (self.y, self.sample_weight) if isinstance(name, str))

    def take(self, piece: Piece) -> Mask | None:
        first, last = self.n_rows, self.n_rows + len(piece)
        self.n_rows = last
        labels = piece.column(self.y) if isinstance(self.y, str) else piece.y if self.y is None else None
        if labels is not None:
            self._add("labels", self._labels, _coded(labels), len(piece))
        if self._given is not None:
            weights: Any = self._given[first:last] if self._given.ndim else None
        else:
            weights = piece.weight if self.sample_weight is None else piece.column(self.sample_weight)
        if weights is None:
            return None
        numbers = np.asarray(weights)
        if self._given is None:
            if len(numbers) and _kind(numbers) == "text" and isinstance(numbers[0], str):
                of = "its weights hold" if self.sample_weight is None else f"sample_weight={self.sample_weight!r} holds"
                raise ValueError(f"{of} text, such as {str(numbers[0])!r}; weights are numbers")
            self._add("weights", self._weights, numbers, len(piece))
        if len(numbers) != len(piece) or numbers.ndim != 1 or numbers.dtype.kind not in "biuf":
            return None  # an error once all are there
        counted = np.asarray(numbers > 0)
        self._counted.append(counted)
        return None if counted.all() else counted

    @staticmethod
    def _add(what: str, before: list[Any], new: Labels, n: int) -> None:
        if len(new) != n:
            raise ValueError(f"it has {n} rows and {len(new)} {what}; give one for each row")
        if not n:
            return
        if before and (_kind(new) != _kind(before[0]) or new.ndim != before[0].ndim):
            raise ValueError(
                f"its {what} are of type {new.dtype} in {new.ndim}D, and those of pieces before of {before[0].dtype} "
                f"in {before[0].ndim}D; make them alike in all pieces"
            )
        before.append(new)

    def labels(self) -> Any:
        labels = self.coded_labels()
        return np.asarray(labels) if isinstance(labels, CodedText) else labels

    def coded_labels(self) -> Any:
        if self.y is None or isinstance(self.y, str):
            return _whole("y", self._labels, self.n_rows)
        return self.y

    def weights(self) -> Any:
        if self.sample_weight is None or isinstance(self.sample_weight, str):
            return _whole("weights", self._weights, self.n_rows)
        return self.sample_weight

    def counted_rows(self) -> Mask | None:
        found = np.concatenate([np.empty(0, bool), *self._counted])
        return found if len(found) == self.n_rows else None


def _computed(values: Any) -> Any:
    return values.compute() if hasattr(values, "compute") else values


def _coded(labels: Any) -> Labels:
    if isinstance(labels, CodedText):
        return labels
    values = np.asarray(labels)
    return CodedText.of(values) if values.dtype.kind == "U" and values.ndim == 1 else values


def _whole(what: str, parts: Sequence[Labels], n: int) -> Labels | None:
    if not parts:
        return None
    if (found := sum(map(len, parts))) != n:
        raise ValueError(f"some pieces bring {what} and some do not: there are {found} for {n} rows; give all or none")
    coded = [part for part in parts if isinstance(part, CodedText)]
    return (
        CodedText.of_parts(coded) if len(coded) == len(parts) else np.concatenate([np.asarray(part) for part in parts])
    )


def _kind(values: Labels) -> str:
    return {"U": "text", "O": "text", "T": "text", "b": "boolean"}.get(values.dtype.kind, "number")


@dataclass(eq=False)
class Storage:
    """Allocator of arrays as long as the table, in memory or in scratch files."""

    memory_limit: float | None  # most bytes of bin numbers in memory
    folder: Callable[[], Path]  # creates the scratch folder
    _files: list[Path] = field(default_factory=list)

    def codes(self, shape: tuple[int, int], dtype: DTypeLike) -> NDArray[Any]:
        size = shape[0] * shape[1] * np.dtype(dtype).itemsize
        if self.memory_limit is None or size <= self.memory_limit:
            return np.empty(shape, dtype)
        return self.mapped("codes", shape, dtype)

    def mapped(self, what: str, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        path = self.folder() / f"{what}-{len(self._files)}"
        self._files.append(path)
        size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        try:
            _take_room(path, size)
            array: NDArray[Any] = np.memmap(path, dtype, "r+", shape=shape)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise
            raise OSError(
                error.errno,
                f"no room for {size:,} bytes of {what} in the scratch folder; free some, or choose a folder on another "
                f"disk by scan(..., scratch=...) or --scratch: {error.strerror}",
                str(path),
            ) from error
        return array


def _take_room(path: Path, size: int) -> None:
    # a full disk is an error here; once the file is mapped, it would end the process
    with path.open("wb") as file:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)
            return
        for first in range(0, size, _ZEROS):
            file.write(bytes(min(_ZEROS, size - first)))


I64: TypeAlias = NDArray[np.int64]

_STEP = 2**16  # rows whose categories are copied at a time
_SAME = "the pieces must be the same, in the same order, whenever they are read"


@dataclass(eq=False)
class OutOfCoreMatrix:
    """Encoded rows of weight above 0, read in passes over the pieces."""

    is_remote: ClassVar[bool] = False  # whether workers hold the codes, in shards

    training: TrainingPieces
    table: TableSchema
    digests: bool = False  # whether the pass for bin numbers also computes row digests
    numbers: dict[int, F64] = field(default_factory=dict)  # columns in memory that replace those of the table
    needs_cells: bool = False  # whether a fit needs the cells as well as their codes
    _digests: NDArray[np.uint64] | None = None  # (n, 1 or 2), as `digests_of_kinds` returns them
    _dense: F64 | None = None
    _writing: Lock = field(default_factory=Lock)

    @property
    def shape(self) -> tuple[int, int]:
        return self.training.summary.n_rows, self.table.n_features

    @property
    def ndim(self) -> int:
        return 2

    def __len__(self) -> int:
        return self.training.summary.n_rows

    def __getitem__(self, index: Any) -> F64:
        rows: F64 = np.ascontiguousarray(self.dense[index])
        return rows

    def with_columns(self, columns: Sequence[int], numbers: F64) -> OutOfCoreMatrix:
        own = {j: np.ascontiguousarray(numbers[:, c]) for c, j in enumerate(columns)}
        return replace(self, numbers=self.numbers | own, _digests=None, _dense=None)

    @property
    def dense(self) -> F64:
        with self._writing:  # members are trained in several threads
            if self._dense is None:
                dense = self.training.storage.mapped("cells", self.shape, np.float64)
                for first, rows in self.blocks():
                    dense[first : first + len(rows)] = rows
                self._dense = np.asarray(dense)
        return self._dense

    def transform_rows(self, n_columns: int, of_rows: Callable[[F64], F64]) -> F64:
        made, step = self.room((len(self), n_columns)), 2**16
        for first in range(0, len(self), step):
            made[first : first + step] = of_rows(self.dense[first : first + step])
        return made

    def room(self, shape: tuple[int, ...]) -> F64:
        return np.asarray(self.training.storage.mapped("rows", shape, np.float64))

    def __reduce__(self) -> tuple[Any, ...]:
        # another process has neither the pieces nor the scratch folder
        return np.asarray, (self.dense,)

    def blocks(self, n_threads: int = 1) -> Iterator[tuple[int, F64]]:
        training, sampled = self.training, _SampledCells(self.training)
        training.files.check_unchanged()
        table = self.table
        first = row = 0
        for piece in training.pieces.feature_pieces():
            with piece.named_in_errors():
                rows = _encoded(table, piece.X, n_threads) if len(piece) else np.empty((0, table.n_features))
            row += len(rows)
            if row > training.n_rows:
                break
            if training.counted is not None:
                rows = rows[training.counted[row - len(rows) : row]]
            sampled.check(first, rows, piece.name)
            if self.numbers:
                rows = rows.copy()
                for j, numbers in self.numbers.items():
                    rows[:, j] = numbers[first : first + len(rows)]
            if len(rows):
                yield first, rows
            first += len(rows)
        training.check_row_count(row)

    @property
    def sampled_cells(self) -> dict[str, NDArray[Any]]:
        sample = self.training.summary.sample
        assert sample is not None
        return {"sampled rows": sample.rows, "sampled cells": sample.cells}

    def edges(self, weights: F64 | None, max_bins: int, max_sample: int, n_threads: int) -> tuple[F64, I64]:
        if max_bins > self.training.summary.max_bins:
            self.training = self.training.rescan(self.training.counted, max_bins)
        summary = self.training.summary
        of_sample = None if weights is None else weights[summary.sampled_rows]
        edges, offset = summary.edges(max_bins, of_sample, n_threads)
        if not self.numbers:
            return edges, offset
        each = [edges[offset[j] : offset[j + 1]] for j in range(self.table.n_features)]
        for j, numbers in self.numbers.items():
            each[j] = column_edges(numbers, weights, max_bins, max_sample)
        return concatenate_edges(each)

    def codes(
        self, edges: F64, offset: NDArray[np.int64], n_categories: NDArray[np.int32], wide: bool, n_threads: int
    ) -> NDArray[np.uint8] | NDArray[np.uint16]:
        codes = self.training.storage.codes(self.shape, np.uint16 if wide else np.uint8)
        digests = np.empty((len(self), self._n_digests), np.uint64) if self.digests else None
        for first, rows in self.blocks(n_threads):
            last = first + len(rows)
            codes[first:last] = _core.bin_codes(rows, edges, offset, n_categories, wide, n_threads)
            if digests is not None:
                digests[first:last] = digests_of_kinds(rows, self.categorical, n_threads)
        self._digests, self.digests = digests, False
        return codes

    def row_digests(self, columns: NDArray[np.uint64], n_threads: int) -> NDArray[np.uint64]:
        known, self._digests = self._digests, None
        if known is not None and np.array_equal(columns, _places(self.table.n_features)):
            return np.ascontiguousarray(known[:, 0])
        digests = np.empty(len(self), np.uint64)
        for first, rows in self.blocks(n_threads):
            digests[first : first + len(rows)] = _core.row_digests(rows, columns, n_threads)
        return digests

    def digests_of_kinds(self, n_threads: int) -> NDArray[np.uint64]:
        known, self._digests = self._digests, None
        if known is None:
            known = np.empty((len(self), self._n_digests), np.uint64)
            for first, rows in self.blocks(n_threads):
                known[first : first + len(rows)] = digests_of_kinds(rows, self.categorical, n_threads)
        return known

    @property
    def categorical(self) -> NDArray[np.bool_] | None:
        return self.table.with_levels

    @property
    def _n_digests(self) -> int:
        return 1 if self.categorical is None else 2


def digests_of_kinds(X: F64, categorical: NDArray[np.bool_] | None, n_threads: int) -> NDArray[np.uint64]:
    """Return digests of rows by all columns, and by those of numbers, ``(n, 1 or 2)``."""
    places = _places(X.shape[1])
    every = _core.row_digests(X, places, n_threads)
    if categorical is None:
        return every[:, None]
    numbers = every.copy()
    for first in range(0, len(X), _STEP):  # a digest is a sum over the columns
        part = np.ascontiguousarray(X[first : first + _STEP, categorical])
        numbers[first : first + _STEP] -= _core.row_digests(part, places[categorical], n_threads)
    return np.column_stack([every, numbers])


def _places(n_columns: int) -> NDArray[np.uint64]:
    return np.arange(1, n_columns + 1, dtype=np.uint64)


def _encoded(table: TableSchema, X: Any, n_threads: int) -> F64:
    try:
        return table.encode(X, n_threads, all_known=True)
    except UnknownCategoryError as error:
        raise ValueError(f"{error.found}, which was not there in the first pass; {_SAME}") from error


class _SampledCells:
    # sampled cells of the first pass, which must be the same in later ones
    def __init__(self, training: TrainingPieces) -> None:
        sample = training.summary.sample
        assert sample is not None
        self.rows, self.cells = sample.rows, sample.cells
        categories = training.summary.schema.categories
        self.hashes = {j: np.append(category_hashes(found), np.nan) for j, found in enumerate(categories) if found}

    def check(self, first: int, rows: F64, name: str) -> None:
        begin, end = np.searchsorted(self.rows, [first, first + len(rows)])
        now = rows[self.rows[begin:end] - first]
        for j, hashes in self.hashes.items():
            now[:, j] = hashes[np.where(np.isnan(now[:, j]), -1, now[:, j]).astype(np.intp)]
        if not np.array_equal(self.cells[begin:end], now, equal_nan=True):
            raise ValueError(f"{name} holds other rows than in the first pass; {_SAME}")
