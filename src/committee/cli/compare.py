"""``committee compare``."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from committee import MODELS
from committee.cli.columns import Categorical, Target, TaskOption
from committee.cli.files import check_writable
from committee.cli.inputs import are_in_pieces, paths_of, scanned, table_name, words_of
from committee.cli.settings import parameters_of_models
from committee.cli.table_options import FILES, TrainingOptions, split_names, takes_table_options
from committee.cli.terminal import (
    INTERRUPTED,
    Debug,
    Progress,
    errors_in_one_line,
    notes_on_warnings,
    print_comparison,
    say,
    say_notes,
)
from committee.cli.time_limits import check_time_limit
from committee.data.text import pluralize
from committee.files.writing import write_file
from committee.report.peers import PEERS

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from committee.cli.training_table import TrainingTable
    from committee.data.labels import Task
    from committee.report.comparison import Comparison


@takes_table_options
def compare(
    data: Annotated[
        list[Path] | None,
        typer.Argument(
            help=f"Table: {FILES}; - is standard input. Of several files, a folder or a pattern in quotation"
            " marks --sample rows are compared on.",
            show_default=False,
        ),
    ] = None,
    *,
    table: TrainingOptions,
    target: Target = None,
    example: Annotated[
        str | None, typer.Option(help="Instead of DATA: breast_cancer, diabetes, digits, iris or wine.")
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B",
            help=f"Out of {', '.join([*MODELS, *PEERS])}; all: every one but abstaining_stump. By default a"
            " handful that differ.",
        ),
    ] = None,
    parameter: Annotated[
        list[str] | None,
        typer.Option(
            "--parameter", "-p", metavar="MODEL:NAME=VALUE", help="Set a parameter of a model; repeat for more."
        ),
    ] = None,
    task: TaskOption = None,
    sample: Annotated[
        int | None,
        typer.Option(
            help="Compare on so many rows, drawn of each class by its share; the rest is not kept in memory.",
        ),
    ] = None,
    folds: Annotated[int, typer.Option(help="Folds, stratified where classes are predicted.")] = 10,
    repeats: Annotated[int, typer.Option(help="Times that folds are drawn anew.")] = 1,
    seed: Annotated[int, typer.Option(help="Seed of the folds and of every model.")] = 0,
    jobs: Annotated[int, typer.Option(help="Processes; more than one disturb the measured times a little.")] = 1,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B",
            help="Places and tests by the first, columns for all, out of accuracy, balanced_accuracy, f1_macro, mcc,"
            " log_loss, brier, roc_auc, average_precision; of numbers out of rmse, mae, r2. By default accuracy"
            " or rmse.",
        ),
    ] = None,
    categorical: Categorical = None,
    report: Annotated[Path | None, typer.Option(help="Write an HTML report here.")] = None,
    json: Annotated[Path | None, typer.Option(help="Write every figure as JSON here.")] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="File of finished fits: begun again with it, the same comparison runs only the others."),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            help="Seconds after which no fit begins; the models are compared on the folds that all have done."
        ),
    ] = None,
    progress: Progress = None,
    debug: Debug = False,
) -> None:
    """Compare models on the same folds of a table, and test which differences are significant.

    Ctrl-C ends it with the folds that are done, and writes them. The exit code is 1 if a model failed, or if time ran
    out before all models had done one fold.

    Example: committee compare patients.csv --target outcome --report report.html
    """
    with errors_in_one_line(debug, report, json, checkpoint):
        from committee.cli.compare_progress import comparison_progress
        from committee.report.comparison import compare as run
        from committee.report.metric_choice import chosen_metrics
        from committee.report.models import compared_models

        data = data or []
        check_writable(report, json, checkpoint, read=data)
        check_time_limit(time_limit)
        chosen, metrics = list(split_names(models)) or None, list(split_names(metric)) or None
        settings = parameters_of_models(parameter or [])
        # what is mistyped must not wait for the table to be read
        known = None if task is None else task == "numbers"
        if task not in (None, "classes", "numbers"):
            raise ValueError(f"--task {task} is neither classes nor numbers")
        chosen_metrics(metrics, known)
        compared_models(chosen, numbers=known, parameters=settings)
        rows, target, name = _table_to_compare(data, example, target, split_names(categorical), table, sample, progress)
        task = _task(target, rows.y, task)
        numbers = task == "numbers"
        metrics = list(chosen_metrics(metrics, numbers))
        names = [each.name for each in compared_models(chosen, numbers=numbers, parameters=settings)]
        with notes_on_warnings(), comparison_progress(progress, names, metrics[0]) as hook:
            result = run(
                rows.X,
                rows.y,
                names,
                task=task,
                parameters=settings,
                folds=folds,
                repeats=repeats,
                seed=seed,
                jobs=jobs,
                metric=metrics,
                name=name,
                target=target,
                progress=hook,
                checkpoint=checkpoint,
                time_limit=time_limit,
                on_interrupt="keep",
            )
        _finish(result, json=json, report=report, notes=list(rows.notes), checkpoint=checkpoint)


def _task(target: str, y: NDArray[Any], task: str | None) -> Task:
    """What is predicted, which is said where it is inferred and could be otherwise."""
    from committee.cli.task import of_target, refuse_decimals, refuse_spoilt_numbers
    from committee.data.labels import infer_task

    if task == "classes":
        refuse_decimals(target, y)
    if task is None:
        refuse_spoilt_numbers(target, y)
        task = infer_task(y)
        told = of_target(target, y, task == "numbers")
        if "--task" in told:
            say(told)
    return "numbers" if task == "numbers" else "classes"


def _finish(
    result: Comparison, *, json: Path | None, report: Path | None, notes: list[str], checkpoint: Path | None
) -> None:
    """Print and write what there is, and end with the exit code that tells how it went."""
    if not any(model.fold_results for model in result.models):
        say(f"stopped by {result.stopped} before a fit was done; nothing is written")
        raise typer.Exit(INTERRUPTED if result.stopped == "an interrupt" else 2)
    print_comparison(result)
    _write_comparison(result, json=json, report=report, notes=notes)
    if checkpoint is not None and (json is not None or report is not None) and result.stopped is None:
        checkpoint.unlink()  # what it was for is written
    if result.stopped == "an interrupt":
        raise typer.Exit(INTERRUPTED)
    if result.folds_done == 0 or any(model.error is not None for model in result.models):
        raise typer.Exit(1)


def _table_to_compare(
    data: list[Path],
    example: str | None,
    target: str | None,
    categorical: tuple[str, ...],
    table: TrainingOptions,
    sample: int | None,
    progress: bool | None,
) -> tuple[TrainingTable, str, str]:
    """Features and labels, name of the label column, and name of the table."""
    from committee.cli.training_table import TrainingTable, whole_table
    from committee.data.readers.tables import split_target

    if bool(data) == (example is not None):
        raise ValueError("give a table: either DATA or --example, and not both")
    if example is not None:
        if sample is not None:
            raise ValueError("--sample is for tables of your own; leave it or --example out")
        target = target or "target"
        X, y = split_target(_example(example, categorical, table.dropped), target)
        return TrainingTable(X, y, X), target, example
    if target is None:
        raise ValueError("--target is missing: name the column that holds the labels")
    if sample is not None:
        rows, files = _sample(data, target, categorical, table, sample, progress)
        return rows, target, table_name(files)
    if are_in_pieces(data):
        raise ValueError(
            "a comparison needs its rows in memory: of several files, a folder or a pattern say how many, such as"
            " --sample 100000"
        )
    return whole_table(data[0], target, table, categorical), target, table_name(data)


def _example(example: str, categorical: tuple[str, ...], drop: tuple[str, ...]) -> pl.DataFrame:
    import polars as pl

    from committee.data.examples import load_example
    from committee.data.text import check_names

    frame = load_example(example)
    for option, names in (("--categorical", categorical), ("--drop", drop)):
        check_names(names, frame.columns, option)
    return frame.with_columns(pl.col(categorical).cast(pl.String)).drop(drop)


def _sample(
    data: list[Path],
    target: str,
    categorical: tuple[str, ...],
    table: TrainingOptions,
    sample: int,
    progress: bool | None,
) -> tuple[TrainingTable, list[Path]]:
    """Draw rows of files by the labels, which are read first; return them and the files."""
    import numpy as np

    from committee.cli.pieced_forms import forms_of_pieces
    from committee.cli.reading import watched
    from committee.cli.training_table import SHOWN_ROWS, labels_of, learned_from
    from committee.data.labels import infer_task
    from committee.data.out_of_core.file_sources import convert_files
    from committee.data.out_of_core.scan import draw_stratified_rows, read_numbered_rows
    from committee.data.readers.cells import missing_marks_note
    from committee.data.readers.tables import split_target

    if sample < 1:
        raise ValueError(f"--sample {sample} must be at least 1")
    found = forms_of_pieces(scanned(data, table, text=categorical), target, table, categorical, SHOWN_ROWS)
    marks: dict[str, Counter[str]] = {}
    how = {"missing": table.form.missing, "dates": table.dates, "marks": marks}
    pieces = replace(found.pieces, source=convert_files(found.pieces.source, found.forms, **how))
    files, pieces = pieces.files, watched(pieces, "reading", wanted=progress)
    y = labels_of(pieces, target)
    rows = draw_stratified_rows(y if infer_task(y) == "classes" else np.zeros(len(y), dtype=np.intp), sample)
    say(f"{words_of(pieces)}; a sample of {len(rows):,} of {pluralize(len(y), 'row')}")
    frame = read_numbered_rows(pieces, rows)
    files.check_unchanged()
    notes = (*found.notes, *(missing_marks_note(name, counts) for name, counts in marks.items()))
    say_notes(notes)
    return learned_from(*split_target(frame, target), table, notes, categorical=categorical), paths_of(pieces)


def _write_comparison(result: Comparison, *, json: Path | None, report: Path | None, notes: list[str]) -> None:
    if json is not None:
        from json import dumps

        text = dumps(result.to_json(), indent=1, allow_nan=False) + "\n"
        write_file(json, text)
        say(f"figures written to {json}")
    if report is not None:
        from committee.report.comparison_page import render_report

        page = render_report(result, notes=notes)
        write_file(report, page)
        say(f"report written to {report}")
