"""The lecture notes on composition of classifiers, rebuilt: one part after the other, finished cells kept."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from committee.data.names import known_names
from committee.papers.lectures import boosting as lectures_boosting
from committee.papers.lectures import figures as lectures_figures
from committee.papers.lectures import forest as lectures_forest
from committee.papers.lectures import margins as lectures_margins
from committee.papers.lectures.plan import FULL, QUICK, Plan
from committee.papers.shared.journal import Cell, Journal
from committee.papers.shared.tables import SOURCE_TABLES, load_source_table
from committee.report.tables import Grid

Calls = dict[str, Callable[[], Cell]]

PARTS = ("margins", "boosting", "leaves", "forest")
"""AdaBoost's margins and the voting bound; gradient boosting; its regularised leaves; a forest's out-of-bag error."""


def rebuild(
    folder: Path | None,
    out: Path,
    *,
    parts: Sequence[str] | None = None,
    quick: bool = False,
    seed: int = 0,
    jobs: int = 1,
    progress: Callable[[int, int, str], None] | None = None,
) -> list[Grid]:
    """Run the parts, and write their tables as CSV and their pictures as PNG.

    Parameters
    ----------
    folder : Path or None
        Folder of the tables; None for OpenML. Only ``"margins"`` reads one, `vehicle`.
    out : Path
        Folder for ``cells.jsonl`` (``cells-quick.jsonl``), which keeps every finished cell, tables and pictures. Cells
        that are there already are not run again.
    parts : sequence of str, default=None
        Out of `PARTS`; all by default.
    quick : bool, default=False
        `QUICK` sizes: seconds instead of minutes, and figures that mean nothing.
    seed : int, default=0
        Seed of folds, simulations and models.
    jobs : int, default=1
        Processes.
    progress : callable, default=None
        Called with cells done, cells in all and the name of the part.

    Returns
    -------
    list of Grid
        To print.

    Raises
    ------
    ValueError
        If a part is unknown, the folder lacks the table, or ``out`` holds cells of another run.
    """
    from joblib import Parallel, delayed

    if jobs < 1:
        raise ValueError(f"jobs must be at least 1; got jobs={jobs}")
    chosen = [part for part in PARTS if part in known_names(PARTS if parts is None else parts, PARTS, "parts")]
    plan = QUICK if quick else FULL
    todo = _calls(chosen, plan, folder, seed)
    run = {"paper": "lectures", **asdict(plan), "seed": seed, "committee": version("committee")}
    with Journal(out / ("cells-quick.jsonl" if quick else "cells.jsonl"), run) as journal:
        done = {cell["name"] for cell in journal.cells}
        names = [name for name in todo if name not in done]
        count = len(todo) - len(names)
        finished = Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch="2*n_jobs")(
            delayed(_named)(name, todo[name]) for name in names
        )
        for cell in finished:
            journal.append(cell)
            count += 1
            if progress is not None:
                progress(count, len(todo), _part_of(cell["name"]))
        cells = {cell["name"]: cell for cell in journal.cells}
    grids = []
    for part in chosen:
        own = [cells[name] for name in todo if _part_of(name) == part]
        grids += _report(part, own, plan, out)
    return grids


def _calls(parts: Sequence[str], plan: Plan, folder: Path | None, seed: int) -> Calls:
    """Everything to be run, by name, in the order of the parts."""
    found: Calls = {}
    if "margins" in parts:
        table = load_source_table(SOURCE_TABLES[lectures_margins.TABLE], folder)
        found |= lectures_margins.calls(table, plan, seed)
    if "boosting" in parts or "leaves" in parts:
        found |= lectures_boosting.calls(plan, seed)
    if "forest" in parts:
        found |= lectures_forest.calls(plan, seed)
    return {name: call for name, call in found.items() if _part_of(name) in parts}


def _part_of(name: str) -> str:
    return name.partition(":")[0]


def _named(name: str, call: Callable[[], Cell]) -> Cell:
    """One finished cell, on one thread."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    with threadpool_limits(1):
        return {"name": name, **call()}


def _report(part: str, cells: Sequence[Cell], plan: Plan, out: Path) -> list[Grid]:
    """Write a part's tables and pictures; its tables to print."""
    if part == "margins":
        margins = lectures_margins.curves(cells)
        grids = lectures_margins.grids(margins)
        _write_lines(lectures_margins.lines(margins), out / "margin-curves.csv")
        for name, draw in lectures_figures.MARGIN_PICTURES.items():
            lectures_figures.save(draw(margins), out / f"{name}.png")
    elif part == "boosting":
        grids = [lectures_boosting.boosting_grid(cells)]
        curves = {task: lectures_boosting.mean_curves(cells, task) for task in ("classes", "numbers")}
        lectures_figures.save(lectures_figures.boosting(curves), out / "boosting.png")
    elif part == "leaves":
        grids = [lectures_boosting.leaf_grid(cells)]
    else:
        forest = lectures_forest.curves(cells)
        grids = [lectures_forest.grid(forest, plan.training_rows)]
        lectures_figures.save(lectures_figures.forest(forest, plan.training_rows), out / "forest.png")
    for number, grid in enumerate(grids):
        name = part if len(grids) == 1 else ("margins", "voting-bound")[number]
        _write_lines([dict(zip(_headings(grid), row, strict=True)) for row in grid.rows], out / f"{name}.csv")
    return grids


def _headings(grid: Grid) -> list[str]:
    return [re.sub(r"\W+", "_", column).strip("_") if column != "<= 0.1" else "share_at_0.1" for column in grid.columns]


def _write_lines(lines: Sequence[dict[str, object]] | Sequence[dict[str, str]], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
