"""Command that rebuilds Table 2 and Figures 2 to 4 of the SBPMT paper, and two studies."""

from typing import TYPE_CHECKING, Annotated, Any

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
from committee.report.page import Grid

if TYPE_CHECKING:
    from committee.files.journal import Cell
    from committee.papers.sbpmt.simulation import Growth, Simulation
    from committee.papers.shared.cells import Key, Task

STUDIES = ("consistency", "numeric")  # experiments on growing tables, and on numeric columns


def rebuild(
    data: DataOrOpenML,
    out: Out,
    *,
    tables: Annotated[Names, "Tables; by default all 22, of which OpenML has 17."] = None,
    figure: Annotated[int | None, "Only Figure 2 (the simulation), 3 or 4."] = None,
    rivals: Annotated[bool, "Table 2 with other libraries' methods on the same folds, and tests."] = False,
    study: Annotated[str | None, "Only consistency (growing tables) or numeric (kinds of columns)."] = None,
    settings: Annotated[str, "Parameters: paper or default."] = "default",
    repeats: Annotated[int, "Repetitions of the folds, or runs of the simulation."] = 1,
    small: Small = False,
    seed: Annotated[int, "Seed of folds and models."] = 0,
    jobs: Jobs = 1,
    progress: Progress | None = None,
    simulation: "Simulation | None" = None,
    growth: "Growth | None" = None,
) -> list[Grid]:
    """SBPMT (Qin and Huang): Table 2 with Figures 3 and 4, or Figure 2, beside the paper's numbers."""
    from committee.papers.sbpmt import rivals as others
    from committee.papers.sbpmt import simulation as simulations
    from committee.papers.sbpmt import table2
    from committee.papers.shared.cells import finished_cells
    from committee.papers.shared.pages import save, write_csv, write_page
    from committee.papers.shared.tables import Bundled

    _check_options(tables, figure, study, settings, rivals=rivals)
    check_at_least_one(repeats=repeats, jobs=jobs)

    def cells_of(name: str, described: dict[str, Any], tasks: "list[Task]") -> "dict[Key, Cell]":
        path = out / f"cells-{'small-' if small else ''}{name}.jsonl"
        return finished_cells(path, described, tasks, jobs=jobs, progress=progress)

    def written(grids: list[Grid], name: str) -> list[Grid]:
        write_page(grids, out / f"tables-{name}.md")
        return grids

    if figure == 2:
        sizes = simulation or (simulations.SMALL if small else simulations.PAPER)
        tasks, described = simulations.tasks(sizes, repeats, seed), simulations.settings_of(sizes, seed)
        errors = simulations.errors_of(cells_of("figure2", described, tasks).values(), sizes)
        write_csv(simulations.records(errors, sizes), out / "figure2.csv")
        save(simulations.figure2(errors, sizes), out / "figure2.png")
        return written([simulations.grid(errors, sizes)], "figure2")
    if study == "consistency":
        growth = growth or (simulations.SMALL_GROWTH if small else simulations.FULL)
        tasks, described = simulations.growth_tasks(growth, repeats, seed), simulations.growth_settings(growth, seed)
        risks = simulations.growth_errors(cells_of("consistency", described, tasks).values(), growth)
        write_csv(simulations.growth_records(risks, growth), out / "consistency.csv")
        return written([simulations.growth_grid(risks, growth)], "consistency")
    if small:
        # seven methods, or three kinds of columns, are slow
        tables = in_order(tables or (table2.SMALL_TABLES[:1] if rivals or study else None), table2.SMALL_TABLES)
    chosen = in_order(tables, [row.name for row in table2.published()])
    rows = [row for row in table2.published() if row.name in chosen]
    folder = Bundled.TABLES if small else data
    if study == "numeric":
        name = f"numeric-{settings}"
        peers = table2.FOREST, table2.XGBOOST
        methods = [table2.OURS, *(name for name in others.installed_rivals() if name in peers)]
        tasks = others.tasks(rows, folder, settings, methods, repeats, seed, by_columns=True)
        described = {"study": "numeric", "parts": others.PARTS, **table2.settings_of(settings, seed)}
        cells = cells_of(name, described, tasks)
        kinds = others.column_results(rows, methods, cells.values())
        write_csv(others.column_records(kinds), out / f"{name}.csv")
        return written([others.column_grid(kinds)], name)
    if rivals:
        others.warn_of_missing()
        name, methods = f"rivals-{settings}", [table2.OURS, *others.installed_rivals()]
        tasks = others.tasks(rows, folder, settings, methods, repeats, seed)
        cells = cells_of(name, {"rivals": True, **table2.settings_of(settings, seed)}, tasks)
        results = others.results_of(rows, methods, cells.values())
        write_csv(others.records(results), out / f"table2-{name}.csv")
        lines, less = others.own_runs(results), "SBPMT minus\nthe other"
        grids = [others.accuracy_grid(results, settings), others.contest_grid(results)]
    else:
        name, tasks = settings, table2.tasks(rows, folder, settings, repeats, seed)
        found = table2.results_of(rows, cells_of(name, table2.settings_of(settings, seed), tasks))
        write_csv((table2.record(row, settings) for row in found), out / f"table2-{name}.csv")
        lines, less = others.beside_the_paper(found), "ours minus\nthe paper's"
        grids = [table2.grid(found, settings)]
    for number, draw in ((3, others.figure3), (4, others.figure4)):
        if figure in (None, number):
            save(draw(rows, lines, less), out / f"figure{number}-{name}.png")
    return written(grids, name)


def _check_options(tables: Names, figure: int | None, study: str | None, settings: str, *, rivals: bool) -> None:
    from committee.papers.sbpmt.table2 import SETTINGS

    if figure not in (None, 2, 3, 4):
        raise ValueError(f"figure={figure} cannot be rebuilt; use 2, 3 or 4")
    if study not in (None, *STUDIES):
        raise ValueError(f"study={study!r} is not known; use {' or '.join(STUDIES)}")
    if settings not in SETTINGS:
        raise ValueError(f"settings={settings!r} is not known; use one of {', '.join(SETTINGS)}")
    if rivals and figure == 2:
        raise ValueError("Figure 2 shows SBPMT only; leave out --rivals, or use --figure 3 or 4")
    if study is not None and (rivals or figure is not None):
        raise ValueError(f"study={study!r} takes neither figure nor rivals; leave out --figure and --rivals")
    if tables is not None and (figure == 2 or study == "consistency"):
        what = "Figure 2" if figure == 2 else "study='consistency'"
        raise ValueError(f"tables={','.join(tables)!r} is given with {what}, which simulates its rows; leave it out")
