"""Command that rebuilds Martinez and Gray's experiments on margins: Tables 2 to 11 and Figures 1 to 6."""

from typing import Annotated

from committee.papers.shared.options import Data, Jobs, Names, Out, Progress, Small, check_at_least_one, in_order
from committee.report.page import Grid

MOST_DEPTH = 30  # more levels than any of the tables can fill


def rebuild(
    data: Data,
    out: Out,
    *,
    tables: Annotated[Names, "Tables; by default all 14."] = None,
    figure: Annotated[int | None, "Only this figure, 1 to 6."] = None,
    repeats: Annotated[int, "Random splits of every table; the document has 100."] = 10,
    trees: Annotated[int, "Trees of every ensemble but MD-Boost's and the figures'; the document has 200."] = 200,
    depth: Annotated[int, "Depth of the trees of AdaBoost and of the first forest; 1: stumps, 0: no limit."] = 2,
    variants: Annotated[bool, "Also other k of EWS, other targets of SM2 and its robust forms."] = False,
    depth_splits: Annotated[int, "Splits for arc-gv, MD-Boost, DOOM II and AdaBoost over tree depths; 0: none."] = 2,
    small: Small = False,
    seed: Annotated[int, "Seed of splits and forests."] = 0,
    jobs: Jobs = 1,
    progress: Progress | None = None,
) -> list[Grid]:
    """Ensembles and their margins (Martinez and Gray): Tables 2 to 11, Figures 1 to 6, beside the document's numbers.

    A cell is one ensemble, or the boosting methods at one depth, on one split of a table.
    """
    from committee.papers.margins import figures, report
    from committee.papers.margins.cells import (
        BOOSTING,
        DEPTHS,
        FEW_DEPTHS,
        FEW_TREES,
        Ensembles,
        depth_tasks,
        reweighting_tasks,
    )
    from committee.papers.margins.report import DepthResults
    from committee.papers.margins.results import BUNDLED, MarginResults, read_data, source_data
    from committee.papers.shared.cells import finished_cells
    from committee.papers.shared.pages import save, write_csv
    from committee.papers.shared.tables import Bundled

    check_at_least_one(repeats=repeats, trees=trees, jobs=jobs)
    if depth_splits < 0:
        raise ValueError(f"depth_splits={depth_splits} is below 0; use 0 to leave out the comparison over depths")
    if not 0 <= depth <= MOST_DEPTH:
        raise ValueError(f"depth={depth} is not a tree depth; use 1 to {MOST_DEPTH}, or 0 for trees without a limit")
    sources = {row.name: row for row in ([BUNDLED] if small else source_data())}
    asked = Ensembles(FEW_TREES if small else trees, depth or None, variants or small)
    repeats, depth_splits = (1, min(depth_splits, 1)) if small else (repeats, depth_splits)
    chosen = in_order(tables, list(sources))
    if small and figure in figures.DATA:
        needed = figures.DATA[figure]
        raise ValueError(f"figure={figure} needs table {needed!r}, which is not bundled; leave out --small")
    numbers = figures.drawable(figure, chosen)
    if figure is not None:
        chosen = [figures.DATA[figure]]
    read = {name: read_data(sources[name], Bundled.TABLES if small else data) for name in chosen}
    out.mkdir(parents=True, exist_ok=True)
    if figure is not None:
        return figures.write(numbers, read, seed, out)
    depths = FEW_DEPTHS if small else tuple(DEPTHS)
    tasks = reweighting_tasks(read, repeats, asked, seed) + depth_tasks(read, depth_splits, depths, asked.trees, seed)
    run = {"paper": "margins", "trees": asked.trees, "depth": depth, "objectives": list(asked.objectives), "seed": seed}
    journal = out / ("cells-small.jsonl" if small else "cells.jsonl")
    cells = finished_cells(journal, run, tasks, jobs=jobs, progress=progress)
    results = MarginResults(cells, tuple(chosen), repeats, asked)
    of_depths = {(t, r, e.removeprefix(BOOSTING)): c for (t, r, e), c in cells.items() if e.startswith(BOOSTING)}
    grids = report.grids(results)
    if depth_splits:
        boosted = DepthResults(of_depths, tuple(chosen), depth_splits, depths)
        write_csv(report.depth_lines(boosted), out / "depths.csv")
        grids += report.depth_grids(boosted)
    grids = [*grids, *figures.write(numbers, read, seed, out)]
    report.write(results, grids, out)
    save(figures.together(results), out / "together.png")
    return grids
