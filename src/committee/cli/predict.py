"""``committee predict``."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from committee.cli.files import (
    PREDICTIONS,
    STANDARD,
    check_ending,
    check_writable,
    is_large,
    load_learner,
    prediction_writer,
    reads_in_chunks,
    write_predictions,
)
from committee.cli.options import ModelFile, Progress, TableOptions, Threshold, split_names, takes_options
from committee.cli.row_columns import ModelExposure, fitted_exposure, log_exposure, note_without_exposure
from committee.cli.terminal import Debug, error_lines, info, notes_on_warnings, print_notes
from committee.data.readers.cells import missing_marks_note
from committee.data.text import check_names, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from committee.data.number_types import F64


@dataclass(frozen=True)
class PredictOptions:
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="CSV, Parquet or Feather, by the ending. Default, or -: CSV on stdout."),
    ] = None
    proba: Annotated[bool, typer.Option("--proba", help="Add the probability of every class.")] = False
    safe_cells: Annotated[
        bool, typer.Option("--safe-cells", help="Put ' before text that a spreadsheet would run as a formula.")
    ] = False
    threshold: Threshold = None
    alpha: Annotated[
        float | None,
        typer.Option(
            help="Share of rows that prediction sets or intervals may miss. Default: that of fit --conformal."
        ),
    ] = None
    ids: Annotated[
        list[str] | None,
        typer.Option("--id", metavar="A,B", help="Columns of the table to write before the predictions, unchanged."),
    ] = None
    exposure: ModelExposure = None
    progress: Progress = None

    def check(self, learner: Any, model: Path) -> None:
        alpha = self.alpha
        if self.threshold is not None:
            from committee.report.figures import check_threshold

            check_threshold(learner, self.threshold)
        if self.proba and not hasattr(learner, "predict_proba"):
            raise ValueError(f"{model} predicts numbers; leave out --proba")
        if alpha is None:
            return
        if not (hasattr(learner, "predict_set") or hasattr(learner, "predict_interval")):
            raise ValueError(f"--alpha is for models fitted with --conformal, which {model} was not; leave it out")
        if not 0.0 < alpha < 1.0:
            raise ValueError(f"--alpha {alpha:g} must be above 0 and below 1")


@takes_options
def predict(
    model: ModelFile,
    data: Annotated[
        list[Path],
        typer.Argument(
            help="Table with the columns of the model; - is standard input. Several files, a folder, a quoted pattern"
            " or a large file are read in chunks, and their predictions are written chunk by chunk."
        ),
    ],
    table: TableOptions,
    options: PredictOptions,
    debug: Debug = False,
) -> None:
    """Predict the rows of one or several tables.

    Columns are matched by name, in any order, or by position if the model has no names; a note names others, except
    the target of the training. A model fitted with --conformal adds the columns lower and upper, or one for each class
    with true for classes in the prediction set.
    """
    with error_lines(debug, options.output), notes_on_warnings():
        import polars as pl

        from committee.cli.model_rows import read_for_model, select_features
        from committee.data.readers.features import LearnedColumns
        from committee.data.readers.tables import read_raw_cells

        output = None if options.output == STANDARD else options.output
        check_writable(output, read=[model, *data])
        check_ending(output, "predictions", PREDICTIONS)
        learner = load_learner(model)
        options.check(learner, model)
        names = tuple(dict.fromkeys(split_names(options.ids)))
        exposure = fitted_exposure(learner, options.exposure)
        if options.threshold is not None:
            from committee.report.figures import ThresholdModel

            learner = ThresholdModel(learner, options.threshold)
        predictions = Predictions(learner, options.proba, options.safe_cells, names, options.alpha)
        if reads_in_chunks(data) or is_large(data[0]):
            mixed_up = output is None and sys.stdout.isatty()  # predictions and a bar
            _predict_chunks(predictions, data, table, output, False if mixed_up else options.progress, exposure)
        else:
            answers = () if exposure is None else (exposure,)
            frame = read_for_model(learner, data[0], table, ids=names, answers=answers, rows_needed=False)
            frame, offset = log_exposure(frame, exposure)
            form = LearnedColumns.of_model(learner).file_format(table.form)
            cells = read_raw_cells(data[0], names, form) if names else pl.DataFrame()
            result = predictions.of(select_features(learner, frame, str(data[0]), names), cells, offset)
            if output is None:
                _print(result.write_csv())
            else:
                write_predictions(result, output)
                info(f"{result.height:,} predictions written to {output}")
        print_notes(predictions.unknown.notes())


def _predict_chunks(
    predictions: Predictions,
    data: list[Path],
    table: TableOptions,
    output: Path | None,
    progress: bool | None,
    exposure: str | None,
) -> None:
    from committee.cli.chunks import chunk_frame, files_in_chunks, model_chunks, open_chunks, with_progress
    from committee.data.out_of_core.converted_files import RawCellReader
    from committee.data.readers.features import LearnedColumns

    learner, ids = predictions.learner, predictions.ids
    columns = LearnedColumns.of_model(learner)
    pieces = open_chunks(data, table, form=columns.file_format(table.form))
    marks: dict[str, Counter[str]] = {}
    cells = RawCellReader(pieces.source, check_names(ids, pieces.source.names or (), "--id"))
    check_writable(output, read=pieces.files.paths)
    info(files_in_chunks(pieces))
    if exposure is not None and exposure not in (pieces.columns or ()):
        note_without_exposure(exposure)
        exposure = None
    numbers = () if exposure is None else (exposure,)
    pieces = model_chunks(learner, pieces, table, ids, marks=marks, numbers=numbers)
    files, unnamed = pieces.files, columns.names is None
    shown = with_progress(pieces, "predicting", wanted=progress)

    def parts() -> Iterator[pl.DataFrame]:
        empty = True
        for piece in shown:
            if len(piece):
                with piece.named_in_errors():
                    frame, offset = log_exposure(chunk_frame(piece), exposure)
                    X = frame.drop(ids, strict=False).to_numpy() if unnamed else frame
                    part = predictions.of(X, cells.next_rows(len(piece)), offset)
                yield part
                empty = False
        files.check_unchanged()
        if empty:
            yield predictions.of_no_rows()

    if output is None:
        for k, part in enumerate(parts()):
            _print(part.write_csv(include_header=k == 0))
    else:
        n = 0
        with prediction_writer(output) as write:
            for part in parts():
                write(part)
                n += part.height
        info(f"{n:,} predictions written to {output}")
    print_notes(missing_marks_note(name, counts, learned=True) for name, counts in marks.items())


def _print(text: str) -> None:
    if sys.stdout.isatty():
        text = printable(text)
    else:
        try:
            text.encode(sys.stdout.encoding)
        except UnicodeEncodeError as error:
            raise ValueError(
                f"the encoding of stdout, {sys.stdout.encoding}, lacks {text[error.start]!a}; use --output, whose files"
                " are UTF-8, or set PYTHONUTF8=1"
            ) from error
    sys.stdout.write(text)
    sys.stdout.flush()


@dataclass
class Predictions:
    learner: Any
    proba: bool = False
    safe_cells: bool = False
    ids: tuple[str, ...] = ()
    alpha: float | None = None
    unknown: Any = field(init=False)

    def __post_init__(self) -> None:
        from committee.cli.model_rows import UnknownCategories

        self.unknown = UnknownCategories(self.learner)

    def of(self, X: Any, ids: pl.DataFrame, offset: F64 | None = None) -> pl.DataFrame:
        if not len(X):
            return self.of_no_rows(ids.schema)
        self.unknown.add(X)
        found = self._predicted(X, offset)
        taken = [name for name in ids.columns if name in found.columns]
        if taken:
            raise ValueError(f"--id names {taken[0]!r}, which is a column of the predictions; rename it in the file")
        result = ids.hstack(found) if ids.width else found
        if not self.safe_cells:
            return result
        import polars as pl

        text = pl.col(pl.String)
        formulas = text.str.contains(r"^[=+\-@\t\r]") & text.cast(pl.Float64, strict=False).is_null()
        return result.with_columns(pl.when(formulas).then("'" + text).otherwise(text).name.keep())

    def of_no_rows(self, ids: Any = None) -> pl.DataFrame:
        import numpy as np
        import polars as pl

        from committee.data.readers.features import table_schema

        table = table_schema(self.learner)
        if table is None or table.names is None:
            found = self._predicted(np.full((1, self.learner.n_features_in_), np.nan))
        else:
            categories = zip(table.names, table.categories, strict=True)
            kinds = {name: pl.String if each and isinstance(each[0], str) else pl.Float64 for name, each in categories}
            found = self._predicted(pl.DataFrame({name: [None] for name in kinds}, schema=kinds))
        empty = pl.DataFrame(schema=ids or dict.fromkeys(self.ids, pl.String))
        return empty.hstack(found.head(0)) if empty.width else found.head(0)

    def _predicted(self, X: Any, offset: F64 | None = None) -> pl.DataFrame:
        import polars as pl

        given = {} if offset is None else {"offset": offset}
        if offset is None:
            predicted = self.learner.predict(X)
        else:
            from committee.report.evaluation import predictions_over

            predicted = predictions_over(self.learner, X, offset)
        columns: dict[str, Any] = {"prediction": predicted}
        if predicted.ndim > 1:
            from committee.report.figures import quantile_levels
            from committee.report.prediction_sets import model_inside

            levels = quantile_levels(model_inside(self.learner), predicted.shape[1])
            columns = {f"prediction:{q:g}": predicted[:, k] for k, q in enumerate(levels)}
        if self.proba:
            columns |= self._per_class("probability", self.learner.predict_proba(X))
        if hasattr(self.learner, "predict_interval"):
            columns |= dict(
                zip(("lower", "upper"), self.learner.predict_interval(X, self.alpha, **given).T, strict=True)
            )
        elif hasattr(self.learner, "predict_set"):
            columns |= self._per_class("in set", self.learner.predict_set(X, self.alpha))
        return pl.DataFrame(columns)

    def _per_class(self, what: str, values: Any) -> dict[str, Any]:
        return {f"{what}:{label}": values[:, k] for k, label in enumerate(self.learner.classes_)}
