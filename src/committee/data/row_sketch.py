"""A sketch of rows: enough to say of other rows what share of them are among these, without keeping the rows.

Of the rows' digests (`committee.data.row_digests`) it keeps the smallest. Digests are as good as drawn at random, so
those below a bound are a sample of any table's rows, and the same row is in the sample of every table that has it
(bottom-k sampling, [1]_). Of a table with no more different rows than are kept it knows all.

.. [1] E. Cohen, H. Kaplan (2007). Summarizing data using bottom-k sketches. PODC.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from committee.data.row_digests import U64

MOST_DIGESTS = 4096
"""Digests that are kept: 32 kB."""
AT_ONCE = 2**20
"""Rows that are sorted at the same time."""


@dataclass(frozen=True)
class KnownRows:
    """How many rows of a table are among the rows of a sketch.

    Examples
    --------
    >>> KnownRows(n_rows=300, n_judged=300, n_known=75).share
    0.25
    """

    n_rows: int
    n_judged: int
    """Rows whose digests the sketch would have: all, or a sample."""
    n_known: int
    """Those of them that it has."""

    @property
    def share(self) -> float:
        """Share of the judged rows that are known; NaN if none can be judged."""
        return self.n_known / self.n_judged if self.n_judged else float("nan")

    @property
    def exact(self) -> bool:
        """Whether every row is judged."""
        return self.n_judged == self.n_rows


@dataclass(frozen=True, eq=False)
class RowSketch:
    """The smallest digests of a table's rows.

    Parameters
    ----------
    digests : uint64 array (m,)
        Rising.
    complete : bool
        Whether they are all of the table.
    n_rows : int
        Rows that have them.
    n_repeated : int
        Those of these rows that another one equals.

    Raises
    ------
    ValueError
        If the digests are none, do not rise, or do not go with the other numbers.

    Examples
    --------
    >>> import numpy as np
    >>> sketch = RowSketch.of(np.array([3, 5, 5, 9], dtype=np.uint64))
    >>> sketch.digests.tolist(), sketch.n_repeated
    ([3, 5, 9], 2)
    >>> sketch.known(np.array([9, 9, 4, 5], dtype=np.uint64))
    KnownRows(n_rows=4, n_judged=4, n_known=3)
    """

    digests: U64
    complete: bool
    n_rows: int
    n_repeated: int

    def __post_init__(self) -> None:
        kept, m = self.digests, len(self.digests)
        if kept.dtype != np.uint64 or kept.ndim != 1 or not m or not np.all(kept[:-1] < kept[1:]):
            raise ValueError("digests of rows are not some uint64 numbers that rise")
        if m > MOST_DIGESTS or not (self.complete or m == MOST_DIGESTS):
            raise ValueError(f"a sketch {'of all' if self.complete else 'of some'} rows has {m} digests")
        once = self.n_rows - self.n_repeated
        several = m - once
        if not 0 <= once <= m or self.n_repeated < 2 * several or (several == 0 and self.n_repeated):
            raise ValueError(f"{m} digests are not those of {self.n_rows} rows, {self.n_repeated} of them repeated")

    @classmethod
    def of(cls, digests: U64) -> Self:
        """Sketch rows by their digests, one at least."""
        kept, counts, complete = np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64), True
        for start in range(0, len(digests), AT_ONCE):
            new, times = np.unique(digests[start : start + AT_ONCE], return_counts=True)
            every, place = np.unique(np.concatenate([kept, new]), return_inverse=True)
            total = np.zeros(len(every), dtype=np.int64)
            np.add.at(total, place, np.concatenate([counts, times]))
            # what is larger than all that are kept stays so: its count is never asked for again
            kept, counts, complete = every[:MOST_DIGESTS], total[:MOST_DIGESTS], complete and len(every) <= MOST_DIGESTS
        return cls(kept.copy(), complete, int(counts.sum()), int(counts[counts > 1].sum()))

    def known(self, digests: U64) -> KnownRows:
        """Count the rows of another table that are among these."""
        judged = digests if self.complete else digests[digests <= self.digests[-1]]
        return KnownRows(len(digests), len(judged), int(np.isin(judged, self.digests).sum()))
