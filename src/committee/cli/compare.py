"""``committee compare``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from committee import MODELS
from committee.cli.files import check_writable, reads_in_chunks, table_name, write_figures, write_page
from committee.cli.options import (
    FILES,
    Categorical,
    Progress,
    TaskOption,
    TrainingOptions,
    check_task,
    check_time_limit,
    parameters_of_models,
    split_names,
    takes_options,
)
from committee.cli.row_columns import Group, RowColumns, Time, Weight, take_row_columns
from committee.cli.terminal import (
    INTERRUPTED,
    Debug,
    comparison_progress,
    error_lines,
    info,
    notes_on_warnings,
    print_comparison,
)
from committee.data.text import check_names
from committee.report.models import BASELINE, PEERS, compared_models

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.cli.training_table import TrainingTable
    from committee.data.labels import Task
    from committee.report.comparison import Comparison


@dataclass(frozen=True)
class CompareOptions:
    target: Annotated[str | None, typer.Option("--target", "-t", help="Column of the labels or numbers.")] = None
    example: Annotated[
        str | None, typer.Option(help="Example table in place of DATA: breast_cancer, diabetes, digits, iris, wine.")
    ] = None
    models: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B",
            help=f"Models out of {', '.join([*MODELS, *PEERS])}, or all: every installed one except abstaining_stump."
            " Default: a small selection. The baseline (most frequent class, or mean) is added. committee models"
            " describes them.",
        ),
    ] = None
    parameter: Annotated[
        list[str] | None,
        typer.Option(
            "--parameter", "-p", metavar="MODEL:NAME=VALUE", help="Set a parameter of a model; repeat for more."
        ),
    ] = None
    task: TaskOption = None
    sample: Annotated[int | None, typer.Option(help="Compare on a sample of this many rows (classes: stratified).")] = (
        None
    )
    folds: Annotated[
        int, typer.Option(help="Cross-validation folds, stratified by class unless --group or --time is given.")
    ] = 10
    repeats: Annotated[int, typer.Option(help="Repeats of the cross-validation with other folds.")] = 1
    seed: Annotated[int, typer.Option(help="Seed of the folds and of every model.")] = 0
    jobs: Annotated[int, typer.Option(help="Processes; with more than one, measured times are less exact.")] = 1
    metric: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B",
            help="Metrics to show; the first ranks and tests the models. Classes: accuracy (default; for rare classes"
            " roc_auc or log_loss), balanced_accuracy, f1_macro, mcc, log_loss, brier, roc_auc, average_precision; for"
            " two classes also f1, precision and recall of the second. Numbers: rmse (default), mae, r2.",
        ),
    ] = None
    group: Group = None
    time: Time = None
    weight: Weight = None
    categorical: Categorical = None
    report: Annotated[Path | None, typer.Option(help="File of an HTML report.")] = None
    json: Annotated[Path | None, typer.Option(help="File of all figures as JSON.")] = None
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="Checkpoint file: the same comparison resumes from its finished fits. Removed when all fits are in"
            " --report or --json."
        ),
    ] = None
    time_limit: Annotated[
        float | None,
        typer.Option(help="Seconds after which no fit starts; models are compared on their common finished folds."),
    ] = None
    progress: Progress = None

    @property
    def columns(self) -> RowColumns:
        return RowColumns(self.group, self.time, self.weight)


@takes_options
def compare(
    data: Annotated[
        list[Path] | None,
        typer.Argument(
            help=f"Table: {FILES}; - is standard input. Several files, a folder or a quoted pattern need --sample."
        ),
    ] = None,
    *,
    table: TrainingOptions,
    options: CompareOptions,
    debug: Debug = False,
) -> None:
    """Compare models on the same cross-validation folds, and test which differences are significant.

    Ctrl-C stops and reports the finished folds. The exit code is 1 if a model failed, or if time ran out before all
    models had finished one fold; 2 if it ran out before any fit had.

    Example: committee compare patients.csv --target outcome --report report.html
    """
    with error_lines(debug, options.report, options.json, options.checkpoint):
        import numpy as np

        from committee.report.comparison import compare as run
        from committee.report.metrics import chosen_metrics, default_metrics

        data = data or []
        check_writable(options.report, options.json, options.checkpoint, read=data)
        check_time_limit(options.time_limit)
        check_task(options.task)
        # options are checked before the table is read
        chosen, metrics = list(split_names(options.models)) or None, list(split_names(options.metric)) or None
        settings = parameters_of_models(options.parameter or [])
        known = None if options.task is None else options.task == "numbers"
        options.columns.check(options.target, () if options.example else table.dropped)
        chosen_metrics(metrics, known)
        if chosen is not None and not {BASELINE, "all"} & set(chosen):
            chosen.append(BASELINE)
        compared_models(chosen, numbers=known, parameters=settings)
        rows, target, name = _read(data, table, options)
        task = _task(target, rows.y, options.task)
        if metrics is None and task == "classes":
            counts = np.unique(rows.y, return_counts=True)[1].tolist()
            metrics = list(default_metrics(counts, options.folds, at_random=not options.columns.set_folds))
        metrics = list(chosen_metrics(metrics, task == "numbers"))
        values = rows.values
        names = [each.name for each in compared_models(chosen, numbers=task == "numbers", parameters=settings)]
        with notes_on_warnings(), comparison_progress(options.progress, names, metrics[0]) as hook:
            result = run(
                rows.X,
                rows.y,
                names,
                task=task,
                parameters=settings,
                folds=options.folds,
                repeats=options.repeats,
                seed=options.seed,
                jobs=options.jobs,
                metric=metrics,
                groups=values.groups,
                time=values.time,
                sample_weight=values.weights,
                name=name,
                target=target,
                progress=hook,
                checkpoint=options.checkpoint,
                time_limit=options.time_limit,
                on_interrupt="keep",
            )
        _finish(result, list(rows.notes), options)


def _read(data: list[Path], table: TrainingOptions, options: CompareOptions) -> tuple[TrainingTable, str, str]:
    from committee.cli.training_table import TrainingTable, whole_table

    example, target, sample = options.example, options.target, options.sample
    categorical = split_names(options.categorical)
    if bool(data) == (example is not None):
        raise ValueError("name one table: either DATA or --example")
    if example is not None:
        import polars as pl

        from committee.data.examples import load_example
        from committee.data.readers.tables import split_target

        if sample is not None:
            raise ValueError("--sample is for DATA; leave out --sample or --example")
        frame, target = load_example(example), target or "target"
        for option, names in (("--categorical", categorical), ("--drop", table.dropped)):
            check_names(names, frame.columns, option)
        X, y = split_target(frame.with_columns(pl.col(categorical).cast(pl.String)).drop(table.dropped), target)
        X, values = take_row_columns(X, options.columns)
        return TrainingTable(X, y, X, values=values), target, example
    if target is None:
        raise ValueError("--target is missing: name the column of the labels or numbers")
    if sample is not None:
        from committee.cli.training_chunks import sample_rows

        rows, files = sample_rows(data, target, categorical, table, sample, options.progress, options.columns)
        return rows, target, table_name(files)
    if reads_in_chunks(data):
        raise ValueError("several files, a folder or a pattern are compared on a sample; add, e.g., --sample 100000")
    return whole_table(data[0], target, table, categorical, columns=options.columns), target, table_name(data)


def _task(target: str, y: NDArray[Any], task: str | None) -> Task:
    from committee.cli.training_table import check_classes, check_text_target, describe_target
    from committee.data.labels import infer_task

    if task is None:
        check_text_target(target, y)
        task = infer_task(y)
        described = describe_target(target, y, task == "numbers")
        if "--task" in described:
            info(described)
    if task == "classes":
        check_classes(target, y)
    return "numbers" if task == "numbers" else "classes"


def _finish(result: Comparison, notes: list[str], options: CompareOptions) -> None:
    json, report, checkpoint = options.json, options.report, options.checkpoint
    if not any(model.fold_results for model in result.models):
        info(f"stopped by {result.stopped} before a fit was finished; nothing is written")
        raise typer.Exit(INTERRUPTED if result.stopped == "an interrupt" else 2)
    print_comparison(result)
    if json is not None:
        write_figures(result.to_json(), json)
    if report is not None:
        from committee.report.comparison_page import render_report

        write_page(render_report(result, notes=notes), report)
    if checkpoint is not None and (json is not None or report is not None) and result.stopped is None:
        checkpoint.unlink()  # its fits are in the files
    if result.stopped == "an interrupt":
        raise typer.Exit(INTERRUPTED)
    if result.folds_done == 0 or any(model.error is not None for model in result.models):
        raise typer.Exit(1)
