"""The paper's guess that SBPMT gains where columns are numeric, tried on the same rows and folds with other columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data.number_types import F64
from committee.files.journal import Cell
from committee.papers.sbpmt.rivals import method_cell
from committee.papers.sbpmt.table2 import OURS, PublishedAccuracies, folds_of, settings_of, tables_of
from committee.papers.shared.bundled_tables import Folder
from committee.papers.shared.cells import Key, Task
from committee.papers.shared.pages import grid_of, number
from committee.papers.shared.paired import standard_error, unpacked
from committee.report.crossvalidation import Split, Table
from committee.report.grid import BLANK, Grid

if TYPE_CHECKING:
    import polars as pl

ALL, NUMERIC, CUT = "all", "numeric alone", "numbers cut"
PARTS = 5
"""Categories that a numeric column is cut into, of as many rows each."""


def columns_of(table: Table) -> dict[str, Table]:
    """The table with other columns, by name: those that it can be had with.

    Numeric columns alone of a table with both kinds; numbers cut at their quintiles, wherever there are numbers.

    Examples
    --------
    >>> import polars as pl
    >>> from committee.papers.sbpmt.numeric_columns import columns_of
    >>> from committee.report.crossvalidation import Table
    >>> from committee.report.targets import Labels
    >>> frame = pl.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "x"]})
    >>> [t.frame.columns for t in columns_of(Table(frame, Labels.read(pl.Series(["n", "y", "n"])))).values()]
    [['a', 'b'], ['a'], ['a', 'b']]
    """
    frame = table.frame
    numeric = [name for name, kind in frame.schema.items() if kind.is_numeric()]
    found = {ALL: table}
    if 0 < len(numeric) < frame.width:
        found[NUMERIC] = replace(table, frame=frame.select(numeric))
    if numeric:
        found[CUT] = replace(table, frame=frame.with_columns(_cut(frame[name]) for name in numeric))
    return found


def _cut(column: pl.Series) -> pl.Series:
    """The numbers of the parts that the values lie in, as text; missing stays missing."""
    import polars as pl

    edges = np.unique(np.nanquantile(column.to_numpy(), np.arange(1, PARTS) / PARTS))
    part = np.searchsorted(edges, column.to_numpy(), side="left").astype(str)
    missing = column.is_null() | column.cast(pl.Float64).is_nan()
    return pl.Series(column.name, part).to_frame().select(pl.when(~missing).then(pl.first())).to_series()


def tasks(
    rows: Sequence[PublishedAccuracies],
    folder: Folder,
    settings: str,
    methods: Sequence[str],
    repeats: int,
    seed: int,
) -> list[Task]:
    """Every method on the folds of every table, with each of its columns."""
    found = []
    for row, whole, digest in tables_of(rows, folder):
        for columns, table in columns_of(whole).items():
            for place, split, own_seed in folds_of(table, repeats, seed):
                for method in methods:
                    own = {"table": row.name, "digest": digest, "columns": columns, "method": method, **place}
                    run = partial(columns_cell, table, split, method, settings, own_seed)
                    found.append(Task(own, run, f"{row.title}, {columns}"))
    return found


def columns_cell(table: Table, split: Split, method: str, settings: str, seed: int) -> Cell:
    """As `method_cell`, of a table with other columns: a function of this module, by whose code cells are known."""
    return method_cell(table, split, method, settings, seed)


def described(settings: str, seed: int) -> dict[str, Any]:
    """Return all that the cells depend on."""
    return {"study": "numeric", "parts": PARTS, **settings_of(settings, seed)}


@dataclass(frozen=True)
class Accuracies:
    """Mean accuracy of each method on a table, in percent, by its columns."""

    published: PublishedAccuracies
    by_columns: dict[str, dict[str, float]]

    def gain(self, columns: str, method: str) -> float:
        """Accuracy of SBPMT less a method's."""
        return self.by_columns[columns][OURS] - self.by_columns[columns][method]


def results_of(rows: Sequence[PublishedAccuracies], cells: Mapping[Key, Cell]) -> list[Accuracies]:
    """The mean accuracies of each table."""
    found = []
    for row in rows:
        own: dict[str, dict[str, list[float]]] = {}
        for cell in cells.values():
            if cell["table"] == row.name:
                right = unpacked(cell["right"], cell["rows"])
                own.setdefault(cell["columns"], {}).setdefault(cell["method"], []).append(100.0 * right.mean())
        means = {c: {m: float(np.mean(folds)) for m, folds in of.items()} for c, of in own.items()}
        found.append(Accuracies(row, means))
    return found


def grid(results: Sequence[Accuracies]) -> Grid:
    """Mean accuracies with each choice of columns, beside those with all columns of the same tables."""
    methods = list(results[0].by_columns[ALL])
    body = []
    for columns in (NUMERIC, CUT):
        having = [result for result in results if columns in result.by_columns]
        for shown in (ALL, columns) if having else ():
            means = (np.mean([result.by_columns[shown][method] for result in having]) for method in methods)
            gains = (_gain(np.array([result.gain(shown, m) for result in having])) for m in methods if m != OURS)
            body.append((f"{shown} ({len(having)})", *(f"{mean:.2f}" for mean in means), *gains))
    columns_shown = ("columns", *methods, *(f"less {method}" for method in methods if method != OURS))
    title = "Accuracy in percent by the kind of columns, and SBPMT's less the others'"
    return grid_of(title, columns_shown, body)


def _gain(gains: F64) -> str:
    return f"{gains.mean():+.2f} ±{standard_error(gains):.2f}" if len(gains) > 1 else number(float(gains[0]), 2)


def records(results: Sequence[Accuracies]) -> Iterator[dict[str, object]]:
    """Lines of CSV: accuracy of each method on each table with each of its columns."""
    for result in results:
        for columns, of in result.by_columns.items():
            for method, accuracy in of.items():
                yield {
                    "table": result.published.title,
                    "name": result.published.name,
                    "columns": columns,
                    "method": method,
                    "accuracy": f"{accuracy:.4f}",
                    "less_than_sbpmt": BLANK if method == OURS else f"{result.gain(columns, method):.4f}",
                }
