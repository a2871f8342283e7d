"""Dask dataframes and arrays, one partition after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from committee.data.pieces.array_blocks import row_words
from committee.data.pieces.piece import Piece


@dataclass(frozen=True, eq=False)
class DaskPartitions:
    """A Dask collection, each partition of which fits in memory; computed anew for each pass, unless it is persisted.

    Raises
    ------
    TypeError
        If it is no dataframe or two-dimensional array.
    """

    collection: Any

    def __post_init__(self) -> None:
        if not (self._is_frame or getattr(self.collection, "ndim", 0) == 2):
            raise TypeError(
                f"scan was given a Dask {type(self.collection).__name__}; give a Dask dataframe, or an array of rows "
                "and columns"
            )

    @property
    def _is_frame(self) -> bool:
        return (
            hasattr(self.collection, "npartitions")
            and getattr(self.collection, "ndim", 0) == 2
            and hasattr(self.collection, "columns")
        )

    @property
    def names(self) -> tuple[str, ...] | None:
        """Columns of a dataframe, if all are text."""
        columns = getattr(self.collection, "columns", None)
        if columns is None or not all(isinstance(name, str) for name in columns):
            return None
        return tuple(columns)

    def delayed_parts(self) -> list[Any]:
        """Partitions, or blocks of rows, each as a task that is not yet computed."""
        whole = self.collection if self._is_frame else self.collection.rechunk({1: -1})
        return list(np.ravel(whole.to_delayed()))

    @property
    def known_sizes(self) -> list[int] | None:
        """Rows of each part, where they are known before any is computed."""
        if self._is_frame:
            return None
        sizes = self.collection.chunks[0]
        return None if any(np.isnan(size) for size in sizes) else [int(size) for size in sizes]

    def computed(self, parts: Sequence[Any]) -> Iterator[Any]:
        """Compute partitions or blocks, in their order."""
        return (part.compute() for part in parts)

    def pieces(self, columns: Sequence[str] | None) -> Iterator[Piece]:
        """Partitions in turn."""
        if not self._is_frame:
            yield from self._blocks()
            return
        chosen = self.collection if columns is None else self.collection[list(columns)]
        partitions = [chosen.partitions[number] for number in range(chosen.npartitions)]
        for number, partition in enumerate(self.computed(partitions)):
            yield Piece(partition, f"partition {number}")

    def _blocks(self) -> Iterator[Piece]:
        whole_rows = self.collection.rechunk({1: -1})
        first = 0
        blocks = [whole_rows.blocks[number] for number in range(whole_rows.numblocks[0])]
        for number, block in enumerate(map(np.asarray, self.computed(blocks))):
            yield Piece(block, f"block {number}, {row_words(first, first + len(block))}")
            first += len(block)
