"""Binning: each cell of the encoded matrix becomes the number of its bin, before trees are grown."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.matrices import Matrix, SparseMatrix
from committee.data.out_of_core.out_of_core_matrix import OutOfCoreMatrix
from committee.data.out_of_core.table_summary import MAX_SAMPLE, concatenate_edges
from committee.data.table_schema import TableSchema

LEAST_AUTO_BINS, MOST_AUTO_BINS = 40, 255

Codes: TypeAlias = NDArray[np.uint8] | NDArray[np.uint16] | _core.SparseCodes
"""Bin numbers ``(n, p)`` of all cells, or of a sparse table's cells that are not in the bin of 0."""


@dataclass(frozen=True, eq=False)
class Bins:
    """Edges of the bins of all columns.

    A number x falls into bin ``sum(edges < x)``, so ``x <= edges[b]`` equals ``bin <= b`` and a split that is found on
    bins is exact on values. The bin of a category is its code. Missing values have the bin after the last.
    """

    edges: NDArray[np.float64]  # column j has edges[offset[j]:offset[j + 1]], none if it is categorical
    offset: NDArray[np.int64]
    n_categories: NDArray[np.int32]  # (p,); 0 for a numeric column

    @classmethod
    def learn(
        cls,
        X: Matrix | OutOfCoreMatrix,
        weights: NDArray[np.float64] | None,
        n_categories: NDArray[np.int32],
        max_bins: int,
        n_threads: int = 1,
    ) -> Bins:
        if isinstance(X, OutOfCoreMatrix):
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
        return cls(*concatenate_edges(edges), n_categories)

    @cached_property
    def n_bins(self) -> NDArray[np.int32]:
        """Number of bins of each column ``(p,)``, without the bin for missing values."""
        return np.where(self.n_categories > 0, self.n_categories, np.diff(self.offset) + 1).astype(np.int32)

    @cached_property
    def categorical(self) -> NDArray[np.uint8]:
        return (self.n_categories > 0).astype(np.uint8)

    def encode(self, X: Matrix | OutOfCoreMatrix, n_threads: int = 1) -> Codes:
        if isinstance(X, SparseMatrix):
            return _core.SparseCodes(X.start, X.column, X.value, self.edges, self.offset, n_threads)
        wide = bool(self.n_bins.max(initial=1) > 255)
        if isinstance(X, OutOfCoreMatrix):
            return X.codes(self.edges, self.offset, self.n_categories, wide, n_threads)
        return _core.bin_codes(X, self.edges, self.offset, self.n_categories, wide, n_threads)

    def threshold(self, feature: NDArray[np.int32], bin: NDArray[np.int32]) -> NDArray[np.float64]:
        split = bin >= 0
        at = self.offset[np.where(split, feature, 0)] + bin
        has_edge = split & (at < self.offset[np.where(split, feature, 0) + 1])
        edge = np.append(self.edges, np.inf)[np.where(has_edge, at, -1)]
        return np.where(split, edge, 0.0)


@dataclass(frozen=True, eq=False)
class Binned:
    bins: Bins
    codes: Codes

    @property
    def dense(self) -> NDArray[np.uint8] | NDArray[np.uint16]:
        assert not isinstance(self.codes, _core.SparseCodes)  # learners for dense tables have rejected sparse ones
        return self.codes

    @classmethod
    def of(
        cls,
        X: Matrix | OutOfCoreMatrix,
        weights: NDArray[np.float64] | None,
        table: TableSchema,
        max_bins: int,
        n_threads: int = 1,
    ) -> Binned:
        check_category_counts(table, max_bins)
        bins = Bins.learn(X, weights, table.n_categories, max_bins, n_threads)
        return cls(bins, bins.encode(X, n_threads))


def most_bins(max_bins: int | Literal["auto"], n_rows: float = inf, n_columns: int = 0) -> int:
    if max_bins != "auto":
        return max_bins
    return MOST_AUTO_BINS if n_columns < n_rows else int(min(MOST_AUTO_BINS, max(LEAST_AUTO_BINS, n_rows // 3)))


def column_codes(codes: Codes, j: int) -> NDArray[np.uint8] | NDArray[np.uint16]:
    return codes.column(j) if isinstance(codes, _core.SparseCodes) else codes[:, j]


def check_category_counts(table: TableSchema, max_bins: int) -> None:
    for j in np.flatnonzero(table.n_categories > max_bins).tolist():
        raise ValueError(
            f"column {table.column(j)!r} has {table.n_categories[j]} categories, more than max_bins={max_bins}; "
            "raise max_bins (up to 65535), join rare categories, or drop the column if it is an identifier."
        )
