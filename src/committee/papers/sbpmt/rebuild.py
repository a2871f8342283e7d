"""SBPMT rebuilt: Table 2 with Figures 3 and 4, or Figure 2."""

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
    from committee.papers.sbpmt.figure2 import Simulation
    from committee.report.grid import Grid


def rebuild(
    data: DataOrOpenML,
    out: Out,
    *,
    tables: Annotated[Names, "Tables; by default all 22, of which OpenML has 17."] = None,
    figure: Annotated[int | None, "Only Figure 2 (the simulation), 3 or 4."] = None,
    settings: Annotated[str, "Parameters: paper or default."] = "default",
    repeats: Annotated[int, "Times that folds, or the simulation, are drawn anew."] = 1,
    small: Small = False,
    seed: Annotated[int, "Seed of folds and models."] = 0,
    jobs: Jobs = 1,
    progress: Progress | None = None,
    simulation: "Simulation | None" = None,
) -> "list[Grid]":
    """SBPMT (Qin and Huang): Table 2 with Figures 3 and 4, or Figure 2, beside the paper's numbers.

    Files: ``table2-<settings>.csv`` with ``figure3-<settings>.png`` and ``figure4-<settings>.png``, or ``figure2.csv``
    and ``figure2.png``; the journals ``cells-<settings>.jsonl`` and ``cells-figure2.jsonl``. Repeat r of the classifier
    has the seed ``seed + r``.
    """
    from committee.papers.sbpmt import figure2, figures, table2
    from committee.papers.shared.bundled_tables import Bundled
    from committee.papers.shared.cells import finished_cells
    from committee.papers.shared.figures import save
    from committee.papers.shared.pages import write_csv

    if figure not in (None, 2, 3, 4):
        raise ValueError(f"figure={figure} cannot be rebuilt; use 2, 3 or 4")
    if settings not in table2.SETTINGS:
        raise ValueError(f"settings={settings!r} is not known; use one of {', '.join(table2.SETTINGS)}")
    check_at_least_one(repeats=repeats, jobs=jobs)
    folder, kind = (Bundled.TABLES, "small-") if small else (data, "")
    if figure == 2:
        sizes = simulation or (figure2.SMALL if small else figure2.PAPER)
        tasks, described = figure2.tasks(sizes, repeats, seed), figure2.settings_of(sizes, seed)
        cells = finished_cells(out / f"cells-{kind}figure2.jsonl", described, tasks, jobs=jobs, progress=progress)
        errors = figure2.errors_of(cells.values(), sizes)
        write_csv(figure2.records(errors, sizes), out / "figure2.csv")
        save(figures.figure2(errors, sizes), out / "figure2.png")
        return [figure2.grid(errors, sizes)]
    if small:
        tables = in_order(tables, table2.SMALL_TABLES)
    chosen = in_order(tables, [row.name for row in table2.published()])
    rows = [row for row in table2.published() if row.name in chosen]
    tasks, described = (
        table2.tasks(rows, folder, settings, repeats, seed),
        table2.settings_of(settings, seed),
    )
    cells = finished_cells(out / f"cells-{kind}{settings}.jsonl", described, tasks, jobs=jobs, progress=progress)
    found = table2.results_of(rows, cells)
    write_csv((table2.record(row, settings) for row in found), out / f"table2-{settings}.csv")
    for number, draw in ((3, figures.figure3), (4, figures.figure4)):
        if figure in (None, number):
            save(draw(found), out / f"figure{number}-{settings}.png")
    return [table2.grid(found, settings)]
