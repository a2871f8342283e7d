"""Command that rebuilds the lecture notes on composition of classifiers."""

from collections.abc import Callable
from typing import Annotated

from committee.papers.shared.options import (
    DataOrOpenML,
    Jobs,
    Names,
    Out,
    Progress,
    Quick,
    Small,
    check_at_least_one,
    in_order,
)
from committee.report.page import Grid

PARTS = ("margins", "boosting", "leaves", "forest")


def rebuild(
    data: DataOrOpenML,
    out: Out,
    *,
    parts: Annotated[Names, f"Out of {', '.join(PARTS)}; by default all."] = None,
    quick: Quick = False,
    small: Small = False,
    seed: Annotated[int, "Seed of folds, simulations and models."] = 0,
    jobs: Jobs = 1,
    progress: Progress | None = None,
) -> list[Grid]:
    """Lecture notes on composition of classifiers: margins and the voting bound, gradient boosting, forests."""
    from committee.papers.lectures import margins, simulations
    from committee.papers.lectures.simulations import FULL, QUICK, SMALL
    from committee.papers.shared.cells import Task, finished_cells, journal_of
    from committee.papers.shared.pages import write_page
    from committee.papers.shared.tables import Bundled

    check_at_least_one(jobs=jobs)
    chosen = in_order(parts, PARTS, "parts")
    plan = SMALL if small else QUICK if quick else FULL
    parts_of: dict[str, tuple[Callable[..., list[Task]], Callable[..., list[Grid]]]] = {
        "margins": (margins.tasks, margins.report),
        "boosting": (simulations.tasks, simulations.report),
        "leaves": (simulations.leaf_tasks, simulations.leaf_report),
        "forest": (simulations.forest_tasks, simulations.forest_report),
    }
    tasks = {part: parts_of[part][0](plan, seed, Bundled.TABLES if small else data) for part in chosen}
    cells = finished_cells(
        *journal_of("lectures", plan, seed, out, quick=quick, small=small),
        [task for own in tasks.values() for task in own],
        jobs=jobs,
        progress=progress,
    )
    grids = [
        grid for part in chosen for grid in parts_of[part][1]([cells[task.key] for task in tasks[part]], plan, out)
    ]
    write_page(grids, out / "tables.md")
    return grids
