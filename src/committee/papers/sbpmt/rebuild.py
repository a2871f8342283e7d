"""SBPMT rebuilt: Table 2 with Figures 3 and 4, beside the paper or beside other methods; Figure 2; two studies."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from committee.papers.shared.options import (
    DataOrOpenML,
    Jobs,
    Names,
    Out,
    Progress,
    Small,
    check_at_least_one,
    in_order,
)

if TYPE_CHECKING:
    from committee.papers.sbpmt.consistency import Growth
    from committee.papers.sbpmt.figure2 import Simulation
    from committee.papers.sbpmt.table2 import PublishedAccuracies
    from committee.papers.shared.bundled_tables import Folder
    from committee.report.grid import Grid

STUDIES = ("consistency", "numeric")
"""What the paper says of growing tables and of numeric columns, tried out."""


def rebuild(
    data: DataOrOpenML,
    out: Out,
    *,
    tables: Annotated[Names, "Tables; by default all 22, of which OpenML has 17."] = None,
    figure: Annotated[int | None, "Only Figure 2 (the simulation), 3 or 4."] = None,
    rivals: Annotated[bool, "Table 2 with other libraries' methods on the same folds, and tests."] = False,
    study: Annotated[str | None, "Only consistency (growing tables) or numeric (kinds of columns)."] = None,
    settings: Annotated[str, "Parameters: paper or default."] = "default",
    repeats: Annotated[int, "Times that folds, or the simulation, are drawn anew."] = 1,
    small: Small = False,
    seed: Annotated[int, "Seed of folds and models."] = 0,
    jobs: Jobs = 1,
    progress: Progress | None = None,
    simulation: "Simulation | None" = None,
    growth: "Growth | None" = None,
) -> "list[Grid]":
    """SBPMT (Qin and Huang): Table 2 with Figures 3 and 4, or Figure 2, beside the paper's numbers.

    Files: the tables as Markdown (``tables-<what>.md``); ``table2-<settings>.csv`` with ``figure3-<settings>.png`` and
    ``figure4-<settings>.png``; with `rivals` the same of ``rivals-<settings>``; ``figure2.csv`` and ``figure2.png``;
    ``consistency.csv``; ``numeric-<settings>.csv``; and journals, ``cells-<what>.jsonl``. Repeat r of the classifier
    has the seed ``seed + r``.
    """
    from committee.papers.sbpmt import consistency, figure2, table2
    from committee.papers.shared.bundled_tables import Bundled

    if figure not in (None, 2, 3, 4):
        raise ValueError(f"figure={figure} cannot be rebuilt; use 2, 3 or 4")
    if study not in (None, *STUDIES):
        raise ValueError(f"study={study!r} is not known; use {' or '.join(STUDIES)}")
    if settings not in table2.SETTINGS:
        raise ValueError(f"settings={settings!r} is not known; use one of {', '.join(table2.SETTINGS)}")
    _check_one_of(figure, rivals, study)
    if tables is not None and (figure == 2 or study == "consistency"):
        what = "Figure 2" if figure == 2 else "study='consistency'"
        raise ValueError(f"tables={','.join(tables)!r} is given with {what}, which simulates its rows; leave it out")
    check_at_least_one(repeats=repeats, jobs=jobs)
    run = _Run(out, "small-" if small else "", settings, repeats, seed, jobs, progress)
    if figure == 2:
        return _figure2(run, simulation or (figure2.SMALL if small else figure2.PAPER))
    if study == "consistency":
        return _consistency(run, growth or (consistency.SMALL if small else consistency.FULL))
    if small:
        # seven methods, or three kinds of columns, take their time
        tables = in_order(tables or (table2.SMALL_TABLES[:1] if rivals or study else None), table2.SMALL_TABLES)
    chosen = in_order(tables, [row.name for row in table2.published()])
    rows = [row for row in table2.published() if row.name in chosen]
    folder = Bundled.TABLES if small else data
    if study == "numeric":
        return _numeric(run, rows, folder)
    return _rivals(run, rows, folder, figure) if rivals else _table2(run, rows, folder, figure)


def _check_one_of(figure: int | None, rivals: bool, study: str | None) -> None:
    """Refuse options of which one would be overlooked."""
    if rivals and figure == 2:
        raise ValueError("Figure 2 has SBPMT alone; leave out --rivals, or take Figure 3 or 4")
    if study is not None and (rivals or figure is not None):
        raise ValueError(f"study={study!r} has neither figures nor rivals; leave out --figure and --rivals")


@dataclass(frozen=True)
class _Run:
    """What all parts of the paper are told."""

    out: Path
    kind: str
    settings: str
    repeats: int
    seed: int
    jobs: int
    progress: Progress | None

    def journal(self, name: str) -> Path:
        return self.out / f"cells-{self.kind}{name}.jsonl"

    def written(self, grids: "list[Grid]", name: str) -> "list[Grid]":
        """Write the grids as Markdown, and return them."""
        from committee.papers.shared.pages import write_page

        write_page(grids, self.out / f"tables-{name}.md")
        return grids


def _figure2(run: _Run, sizes: "Simulation") -> "list[Grid]":
    from committee.papers.sbpmt import figure2, figures
    from committee.papers.shared.cells import finished_cells
    from committee.papers.shared.figures import save
    from committee.papers.shared.pages import write_csv

    tasks, described = figure2.tasks(sizes, run.repeats, run.seed), figure2.settings_of(sizes, run.seed)
    cells = finished_cells(run.journal("figure2"), described, tasks, jobs=run.jobs, progress=run.progress)
    errors = figure2.errors_of(cells.values(), sizes)
    write_csv(figure2.records(errors, sizes), run.out / "figure2.csv")
    save(figures.figure2(errors, sizes), run.out / "figure2.png")
    return run.written([figure2.grid(errors, sizes)], "figure2")


def _table2(run: _Run, rows: "list[PublishedAccuracies]", folder: "Folder", figure: int | None) -> "list[Grid]":
    from committee.papers.sbpmt import figures, table2
    from committee.papers.shared.cells import finished_cells
    from committee.papers.shared.figures import save
    from committee.papers.shared.pages import write_csv

    settings = run.settings
    tasks = table2.tasks(rows, folder, settings, run.repeats, run.seed)
    described = table2.settings_of(settings, run.seed)
    cells = finished_cells(run.journal(settings), described, tasks, jobs=run.jobs, progress=run.progress)
    found = table2.results_of(rows, cells)
    write_csv((table2.record(row, settings) for row in found), run.out / f"table2-{settings}.csv")
    for number, draw in ((3, figures.figure3), (4, figures.figure4)):
        if figure in (None, number):
            save(draw(found), run.out / f"figure{number}-{settings}.png")
    return run.written([table2.grid(found, settings)], settings)


def _rivals(run: _Run, rows: "list[PublishedAccuracies]", folder: "Folder", figure: int | None) -> "list[Grid]":
    from committee.papers.sbpmt import figures, rival_results
    from committee.papers.sbpmt import rivals as others
    from committee.papers.sbpmt.table2 import OURS
    from committee.papers.shared.cells import finished_cells
    from committee.papers.shared.figures import save
    from committee.papers.shared.pages import write_csv

    others.warn_of_missing()
    name, methods = f"rivals-{run.settings}", [OURS, *others.installed_rivals()]
    tasks = others.tasks(rows, folder, run.settings, methods, run.repeats, run.seed)
    described = others.described(run.settings, run.seed)
    cells = finished_cells(run.journal(name), described, tasks, jobs=run.jobs, progress=run.progress)
    found = rival_results.results_of(rows, methods, cells)
    write_csv(rival_results.records(found), run.out / f"table2-{name}.csv")
    for number, draw in ((3, figures.own_figure3), (4, figures.own_figure4)):
        if figure in (None, number):
            save(draw(found), run.out / f"figure{number}-{name}.png")
    return run.written([rival_results.accuracy_grid(found, run.settings), rival_results.contest_grid(found)], name)


def _consistency(run: _Run, growth: "Growth") -> "list[Grid]":
    from committee.papers.sbpmt import consistency
    from committee.papers.shared.cells import finished_cells
    from committee.papers.shared.pages import write_csv

    tasks, described = consistency.tasks(growth, run.repeats, run.seed), consistency.described(growth, run.seed)
    cells = finished_cells(run.journal("consistency"), described, tasks, jobs=run.jobs, progress=run.progress)
    errors = consistency.errors_of(cells.values(), growth)
    write_csv(consistency.records(errors, growth), run.out / "consistency.csv")
    return run.written([consistency.grid(errors, growth)], "consistency")


def _numeric(run: _Run, rows: "list[PublishedAccuracies]", folder: "Folder") -> "list[Grid]":
    from committee.papers.sbpmt import numeric_columns
    from committee.papers.sbpmt.rivals import installed_rivals
    from committee.papers.sbpmt.table2 import FOREST, OURS, XGBOOST
    from committee.papers.shared.cells import finished_cells
    from committee.papers.shared.pages import write_csv

    methods = [OURS, *(name for name in installed_rivals() if name in (FOREST, XGBOOST))]
    tasks = numeric_columns.tasks(rows, folder, run.settings, methods, run.repeats, run.seed)
    described = numeric_columns.described(run.settings, run.seed)
    path = run.journal(f"numeric-{run.settings}")
    cells = finished_cells(path, described, tasks, jobs=run.jobs, progress=run.progress)
    found = numeric_columns.results_of(rows, cells)
    write_csv(numeric_columns.records(found), run.out / f"numeric-{run.settings}.csv")
    return run.written([numeric_columns.grid(found)], f"numeric-{run.settings}")
