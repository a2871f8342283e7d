"""Rows made between near ones, where trees have seen all rows there are.

Of the rows that they learned from trees say what they know by heart. What they say of others has to be heard on others;
none are given, so that they are made: each between a row and one near to it. What the whole ensemble says of them is
what the votes of a smaller one are fitted to. L. Breiman and N. Shang (Born again trees, 1996) do so with rows whose
columns are drawn one by one; between near rows columns keep going together.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from committee.data.frames import TableSchema
from committee.data.number_types import F64, Index, Mask
from committee.data.row_digests import column_digests, row_digests, unordered_digests
from committee.data.sparse import Matrix, SparseMatrix

COPIES = 4
"""Rows made beside each one, where they are not too many."""
MOST = 20_000
"""Rows that are made at most."""
MOST_CELLS = 2_000_000
"""Cells of these rows, and of those between which they are."""
CANDIDATES = 256
"""Rows that are looked at for near ones, drawn for each row."""
NEAR = 8
"""Of these the nearest, one of which is taken."""
_BLOCK = 1 << 22
"""Cells of differences that are held at once."""


class MadeRows(NamedTuple):
    """Rows between others."""

    matrix: F64
    """``(m, p)``."""
    beside: Index
    """``(m,)``: the row that each is nearer to; of equal rows the first."""
    weight: F64
    """``(m,)``: the weight of all rows that are equal to that one."""

    def below(self, matrix: Matrix) -> Matrix:
        """Rows, and these below them."""
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


def made_between(X: Matrix, weight: F64 | None, table: TableSchema | None, seed: int, n_threads: int = 1) -> MadeRows:
    """Make rows between near rows of a table.

    Rows that are equal count as one, and rows and columns are taken in an order of what they hold: so neither their
    order nor how often a row is there has a part in what is made.

    Parameters
    ----------
    X : float64 array (n, p), or SparseMatrix
        Encoded rows, one or more.
    weight : float64 array (n,) or None
        Their weights; None: 1 each.
    table : TableSchema or None
        Whose columns they are; None: all of numbers.
    seed : int
        Of the draws.
    n_threads : int, default=1
        Threads; the result does not depend on them.

    Returns
    -------
    MadeRows
        At most 4 a row, 20,000 rows and 2,000,000 cells; of larger tables between rows that are drawn.

    Examples
    --------
    >>> import numpy as np
    >>> made = made_between(np.array([[0.5, 1.0], [2.5, 3.0]]), None, None, seed=0)
    >>> made.matrix.shape, bool((made.matrix[:, 0] >= 0.5).all() and (made.matrix[:, 0] <= 2.5).all())
    ((8, 2), True)
    """
    p = X.shape[1]
    _, first, equal = np.unique(row_digests(X, n_threads), return_index=True, return_inverse=True)
    place = np.argsort(unordered_digests(X[first], n_threads))[: max(1, MOST_CELLS // p)]
    dense = _dense(X[first[place]], n_threads)
    order = np.argsort(column_digests(dense, n_threads), kind="stable")
    categorical = np.zeros(p, dtype=bool) if table is None else np.asarray(table.categorical)
    ordered = np.ascontiguousarray(dense[:, order])  # sums go by the order in memory
    between, beside = NearRows.of(ordered, categorical[order]).made(np.random.default_rng(seed))
    matrix = np.empty_like(between)
    matrix[:, order] = between
    chosen = place[beside]
    of_equal = np.bincount(equal, weights=weight).astype(np.float64)
    return MadeRows(matrix, first[chosen], of_equal[chosen])


def _dense(X: Matrix, n_threads: int) -> F64:
    if isinstance(X, SparseMatrix):
        return np.concatenate(list(X.blocks(np.arange(X.n_columns), n_threads)))
    return X


@dataclass(frozen=True)
class NearRows:
    """Rows, and how far apart they are.

    Parameters
    ----------
    X : float64 array (n, p)
        Encoded rows.
    drawn : bool array (p,)
        Columns of categories or whole numbers: made rows have the value of one of two rows, and none between.
    """

    X: F64
    drawn: Mask

    @classmethod
    def of(cls, X: F64, categorical: Mask) -> NearRows:
        """The rows of a table; columns that hold whole numbers alone are found here."""
        present = np.where(np.isnan(X), 0.0, X)
        return cls(X, categorical | (present == np.floor(present)).all(axis=0))

    def made(self, random: np.random.Generator) -> tuple[F64, Index]:
        """Rows between near ones ``(m, p)``, and which of the two each is nearer to."""
        n, p = self.X.shape
        m = min(COPIES * n, MOST, max(1, MOST_CELLS // p))
        copies, rest = divmod(m, n)
        beside = np.concatenate([np.tile(np.arange(n), copies), random.permutation(n)[:rest]])
        other = self._near(beside, random)
        share = 0.5 * random.random((m, 1))
        one, two = self.X[beside], self.X[other]
        between = one + share * (two - one)
        whole = self.drawn | np.isnan(between)  # a value and a missing one have nothing between them
        taken = np.where(random.random((m, p)) < share, two, one)
        return np.where(whole, taken, between), beside

    def _near(self, beside: Index, random: np.random.Generator) -> Index:
        """For each of some rows one that is near to it, and another one if there is one."""
        n, scaled = len(self.X), self._scaled()
        found = np.empty(len(beside), dtype=np.intp)
        step = max(1, _BLOCK // (CANDIDATES * self.X.shape[1]))
        for begin in range(0, len(beside), step):
            rows = beside[begin : begin + step]
            every = np.arange(len(rows))
            if n > CANDIDATES:
                others = random.integers(0, n, (len(rows), CANDIDATES))
            else:
                others = np.tile(np.arange(n), (len(rows), 1))
            apart = _distances(scaled, rows, others)
            apart[others == rows[:, None]] = np.inf
            nearest = np.argsort(apart, axis=1, kind="stable")[:, :NEAR]
            found[begin : begin + step] = others[every, nearest[every, random.integers(0, nearest.shape[1], len(rows))]]
        return found

    def _scaled(self) -> F64:
        """Columns in units of their standard deviation."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a column without a value
            deviation = np.nanstd(self.X, axis=0)
        return self.X / np.where(deviation > 0.0, deviation, 1.0)


def _distances(scaled: F64, rows: Index, others: Index) -> F64:
    """Squared distances of rows to others ``(r, candidates)``; a missing value is one unit from any other."""
    difference = scaled[others] - scaled[rows][:, None]
    missing = np.isnan(scaled)
    one_missing = missing[others] != missing[rows][:, None]
    return np.asarray((np.where(np.isnan(difference), one_missing, difference) ** 2).sum(axis=2))
