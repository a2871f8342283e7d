"""Binning: columns of numbers become small integers, once, before any tree is grown."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.column_edges import MAX_SAMPLE
from committee.data.pieces.pieced_matrix import PiecedMatrix
from committee.data.sparse import Matrix, SparseMatrix

if TYPE_CHECKING:
    from committee.data.frames import TableSchema

Codes: TypeAlias = NDArray[np.uint8] | NDArray[np.uint16] | _core.SparseCodes
"""Bin numbers of a table, of all cells or of those that are not in the bin of 0."""


@dataclass(frozen=True, eq=False)
class Bins:
    """Edges of every column's bins.

    A value x of column j falls into bin number (edges < x), so ``x <= edge[b]`` says the same as
    ``bin <= b`` and a split found on bins is exact on values. Missing values have the bin after the last.

    Parameters
    ----------
    edges : float64 array
        The edges of all columns, end to end; none for categorical columns.
    offset : int64 array (p + 1,)
        Column j has ``edges[offset[j]:offset[j + 1]]``.
    n_categories : int32 array (p,)
        Number of categories; 0 marks a numeric column.
    """

    edges: NDArray[np.float64]
    offset: NDArray[np.int64]
    n_categories: NDArray[np.int32]

    @classmethod
    def learn(
        cls,
        X: Matrix | PiecedMatrix,
        weights: NDArray[np.float64] | None,
        n_categories: NDArray[np.int32],
        max_bins: int,
        n_threads: int = 1,
    ) -> Bins:
        """Edges from the columns of the encoded matrix.

        A column with at most `max_bins` distinct values gets one bin for each; another gets edges where its
        weight is shared out evenly, and a bin that is half full is closed before a value that would overfill it.

        Parameters
        ----------
        X : float64 array (n, p), SparseMatrix or PiecedMatrix
            The encoded matrix.
        weights : float64 array (n,) or None
            Row weights; None counts every row once.
        n_categories : int32 array (p,)
            Number of categories, 0 for numeric columns.
        max_bins : int
            Most bins of a column, missing values not counted; at most 255 keeps a cell in one byte.
        n_threads : int, default=1
            Ceiling on the number of threads; the edges do not depend on it.

        Raises
        ------
        ValueError
            If `max_bins` is not in [2, 65535], or the weights are negative, not finite or all zero.

        Examples
        --------
        >>> import numpy as np
        >>> from committee.data.binning import Bins
        >>> Bins.learn(np.array([[1.0], [2.0], [4.0]]), None, np.zeros(1, np.int32), 255).edges.tolist()
        [1.5, 3.0]
        """
        if isinstance(X, PiecedMatrix):
            return cls(*X.edges(weights, max_bins, MAX_SAMPLE, n_threads), n_categories)
        if isinstance(X, SparseMatrix):
            edges, offset = _core.sparse_bin_edges(
                X.start, X.column, X.value, X.n_columns, weights, max_bins, MAX_SAMPLE, n_threads
            )
            return cls(edges, offset, n_categories)
        edges, offset = _core.bin_edges(X, weights, n_categories, max_bins, MAX_SAMPLE, n_threads)
        return cls(edges, offset, n_categories)

    @classmethod
    def even(cls, X: Matrix, n_categories: NDArray[np.int32], n_edges: int) -> Bins:
        """Edges that share out the range of each column evenly, whatever its values are.

        A numeric column of the encoded matrix ``(n, p)`` gets `n_edges` of them, none at its least or largest value;
        one with categories, of which `n_categories` ``(p,)`` has the numbers, gets none.

        Examples
        --------
        >>> import numpy as np
        >>> from committee.data.binning import Bins
        >>> Bins.even(np.array([[0.0], [1.0], [4.0]]), np.zeros(1, np.int32), 3).edges.tolist()
        [1.0, 2.0, 3.0]
        """
        edges = []
        for j, cells in enumerate(X.columns() if isinstance(X, SparseMatrix) else X.T):
            column = cells[~np.isnan(cells)]
            if n_categories[j] > 0 or not len(column) or column.min() == column.max():
                edges.append(np.empty(0))
                continue
            inner = np.linspace(0.0, 1.0, n_edges + 2)[1:-1]
            # the difference of two numbers may overflow, their weighted mean does not
            between = np.unique((1.0 - inner) * column.min() + inner * column.max())
            edges.append(between[between < column.max()])
        offset = np.concatenate([[0], np.cumsum([len(e) for e in edges])]).astype(np.int64)
        return cls(np.concatenate(edges), offset, n_categories)

    @cached_property
    def n_bins(self) -> NDArray[np.int32]:
        """Bins of each column, the one for missing values not counted, ``(p,)``."""
        return np.where(self.n_categories > 0, self.n_categories, np.diff(self.offset) + 1).astype(np.int32)

    @cached_property
    def categorical(self) -> NDArray[np.uint8]:
        """1 where a column is categorical, ``(p,)``."""
        return (self.n_categories > 0).astype(np.uint8)

    def encode(self, X: Matrix | PiecedMatrix, n_threads: int = 1) -> Codes:
        """Bin number of every cell, ``(n, p)``, row-major; two bytes each when a column needs them."""
        if isinstance(X, SparseMatrix):
            return _core.SparseCodes(X.start, X.column, X.value, self.edges, self.offset, n_threads)
        wide = bool(self.n_bins.max(initial=1) > 255)
        if isinstance(X, PiecedMatrix):
            return X.codes(self.edges, self.offset, self.n_categories, wide, n_threads)
        return _core.bin_codes(X, self.edges, self.offset, self.n_categories, wide, n_threads)

    def threshold(self, feature: NDArray[np.int32], bin: NDArray[np.int32]) -> NDArray[np.float64]:
        """Value t such that ``x <= t`` says ``bin number <= bin``; +inf for a column's last bin, 0 where bin is -1."""
        split = bin >= 0
        at = self.offset[np.where(split, feature, 0)] + bin
        has_edge = split & (at < self.offset[np.where(split, feature, 0) + 1])
        edge = np.append(self.edges, np.inf)[np.where(has_edge, at, -1)]
        return np.where(split, edge, 0.0)


@dataclass(frozen=True, eq=False)
class Binned:
    """A table in bins, as the growers read it.

    Parameters
    ----------
    bins : Bins
        What the codes mean.
    codes : uint8 or uint16 array (n, p), or SparseCodes
        Bin number of every cell.
    """

    bins: Bins
    codes: Codes

    @property
    def dense(self) -> NDArray[np.uint8] | NDArray[np.uint16]:
        """The codes, for learners that take no sparse tables."""
        assert not isinstance(self.codes, _core.SparseCodes)  # such tables are refused at the door
        return self.codes

    @classmethod
    def of(
        cls,
        X: Matrix | PiecedMatrix,
        weights: NDArray[np.float64] | None,
        table: TableSchema,
        max_bins: int,
        n_threads: int = 1,
    ) -> Binned:
        """Learn the bins of the encoded matrix of a table, and bin it.

        Raises
        ------
        ValueError
            If a column has more categories than `max_bins`.
        """
        refuse_more_categories(table, max_bins)
        bins = Bins.learn(X, weights, table.n_categories, max_bins, n_threads)
        return cls(bins, bins.encode(X, n_threads))


def column_codes(codes: Codes, j: int) -> NDArray[np.uint8] | NDArray[np.uint16]:
    """Bin numbers of one column, ``(n,)``."""
    return codes.column(j) if isinstance(codes, _core.SparseCodes) else codes[:, j]


def refuse_more_categories(table: TableSchema, max_bins: int) -> None:
    """Raise if a column of a table has more categories than bins, naming the first such column."""
    for j in np.flatnonzero(table.n_categories > max_bins).tolist():
        raise ValueError(
            f"column {table.column(j)!r} has {table.n_categories[j]} categories, more than max_bins={max_bins}; "
            "raise max_bins (up to 65535), join rare categories, or drop the column if it is an identifier."
        )
