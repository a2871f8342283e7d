"""The rows of a long table that stand for all of them in quantiles, gathered from its pieces in any order."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.number_types import F64


@dataclass(eq=False)
class RowSample:
    """Rows whose scrambled number ends in so many zero bits that they are at most `most`.

    Which rows these are depends on their numbers and on how many there are, not on the pieces. Samples of several parts
    of a table can be merged.

    Parameters
    ----------
    n_columns : int
        Cells of a row.
    most : int
        Most rows.

    Examples
    --------
    >>> X = np.arange(10.0)[:, None]
    >>> one, first, last = RowSample(1, 4), RowSample(1, 4), RowSample(1, 4)
    >>> for sample, rows in (one, slice(0, 10)), (first, slice(0, 7)), (last, slice(7, 10)):
    ...     sample.add(rows.start, X[rows], sample.chosen(rows.start, len(X[rows])))
    >>> one.rows.tolist() == first.merged(last).rows.tolist()
    True
    """

    n_columns: int
    most: int
    level: int = 0
    """Zero bits that the number of a row in the sample ends in, at least."""
    _rows: list[NDArray[np.int64]] = field(default_factory=list)
    _levels: list[NDArray[np.uint8]] = field(default_factory=list)
    _cells: list[F64] = field(default_factory=list)

    def chosen(self, first: int, n: int) -> NDArray[np.intp]:
        """Which of the `n` rows from number `first` on are in the sample as it is, counted from `first`."""
        if self.level == 0:
            return np.arange(n)
        return np.flatnonzero(_core.sample_levels(first, n) >= self.level)

    def add(self, first: int, cells: F64, chosen: NDArray[np.intp]) -> None:
        """Add the cells ``(m, n_columns)`` of rows that are `chosen`."""
        if not len(chosen):
            return
        levels = _core.sample_levels(first, int(chosen[-1]) + 1)[chosen]
        self._rows.append(first + chosen.astype(np.int64))
        self._levels.append(levels)
        self._cells.append(cells)
        self._shrink()

    def merged(self, other: RowSample) -> RowSample:
        """Return the sample of the rows of both, which have none in common."""
        both = RowSample(
            self.n_columns,
            self.most,
            max(self.level, other.level),
            [*self._rows, *other._rows],
            [*self._levels, *other._levels],
            [*self._cells, *other._cells],
        )
        if self.level != other.level:
            both._keep()
        both._shrink()
        return both

    @property
    def rows(self) -> NDArray[np.int64]:
        """Numbers of the rows, rising."""
        self._put_in_order()
        return self._rows[0]

    @property
    def cells(self) -> F64:
        """Cells of the rows, in their order."""
        self._put_in_order()
        return self._cells[0]

    def _put_in_order(self) -> None:
        """Make one part of all, without a second copy of the cells where they are in order already."""
        if len(self._rows) == 1 and (np.diff(self._rows[0]) > 0).all():
            return
        rows = np.concatenate([np.empty(0, np.int64), *self._rows])
        order = np.argsort(rows)
        cells = np.empty((len(rows), self.n_columns))
        place, first = np.empty_like(order), 0
        place[order] = np.arange(len(order))
        for part in self._cells:
            cells[place[first : first + len(part)]] = part
            first += len(part)
        levels = np.concatenate([np.empty(0, np.uint8), *self._levels])
        self._rows, self._levels, self._cells = [rows[order]], [levels[order]], [cells]

    def _shrink(self) -> None:
        while sum(map(len, self._rows)) > self.most:
            self.level += 1
            self._keep()

    def _keep(self) -> None:
        kept = [levels >= self.level for levels in self._levels]
        self._rows = [part[keep] for part, keep in zip(self._rows, kept, strict=True)]
        self._levels = [part[keep] for part, keep in zip(self._levels, kept, strict=True)]
        self._cells = [part[keep] for part, keep in zip(self._cells, kept, strict=True)]
