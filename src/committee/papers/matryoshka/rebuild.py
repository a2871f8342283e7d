"""Grossmann's theory of boosting trees and matryoshki: its figures, and the experiments that it leaves to be done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from committee.data.names import known_names
from committee.papers.matryoshka import bound_figures as matryoshka_bound_figures
from committee.papers.matryoshka import curves as matryoshka_curves
from committee.papers.matryoshka import figures as matryoshka_figures
from committee.papers.matryoshka import report as matryoshka_report
from committee.papers.matryoshka.cells import Task, run_cell
from committee.papers.matryoshka.plan import FULL, MOST_QUICK_REPEATS, NAMES, QUICK, QUICK_NAMES
from committee.papers.matryoshka.results import Results, key_of
from committee.papers.shared.cells import Progress, check_same_tables, finished
from committee.papers.shared.folds import Fold, read_named
from committee.papers.shared.journal import Journal

if TYPE_CHECKING:
    from committee.report.tables import Grid


def rebuild(
    folder: Path | None,
    out: Path,
    *,
    tables: Sequence[str] | None = None,
    repeats: int = 10,
    quick: bool = False,
    seed: int = 0,
    jobs: int = 1,
    progress: Progress | None = None,
) -> list[Grid]:
    """Draw Figures 2 and 3 of the document, and compare its algorithms on random splits of tables.

    Parameters
    ----------
    folder : Path or None
        Folder of the tables.
    out : Path
        Folder for ``cells.jsonl`` (``cells-quick.jsonl``), which keeps every finished cell - a setting on a split of a
        table -, CSV, the tables of the page as Markdown, and pictures. Cells that are there already are not run again.
    tables : sequence of str, default=None
        Out of the twelve; all by default.
    repeats : int, default=10
        Random splits of every table.
    quick : bool, default=False
        A little of everything, in seconds; figures mean nothing.
    seed : int, default=0
        Seed of splits and draws.
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
        If a name is unknown, a table is missing or of more than two classes (before anything is run), or ``out`` holds
        cells of another run.
    """
    if repeats < 1 or jobs < 1:
        raise ValueError(f"repeats and jobs must be at least 1; got repeats={repeats}, jobs={jobs}")
    plan = QUICK if quick else FULL
    repeats = min(repeats, MOST_QUICK_REPEATS) if quick else repeats
    chosen = known_names(QUICK_NAMES if quick and tables is None else tables or NAMES, NAMES, "tables")
    read = [read_named(name, folder) for name in NAMES if name in chosen]
    with_paths = {*plan.by_size(), *plan.by_softness()}
    run = {"paper": "matryoshka", **asdict(plan), "seed": seed, "committee": version("committee")}
    tasks = [
        Task(fold, setting, plan.n_paths, setting in with_paths)
        for fold in (Fold(table, repeat, seed) for table in read for repeat in range(repeats))
        for setting in plan.settings()
        if setting.fits(len(fold.split[0]))
    ]
    with Journal(out / ("cells-quick.jsonl" if quick else "cells.jsonl"), run) as journal:
        check_same_tables(journal, {table.name: table.digest for table in read})
        cells = finished(journal, tasks, run_cell, key_of, jobs=jobs, progress=progress)
    results = Results.of(cells, [table.name for table in read], repeats, plan)
    matryoshka_curves.write(out)
    matryoshka_bound_figures.write(out)
    matryoshka_report.write(results, out)
    matryoshka_figures.write(results, out)
    return [matryoshka_curves.grid(), *matryoshka_report.grids(results)]
