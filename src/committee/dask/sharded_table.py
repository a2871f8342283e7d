"""A Dask collection as sharded training rows: scanned, binned and stored by the workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from importlib.metadata import version
from itertools import accumulate, pairwise
from typing import Any, ClassVar

import numpy as np
from dask import delayed
from dask.delayed import Delayed
from numpy.typing import NDArray

from committee import _core
from committee.dask.cluster import Cluster
from committee.dask.members import refuse_other_version
from committee.dask.shards import ShardHomes, ShardsOnWorkers, StoredShard, hold
from committee.data.columns import is_frame, open_frame
from committee.data.number_types import F64, Mask
from committee.data.out_of_core.sources import Piece
from committee.data.out_of_core.table_summary import TableSummary
from committee.data.out_of_core.training_pieces import OutOfCoreMatrix, TrainingPieces, digests_of_kinds
from committee.data.table_schema import TableSchema
from committee.learners.gradient.shards import ShardedCodes, Shards
from committee.learners.gradient.target import Target


@dataclass(frozen=True, eq=False)
class ShardedTable(TrainingPieces):
    is_remote: ClassVar[bool] = True

    cluster: Cluster
    parts: Sequence[Delayed]
    sizes: Sequence[int]
    homes: list[ShardHomes] = field(default_factory=list)  # closed when the fit ends

    def rescan(self, counted: Mask | None, max_bins: int) -> ShardedTable:
        if self.is_summary_of(counted, max_bins):
            return self
        columns = self.summary.categorical_features
        summary = scan_partitions(self.cluster, self.parts, self.sizes, counted, columns, max_bins)
        return replace(self, summary=summary, counted=counted)

    def matrix(self, table: TableSchema, digests: bool) -> OutOfCoreMatrix:
        return ShardedMatrix(self, table, digests)

    @cached_property
    def masks(self) -> list[Mask | None]:
        counted = self.counted
        if counted is None:
            return [None] * len(self.sizes)
        return [counted[slice(*ends)] for ends in pairwise(accumulate(self.sizes, initial=0))]

    @cached_property
    def counts(self) -> list[int]:
        return [n if mask is None else int(mask.sum()) for n, mask in zip(self.sizes, self.masks, strict=True)]

    @cached_property
    def firsts(self) -> list[int]:
        return [0, *accumulate(self.counts)]

    def close(self) -> None:
        for homes in self.homes:
            homes.close()


def scan_partitions(
    cluster: Cluster,
    parts: Sequence[Delayed],
    sizes: Sequence[int],
    counted: Mask | None,
    categorical_features: Any,
    max_bins: int,
) -> TableSummary:
    first, row, looks = 0, 0, []
    for number, (part, n) in enumerate(zip(parts, sizes, strict=True)):
        keep = None if counted is None else counted[row : row + n]
        looks.append(delayed(_look)(part, number, n, first, keep, categorical_features, max_bins))
        row, first = row + n, first + (n if keep is None else int(keep.sum()))
    found = cluster.fetched(cluster.client.compute(delayed(list)(looks)))
    merged = TableSummary(categorical_features, max_bins)
    for number, look in enumerate(found):
        with Piece(None, f"partition {number}").named_in_errors():
            merged = merged.merged(look)
    return merged


def _look(
    X: Any, number: int, n: int, first: int, keep: Mask | None, categorical_features: Any, max_bins: int
) -> TableSummary:
    piece, look = Piece(X, f"partition {number}"), TableSummary(categorical_features, max_bins)
    with piece.named_in_errors():
        if len(piece) != n:
            raise ValueError(
                f"it has {len(piece)} rows, and had {n} before, or by its chunks; give an X that is the same whenever"
                " it is computed, such as X.persist()"
            )
        if n:
            look.add(piece.X, first, keep)
    return look


def rows_of(X: Any) -> tuple[int, Any]:
    piece = Piece(X, "")
    if not len(piece):
        return 0, None
    return len(piece), open_frame(X).head(1).to_native() if is_frame(X) else np.asarray(X)[:1]


@dataclass(eq=False)
class ShardedMatrix(OutOfCoreMatrix):
    is_remote: ClassVar[bool] = True
    training: ShardedTable

    def blocks(self, n_threads: int = 1) -> Iterator[tuple[int, F64]]:
        looked, cluster = self.training, self.training.cluster
        for number, count in enumerate(looked.counts):
            if count:
                yield looked.firsts[number], cluster.fetched(cluster.client.compute(self._encoded(number)))

    def codes(
        self, edges: F64, offset: NDArray[np.int64], n_categories: NDArray[np.int32], wide: bool, n_threads: int
    ) -> Any:
        looked, counts = self.training, self.training.counts
        looked.cluster.look()
        groups = _groups(counts, max(1, len(looked.cluster.addresses)))
        digests = partial(_digests_of_kinds, self.categorical) if self.digests and self._digests is None else None
        cells = self.needs_cells
        n_bins = np.where(n_categories > 0, n_categories, np.diff(offset) + 1).astype(np.int32)

        def held(fit: str, shard: int) -> Any:
            coded = [
                delayed(_coded)(self._encoded(part), edges, offset, n_categories, wide, digests, cells)
                for part in groups[shard]
            ]
            return delayed(_held)(fit, shard, coded, n_bins, version("committee"))

        homes = ShardHomes(looked.cluster, held, [sum(counts[part] for part in group) for group in groups])
        looked.homes.append(homes)
        found = homes.open(range(len(groups)))
        if digests:
            self._digests = np.concatenate([found[shard] for shard in range(len(groups))])
        return CodesOnWorkers(self.shape, homes)

    def row_digests(self, columns: NDArray[np.uint64], n_threads: int) -> NDArray[np.uint64]:
        return self._of_partitions(partial(_digests, columns))

    def digests_of_kinds(self, n_threads: int) -> NDArray[np.uint64]:
        if self._digests is None:
            self._digests = self._of_partitions(partial(_digests_of_kinds, self.categorical))
        return self._digests

    def _of_partitions(self, digests: Callable[[F64], NDArray[np.uint64]]) -> NDArray[np.uint64]:
        looked = self.training
        parts = [delayed(digests)(self._encoded(number)) for number, count in enumerate(looked.counts) if count]
        return np.concatenate(looked.cluster.fetched(looked.cluster.client.compute(delayed(list)(parts))))

    def _encoded(self, number: int) -> Any:
        looked = self.training
        rows = slice(looked.firsts[number], looked.firsts[number + 1])
        numbers = {j: values[rows] for j, values in self.numbers.items()}
        encode = partial(_rows, self.table, looked.masks[number], numbers, number)
        return delayed(encode)(looked.parts[number])


def _rows(table: TableSchema, keep: Mask | None, numbers: dict[int, F64], number: int, X: Any) -> F64:
    piece = Piece(X, f"partition {number}")
    with piece.named_in_errors():
        rows: F64 = table.encode(piece.X)
    rows = rows if keep is None else rows[keep]
    if numbers:
        rows = rows.copy()
        for j, values in numbers.items():
            rows[:, j] = values
    return rows


def _digests(columns: NDArray[np.uint64], rows: F64) -> NDArray[np.uint64]:
    return _core.row_digests(np.ascontiguousarray(rows), columns, 1)


def _digests_of_kinds(categorical: Mask | None, rows: F64) -> NDArray[np.uint64]:
    return digests_of_kinds(np.ascontiguousarray(rows), categorical, 1)


def _coded(
    rows: F64,
    edges: F64,
    offset: NDArray[np.int64],
    n_categories: NDArray[np.int32],
    wide: bool,
    digests: Callable[[F64], NDArray[np.uint64]] | None,
    cells: bool,
) -> tuple[NDArray[Any], NDArray[np.uint64] | None, F64 | None]:
    rows = np.ascontiguousarray(rows)
    codes = _core.bin_codes(rows, edges, offset, n_categories, wide, 1)
    return codes, None if digests is None else digests(rows), rows if cells else None


def _held(
    fit: str,
    shard: int,
    coded: list[tuple[NDArray[Any], NDArray[Any] | None, F64 | None]],
    n_bins: NDArray[np.int32],
    of_client: str,
) -> NDArray[np.uint64] | None:
    refuse_other_version(of_client)
    codes, digests, cells = (_end_to_end(parts) for parts in zip(*coded, strict=True))
    assert codes is not None
    hold(fit, shard, StoredShard(codes, n_bins, cells))
    return digests


def _end_to_end(parts: Sequence[NDArray[Any] | None]) -> NDArray[Any] | None:
    there = [part for part in parts if part is not None]
    return there[0] if len(there) == 1 else np.concatenate(there) if there else None


def _groups(counts: Sequence[int], n_workers: int) -> list[list[int]]:
    there = [part for part, count in enumerate(counts) if count]
    ends = np.cumsum([counts[part] for part in there])
    group = np.minimum((ends - 1) * n_workers // ends[-1], n_workers - 1)
    return [[there[i] for i in np.flatnonzero(group == g)] for g in np.unique(group)]


class CodesOnWorkers(ShardedCodes):
    def __init__(self, shape: tuple[int, int], homes: ShardHomes) -> None:
        super().__init__(shape)
        self.homes = homes

    def _shards(self, target: Target, n_outputs: int) -> Shards:
        return ShardsOnWorkers(self.homes, target, n_outputs)
