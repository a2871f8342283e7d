"""Command that rebuilds the figures of Grossmann's theory of boosting trees and matryoshki, and tests it."""

from functools import partial
from typing import Annotated

from committee.papers.shared.options import Data, Jobs, Names, Out, Progress, Quick, Small, check_at_least_one, in_order
from committee.report.page import Grid


def rebuild(
    data: Data,
    out: Out,
    *,
    tables: Annotated[Names, "Tables; by default all 12."] = None,
    repeats: Annotated[int, "Random splits of every table."] = 10,
    growth: Annotated[bool, "Only the tables of entropies, of tree growth and of the rules that end draws."] = False,
    quick: Quick = False,
    small: Small = False,
    seed: Annotated[int, "Seed of splits and draws."] = 0,
    jobs: Jobs = 1,
    progress: Progress | None = None,
) -> list[Grid]:
    """Boosting trees and matryoshki (Grossmann): Figures 2 and 3, and experiments that test the theory."""
    from committee.papers.matryoshka import figures, report
    from committee.papers.matryoshka.cells import (
        FULL,
        MOST_QUICK_REPEATS,
        NAMES,
        QUICK,
        QUICK_NAMES,
        SMALL_NAMES,
        nesting_cell,
        read_named,
    )
    from committee.papers.matryoshka.report import NestingResults
    from committee.papers.shared.cells import Task, finished_cells, journal_of
    from committee.papers.shared.pages import write_page
    from committee.papers.shared.tables import Bundled, Fold

    check_at_least_one(repeats=repeats, jobs=jobs)
    plan, most = (QUICK, MOST_QUICK_REPEATS) if quick or small else (FULL, repeats)
    repeats = min(repeats, most)
    if small:
        chosen = in_order(tables, SMALL_NAMES)
    else:
        chosen = in_order(QUICK_NAMES if quick and tables is None else tables, NAMES)
    read = [read_named(name, Bundled.TABLES if small else data) for name in chosen]
    with_paths = {*plan.by_size(), *plan.by_softness(), *plan.by_choice()}
    settings = plan.of_growth() if growth else plan.settings()
    tasks = [
        Task(
            {"table": fold.table.name, "digest": fold.table.digest, "repeat": fold.repeat, **setting.place},
            partial(nesting_cell, fold, setting, plan.n_paths if setting in with_paths else None),
        )
        for fold in (Fold(table, repeat, seed) for table in read for repeat in range(repeats))
        for setting in settings
        if setting.fits(len(fold.split[0]))
    ]
    journal = journal_of("matryoshka", plan, seed, out, quick=quick, small=small)
    cells = finished_cells(*journal, tasks, jobs=jobs, progress=progress)
    results = NestingResults(cells, tuple(table.name for table in read), repeats, plan)
    if growth:
        grids = report.growth_grids(results)
        report.write_cells(results, settings, out / "cells-growth.csv")
        write_page(grids, out / "tables-growth.md")
        return grids
    grids = [figures.grid(), *report.grids(results), *report.growth_grids(results)]
    figures.write_bounds(out)
    report.write(results, grids, out)
    figures.write(results, out)
    return grids
