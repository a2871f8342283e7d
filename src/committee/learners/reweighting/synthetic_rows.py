"""Synthetic rows between near training rows, for ensembles whose trees have all seen all rows.

Votes are fitted to the ensemble's predictions instead of labels, which the trees have memorised: those of the training
rows, and of synthetic rows, each between a row and one near to it. L. Breiman and N. Shang (Born again trees, 1996)
draw each column by itself; between near rows columns stay dependent.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from committee.data.bins import column_digests, row_digests, unordered_digests
from committee.data.matrices import Matrix, SparseMatrix
from committee.data.number_types import F64, Index, Mask
from committee.data.table_schema import TableSchema

COPIES = 4  # synthetic rows per distinct row
MAX_ROWS = 20_000
MAX_CELLS = 2_000_000  # cells of the synthetic rows, and of the rows between which they lie
CANDIDATES = 256  # rows drawn for each row, among which near ones are looked for
NEIGHBOURS = 8  # nearest candidates, one of which is drawn
_BLOCK = 1 << 22  # cells of differences that are held at a time


class SyntheticRows(NamedTuple):
    matrix: F64  # (m, p)
    beside: Index  # (m,): the nearer of the two rows of each; of equal rows the first
    weight: F64  # (m,): weight of all rows that are equal to that one

    def below(self, matrix: Matrix) -> Matrix:
        if not isinstance(matrix, SparseMatrix):
            return np.concatenate([matrix, self.matrix])
        row, column = np.nonzero(self.matrix)
        more = np.cumsum(np.bincount(row, minlength=len(self.matrix)))
        return SparseMatrix(
            np.append(matrix.start, matrix.start[-1] + more),
            np.append(matrix.column, column.astype(np.int32)),
            np.append(matrix.value, self.matrix[row, column]),
            matrix.n_columns,
        )


def interpolated_rows(
    X: Matrix, weight: F64 | None, table: TableSchema | None, seed: int, n_threads: int = 1
) -> SyntheticRows:
    """Return synthetic rows between near rows of an encoded matrix.

    Their cells do not depend on the order of rows or columns, nor on how often a row occurs; their weights do on that.
    """
    p = X.shape[1]
    _, first, equal = np.unique(row_digests(X, n_threads), return_index=True, return_inverse=True)
    place = np.argsort(unordered_digests(X[first], n_threads))[: max(1, MAX_CELLS // p)]
    dense = X[first[place]]
    if isinstance(dense, SparseMatrix):
        dense = np.concatenate(list(dense.blocks(np.arange(p), n_threads)))
    order = np.argsort(column_digests(dense, n_threads), kind="stable")
    categorical = np.zeros(p, dtype=bool) if table is None else np.asarray(table.categorical)
    ordered = np.ascontiguousarray(dense[:, order])  # sums go by the order in memory
    between, beside = _interpolate(ordered, categorical[order], np.random.default_rng(seed))
    matrix = np.empty_like(between)
    matrix[:, order] = between
    chosen = place[beside]
    of_equal = np.bincount(equal, weights=weight).astype(np.float64)
    return SyntheticRows(matrix, first[chosen], of_equal[chosen])


def _interpolate(X: F64, categorical: Mask, random: np.random.Generator) -> tuple[F64, Index]:
    n, p = X.shape
    present = np.where(np.isnan(X), 0.0, X)
    discrete = categorical | (present == np.floor(present)).all(axis=0)
    m = min(COPIES * n, MAX_ROWS, max(1, MAX_CELLS // p))
    copies, rest = divmod(m, n)
    beside = np.concatenate([np.tile(np.arange(n), copies), random.permutation(n)[:rest]])
    other = _near(X, beside, random)
    share = 0.5 * random.random((m, 1))
    one, two = X[beside], X[other]
    between = one + share * (two - one)
    # categories, whole numbers, and a value beside a missing one are taken from either row
    drawn = discrete | np.isnan(between)
    taken = np.where(random.random((m, p)) < share, two, one)
    return np.where(drawn, taken, between), beside


def _near(X: F64, beside: Index, random: np.random.Generator) -> Index:
    n = len(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a column without a value
        deviation = np.nanstd(X, axis=0)
    scaled = X / np.where(deviation > 0.0, deviation, 1.0)
    found = np.empty(len(beside), dtype=np.intp)
    step = max(1, _BLOCK // (CANDIDATES * X.shape[1]))
    for begin in range(0, len(beside), step):
        rows = beside[begin : begin + step]
        every = np.arange(len(rows))
        if n > CANDIDATES:
            others = random.integers(0, n, (len(rows), CANDIDATES))
        else:
            others = np.tile(np.arange(n), (len(rows), 1))
        apart = _squared_distances(scaled, rows, others)
        apart[others == rows[:, None]] = np.inf
        nearest = np.argsort(apart, axis=1, kind="stable")[:, :NEIGHBOURS]
        found[begin : begin + step] = others[every, nearest[every, random.integers(0, nearest.shape[1], len(rows))]]
    return found


def _squared_distances(scaled: F64, rows: Index, others: Index) -> F64:
    difference = scaled[others] - scaled[rows][:, None]
    missing = np.isnan(scaled)
    one_missing = missing[others] != missing[rows][:, None]  # one unit apart
    return np.asarray((np.where(np.isnan(difference), one_missing, difference) ** 2).sum(axis=2))
