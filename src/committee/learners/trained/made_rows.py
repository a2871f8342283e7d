"""Rows made between near ones, where trees have seen all rows there are.

Of the rows that they learned from, trees say what they know by heart; what they say of others has to be heard on others.
No others are given, so that they are made: each between a row and one near to it. What the whole ensemble says of them
is what the votes of a smaller one are fitted to (as L. Breiman and N. Shang, Born again trees, 1996, have it, who change
columns one by one; between near rows columns keep going together).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from committee.data.frames import TableSchema
from committee.data.number_types import F64, Index, Mask
from committee.data.row_digests import row_digests

COPIES = 4
"""Rows made beside each one, where they are not too many."""
MOST = 20_000
"""Rows that are made at most."""
MOST_CELLS = 2_000_000
"""Cells of these rows."""
CANDIDATES = 256
"""Rows that are looked at for near ones, drawn for each row."""
NEAR = 8
"""Of these the nearest, one of which is taken."""


class MadeRows(NamedTuple):
    """Rows between others."""

    matrix: F64
    """``(m, p)``."""
    beside: Index
    """``(m,)``: the row that each is nearer to."""


def made_between(X: F64, table: TableSchema | None, seed: int, n_threads: int = 1) -> MadeRows:
    """Make rows between near rows of a table.

    Rows that are equal count as one, and are taken in an order of what they hold, so that neither their order nor how
    often a row is there has a part in what is made.

    Parameters
    ----------
    X : float64 array (n, p)
        Encoded rows, one or more.
    table : TableSchema or None
        Whose columns they are; None: all of numbers.
    seed : int
        Of the draws.
    n_threads : int, default=1
        Threads; the result does not depend on them.

    Returns
    -------
    MadeRows
        At most 4 a row, 20,000 rows and 2,000,000 cells.

    Examples
    --------
    >>> import numpy as np
    >>> made = made_between(np.array([[0.5, 1.0], [2.5, 3.0]]), None, seed=0)
    >>> made.matrix.shape, bool((made.matrix[:, 0] >= 0.5).all() and (made.matrix[:, 0] <= 2.5).all())
    ((8, 2), True)
    """
    _, first = np.unique(row_digests(X, n_threads), return_index=True)
    categorical = np.zeros(X.shape[1], dtype=bool) if table is None else np.asarray(table.categorical)
    made = NearRows.of(X[first], categorical).made(np.random.default_rng(seed))
    return MadeRows(made.matrix, first[made.beside])


@dataclass(frozen=True)
class NearRows:
    """Rows, and how far apart they are.

    Parameters
    ----------
    X : float64 array (n, p)
        Encoded rows.
    drawn : bool array (p,)
        Columns of categories or whole numbers: made rows have the value of one of two rows, and none between. Far apart
        are two values that differ, and a missing one from any other.
    """

    X: F64
    drawn: Mask

    @classmethod
    def of(cls, X: F64, categorical: Mask) -> NearRows:
        """The rows of a table; columns that hold whole numbers alone are found here."""
        present = np.where(np.isnan(X), 0.0, X)
        return cls(X, categorical | (present == np.floor(present)).all(axis=0))

    def made(self, random: np.random.Generator) -> MadeRows:
        """Rows between near ones."""
        n, p = self.X.shape
        m = min(COPIES * n, MOST, max(1, MOST_CELLS // p))
        copies, rest = divmod(m, n)
        beside = np.concatenate([np.tile(np.arange(n), copies), random.permutation(n)[:rest]])
        other = self._near(beside, random)
        share = 0.5 * random.random(m)
        one, two = self.X[beside], self.X[other]
        between = one + share[:, None] * (two - one)
        whole = self.drawn | np.isnan(between)  # a value and a missing one have nothing between them
        taken = np.where(random.random((m, p)) < share[:, None], two, one)
        return MadeRows(np.where(whole, taken, between), beside)

    def _near(self, beside: Index, random: np.random.Generator) -> Index:
        """For each of some rows one that is near to it, and another one if there is one."""
        n = len(self.X)
        scaled = self._scaled()
        found = np.empty(len(beside), dtype=np.intp)
        step = max(1, (1 << 22) // (CANDIDATES * self.X.shape[1]))
        for begin in range(0, len(beside), step):
            rows = beside[begin : begin + step]
            others = (
                random.integers(0, n, (len(rows), CANDIDATES))
                if n > CANDIDATES
                else np.tile(np.arange(n), (len(rows), 1))
            )
            apart = self._distances(scaled, rows, others)
            apart[others == rows[:, None]] = np.inf
            k = min(NEAR, others.shape[1]) - 1
            nearest = np.argpartition(apart, k, axis=1)[:, : k + 1]
            taken = nearest[np.arange(len(rows)), random.integers(0, k + 1, len(rows))]
            found[begin : begin + step] = others[np.arange(len(rows)), taken]
        return found

    def _scaled(self) -> F64:
        """Columns of numbers in units of their standard deviation."""
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a column without a value
            deviation = np.nanstd(self.X, axis=0)
        return self.X / np.where(deviation > 0.0, deviation, 1.0)

    def _distances(self, scaled: F64, rows: Index, others: Index) -> F64:
        difference = scaled[others] - scaled[rows][:, None]
        missing = np.isnan(scaled)
        one_missing = missing[others] != missing[rows][:, None]
        apart = np.where(np.isnan(difference), one_missing, difference)
        return np.asarray((apart**2).sum(axis=2))
