"""Command that rebuilds Tables 1 and 2 of "Efficient learning of ensembles with QuadBoost"."""

from dataclasses import replace
from functools import partial
from typing import Annotated

from committee.papers.shared.options import Data, Jobs, Names, Out, Progress, Quick, Small, check_at_least_one, in_order
from committee.report.page import Grid

SMALL_TABLE = "wine"  # bundled, run with `small`
QUICK_TABLES = ("zoo", "wine", "glass")  # run with `quick` where no table is named: the smallest ones


def rebuild(
    data: Data,
    out: Out,
    *,
    tables: Annotated[Names, "Tables; by default all 25."] = None,
    repeats: Annotated[int, "Random splits of every table; the document has one."] = 10,
    max_rounds: Annotated[int, "Largest number of AdaBoost's rounds that is tried."] = 1_000_000,
    max_grown: Annotated[int, "Largest number of rounds with stumps by the Gini index that is tried."] = 10_000,
    anew: Annotated[bool, "Also L2 and Linf with recomputed weights of repeated voters."] = False,
    quick: Quick = False,
    small: Small = False,
    seed: Annotated[int, "Seed of splits and folds."] = 0,
    jobs: Jobs = 1,
    progress: Progress | None = None,
) -> list[Grid]:
    """QuadBoost (Fortier-Dubois et al.): Tables 1 and 2, all six methods, beside the document's numbers."""
    from committee.papers.quadboost import report
    from committee.papers.quadboost.methods import (
        ANEW_L2,
        ANEW_LINF,
        FULL,
        LEARNERS,
        QUICK,
        published,
        read_binary,
        search_cell,
    )
    from committee.papers.quadboost.report import results_of
    from committee.papers.shared.cells import Task, finished_cells, journal_of
    from committee.papers.shared.pages import save
    from committee.papers.shared.tables import Bundled

    check_at_least_one(repeats=repeats, jobs=jobs, max_rounds=max_rounds, max_grown=max_grown)
    if small:
        quick, tables = True, in_order(tables, [SMALL_TABLE])
    plan = replace(FULL, max_rounds=max_rounds, max_grown=max_grown)
    if quick:
        most, most_grown = min(QUICK.max_rounds, max_rounds), min(QUICK.max_grown, max_grown)
        plan = replace(QUICK, max_rounds=most, max_grown=most_grown)
    chosen = in_order(QUICK_TABLES if quick and tables is None else tables, [row.name for row in published()])
    rows = [row for row in published() if row.name in chosen]
    methods = [method for method in LEARNERS if anew or method not in (ANEW_L2, ANEW_LINF)]
    read = [read_binary(row, Bundled.TABLES if small else data) for row in rows]
    cells = finished_cells(
        *journal_of("quadboost", plan, seed, out, quick=quick, small=small),
        [
            Task(
                {"table": table.published.name, "digest": digest, "repeat": repeat, "method": method},
                partial(search_cell, table, method, repeat, seed, plan),
            )
            for table, digest in ((table, table.digest) for table in read)
            for repeat in range(repeats)
            for method in methods
        ],
        jobs=jobs,
        progress=progress,
    )
    results = results_of(rows, methods, repeats, cells)
    grids = report.grids(results)
    report.write(results, grids, out)
    save(report.draw(results), out / "quadboost.png")
    return grids
