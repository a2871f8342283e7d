"""``committee compare``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from committee import MODELS
from committee.cli.columns import Categorical, Target
from committee.cli.files import check_writable
from committee.cli.inputs import are_in_pieces, paths_of, scanned, table_name, words_of
from committee.cli.table_options import TableOptions, split_names, takes_table_options
from committee.cli.terminal import (
    Debug,
    Progress,
    errors_in_one_line,
    notes_on_warnings,
    print_comparison,
    progress_hook,
    say,
)
from committee.files.replacement import write_file
from committee.report.peers import PEERS

if TYPE_CHECKING:
    import polars as pl

    from committee.cli.training_table import TrainingTable
    from committee.report.comparison import Comparison


@takes_table_options
def compare(
    data: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Table: CSV, TSV (also .gz), Parquet or Feather. Of several files, a folder or a pattern in quotation"
            " marks --sample rows are compared on.",
            show_default=False,
        ),
    ] = None,
    *,
    table: TableOptions,
    target: Target = None,
    example: Annotated[str | None, typer.Option(help="Instead of DATA: breast_cancer, digits, iris or wine.")] = None,
    models: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B", help=f"Out of {', '.join([*MODELS, *PEERS])}; by default all but abstaining_stump."
        ),
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option(help="Compare on so many rows, drawn of each class by its share; the rest is not kept in memory."),
    ] = None,
    folds: Annotated[int, typer.Option(help="Stratified folds.")] = 10,
    repeats: Annotated[int, typer.Option(help="Times that folds are drawn anew.")] = 1,
    seed: Annotated[int, typer.Option(help="Seed of the folds and of every model.")] = 0,
    jobs: Annotated[int, typer.Option(help="Processes; more than one disturb the measured times a little.")] = 1,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B",
            help="Places and tests by the first, columns for all, out of accuracy, balanced_accuracy, f1_macro, mcc,"
            " log_loss, brier, roc_auc, average_precision; by default accuracy.",
        ),
    ] = None,
    categorical: Categorical = None,
    report: Annotated[Path | None, typer.Option(help="Write an HTML report here.")] = None,
    json: Annotated[Path | None, typer.Option(help="Write every figure as JSON here.")] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="File of finished fits: begun again with it, the same comparison runs only the others."),
    ] = None,
    progress: Progress = None,
    debug: Debug = False,
) -> None:
    """Compare models on the same stratified folds of a table, and say which differences mean something."""
    with errors_in_one_line(debug):
        from committee.report.comparison import compare as run
        from committee.report.metrics import chosen_metrics
        from committee.report.models import compared_models

        data = data or []
        check_writable(report, json, checkpoint, read=data)
        chosen = list(split_names(models)) or None
        metrics = chosen_metrics(list(split_names(metric)) or "accuracy")
        compared_models(chosen)  # a mistyped name must not wait for the table to be read
        rows, target, name = _table_to_compare(data, example, target, split_names(categorical), table, sample, progress)
        with notes_on_warnings(), progress_hook(progress) as hook:
            result = run(
                rows.X,
                rows.y,
                chosen,
                folds=folds,
                repeats=repeats,
                seed=seed,
                jobs=jobs,
                metric=metrics,
                name=name,
                target=target,
                progress=hook,
                checkpoint=checkpoint,
            )
        print_comparison(result)
        _write_comparison(result, json=json, report=report, notes=list(rows.notes))
        if checkpoint is not None and (json is not None or report is not None):
            checkpoint.unlink()  # what it was for is written
        if all(model.error is not None for model in result.models):
            raise ValueError("every model failed; see their errors above")


def _table_to_compare(
    data: list[Path],
    example: str | None,
    target: str | None,
    categorical: tuple[str, ...],
    table: TableOptions,
    sample: int | None,
    progress: bool | None,
) -> tuple[TrainingTable, str, str]:
    """Features and labels, name of the label column, and name of the table."""
    from committee.cli.training_table import TrainingTable, learned_from, whole_table
    from committee.data.read import split_target

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
        frame, files = _sample(data, target, categorical, table, sample, progress)
        return learned_from(*split_target(frame, target), table), target, table_name(files)
    if are_in_pieces(data):
        raise ValueError(
            "a comparison needs its rows in memory: of several files, a folder or a pattern say how many, such as"
            " --sample 100000"
        )
    return whole_table(data[0], target, table, categorical), target, table_name(data)


def _example(example: str, categorical: tuple[str, ...], drop: tuple[str, ...]) -> pl.DataFrame:
    import polars as pl

    from committee.data.examples import load_example
    from committee.data.names import known_names

    frame = load_example(example)
    for option, names in (("--categorical", categorical), ("--drop", drop)):
        known_names(names, frame.columns, option)
    return frame.with_columns(pl.col(categorical).cast(pl.String)).drop(drop)


def _sample(
    data: list[Path],
    target: str,
    categorical: tuple[str, ...],
    table: TableOptions,
    sample: int,
    progress: bool | None,
) -> tuple[pl.DataFrame, list[Path]]:
    """Draw rows of files by the labels, which are read first; return them and the files."""
    from committee.cli.reading import watched
    from committee.cli.training_table import labels_of
    from committee.data.pieces.row_draw import drawn_rows, read_rows

    if sample < 1:
        raise ValueError(f"--sample {sample} must be at least 1")
    pieces = watched(scanned(data, table, text=categorical), "reading", wanted=progress)
    files = pieces.files
    y = labels_of(pieces, target)
    rows = drawn_rows(y, sample)
    say(f"{words_of(pieces)}; a sample of {len(rows):,} of {len(y):,} rows")
    frame = read_rows(pieces, rows)
    files.refuse_changes()
    return frame, paths_of(pieces)


def _write_comparison(result: Comparison, *, json: Path | None, report: Path | None, notes: list[str]) -> None:
    if json is not None:
        from json import dumps

        text = dumps(result.to_json(), indent=1, allow_nan=False) + "\n"
        write_file(json, text)
        say(f"figures written to {json}")
    if report is not None:
        from committee.report.html import render_report

        page = render_report(result, notes=notes)
        write_file(report, page)
        say(f"report written to {report}")
