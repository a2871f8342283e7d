"""Martinez and Gray's experiments on margins: Tables 2 to 11 and Figures 1 to 6, beside the document's numbers."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from committee.data.names import known_names
from committee.papers.margins import figures as margins_figures
from committee.papers.margins import report as margins_report
from committee.papers.margins.cells import DEPTH, ENSEMBLES, OBJECTIVES, TREES, Task, key_of, run_cell
from committee.papers.margins.results import Results
from committee.papers.margins.tables import read_data, source_data
from committee.papers.sbpmt.figures import save
from committee.papers.shared.cells import Progress, check_same_tables, finished
from committee.papers.shared.folds import Fold
from committee.papers.shared.journal import Journal

if TYPE_CHECKING:
    from committee.report.tables import Grid


def rebuild(
    folder: Path | None,
    out: Path,
    *,
    tables: Sequence[str] | None = None,
    figure: int | None = None,
    repeats: int = 10,
    seed: int = 0,
    jobs: int = 1,
    progress: Progress | None = None,
) -> list[Grid]:
    """Re-weight forests and AdaBoost on random splits of every table, and set what comes of it beside the document's.

    Parameters
    ----------
    folder : Path or None
        Folder of the tables.
    out : Path
        Folder for ``cells.jsonl``, which keeps every finished cell - an ensemble on a split of a table, with all
        objectives -, CSV, the tables of the page as Markdown, and pictures. Cells that are there already are not run
        again; they are run split by split.
    tables : sequence of str, default=None
        Names in the catalogue; all fourteen by default. Figures are drawn of those among them.
    figure : {1, ..., 6} or None, default=None
        Only this figure; no table is rebuilt then.
    repeats : int, default=10
        Random splits of every table; the document has 100.
    seed : int, default=0
        Seed of splits and forests.
    jobs : int, default=1
        Processes; a cell uses one thread.
    progress : callable, default=None
        Called with cells done, cells in all and the name of the table.

    Returns
    -------
    list of Grid
        To print.

    Raises
    ------
    ValueError
        If a name or figure is unknown, the figure's table is not among `tables`, a table is missing or another one than
        the document's (before anything is run), or ``out`` holds cells of another run.
    """
    if repeats < 1 or jobs < 1:
        raise ValueError(f"repeats and jobs must be at least 1; got repeats={repeats}, jobs={jobs}")
    data = {row.name: row for row in source_data()}
    numbers = _figures(figure, known_names(list(data) if tables is None else tables, list(data), "tables"))
    chosen = [name for name in data if tables is None or name in tables]
    if figure is not None:
        chosen = [margins_figures.DATA[figure]]
    read = {name: read_data(data[name], folder) for name in chosen}
    out.mkdir(parents=True, exist_ok=True)
    if figure is not None:
        return margins_figures.write(numbers, read, seed, out)
    run = {
        "paper": "margins",
        "trees": TREES,
        "depth": DEPTH,
        "objectives": list(OBJECTIVES),
        "seed": seed,
        "committee": version("committee"),
    }
    tasks = [
        Task(Fold(table, repeat, seed), ensemble)
        for repeat in range(repeats)
        for table in read.values()
        for ensemble in ENSEMBLES
    ]
    with Journal(out / "cells.jsonl", run) as journal:
        check_same_tables(journal, {name: table.digest for name, table in read.items()})
        cells = finished(journal, tasks, run_cell, key_of, jobs=jobs, progress=progress)
    results = Results.of(cells, chosen, repeats)
    grids = [*margins_report.grids(results), *margins_figures.write(numbers, read, seed, out)]
    margins_report.write(results, grids, out)
    save(margins_figures.together(results), out / "together.png")
    return grids


def _figures(figure: int | None, chosen: Sequence[str]) -> tuple[int, ...]:
    """The figures that can be drawn of the chosen tables; the one that is asked for."""
    own = tuple(number for number in margins_figures.NUMBERS if margins_figures.DATA[number] in chosen)
    if figure is None:
        return own
    if figure not in margins_figures.NUMBERS:
        raise ValueError(f"figure={figure} cannot be rebuilt; use 1, 2, 3, 4, 5 or 6")
    if figure not in own:
        needed = margins_figures.DATA[figure]
        raise ValueError(f"figure={figure} is of table {needed!r}, which --tables leaves out; name it, or no tables")
    return (figure,)
