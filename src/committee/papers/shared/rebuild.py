"""What ``committee papers`` runs: one function per paper, each importing the learners it needs when it is called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from committee.papers.sbpmt import figures as sbpmt_figures
from committee.papers.sbpmt.mease_wyner import figure2_grid, rebuild_figure2
from committee.papers.sbpmt.table2 import rebuild_table2, table2_grid
from committee.papers.shared.tables import data_folder
from committee.report.tables import Grid


def rebuild_sbpmt(
    data: Path | None,
    out: Path,
    *,
    figure: int | None = None,
    settings: str = "default",
    tables: Sequence[str] | None = None,
    repeats: int = 1,
    seed: int = 0,
    jobs: int = 1,
    progress: Callable[[int, int, str], None] | None = None,
) -> list[Grid]:
    """Rebuild Table 2 with Figures 3 and 4, or Figure 2, of the SBPMT paper; write CSV and PNG.

    Parameters
    ----------
    data : Path or None
        Folder of the tables. None: the environment variable ``COMMITTEE_DATA``, else OpenML.
    out : Path
        Folder to write to; finished cells found there are not run again.
    figure : {2, 3, 4} or None, default=None
        2 runs the simulation and no table; 3 and 4 draw one picture only of the results of Table 2.
    settings, tables, repeats, seed, jobs, progress
        As `committee.papers.sbpmt.table2.rebuild_table2` has them; Figure 2 takes the last four.

    Returns
    -------
    list of Grid
        To print.

    Raises
    ------
    ValueError
        If there is no such figure, or `rebuild_table2` or `rebuild_figure2` refuses what it is given.
    """
    if figure not in (None, 2, 3, 4):
        raise ValueError(f"figure={figure} cannot be rebuilt; use 2, 3 or 4")
    if figure == 2:
        errors = rebuild_figure2(out, repeats=repeats, seed=seed, jobs=jobs, progress=progress)
        sbpmt_figures.save(sbpmt_figures.figure2(errors), out / "figure2.png")
        return [figure2_grid(errors)]
    rows = rebuild_table2(
        data_folder(data),
        out,
        settings=settings,
        tables=tables,
        repeats=repeats,
        seed=seed,
        jobs=jobs,
        progress=progress,
    )
    for number, draw in ((3, sbpmt_figures.figure3), (4, sbpmt_figures.figure4)):
        if figure in (None, number):
            sbpmt_figures.save(draw(rows), out / f"figure{number}-{settings}.png")
    return [table2_grid(rows, settings)]


def rebuild_lectures(
    data: Path | None,
    out: Path,
    *,
    parts: Sequence[str] | None = None,
    quick: bool = False,
    seed: int = 0,
    jobs: int = 1,
    progress: Callable[[int, int, str], None] | None = None,
) -> list[Grid]:
    """Rebuild the lecture notes on composition of classifiers: margins, gradient boosting, the forest.

    Parameters
    ----------
    data : Path or None
        Folder of the tables. None: the environment variable ``COMMITTEE_DATA``, else OpenML.
    out : Path
        Folder to write to; finished cells found there are not run again.
    parts, quick, seed, jobs, progress
        As `committee.papers.lectures.rebuild.rebuild` has them.

    Returns
    -------
    list of Grid
        To print.

    Raises
    ------
    ValueError
        If `committee.papers.lectures.rebuild.rebuild` refuses what it is given.
    """
    from committee.papers.lectures.rebuild import rebuild

    return rebuild(data_folder(data), out, parts=parts, quick=quick, seed=seed, jobs=jobs, progress=progress)


def rebuild_quadboost(
    data: Path | None,
    out: Path,
    *,
    tables: Sequence[str] | None = None,
    repeats: int = 10,
    max_rounds: int = 10_000,
    quick: bool = False,
    seed: int = 0,
    jobs: int = 1,
    progress: Callable[[int, int, str], None] | None = None,
) -> list[Grid]:
    """Rebuild Tables 1 and 2 of the QuadBoost document; write CSV, Markdown and PNG.

    Parameters
    ----------
    data : Path or None
        Folder of the tables. None: the environment variable ``COMMITTEE_DATA``.
    out : Path
        Folder to write to; finished cells found there are not run again.
    tables, repeats, max_rounds, quick, seed, jobs, progress
        As `committee.papers.quadboost.rebuild.rebuild` has them.

    Returns
    -------
    list of Grid
        To print.

    Raises
    ------
    ValueError
        If `committee.papers.quadboost.rebuild.rebuild` refuses what it is given.
    """
    from committee.papers.quadboost.rebuild import rebuild

    return rebuild(
        data_folder(data),
        out,
        tables=tables,
        repeats=repeats,
        max_rounds=max_rounds,
        quick=quick,
        seed=seed,
        jobs=jobs,
        progress=progress,
    )


def rebuild_matryoshka(
    data: Path | None,
    out: Path,
    *,
    tables: Sequence[str] | None = None,
    repeats: int = 10,
    quick: bool = False,
    seed: int = 0,
    jobs: int = 1,
    progress: Callable[[int, int, str], None] | None = None,
) -> list[Grid]:
    """Rebuild Figures 2 and 3 of the theory of matryoshki, and run what it leaves to be done; write CSV, Markdown, PNG.

    Parameters
    ----------
    data : Path or None
        Folder of the tables. None: the environment variable ``COMMITTEE_DATA``.
    out : Path
        Folder to write to; finished cells found there are not run again.
    tables, repeats, quick, seed, jobs, progress
        As `committee.papers.matryoshka.rebuild.rebuild` has them.

    Returns
    -------
    list of Grid
        To print.

    Raises
    ------
    ValueError
        If `committee.papers.matryoshka.rebuild.rebuild` refuses what it is given.
    """
    from committee.papers.matryoshka.rebuild import rebuild

    return rebuild(
        data_folder(data), out, tables=tables, repeats=repeats, quick=quick, seed=seed, jobs=jobs, progress=progress
    )


def rebuild_margins(
    data: Path | None,
    out: Path,
    *,
    tables: Sequence[str] | None = None,
    figure: int | None = None,
    repeats: int = 10,
    seed: int = 0,
    jobs: int = 1,
    progress: Callable[[int, int, str], None] | None = None,
) -> list[Grid]:
    """Rebuild Tables 2 to 11 and Figures 1 to 6 of the document on margins; write CSV, Markdown and PNG.

    Parameters
    ----------
    data : Path or None
        Folder of the tables. None: the environment variable ``COMMITTEE_DATA``.
    out : Path
        Folder to write to; finished cells found there are not run again.
    tables, figure, repeats, seed, jobs, progress
        As `committee.papers.margins.rebuild.rebuild` has them.

    Returns
    -------
    list of Grid
        To print.

    Raises
    ------
    ValueError
        If `committee.papers.margins.rebuild.rebuild` refuses what it is given.
    """
    from committee.papers.margins.rebuild import rebuild

    return rebuild(
        data_folder(data), out, tables=tables, figure=figure, repeats=repeats, seed=seed, jobs=jobs, progress=progress
    )
