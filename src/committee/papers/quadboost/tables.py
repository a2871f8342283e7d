"""The QuadBoost document's numbers, and its 25 tables as two classes, split and prepared as it describes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64
from committee.papers.shared.tables import Folder, check_rows, digest_of, document_numbers, labels_of, read_from_folder
from committee.report.folds import Rows, Split

L1, L2, LINF, VANILLA = "QuadBoost-L1", "QuadBoost-L2", "QuadBoost-Linf", "QuadBoost"
LPBOOST, ADABOOST = "LPBoost", "AdaBoost"
METHODS = (L1, L2, LINF, VANILLA, LPBOOST, ADABOOST)  # the columns of the document's Table 1, in its order
GINI = "AdaBoost, Gini"  # AdaBoost once more, with stumps of the least Gini index. The document does not have it.
ANEW_L2, ANEW_LINF = f"{L2}, anew", f"{LINF}, anew"  # variants that recompute the weight of a repeated voter

MOST_TRAINING_ROWS = 500
STUMPS_PER_COLUMN = 10


@dataclass(frozen=True)
class PublishedErrors:
    title: str  # the document's name of the table
    name: str  # the catalogue's name
    rows: int  # rows that are used
    positive: tuple[str, ...]  # labels of the class +1, which the document does not state
    keep: tuple[str, ...] | None  # labels of the rows that are used; None: all
    error: dict[str, float]  # its Table 1: share of the test rows that each of `METHODS` predicts wrong

    @property
    def training_rows(self) -> int:
        return min(MOST_TRAINING_ROWS, -(-self.rows // 2))

    @property
    def test_rows(self) -> int:
        """Every error of the document is a whole number of these."""
        return self.rows - self.training_rows

    def wrong(self, method: str) -> int:
        return round(self.error[method] * self.test_rows)


@dataclass(frozen=True)
class PublishedComparison:
    seconds: dict[str, float]  # last line of its Table 1: mean running time of each method
    better: dict[tuple[str, str], float]
    """Its Table 2: Poisson-binomial probability that the first method is better than the second."""
    significant: tuple[tuple[str, str], ...]
    """Its starred pairs, the better one first: significant by the sign test at 0.05."""


def published() -> list[PublishedErrors]:
    return [
        PublishedErrors(**{**row, "positive": tuple(row["positive"]), "keep": tuple(row.get("keep", ())) or None})
        for row in document_numbers("quadboost/tables.json")["tables"]
    ]


def published_comparison() -> PublishedComparison:
    document = document_numbers("quadboost/tables.json")
    found = document["better"]
    better = {
        (a, b): float(probability)
        for a, row in zip(found["methods"], found["probability"], strict=True)
        for b, probability in zip(found["methods"], row, strict=True)
        if a != b
    }
    return PublishedComparison(document["mean_seconds"], better, tuple((a, b) for a, b in found["significant"]))


@dataclass(frozen=True, eq=False)
class BinaryTable:
    published: PublishedErrors
    X: F64  # numbers as they are, categories as codes, NaN where missing. Shape ``(n, p)``.
    categorical: NDArray[np.bool_]  # which columns are codes. Shape ``(p,)``.
    y: NDArray[np.int64]  # +1 and -1. Shape ``(n,)``.

    @property
    def digest(self) -> str:
        return digest_of(self.X.tobytes(), self.y.tobytes())


def read_binary(table: PublishedErrors, folder: Folder) -> BinaryTable:
    found = read_from_folder(table.name, folder, {*table.positive, *(table.keep or ())})
    labels = labels_of(found)
    used = np.isin(labels, table.keep) if table.keep else np.ones(len(labels), dtype=bool)
    check_rows(table.name, int(used.sum()), table.rows)
    schema, X = found.encoded()
    y = np.where(np.isin(labels[used], table.positive), 1, -1)
    return BinaryTable(table, np.ascontiguousarray(X[used]), schema.categorical, y)


def draw_split(table: PublishedErrors, seed: int, repeat: int) -> Split:
    order = np.random.default_rng([seed, repeat]).permutation(table.rows).astype(np.intp)
    return np.sort(order[: table.training_rows]), np.sort(order[table.training_rows :])


def prepared(table: BinaryTable, train: Rows) -> F64:
    r"""Return all rows as columns for stumps, with means, ranges and categories of the training rows.

    A numeric column goes through :math:`\tanh((x - \bar x) / s)` and becomes the number of thresholds below it, ten
    evenly spaced between the least and the largest training value, so that every method has the same ten stumps.
    Categories of the training rows, a missing value among them, become 0/1 columns, two categories one column. Missing
    numbers stay NaN. Constant columns are left out.
    """
    columns = []
    for x, categorical in zip(table.X.T, table.categorical, strict=True):
        columns += _indicators(x, train) if categorical else _steps(x, train)
    if not columns:
        raise ValueError(
            f"every column of table {table.published.name!r} is constant on the training rows; leave it out by --tables"
        )
    return np.column_stack(columns)


def _steps(x: F64, train: Rows) -> list[F64]:
    known = x[train][~np.isnan(x[train])]
    spread = float(known.std()) if known.size and np.ptp(known) > 0.0 else 0.0
    if spread == 0.0:
        return []
    z = np.tanh((x - known.mean()) / spread)
    inside = z[train][~np.isnan(z[train])]
    low, high = float(inside.min()), float(inside.max())
    thresholds = low + (high - low) * np.arange(1, STUMPS_PER_COLUMN + 1) / (STUMPS_PER_COLUMN + 1)
    return [np.where(np.isnan(z), np.nan, np.searchsorted(thresholds, z).astype(np.float64))]


def _indicators(x: F64, train: Rows) -> list[F64]:
    codes = np.where(np.isnan(x), -1.0, x)
    found = np.unique(codes[train])
    return [(codes == code).astype(np.float64) for code in (found if found.size > 2 else found[:-1])]
