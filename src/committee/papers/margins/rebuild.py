"""Martinez and Gray's experiments on margins: Tables 2 to 11 and Figures 1 to 6, beside the document's numbers."""

from typing import TYPE_CHECKING, Annotated

from committee.papers.shared.options import Data, Jobs, Names, Out, Progress, Small, check_at_least_one, in_order

if TYPE_CHECKING:
    from committee.report.grid import Grid


def rebuild(
    data: Data,
    out: Out,
    *,
    tables: Annotated[Names, "Tables; by default all 14."] = None,
    figure: Annotated[int | None, "Only this figure, 1 to 6."] = None,
    repeats: Annotated[int, "Random splits of every table; the document has 100."] = 10,
    small: Small = False,
    seed: Annotated[int, "Seed of splits and forests."] = 0,
    jobs: Jobs = 1,
    progress: Progress | None = None,
) -> "list[Grid]":
    """Ensembles and their margins (Martinez and Gray): Tables 2 to 11, Figures 1 to 6, beside the document's numbers.

    Files: CSV, the tables of the page as Markdown, pictures of those tables that are named, and the journal
    ``cells.jsonl`` (``cells-small.jsonl``) of cells, an ensemble on a split of a table with all objectives each, run
    split by split. With `figure` that picture alone.
    """
    from functools import partial

    from committee.papers.margins import figures, report
    from committee.papers.margins.cells import DEPTH, ENSEMBLES, FEW_TREES, OBJECTIVES, TREES, reweighting_cell
    from committee.papers.margins.results import MarginResults
    from committee.papers.margins.tables import BUNDLED, read_data, source_data
    from committee.papers.shared.bundled_tables import Bundled
    from committee.papers.shared.cells import Task, finished_cells
    from committee.papers.shared.figures import save
    from committee.papers.shared.folds import Fold

    check_at_least_one(repeats=repeats, jobs=jobs)
    sources = {row.name: row for row in ([BUNDLED] if small else source_data())}
    repeats, trees = (1, FEW_TREES) if small else (repeats, TREES)
    chosen = in_order(tables, list(sources))
    if small and figure in figures.DATA:
        needed = figures.DATA[figure]
        raise ValueError(f"figure={figure} is of table {needed!r}, which does not come along; leave out --small")
    numbers = figures.drawable(figure, chosen)
    if figure is not None:
        chosen = [figures.DATA[figure]]
    read = {name: read_data(sources[name], Bundled.TABLES if small else data) for name in chosen}
    out.mkdir(parents=True, exist_ok=True)
    if figure is not None:
        return figures.write(numbers, read, seed, out)
    tasks = [
        Task(
            {"table": fold.table.name, "digest": fold.table.digest, "repeat": fold.repeat, "ensemble": ensemble},
            partial(reweighting_cell, fold, ensemble, trees),
        )
        for fold in (Fold(table, repeat, seed) for repeat in range(repeats) for table in read.values())
        for ensemble in ENSEMBLES
    ]
    run = {"paper": "margins", "trees": trees, "depth": DEPTH, "objectives": list(OBJECTIVES), "seed": seed}
    journal = out / ("cells-small.jsonl" if small else "cells.jsonl")
    cells = finished_cells(journal, run, tasks, jobs=jobs, progress=progress)
    results = MarginResults(cells, tuple(chosen), repeats, trees)
    grids = [*report.grids(results), *figures.write(numbers, read, seed, out)]
    report.write(results, grids, out)
    save(figures.together(results), out / "together.png")
    return grids
