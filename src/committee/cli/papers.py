"""``committee papers``: one command per source paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from committee.cli.options import Debug, Progress, split_names
from committee.cli.terminal import errors_in_one_line, notes_on_warnings, print_grids, progress_hook, say

app = typer.Typer(
    no_args_is_help=True, help="Rebuild the tables and figures of the papers and lecture notes behind it."
)


@app.command("sbpmt")
def sbpmt(
    data: Annotated[
        Path | None,
        typer.Option(envvar="COMMITTEE_DATA", help="Folder of tables with a catalogue.json; without, OpenML."),
    ] = None,
    tables: Annotated[
        list[str] | None, typer.Option(metavar="A,B", help="Tables; by default all 22, of which OpenML has 17.")
    ] = None,
    figure: Annotated[int | None, typer.Option(help="Only Figure 2 (the simulation), 3 or 4.")] = None,
    settings: Annotated[str, typer.Option(help="Parameters: paper or default.")] = "default",
    repeats: Annotated[int, typer.Option(help="Times that folds, or the simulation, are drawn anew.")] = 1,
    seed: Annotated[int, typer.Option(help="Seed of folds and models.")] = 0,
    jobs: Annotated[int, typer.Option(help="Processes.")] = 1,
    out: Annotated[Path, typer.Option(help="Folder for CSV, PNG and finished cells.")] = Path("papers-sbpmt"),
    progress: Progress = None,
    debug: Debug = False,
) -> None:
    """SBPMT (Qin and Huang): Table 2 with Figures 3 and 4, or Figure 2, beside the paper's numbers.

    Broken off, the same command goes on where it stopped.
    """
    with errors_in_one_line(debug), notes_on_warnings(), progress_hook(progress) as hook:
        from committee.papers.shared.rebuild import rebuild_sbpmt

        grids = rebuild_sbpmt(
            data,
            out,
            figure=figure,
            settings=settings,
            tables=split_names(tables),
            repeats=repeats,
            seed=seed,
            jobs=jobs,
            progress=hook,
        )
    print_grids(grids)
    say(f"written to {out}")


@app.command("lectures")
def lectures(
    data: Annotated[
        Path | None,
        typer.Option(envvar="COMMITTEE_DATA", help="Folder of tables with a catalogue.json; without, OpenML."),
    ] = None,
    parts: Annotated[
        list[str] | None, typer.Option(metavar="A,B", help="Out of margins, boosting, leaves, forest; by default all.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A little of each, in seconds; figures mean nothing.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of folds, simulations and models.")] = 0,
    jobs: Annotated[int, typer.Option(help="Processes.")] = 1,
    out: Annotated[Path, typer.Option(help="Folder for CSV, PNG and finished cells.")] = Path("papers-lectures"),
    progress: Progress = None,
    debug: Debug = False,
) -> None:
    """Lecture notes on composition of classifiers: margins and the voting bound, gradient boosting, forests.

    Broken off, the same command goes on where it stopped.
    """
    with errors_in_one_line(debug), notes_on_warnings(), progress_hook(progress) as hook:
        from committee.papers.shared.rebuild import rebuild_lectures

        grids = rebuild_lectures(data, out, parts=split_names(parts), quick=quick, seed=seed, jobs=jobs, progress=hook)
    print_grids(grids)
    say(f"written to {out}")


@app.command("quadboost")
def quadboost(
    data: Annotated[
        Path | None, typer.Option(envvar="COMMITTEE_DATA", help="Folder of tables with a catalogue.json.")
    ] = None,
    tables: Annotated[list[str] | None, typer.Option(metavar="A,B", help="Tables; by default all 25.")] = None,
    repeats: Annotated[int, typer.Option(help="Random splits of every table; the document has one.")] = 10,
    max_rounds: Annotated[int, typer.Option(help="Rounds of AdaBoost above it are not tried.")] = 10_000,
    quick: Annotated[bool, typer.Option("--quick", help="A little of each, in seconds; figures mean nothing.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of splits and folds.")] = 0,
    jobs: Annotated[int, typer.Option(help="Processes.")] = 1,
    out: Annotated[Path, typer.Option(help="Folder for CSV, PNG and finished cells.")] = Path("papers-quadboost"),
    progress: Progress = None,
    debug: Debug = False,
) -> None:
    """QuadBoost (Fortier-Dubois et al.): Tables 1 and 2, all six methods, beside the document's numbers.

    Broken off, the same command goes on where it stopped.
    """
    with errors_in_one_line(debug), notes_on_warnings(), progress_hook(progress) as hook:
        from committee.papers.shared.rebuild import rebuild_quadboost

        grids = rebuild_quadboost(
            data,
            out,
            tables=split_names(tables),
            repeats=repeats,
            max_rounds=max_rounds,
            quick=quick,
            seed=seed,
            jobs=jobs,
            progress=hook,
        )
    print_grids(grids)
    say(f"written to {out}")


@app.command("matryoshka")
def matryoshka(
    data: Annotated[
        Path | None, typer.Option(envvar="COMMITTEE_DATA", help="Folder of tables with a catalogue.json.")
    ] = None,
    tables: Annotated[list[str] | None, typer.Option(metavar="A,B", help="Tables; by default all 12.")] = None,
    repeats: Annotated[int, typer.Option(help="Random splits of every table.")] = 10,
    quick: Annotated[bool, typer.Option("--quick", help="A little of each, in seconds; figures mean nothing.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of splits and draws.")] = 0,
    jobs: Annotated[int, typer.Option(help="Processes.")] = 1,
    out: Annotated[Path, typer.Option(help="Folder for CSV, PNG and finished cells.")] = Path("papers-matryoshka"),
    progress: Progress = None,
    debug: Debug = False,
) -> None:
    """Boosting trees and matryoshki (Grossmann): Figures 2 and 3, and the experiments that it leaves to be done.

    Broken off, the same command goes on where it stopped.
    """
    with errors_in_one_line(debug), notes_on_warnings(), progress_hook(progress) as hook:
        from committee.papers.shared.rebuild import rebuild_matryoshka

        grids = rebuild_matryoshka(
            data, out, tables=split_names(tables), repeats=repeats, quick=quick, seed=seed, jobs=jobs, progress=hook
        )
    print_grids(grids)
    say(f"written to {out}")


@app.command("margins")
def margins(
    data: Annotated[
        Path | None, typer.Option(envvar="COMMITTEE_DATA", help="Folder of tables with a catalogue.json.")
    ] = None,
    tables: Annotated[list[str] | None, typer.Option(metavar="A,B", help="Tables; by default all 14.")] = None,
    figure: Annotated[int | None, typer.Option(help="Only this figure, 1 to 6.")] = None,
    repeats: Annotated[int, typer.Option(help="Random splits of every table; the document has 100.")] = 10,
    seed: Annotated[int, typer.Option(help="Seed of splits and forests.")] = 0,
    jobs: Annotated[int, typer.Option(help="Processes.")] = 1,
    out: Annotated[Path, typer.Option(help="Folder for CSV, PNG and finished cells.")] = Path("papers-margins"),
    progress: Progress = None,
    debug: Debug = False,
) -> None:
    """Ensembles and their margins (Martinez and Gray): Tables 2 to 11, Figures 1 to 6, beside the document's numbers.

    Broken off, the same command goes on where it stopped.
    """
    with errors_in_one_line(debug), notes_on_warnings(), progress_hook(progress) as hook:
        from committee.papers.shared.rebuild import rebuild_margins

        grids = rebuild_margins(
            data,
            out,
            tables=split_names(tables),
            figure=figure,
            repeats=repeats,
            seed=seed,
            jobs=jobs,
            progress=hook,
        )
    print_grids(grids)
    say(f"written to {out}")
