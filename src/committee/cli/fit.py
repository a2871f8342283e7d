"""``committee fit``."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from committee import MODELS, MODELS_OF_NUMBERS
from committee.cli.files import (
    NOT_SAVED,
    check_model_file,
    check_writable,
    name_of_data,
    reads_in_chunks,
    save_model,
    store_formats,
)
from committee.cli.options import (
    FILES,
    Categorical,
    Scratch,
    TaskOption,
    TrainingOptions,
    check_choice,
    check_task,
    check_time_limit,
    set_parameters,
    split_names,
    takes_options,
)
from committee.cli.row_columns import LOSS_REMEDY, Group, RowColumns, Time, Weight, fits_offsets
from committee.cli.terminal import (
    Debug,
    error_lines,
    info,
    member_progress,
    note,
    notes_on_warnings,
    print_notes,
    print_tables,
    with_options,
)
from committee.data.readers.cells import blanks_note, missing_marks_note
from committee.data.text import byte_text, pluralize, quoted, suggest_names
from committee.report.models import PEERS

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from committee.cli.training_table import TrainingTable
    from committee.files.documents import Estimate

_BATCH = 1000
"""Rows of the batch on which prediction is timed."""

EFFORTS = ("fast", "default", "best")
NOT_KNOWN = "on rows not seen in training: not known"


@dataclass(frozen=True)
class FitOptions:
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Model file, usually .safetensors. Default: the model is not saved."),
    ] = None
    model: Annotated[
        str,
        typer.Option(
            "--model",
            "-m",
            help="auto: committee, a vote of ensembles that needs no tuning. Choices:"
            f" {', '.join(MODELS)}; for numbers: {', '.join(MODELS_OF_NUMBERS)}.",
        ),
    ] = "auto"
    effort: Annotated[
        str | None, typer.Option(metavar="|".join(EFFORTS), help="Committee: how many candidates are tried.")
    ] = None
    time_limit: Annotated[float | None, typer.Option(help="Committee: seconds that the fit may take.")] = None
    memory_limit: Annotated[
        str | None,
        typer.Option(
            help="Such as '3 GB': CSV, TSV and Parquet are read in chunks, bin numbers above it are mapped from a file."
            " The committee samples fewer rows or tries fewer candidates."
        ),
    ] = None
    max_size: Annotated[
        str | None,
        typer.Option(
            help="Committee: most bytes of the model file besides row digests (33 kB), such as '3 MB'. Trees of a"
            " forest, then members and parts of them are left out. Default: 15 MB (--effort fast: 3 MB, best: 60 MB)."
        ),
    ] = None
    scratch: Scratch = None
    task: TaskOption = None
    parameter: Annotated[
        list[str] | None,
        typer.Option("--parameter", "-p", metavar="NAME=VALUE", help="Set a parameter; repeat for more."),
    ] = None
    folds: Annotated[
        int | None,
        typer.Option(
            help="Single learner: cross-validation folds for the estimate of its quality, each one more fit; 0: no"
            " estimate. Default: 5."
        ),
    ] = None
    exposure: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of the exposure over which counts or amounts accumulate, such as years insured. Its logarithm"
            " is the offset of --model gradient_boosting -p loss=poisson, gamma or tweedie; other models learn the"
            " target per unit of it, weighted by a power of it.",
        ),
    ] = None
    group: Group = None
    time: Time = None
    weight: Weight = None
    seed: Annotated[
        int, typer.Option(help="random_state, unless set by -p: the same table and seed give the same model.")
    ] = 0
    categorical: Categorical = None
    conformal: Annotated[
        float | None,
        typer.Option(
            "--conformal",
            metavar="ALPHA",
            help="Add prediction sets of classes, or intervals of numbers, that miss a share of about ALPHA of new"
            " rows, such as 0.1. Calibrated on out-of-bag or out-of-fold rows of the fit (usually of committee,"
            " random_forest, sbpmt, subagging), else by 5 more fits.",
        ),
    ] = None
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="Checkpoint file: the same command resumes from it after an interrupt. Removed when the model of a"
            " complete fit is saved."
        ),
    ] = None
    row_digests: Annotated[
        bool,
        typer.Option(
            "--row-digests/--no-row-digests",
            help="Store digests of at most 4,096 training rows in the model file, by which evaluate detects them."
            " Anyone with the file and all columns of a row can then test whether it is one of these.",
        ),
    ] = True
    progress: Annotated[
        bool | None,
        typer.Option(
            "--progress/--no-progress",
            help="Show a line per candidate of the committee, and the progress of reading chunks. Default: if stderr is"
            " a terminal.",
        ),
    ] = None

    @property
    def columns(self) -> RowColumns:
        return RowColumns(self.group, self.time, self.weight)

    @property
    def model_name(self) -> str:
        return "committee" if self.model == "auto" else self.model

    def check(self) -> None:
        model, folds, conformal = self.model_name, self.folds, self.conformal
        if model in PEERS and model not in MODELS:
            raise ValueError(f"{model} is only for committee compare; choose one of {', '.join(MODELS)}")
        if model not in MODELS:
            raise ValueError(f"there is no model {model!r}; {suggest_names(model, list(MODELS))}")
        if folds is not None and model == "committee":
            raise ValueError("--folds is for single learners; set the folds of the committee by -p cv=NUMBER")
        if folds is not None and (folds < 0 or folds == 1):
            raise ValueError(f"--folds {folds} must be at least 2, or 0 for no estimate")
        check_task(self.task)
        if self.task == "numbers" and model not in MODELS_OF_NUMBERS:
            raise ValueError(f"{model} predicts classes only; for numbers choose one of {', '.join(MODELS_OF_NUMBERS)}")
        if conformal is not None and not 0.0 < conformal < 1.0:
            raise ValueError(f"--conformal {conformal:g} must be above 0 and below 1, such as 0.1")
        if self.exposure is not None and model not in MODELS_OF_NUMBERS:
            raise ValueError(f"--exposure does not go with --model {self.model}, which predicts classes; {LOSS_REMEDY}")
        if self.exposure is not None and conformal is not None and model != "gradient_boosting":
            raise ValueError(
                f"--exposure with --conformal needs an offset, which --model {self.model} does not take; {LOSS_REMEDY}"
            )
        for option, name in self.columns.named.items():
            if conformal is not None and option != "--weight":
                raise ValueError(f"{option} {name!r} does not go with --conformal; leave one of them out")
        if conformal is not None and self.checkpoint is not None:
            raise ValueError("--checkpoint does not store the fits of --conformal; leave one of them out")
        if self.effort is not None:
            check_choice("--effort", self.effort, EFFORTS)
        check_time_limit(self.time_limit)


@takes_options
def fit(
    data: Annotated[
        list[Path],
        typer.Argument(
            help=f"Table: {FILES}; - is standard input. Several files, a folder or a quoted pattern, of CSV, TSV or"
            " Parquet, are read in chunks, and need not fit in memory."
        ),
    ],
    target: Annotated[str, typer.Option("--target", "-t", help="Column to predict: classes or numbers.")],
    table: TrainingOptions,
    options: FitOptions,
    debug: Debug = False,
) -> None:
    """Fit a committee of ensembles, or a single learner, and print an estimate of its quality on unseen rows.

    Example: committee fit patients.csv --target outcome --output model.safetensors

    Ctrl-C ends the training of a committee, which keeps the members trained so far. A second Ctrl-C ends the command.
    """
    output, checkpoint = options.output, options.checkpoint
    with error_lines(debug, output, checkpoint):
        options.check()
        options.columns.check(target, table.dropped, options.exposure)
        check_writable(output, checkpoint, read=data)
        check_model_file(output)
        rows = _read(data, target, table, options)
        from committee.cli.training_table import describe_target
        from committee.files.documents import Provenance
        from committee.report.folds import check_numbers
        from committee.report.prediction_sets import model_inside, sets_grid
        from committee.report.provenance import row_sketch

        check_writable(output, checkpoint, read=() if rows.files is None else rows.files.paths)
        model = options.model_name
        task = "numbers" if options.exposure is not None else options.task
        numbers = _predicts_numbers(target, rows.y, model, task)
        if numbers:
            check_numbers(rows.y, target, "give --task classes" if options.exposure is None else "leave out --exposure")
        learner = _learner(options, numbers=numbers, in_chunks=rows.files is not None)
        if model == "committee" and table.kept:
            learner.set_params(keep_identifiers=list(table.kept))
        info(describe_target(target, rows.y, numbers))
        if options.exposure is not None and not fits_offsets(learner):
            rows = rows.as_rates(learner)
            unit = f"{target!r} per unit of {options.exposure!r}"
            note(f"the model and its estimate are of {unit}, weighted by a power of it")
        written = rows.target_form if numbers else None
        provenance = Provenance(target, name_of_data(data), len(rows.y), written=written, exposure=options.exposure)
        if output is None:
            note(NOT_SAVED)
        if checkpoint is not None and checkpoint.exists():
            note(f"resuming from {checkpoint}")
        start = time.perf_counter()
        with notes_on_warnings(), member_progress(learner, wanted=options.progress if model == "committee" else False):
            learner = _fitted(learner, rows, options, checkpoint)
        seconds = time.perf_counter() - start
        if rows.files is not None:
            rows.files.check_unchanged()
        print_notes(missing_marks_note(name, counts) for name, counts in rows.marks.items())
        print_notes(blanks_note(rows.blanks))
        print_notes(_text_notes(learner, table.kept))
        print_notes(_note_on_dates(rows) if model == "committee" else ())
        store_formats(learner, rows.forms, rows.missing)
        learner.provenance_ = provenance
        if output is not None:
            _save(learner, output, checkpoint)
        estimate = describe_fit(model_inside(learner), options, rows, seconds)
        if (sets := sets_grid(learner)) is not None:
            print_tables([sets])
        if output is not None:
            sketch = row_sketch(learner, rows.X) if options.row_digests else None
            learner.provenance_ = replace(provenance, estimate=estimate, rows=sketch)
            save_model(learner, output)  # the model saved before stays valid if one of the last steps is interrupted


def _read(data: list[Path], target: str, table: TrainingOptions, options: FitOptions) -> TrainingTable:
    categorical, memory_limit, scratch = split_names(options.categorical), options.memory_limit, options.scratch
    if reads_in_chunks(data, memory_limit, scratch):
        for option in (*options.columns.named, *([] if options.conformal is None else ["--conformal"])):
            if option != "--weight":
                raise ValueError(
                    f"{option} is for a table that is read whole; give one file, without --memory-limit and --scratch"
                )
        from committee.cli.training_chunks import RowNumbers, training_chunks

        bar = options.model_name != "committee"  # which has a bar of its own
        of_rows = RowNumbers(options.exposure, options.weight)
        given: list[Any] = [categorical, memory_limit, scratch, options.progress]
        return training_chunks(data, target, table, *given, numbers=of_rows, bar=bar)
    from committee.cli.training_table import whole_table

    exposure = options.exposure
    numbers = options.task == "numbers" or exposure is not None
    how: dict[str, Any] = {"free_text": options.model_name == "committee", "columns": options.columns}
    return whole_table(data[0], target, table, categorical, numbers=numbers, exposure=exposure, **how)


def _predicts_numbers(target: str, y: NDArray[Any], model: str, task: str | None) -> bool:
    from committee.cli.training_table import check_classes, check_text_target
    from committee.data.labels import all_integers, infer_task

    if task is None and model in MODELS_OF_NUMBERS:
        check_text_target(target, y)
        task = infer_task(y)
    elif task is None:
        if y.dtype.kind in "iuf" and not all_integers(y):
            raise ValueError(
                f"target {target!r} holds numbers, and {model} predicts classes only; for numbers choose one of"
                f" {', '.join(MODELS_OF_NUMBERS)}"
            )
        task = "classes"
    if task == "classes":
        check_classes(target, y)
    return task == "numbers"


def _learner(options: FitOptions, *, numbers: bool, in_chunks: bool) -> Any:
    from committee import model as new_model

    name, seed = options.model_name, options.seed
    learner = new_model(name, numbers=numbers)
    if name == "committee":
        learner.set_params(on_interrupt="keep")
    set_parameters(learner, name, options.parameter or [])
    if learner.get_params().get("random_state", seed) is None:
        learner.set_params(random_state=seed)
    of_committee: dict[str, Any] = {name: getattr(options, name) for name in ("effort", "time_limit", "max_size")}
    if name == "committee" or not in_chunks:
        of_committee["memory_limit"] = options.memory_limit
    for option, value in of_committee.items():
        if value is not None:
            if name != "committee":
                also = " and for CSV, TSV and Parquet files" if option == "memory_limit" else ""
                raise ValueError(
                    f"--{option.replace('_', '-')} is for the committee{also}; leave out this or --model {name}"
                )
            learner.set_params(**{option: value})
    return learner


def _fitted(learner: Any, rows: TrainingTable, options: FitOptions, checkpoint: Path | None) -> Any:
    from committee.cli.training_table import FOLDS, check_folds, committee_folds

    conformal = options.conformal
    given = rows.values.of_fit | ({} if checkpoint is None else {"checkpoint": str(checkpoint)})
    if conformal is None and options.model_name == "committee":
        with committee_folds(learner, options.columns, rows, of_classes=hasattr(learner, "predict_proba")):
            return learner.fit(rows.X, rows.y, **given)
    folds = FOLDS if options.folds is None else options.folds
    check_folds(options.columns, rows, folds, of_classes=hasattr(learner, "predict_proba"))
    if conformal is None:
        if rows.values.groups is not None and getattr(learner, "early_stopping", False):
            given |= {"groups": rows.values.groups.to_list()}
        return learner.fit(rows.X, rows.y, **rows.offset, **given)
    import numpy as np

    from committee import ConformalClassifier, ConformalRegressor

    wrapper: Any = ConformalClassifier if hasattr(learner, "predict_proba") else ConformalRegressor
    loss = getattr(learner, "loss", None)
    several = loss == "quantiles" or (loss == "quantile" and np.size(getattr(learner, "quantile", 0.5)) > 1)
    settings = {"nonconformity": "quantile"} if several else {}
    seed = learner.get_params().get("random_state")
    return wrapper(learner, conformal, random_state=seed, **settings).fit(rows.X, rows.y, **rows.offset, **given)


def _text_notes(learner: Any, kept: Sequence[str]) -> list[str]:
    return [
        f"column {name!r} is text, read as numbers by its words and runs of letters; --categorical {shlex.quote(name)}"
        " makes it categories"
        for name in (() if learner.table_ is None else learner.table_.texts)
        if name not in kept
    ]


def _note_on_dates(rows: TrainingTable) -> list[str]:
    from committee.data.dates import kind_of_format

    dates = [name for name, form in rows.forms.items() if kind_of_format(form) == "date"]
    if rows.files is None or not dates:
        return []
    named, why = quoted(dates, 4), "as the table is read in chunks; give one file, without --memory-limit and --scratch"
    return [f"month, weekday and hour of {named} are not added, {why}"]


def _save(learner: Any, output: Path, checkpoint: Path | None) -> None:
    try:
        learner.save(output)
    except TypeError as error:
        raise ValueError(str(error)) from error
    if checkpoint is None:
        return
    if "interrupted" in getattr(learner, "left_out_", {}).values():
        note(f"the same command resumes from {checkpoint}")
    else:
        checkpoint.unlink(missing_ok=True)


# --- the fitted model ------------------------------------------------------------------------------------


def describe_fit(learner: Any, options: FitOptions, table: TrainingTable, seconds: float) -> Estimate | None:
    from committee.cli.training_table import FOLDS, dates_note
    from committee.report.evaluation import baseline_comment
    from committee.report.members import estimate, has_members, left_out_grid, members_grid, stored_estimate

    model, folds = options.model_name, FOLDS if options.folds is None else options.folds
    vote, members = learner.committee_, has_members(learner)
    found: Estimate | None = None
    if members:
        info(estimate(learner, table.y, table.values.weights))
        found = stored_estimate(learner, table.y, table.values.weights)
        if found is not None and (comment := baseline_comment(found.figures)) is not None:
            note(comment)
    elif model == "committee":  # all rows are of one class
        info(f"{NOT_KNOWN}, as {_too_few(learner, table.y, folds)}")
    else:
        found = _cross_validated(learner, table, folds, options)
    if found is not None:
        print_notes(map(with_options, dates_note(options.columns, table)))
    held_out = len(getattr(learner, "reserved_rows_", ()))
    reserve = f"; {pluralize(held_out, 'row')} held out" if held_out else ""
    voters = pluralize(vote.n_voters, "fit" if members else "voter")
    info(
        f"{model}: {voters} with {pluralize(vote.n_nodes, 'node')}, trained on "
        f"{pluralize(len(table.y) - held_out, 'row')} x {pluralize(table.rows.width, 'column')} in {seconds:.2f} s"
        f"{reserve}"
    )
    if members:
        print_tables([grid for grid in (members_grid(learner), left_out_grid(learner)) if grid.rows])
        info(
            f"size: {byte_text(vote.file_bytes)} in a file, {byte_text(vote.nbytes)} in memory; predict time with "
            f"encoding of the columns: {_microseconds(learner, table.rows):,.1f} µs/row, in a batch of {_BATCH:,}"
        )
    elif model != "committee" and (figures := _training_figures(learner, table, with_score=found is not None)):
        info(figures)
    return found


def _cross_validated(learner: Any, table: TrainingTable, folds: int, options: FitOptions) -> Estimate | None:
    if folds == 0:
        info(f"{NOT_KNOWN}, as --folds is 0")
        return None
    if table.files is not None:
        info(f"{NOT_KNOWN}, as tables in chunks are not cross-validated; evaluate the model on held-out rows")
        return None
    from committee.cli.training_table import folds_of_fit
    from committee.files.documents import Estimate
    from committee.report.evaluation import out_of_fold

    try:
        plan = folds_of_fit(options.columns, table, folds)
        given = table.offset | table.values.of_fit
        found = out_of_fold(learner, table.rows, table.y, folds=plan, **given)
    except KeyboardInterrupt:
        info(f"{NOT_KNOWN}, as the fits of the folds were interrupted; the model is complete")
        return None
    except ValueError as error:  # the rows of a fold may be too few, although all rows are enough
        info(f"{NOT_KNOWN}, as the fit of a fold failed ({with_options(str(error))})")
        return None
    if found is None:
        info(f"{NOT_KNOWN}, as {_too_few(learner, table.y, folds)}")
        return None
    kind = f"{folds} folds {plan.words}".rstrip()
    info(f"on rows not seen in training ({kind}): {found.brief()}")
    if (comment := found.comment) is not None:
        note(comment)
    figures = {each.name: each.value for each in found.figures if isfinite(each.value)}
    return Estimate(kind, found.n_rows, figures)


def _too_few(learner: Any, y: NDArray[Any], folds: int) -> str:
    from committee.report.evaluation import LEAST_ROWS

    if len(getattr(learner, "classes_", (0, 1))) == 1:
        return "there is only one row" if len(y) == 1 else "all rows are of one class"
    if hasattr(learner, "classes_") and len(y) >= max(LEAST_ROWS, folds):
        return f"no class has {folds} rows for {folds} folds"
    return f"{pluralize(len(y), 'row')} {'is' if len(y) == 1 else 'are'} too few for {folds} folds"


def _training_figures(learner: Any, table: TrainingTable, *, with_score: bool) -> str:
    # scores of training rows are optimistic, and are shown only below an estimate
    from committee.report.evaluation import evaluate
    from committee.report.inspection import describe_margins

    X, y = table.rows, table.y[: len(table.rows)]
    given = {name: values[: len(X)] for name, values in (table.offset | table.values.of_fit).items()}
    parts = [evaluate(learner, X, y, **given).brief(with_baseline=False)] if with_score else []
    if hasattr(learner, "classes_"):
        margins = dict(describe_margins(learner.committee_.margins(X, y)))
        parts.append(f"margins: mean {margins['mean']}, median {margins['median']}, minimum {margins['minimum']}")
    rows = f"{table.part.removeprefix(' of ')} of the training" if table.part else "the training rows"
    return f"on {rows}: {'; '.join(parts)}" if parts else ""


def _microseconds(learner: Any, X: pl.DataFrame) -> float:
    import numpy as np

    batch = X[np.resize(np.arange(X.height), _BATCH)]
    learner.predict(batch[:1])  # untimed: the first call may import or compile something
    start = time.perf_counter()
    learner.predict(batch)
    return 1e6 * (time.perf_counter() - start) / _BATCH
