"""Tables 1 and 2 of "Efficient learning of ensembles with QuadBoost", beside our own figures."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from committee.data.names import known_names
from committee.papers.quadboost import figures as quadboost_figures
from committee.papers.quadboost import report as quadboost_report
from committee.papers.quadboost.methods import FULL, LEARNERS, QUICK, Method, Plan
from committee.papers.quadboost.results import TableResult
from committee.papers.quadboost.tables import (
    BinaryTable,
    PublishedTable,
    draw_split,
    prepared,
    published,
    read_binary,
)
from committee.papers.shared.cells import Progress, check_same_tables, finished
from committee.papers.shared.journal import Cell, Journal
from committee.report.crossvalidation import stratified_folds

if TYPE_CHECKING:
    from committee.report.tables import Grid

QUICK_TABLES = ("zoo", "wine", "glass")
"""What is run with `quick` where no table is named: the smallest ones."""


@dataclass(frozen=True)
class Task:
    """One method on one split of one table."""

    table: BinaryTable
    method: str
    repeat: int
    seed: int
    plan: Plan

    @property
    def key(self) -> tuple[str, int, str]:
        """What its cell is found by."""
        return self.table.published.name, self.repeat, self.method


def rebuild(
    folder: Path | None,
    out: Path,
    *,
    tables: Sequence[str] | None = None,
    repeats: int = 10,
    max_rounds: int = FULL.max_rounds,
    quick: bool = False,
    seed: int = 0,
    jobs: int = 1,
    progress: Progress | None = None,
) -> list[Grid]:
    """Run the six methods on random splits of every table, and set the test errors beside the document's.

    Parameters
    ----------
    folder : Path or None
        Folder of the tables.
    out : Path
        Folder for ``cells.jsonl`` (``cells-quick.jsonl``), which keeps every finished cell - a method on a split of a
        table -, CSV, the tables of the page as Markdown, and a picture. Cells that are there already are not run
        again.
    tables : sequence of str, default=None
        Names in the catalogue; the document's 25 by default.
    repeats : int, default=10
        Random splits of every table; the document has one.
    max_rounds : int, default=10000
        Rounds of AdaBoost above it are not tried, though the document's grid goes on to a million.
    quick : bool, default=False
        A little of everything, in seconds; figures mean nothing.
    seed : int, default=0
        Seed of splits and folds.
    jobs : int, default=1
        Processes; a fit uses one thread.
    progress : callable, default=None
        Called with cells done, cells in all and the name of the table.

    Returns
    -------
    list of Grid
        To print.

    Raises
    ------
    ValueError
        If a name is unknown, a table is missing or another one than the document's (before anything is run), or
        ``out`` holds cells of another run.
    """
    if repeats < 1 or jobs < 1 or max_rounds < 1:
        raise ValueError(
            f"repeats, jobs and max_rounds must be at least 1; got repeats={repeats}, jobs={jobs},"
            f" max_rounds={max_rounds}"
        )
    plan = (
        replace(QUICK, max_rounds=min(QUICK.max_rounds, max_rounds)) if quick else replace(FULL, max_rounds=max_rounds)
    )
    rows = _chosen(published(), QUICK_TABLES if quick and tables is None else tables)
    read = [read_binary(row, folder) for row in rows]
    run = {"paper": "quadboost", **asdict(plan), "seed": seed, "committee": version("committee")}
    tasks = [Task(t, method, repeat, seed, plan) for t in read for repeat in range(repeats) for method in LEARNERS]
    with Journal(out / ("cells-quick.jsonl" if quick else "cells.jsonl"), run) as journal:
        check_same_tables(journal, {table.published.name: table.digest for table in read})
        cells = finished(journal, tasks, run_cell, _key, jobs=jobs, progress=progress)
        found = {_key(cell): cell for cell in cells}
    results = [_result(row, repeats, found) for row in rows]
    quadboost_report.write(results, out)
    quadboost_figures.save(quadboost_figures.draw(results), out / "quadboost.png")
    return quadboost_report.grids(results)


def _chosen(rows: list[PublishedTable], tables: Sequence[str] | None) -> list[PublishedTable]:
    names = [row.name for row in rows]
    chosen = known_names(names if tables is None else tables, names, "tables")
    return [row for row in rows if row.name in chosen]


def _key(cell: Cell) -> tuple[str, int, str]:
    return cell["table"], cell["repeat"], cell["method"]


def run_cell(task: Task) -> Cell:
    """Choose hyperparameters on the training rows, fit, and judge on the test rows, on one thread.

    Parameters
    ----------
    task : Task

    Returns
    -------
    dict
        Among others ``right``, a bit per test row as hexadecimal digits; the seconds of the choice and of the fit; the
        mean of (y - F)^2 over the test rows as ``risk``, or None.
    """
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    method: Method = LEARNERS[task.method]
    train, test = draw_split(task.table.published, task.seed, task.repeat)
    X, y = prepared(task.table, train), task.table.y
    folds = stratified_folds((y[train] > 0).astype(np.intp), task.plan.folds, 1, task.seed + task.repeat)
    with threadpool_limits(1):
        start = time.perf_counter()
        params, cv_error = method.choose(X[train], y[train], folds, task.plan)
        chosen = time.perf_counter()
        model = method.fit(X[train], y[train], params)
        fitted = time.perf_counter()
        right = model.predict(X[test]) == y[test]
        risk = float(np.mean((y[test] - model.decision_function(X[test])) ** 2)) if method.quadratic else None
    return {
        "table": task.table.published.name,
        "digest": task.table.digest,
        "repeat": task.repeat,
        "method": task.method,
        "params": params,
        "cv_error": cv_error,
        "right": np.packbits(right).tobytes().hex(),
        "risk": risk,
        "columns": X.shape[1],
        "voters": model.committee_.n_voters,
        "choose_seconds": round(chosen - start, 4),
        "fit_seconds": round(fitted - chosen, 5),
    }


def _result(row: PublishedTable, repeats: int, cells: dict[tuple[str, int, str], Cell]) -> TableResult:
    own = {method: [cells[row.name, repeat, method] for repeat in range(repeats)] for method in LEARNERS}
    return TableResult(
        row,
        {method: np.array(list(_bits(row, found))) for method, found in own.items()},
        {method: tuple(found) for method, found in own.items()},
    )


def _bits(row: PublishedTable, cells: Sequence[Cell]) -> Iterator[NDArray[np.bool_]]:
    for cell in cells:
        packed = np.frombuffer(bytes.fromhex(cell["right"]), dtype=np.uint8)
        yield np.unpackbits(packed, count=row.test_rows).astype(bool)
