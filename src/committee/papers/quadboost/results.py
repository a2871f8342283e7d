"""What the rebuilt QuadBoost comparison found: errors of every table, and every two methods against each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from committee.papers.quadboost.tables import ADABOOST, L1, L2, LINF, LPBOOST, METHODS, VANILLA, PublishedTable
from committee.papers.shared.journal import Cell
from committee.report.across_tables import About, PoissonBinomialTest, SignTest, poisson_binomial_test, sign_test
from committee.report.statistics import average_ranks

F64: TypeAlias = NDArray[np.float64]

PAIRS = tuple(combinations((LINF, L2, LPBOOST, ADABOOST, VANILLA, L1), 2))
"""Every two methods, in the order of the document's Table 2."""


@dataclass(frozen=True, eq=False)
class TableResult:
    """The methods on one table.

    Attributes
    ----------
    published : PublishedTable
    right : dict of str to bool array (repeats, test_rows)
        By method: whether each test row of each split was predicted right. A column is another row in each split.
    cells : dict of str to tuple of dict
        By method: the cell of each split.
    """

    published: PublishedTable
    right: dict[str, NDArray[np.bool_]]
    cells: dict[str, tuple[Cell, ...]]

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
    """One method against another over all tables.

    Attributes
    ----------
    a, b : str
    ours : PoissonBinomialTest
        From the mean counts over the splits: further splits of the same rows are no further rows.
    splits : float64 array (repeats,)
        Its probability from each split alone, as the document has it.
    signs : SignTest
        Of the mean errors.
    document_signs : SignTest
        Of the errors in the document's Table 1.
    less : float
        Mean over the tables of a's error less b's.
    document_less : float
        The same of the document's.
    """

    a: str
    b: str
    ours: PoissonBinomialTest
    splits: F64
    signs: SignTest
    document_signs: SignTest
    less: float
    document_less: float


def duel(results: Sequence[TableResult], a: str, b: str, about: About = "these tables") -> Duel:
    """Compare two methods.

    Parameters
    ----------
    results : sequence of TableResult
    a, b : str
        Out of `METHODS`.
    about : {"these tables", "tables like these"}
        As `poisson_binomial_test` has it.
    """
    a_only, b_only = (np.array([result.alone(*pair) for result in results]) for pair in ((a, b), (b, a)))
    single = [
        poisson_binomial_test(mine, others, about=about).probability
        for mine, others in zip(a_only.T, b_only.T, strict=True)
    ]
    return Duel(
        a,
        b,
        poisson_binomial_test(a_only.mean(axis=1), b_only.mean(axis=1), about=about),
        np.array(single),
        sign_test([result.error(a) for result in results], [result.error(b) for result in results]),
        sign_test(*([result.published.error[method] for result in results] for method in (a, b))),
        float(np.mean([result.error(a) - result.error(b) for result in results])),
        float(np.mean([result.published.error[a] - result.published.error[b] for result in results])),
    )
