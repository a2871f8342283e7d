"""Findings of the rebuilt QuadBoost comparison: errors of every table, and every two methods against each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64
from committee.files.journal import Cell
from committee.papers.quadboost.tables import ADABOOST, L1, L2, LINF, LPBOOST, METHODS, VANILLA, PublishedErrors
from committee.papers.shared.cells import Key
from committee.papers.shared.paired import PairedComparison, compared, unpacked
from committee.report.statistics import About, average_ranks

PAIRS = tuple(combinations((LINF, L2, LPBOOST, ADABOOST, VANILLA, L1), 2))
"""Every two methods, in the order of the document's Table 2."""


@dataclass(frozen=True, eq=False)
class TableResult:
    """The methods on one table."""

    published: PublishedErrors
    right: dict[str, NDArray[np.bool_]]
    """By method: whether each test row of each split was predicted right. A column is another row in each split. Shape
    ``(repeats, test_rows)``."""
    cells: dict[str, tuple[Cell, ...]]
    """By method: the cell of each split."""

    def wrong(self, method: str) -> NDArray[np.int64]:
        """Test rows predicted wrong in each split, ``(repeats,)``."""
        return np.asarray((~self.right[method]).sum(axis=1), dtype=np.int64)

    def errors(self, method: str) -> F64:
        """Test error of each split, ``(repeats,)``."""
        return np.asarray(self.wrong(method) / self.published.test_rows, dtype=np.float64)

    def error(self, method: str) -> float:
        """Mean test error; from whole numbers, so that what is equal stays equal."""
        return float(self.wrong(method).sum() / self.right[method].size)

    def mean(self, method: str, figure: str) -> float | None:
        """Mean of a figure of the cells over the splits; None where the method has none."""
        values = [cell[figure] for cell in self.cells[method]]
        return None if None in values else float(np.mean(values))

    def alone(self, a: str, b: str) -> F64:
        """Test rows that a gets right and b does not, in each split, ``(repeats,)``."""
        return np.asarray((self.right[a] & ~self.right[b]).sum(axis=1), dtype=np.float64)


def mean_errors(results: Sequence[TableResult]) -> F64:
    """Ours, ``(tables, methods)``: mean over the splits."""
    return np.array([[result.error(method) for method in METHODS] for result in results])


def document_errors(results: Sequence[TableResult]) -> F64:
    """The document's on the same tables, ``(tables, methods)``."""
    return np.array([[result.published.error[method] for method in METHODS] for result in results])


def ranks_of_splits(results: Sequence[TableResult]) -> F64:
    """Average ranks that each split alone would have given, ``(repeats, methods)``."""
    errors = np.array([[result.errors(method) for method in METHODS] for result in results])
    return np.array([average_ranks(errors[:, :, r], higher_is_better=False) for r in range(errors.shape[2])])


@dataclass(frozen=True)
class Duel:
    """One method against another over all tables."""

    a: str
    b: str
    ours: PairedComparison
    """From the mean counts over the splits: further splits of the same rows are no further rows."""
    splits: F64
    """Its probability from each split alone, as the document has it. Shape ``(repeats,)``."""
    document: PairedComparison
    """Of the errors in the document's Table 1."""


def duel(results: Sequence[TableResult], a: str, b: str, about: About = "these tables") -> Duel:
    """Compare two methods out of `METHODS`; for `about` see `poisson_binomial_test`."""
    alone = _alone(results, a, b)
    ours = _errors(results, a, b)
    theirs = np.array([[result.published.error[method] for result in results] for method in (a, b)])
    single = [compared(ours, split, about).probability for split in np.moveaxis(alone, 2, 0)]
    return Duel(a, b, compared(ours, alone.mean(axis=2), about), np.array(single), compared(theirs))


def compared_methods(results: Sequence[TableResult], a: str, b: str) -> PairedComparison:
    """Compare two methods of the run, those that the document does not have among them."""
    return compared(_errors(results, a, b), _alone(results, a, b).mean(axis=2))


def _errors(results: Sequence[TableResult], a: str, b: str) -> F64:
    """Of both, ``(2, tables)``."""
    return np.array([[result.error(method) for result in results] for method in (a, b)])


def _alone(results: Sequence[TableResult], a: str, b: str) -> F64:
    """Test rows that one of the two gets right alone, ``(tables, 2, repeats)``."""
    return np.array([(result.alone(a, b), result.alone(b, a)) for result in results])


def results_of(
    rows: Sequence[PublishedErrors], methods: Sequence[str], repeats: int, cells: Mapping[Key, Cell]
) -> list[TableResult]:
    """The cells of each table and method, a split after the other."""
    found = []
    for row in rows:
        own = {method: tuple(cells[row.name, repeat, method] for repeat in range(repeats)) for method in methods}
        right = {m: np.array([unpacked(cell["right"], row.test_rows) for cell in own[m]]) for m in own}
        found.append(TableResult(row, right, own))
    return found
