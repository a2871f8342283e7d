"""Tables of two classes: split at random, and made numbers by what the training rows say."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from committee.data.frames import TableSchema
from committee.data.number_types import F64, Mask
from committee.papers.shared.tables import digest_of
from committee.report.crossvalidation import Split, Table

TEST_SHARE = 0.3
"""Of the rows of each class."""


@dataclass(frozen=True, eq=False)
class NamedTable:
    """A table of two classes; the second one is +."""

    name: str
    table: Table

    @property
    def positive(self) -> Mask:
        """Which rows are of the second class, ``(n,)``."""
        return np.asarray(self.table.labels.codes == 1)

    @cached_property
    def digest(self) -> str:
        """A few digits that differ where tables differ."""
        return digest_of(self.table.encoded()[1].tobytes(), self.positive.tobytes())


def draw_stratified(codes: NDArray[np.intp], seed: int, repeat: int) -> Split:
    """Training and test rows, drawn at random: 30 % of each class, rounded, for testing.

    Every repeat has a split of its own, however many there are.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.papers.shared.folds import draw_stratified
    >>> train, test = draw_stratified(np.array([0] * 10 + [1] * 20), 0, 0)
    >>> len(train), len(test), int((test < 10).sum())
    (21, 9, 3)
    """
    random = np.random.default_rng([seed, repeat])
    tested = np.zeros(len(codes), dtype=bool)
    for code in np.unique(codes).tolist():
        own = random.permutation(np.flatnonzero(codes == code))
        tested[own[: round(TEST_SHARE * len(own))]] = True
    return np.flatnonzero(~tested), np.flatnonzero(tested)


@dataclass(frozen=True, eq=False)
class Fold:
    """A table, split: numbers as they are, categories as the codes that the training rows give them."""

    table: NamedTable
    repeat: int
    seed: int

    @cached_property
    def split(self) -> Split:
        """Rows for training and for testing."""
        return draw_stratified(self.table.table.labels.codes, self.seed, self.repeat)

    @cached_property
    def _schema(self) -> TableSchema:
        return TableSchema.learn(self.table.table.rows(self.split[0]))

    @cached_property
    def rows(self) -> tuple[F64, F64]:
        """Matrices of both; NaN where missing, or a category that no training row has."""
        train, test = (self._schema.encode(self.table.table.rows(rows)) for rows in self.split)
        return train, test

    @property
    def positive(self) -> tuple[Mask, Mask]:
        """Which of both are +."""
        train, test = (self.table.positive[rows] for rows in self.split)
        return train, test

    @property
    def categorical(self) -> Mask:
        """Which columns are codes."""
        return self._schema.categorical
