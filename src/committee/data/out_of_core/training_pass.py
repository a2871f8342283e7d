"""First pass over training pieces: labels, weights and a summary of the columns; storage of long arrays."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from committee.data.columns import CategoricalFeatures, is_frame, open_frame
from committee.data.labels import CodedText, Labels
from committee.data.matrices import OutOfCoreTable
from committee.data.number_types import Mask
from committee.data.out_of_core.scan import FileStamps, Pieces
from committee.data.out_of_core.sources import Piece
from committee.data.out_of_core.table_summary import TableSummary

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
    """`y` and `sample_weight` are columns, arrays, or None for those of the pieces."""
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
                f"its {what} are of type {new.dtype}, and those of pieces before of {before[0].dtype}; make all of "
                "them text, or all of them numbers"
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
    """Allocates arrays as long as the table, in memory or in files of the scratch folder of a fit."""

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
