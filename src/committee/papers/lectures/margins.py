"""The lecture notes' last figure: AdaBoost's margins on `vehicle` after 5, 100 and 1000 rounds; the voting bound."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from committee.files.journal import Cell
from committee.papers.lectures.margin_curves import (
    ALL,
    LEVELS,
    REFUSING,
    STUMPS,
    TREES,
    MarginCurves,
    curves,
    margin_cell,
    share_at,
)
from committee.papers.lectures.margin_figures import PICTURES
from committee.papers.lectures.plan import LecturePlan
from committee.papers.shared.bundled_tables import Folder
from committee.papers.shared.cells import Task
from committee.papers.shared.figures import save
from committee.papers.shared.pages import grid_of, write_csv, write_grid
from committee.papers.shared.tables import SOURCE_TABLES, load_source_table
from committee.report.crossvalidation import stratified_folds
from committee.report.grid import BLANK, Grid


def tasks(plan: LecturePlan, seed: int, folder: Folder) -> list[Task]:
    """Every problem, learner and fold."""
    table = load_source_table(SOURCE_TABLES[plan.table], folder)
    classes = [str(label) for label in table.labels.classes]
    problems = [(name, learner) for name in classes for learner in (STUMPS, REFUSING)] + [(ALL, TREES)]
    return [
        Task(
            {"name": f"margins: {problem}, {learner}, fold {fold}"},
            partial(margin_cell, table, problem, learner, split, plan.rounds),
        )
        for fold, split in enumerate(stratified_folds(table.labels.codes, plan.folds, 1, seed))
        for problem, learner in problems
    ]


def report(cells: Sequence[Cell], plan: LecturePlan, out: Path) -> list[Grid]:
    """Write the curves, the margins and the voting bounds as tables, and the pictures."""
    found = curves(cells)
    margins, bounds = grids(found, plan.table)
    write_csv(lines(found), out / "margin-curves.csv")
    write_grid(margins, out / "margins.csv", {"<= 0.1": "share_at_0.1"})
    write_grid(bounds, out / "voting-bound.csv")
    for name, draw in PICTURES.items():
        save(draw(found), out / f"{name}.png")
    return [margins, bounds]


def grids(found: Sequence[MarginCurves], table: str) -> tuple[Grid, Grid]:
    """The margins as a table, and the voting bounds as another."""
    voters = {STUMPS: "stumps", REFUSING: "refusing", TREES: "trees"}
    margins, bounds = [], []
    for c in found:
        first = c.problem, voters[c.learner], f"{c.rounds:,}"
        shares = (share_at(c, 0.1), c.train_error, c.test_error)
        precise = (f"{100 * share:.{digits}f}" for share, digits in zip(shares, (1, 2, 2), strict=True))
        margins.append((*first, f"{c.minimum:+.3f}", f"{c.mean:.3f}", *precise))
        needed = BLANK if c.rows_needed >= 1e300 else f"{c.rows_needed:.1e}"
        bounds.append((*first, f"{c.theta:.2f}", f"{c.bound:.2f}", f"{c.certified:.2f}", needed))
    names = ("class", "voters", "rounds")
    return (
        grid_of(
            f"Margins of AdaBoost on {table}: least and mean training margin; in percent rows at 0.1 or below, errors",
            (*names, "least", "mean", "<= 0.1", "train", "test"),
            margins,
            text=2,
        ),
        grid_of(
            "Voting bound: with C = 1 (no certificate) and its theta; certified, and rows to bring that down to 1/2",
            (*names, "theta", "C = 1", "certified", "rows"),
            bounds,
            text=2,
        ),
    )


def lines(found: Sequence[MarginCurves]) -> list[dict[str, object]]:
    """The curves, a line per problem, learner, rounds and level."""
    return [
        {
            "class": c.problem,
            "voters": c.learner,
            "rounds": c.rounds,
            "theta": f"{level:.3f}",
            "train": f"{train:.6f}",
            "test": f"{test:.6f}",
        }
        for c in found
        for level, train, test in zip(LEVELS.tolist(), c.train.tolist(), c.test.tolist(), strict=True)
    ]
