"""Columns of categories with too many levels for subsets, and numbers that tell rows by what they hold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from committee.data.columns import MOST_LEVELS
from committee.data.number_types import F64
from committee.data.pieces.pieced_matrix import PiecedMatrix
from committee.data.row_digests import cell_sums

if TYPE_CHECKING:
    from committee.data.frames import TableSchema


@dataclass(frozen=True, eq=False)
class ManyLevels:
    """The columns of many levels of some rows, and the contents of these rows.

    Parameters
    ----------
    columns : tuple of int
        Which columns they are, m of them.
    codes : int32 array (n, m)
        Level of every cell; -1 where it is missing.
    contents : uint64 array (n,)
        A number for each row, the same for rows that are equal in all columns.
    n_levels : tuple of int
        Levels that the schema has for each of the columns.
    alone : tuple of bool
        For each of the columns, whether no other column of the table varies: rows of a level cannot be told apart.
    of : str
        What rules call the numbers that are to stand for the levels: ``"rate of yes"``.
    """

    columns: tuple[int, ...]
    codes: NDArray[np.int32]
    contents: NDArray[np.uint64]
    n_levels: tuple[int, ...]
    alone: tuple[bool, ...]
    of: str

    @classmethod
    def of_table(cls, X: F64 | PiecedMatrix, table: TableSchema, max_bins: int, of: str) -> ManyLevels | None:
        """Find the columns of the encoded matrix that have more than `MOST_LEVELS`, or `max_bins`; None if none has.

        Only levels that occur count.
        """
        wide = np.flatnonzero(table.n_categories > min(MOST_LEVELS, max_bins)).tolist()
        if not wide:
            return None
        codes, contents = np.empty((len(X), len(wide)), np.int32), np.empty(len(X), np.uint64)
        same, no_cell = np.ones(X.shape[1], bool), np.ones(X.shape[1], bool)
        of_first = None
        for first, rows in X.blocks() if isinstance(X, PiecedMatrix) else [(0, X)]:
            last, missing = first + len(rows), np.isnan(rows)
            of_first = rows[0].copy() if of_first is None else of_first
            same &= (rows == of_first).all(axis=0)
            no_cell &= missing.all(axis=0)
            codes[first:last] = np.where(missing[:, wide], -1.0, rows[:, wide])
            contents[first:last] = _contents(rows, table)
        occurring = [len(np.unique(column[column >= 0])) for column in codes.T]
        many = [c for c, j in enumerate(wide) if occurring[c] > MOST_LEVELS or table.n_categories[j] > max_bins]
        if not many:
            return None
        columns = [wide[c] for c in many]
        alone = [not np.delete(~(same | no_cell), j).any() for j in columns]
        n_levels = tuple(table.n_categories[columns].tolist())
        kept = np.ascontiguousarray(codes[:, many])
        return cls(tuple(columns), kept, contents, n_levels, tuple(alone), of)

    def __getitem__(self, index: NDArray[np.integer] | NDArray[np.bool_]) -> ManyLevels:
        return replace(self, codes=self.codes[index], contents=self.contents[index])

    @property
    def n_rows(self) -> int:
        """Number of different rows."""
        return len(np.unique(self.contents))


def _contents(X: F64, table: TableSchema) -> NDArray[np.uint64]:
    """Return a number for each row, whatever the order of columns, the codes of categories and the other rows."""
    told = X.copy()
    for j, categories in enumerate(table.categories):
        if categories:
            words = [_word(each) if isinstance(each, str) else float(each) for each in categories]
            code = np.where(np.isnan(X[:, j]), len(words), X[:, j]).astype(np.intp)
            told[:, j] = np.append(np.array(words, dtype=np.float64), np.nan)[code]
    return cell_sums(told, 1)


def _word(text: str) -> float:
    """Return a number above 0 that single precision holds."""
    return 1.0 + (crc32(text.encode()) >> 8)
