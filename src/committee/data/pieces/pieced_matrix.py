"""The encoded matrix of a table in pieces, which is nowhere as a whole: its rows are read when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.column_edges import edges_of, end_to_end
from committee.data.columns import UnknownCategoryError
from committee.data.number_types import F64
from committee.data.pieces.category_words import words_of

if TYPE_CHECKING:
    from committee.data.frames import TableSchema
    from committee.data.pieces.training_pass import LookedPieces

I64: TypeAlias = NDArray[np.int64]

_SAME = "the pieces must be the same, in the same order, whenever they are read"


@dataclass(eq=False)
class PiecedMatrix:
    """Rows of weight of a table in pieces, as numbers and codes.

    It answers what bins need by passes over the pieces; `dense` writes all cells to a file and maps it, for learners
    that need these.

    Parameters
    ----------
    looked : LookedPieces
        The table, by whose counted rows these are.
    table : TableSchema
        How its cells become numbers.
    digests : bool
        Whether rows will be drawn by their contents: the pass that finds bin numbers then finds digests, too.
    numbers : dict of column and array (n,)
        Columns that are in memory, in the place of those of the table.
    """

    elsewhere: ClassVar[bool] = False
    """Whether the codes are held by others, in shards."""

    looked: LookedPieces
    table: TableSchema
    digests: bool = False
    numbers: dict[int, F64] = field(default_factory=dict)
    needs_cells: bool = False
    """Whether a fit needs cells once it has their codes: those who hold the codes then hold both."""
    _digests: NDArray[np.uint64] | None = None
    _dense: F64 | None = None
    _writing: Lock = field(default_factory=Lock)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.looked.look.n_rows, self.table.n_features

    @property
    def ndim(self) -> int:
        """Two."""
        return 2

    def __len__(self) -> int:
        return self.looked.look.n_rows

    def __getitem__(self, index: Any) -> F64:
        """Some of the rows, in memory."""
        rows: F64 = np.ascontiguousarray(self.dense[index])
        return rows

    def with_columns(self, columns: Sequence[int], numbers: F64) -> PiecedMatrix:
        """Return the matrix with other numbers ``(n, m)`` in some columns."""
        own = {j: np.ascontiguousarray(numbers[:, c]) for c, j in enumerate(columns)}
        return replace(self, numbers=self.numbers | own, _digests=None, _dense=None)

    @property
    def dense(self) -> F64:
        """All cells, in a file that is mapped; written when it is first asked for."""
        with self._writing:  # members may be trained in several threads
            if self._dense is None:
                dense = self.looked.storage.mapped("cells", self.shape, np.float64)
                for first, rows in self.blocks():
                    dense[first : first + len(rows)] = rows
                self._dense = np.asarray(dense)
        return self._dense

    def row_by_row(self, n_columns: int, of_rows: Callable[[F64], F64]) -> F64:
        """Return what a function makes of each row, ``(n, n_columns)``, in a file that is mapped."""
        made, step = self.room((len(self), n_columns)), 2**16
        for first in range(0, len(self), step):
            made[first : first + step] = of_rows(self.dense[first : first + step])
        return made

    def room(self, shape: tuple[int, ...]) -> F64:
        """Return an array for numbers of the rows, which is a file that is mapped."""
        return np.asarray(self.looked.storage.mapped("rows", shape, np.float64))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the cells: another process has neither the pieces nor the scratch folder."""
        return np.asarray, (self.dense,)

    def blocks(self, n_threads: int = 1) -> Iterator[tuple[int, F64]]:
        """Rows of one piece after the other, each block with the number of its first row.

        Raises
        ------
        ValueError
            If they are not the rows that were there in the first pass.
        """
        looked, sampled = self.looked, _Sampled(self.looked)
        looked.files.refuse_changes()
        table = self.table
        first = row = 0
        for piece in looked.pieces.of_features():
            with piece.named_in_errors():
                rows = _encoded(table, piece.X, n_threads) if len(piece) else np.empty((0, table.n_features))
            row += len(rows)
            if row > looked.n_rows:
                break
            if looked.counted is not None:
                rows = rows[looked.counted[row - len(rows) : row]]
            sampled.refuse_others(first, rows, piece.name)
            if self.numbers:
                rows = rows.copy()
                for j, numbers in self.numbers.items():
                    rows[:, j] = numbers[first : first + len(rows)]
            if len(rows):
                yield first, rows
            first += len(rows)
        looked.refuse_other_rows(row)

    @property
    def known_cells(self) -> dict[str, NDArray[Any]]:
        """Cells that are in memory, by which a checkpoint tells tables apart: those of the first look."""
        sample = self.looked.look.sample
        assert sample is not None
        return {"sampled rows": sample.rows, "sampled cells": sample.cells}

    # --- what bins need ----------------------------------------------------------------------------------------

    def edges(self, weights: F64 | None, max_bins: int, max_sample: int, n_threads: int) -> tuple[F64, I64]:
        """Edges of all columns end to end, and where each begins: those of the same matrix in memory."""
        if max_bins > self.looked.look.max_bins:
            self.looked = self.looked.looked_again(self.looked.counted, max_bins)
        look = self.looked.look
        of_sample = None if weights is None else weights[look.sampled_rows]
        edges, offset = look.edges(max_bins, of_sample, n_threads)
        if not self.numbers:
            return edges, offset
        each = [edges[offset[j] : offset[j + 1]] for j in range(self.table.n_features)]
        for j, numbers in self.numbers.items():
            each[j] = edges_of(numbers, weights, max_bins, max_sample)
        return end_to_end(each)

    def codes(
        self, edges: F64, offset: NDArray[np.int64], n_categories: NDArray[np.int32], wide: bool, n_threads: int
    ) -> NDArray[np.uint8] | NDArray[np.uint16]:
        """Bin number of every cell, in one pass; and the `digests` in the same."""
        codes = self.looked.storage.codes(self.shape, np.uint16 if wide else np.uint8)
        digests = np.empty(len(self), np.uint64) if self.digests else None
        places = self._places
        for first, rows in self.blocks(n_threads):
            last = first + len(rows)
            codes[first:last] = _core.bin_codes(rows, edges, offset, n_categories, wide, n_threads)
            if digests is not None:
                digests[first:last] = _core.row_digests(rows, places, n_threads)
        self._digests, self.digests = digests, False
        return codes

    def row_digests(self, columns: NDArray[np.uint64], n_threads: int) -> NDArray[np.uint64]:
        """Digests of the rows, with a number for each column; those of an earlier pass are given away."""
        known, self._digests = self._digests, None
        if known is not None and np.array_equal(columns, self._places):
            return known
        digests = np.empty(len(self), np.uint64)
        for first, rows in self.blocks(n_threads):
            digests[first : first + len(rows)] = _core.row_digests(rows, columns, n_threads)
        return digests

    @property
    def _places(self) -> NDArray[np.uint64]:
        return np.arange(1, self.table.n_features + 1, dtype=np.uint64)


def _encoded(table: TableSchema, X: Any, n_threads: int) -> F64:
    try:
        return table.encode(X, n_threads, all_known=True)  # the first pass has seen the categories of all rows
    except UnknownCategoryError as error:
        raise ValueError(f"{error.found}, which was not there in the first pass; {_SAME}") from error


class _Sampled:
    """Cells of the first look, which those of a later pass must equal."""

    def __init__(self, looked: LookedPieces) -> None:
        sample = looked.look.sample
        assert sample is not None
        self.rows, self.cells = sample.rows, sample.cells
        categories = looked.look.schema.categories
        self.words = {j: np.append(words_of(found), np.nan) for j, found in enumerate(categories) if found}

    def refuse_others(self, first: int, rows: F64, name: str) -> None:
        """Raise if a row of the sample holds other numbers or categories than in the first pass."""
        begin, end = np.searchsorted(self.rows, [first, first + len(rows)])
        now = rows[self.rows[begin:end] - first]
        for j, words in self.words.items():
            now[:, j] = words[np.where(np.isnan(now[:, j]), -1, now[:, j]).astype(np.intp)]
        if not np.array_equal(self.cells[begin:end], now, equal_nan=True):
            raise ValueError(f"{name} holds other rows than in the first pass; {_SAME}")


def numbered_columns(X: F64 | PiecedMatrix, columns: Sequence[int], numbers: F64) -> F64 | PiecedMatrix:
    """Return a matrix with other numbers ``(n, m)`` in some columns."""
    if isinstance(X, PiecedMatrix):
        return X.with_columns(columns, numbers)
    changed = X.copy()
    changed[:, list(columns)] = numbers
    return changed
