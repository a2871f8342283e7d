"""``committee predict``."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from committee.cli.answers import Answers
from committee.cli.columns import features_of, form_for, learned_columns, pieced_columns_of, read_for
from committee.cli.files import check_writable, load_learner
from committee.cli.inputs import are_in_pieces, is_large, paths_of, scanned, words_of
from committee.cli.model_options import ModelFile
from committee.cli.predictions import check_ending, predictions_by_parts, write_predictions
from committee.cli.reading import watched
from committee.cli.standard_input import STANDARD
from committee.cli.table_options import TableOptions, split_names, takes_table_options
from committee.cli.terminal import Debug, Progress, errors_in_one_line, notes_on_warnings, say, say_notes
from committee.data.readers.cells import missing_marks_note
from committee.data.text import check_names, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from committee.data.out_of_core.file_sources import RawCellReader
    from committee.data.out_of_core.scan import Pieces


@takes_table_options
def predict(
    model: ModelFile,
    data: Annotated[
        list[Path],
        typer.Argument(
            help="Table with the columns the model learned from; - is standard input. Several files, a folder, a"
            " pattern in quotation marks or a large file are read in pieces, and predictions are written as they come."
        ),
    ],
    table: TableOptions,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="CSV, Parquet or Feather by ending; CSV to the screen if left out or -."),
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Add the probability of every class.")] = False,
    safe_cells: Annotated[
        bool, typer.Option("--safe-cells", help="Put ' before labels that a spreadsheet would run as formulas.")
    ] = False,
    alpha: Annotated[
        float | None,
        typer.Option(
            help="Of a model trained with --conformal: share of rows that sets or intervals may miss, if another than"
            " it was trained for.",
            show_default=False,
        ),
    ] = None,
    ids: Annotated[
        list[str] | None,
        typer.Option("--id", metavar="A,B", help="Columns of the table to write before the predictions, as they are."),
    ] = None,
    progress: Progress = None,
    debug: Debug = False,
) -> None:
    """Predict the rows of a table, or of several files one after the other.

    Columns are matched by name, in any order; a note names those that the model does not use. A model trained with
    --conformal adds lower and upper, or for each class whether it is in the set.
    """
    with errors_in_one_line(debug, output), notes_on_warnings():
        import polars as pl

        from committee.data.out_of_core.file_sources import RawCellReader
        from committee.data.readers.tables import read_raw_cells

        to_screen = output is None or output == STANDARD
        place = None if to_screen else output
        check_writable(place, read=[model, *data])
        if place is not None:
            check_ending(place)  # before any work is done
        learner = load_learner(model)
        if proba and not hasattr(learner, "predict_proba"):
            raise ValueError(f"{model} holds a {type(learner).__name__}, which predicts numbers; leave out --proba")
        if alpha is not None:
            _check_alpha(learner, model, alpha)
        names = tuple(dict.fromkeys(split_names(ids)))
        answers = Answers(learner, proba=proba, safe_cells=safe_cells, ids=names, alpha=alpha)
        if are_in_pieces(data) or is_large(data[0]):
            pieces = scanned(data, table, form=form_for(learner, table))
            marks: dict[str, Counter[str]] = {}
            cells = RawCellReader(pieces.source, check_names(names, pieces.source.names or (), "--id"))
            check_writable(place, read=paths_of(pieces))
            say(words_of(pieces))
            if to_screen and sys.stdout.isatty():
                progress = False  # predictions and a bar would be mixed up
            pieces = pieced_columns_of(learner, pieces, table, names, marks=marks)
            _write_parts(_parts(watched(pieces, "predicting", wanted=progress), answers, cells), place)
            say_notes(missing_marks_note(name, counts, learned=True) for name, counts in marks.items())
        else:
            frame = read_for(learner, data[0], table, ids=names, rows_needed=False)
            shown = read_raw_cells(data[0], names, table.form, "--id") if names else pl.DataFrame()
            result = answers.of(features_of(learner, frame, str(data[0]), names), shown)
            if place is None:
                _show(result.write_csv())
            else:
                write_predictions(result, place)
                say(f"{result.height:,} predictions written to {place}")
        say_notes(answers.unknown.notes())


def _check_alpha(learner: Any, model: Path, alpha: float) -> None:
    """Refuse a share that is none, or a model without sets and intervals."""
    if not (hasattr(learner, "predict_set") or hasattr(learner, "predict_interval")):
        raise ValueError(f"--alpha is of models trained with --conformal, and {model} holds a {type(learner).__name__}")
    if not 0.0 < alpha < 1.0:
        raise ValueError(f"--alpha {alpha:g} must be above 0 and below 1")


def _write_parts(parts: Iterator[pl.DataFrame], output: Path | None) -> None:
    """Write or show predictions as they come."""
    if output is None:
        for k, part in enumerate(parts):
            _show(part.write_csv(include_header=k == 0))
        return
    n = 0
    with predictions_by_parts(output) as write:
        for part in parts:
            write(part)
            n += part.height
    say(f"{n:,} predictions written to {output}")


def _parts(pieces: Pieces, answers: Answers, cells: RawCellReader) -> Iterator[pl.DataFrame]:
    """Predict the rows of one piece after the other; of no rows there is one part, without any."""
    from committee.cli.inputs import frame_of

    files, empty = pieces.files, True
    for piece in pieces:
        if len(piece):
            with piece.named_in_errors():
                frame = frame_of(piece)
                names = learned_columns(answers.learner)[0]
                X = frame.drop(answers.ids, strict=False).to_numpy() if names is None else frame
                part = answers.of(X, cells.next_rows(len(piece)))
            yield part
            empty = False
    files.check_unchanged()
    if empty:
        yield answers.of_no_rows()


def _show(text: str) -> None:
    if sys.stdout.isatty():
        text = printable(text)
    else:
        _check_encoding(text, sys.stdout.encoding)
    sys.stdout.write(text)
    sys.stdout.flush()


def _check_encoding(text: str, encoding: str) -> None:
    """Refuse predictions with characters that the encoding of stdout lacks."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError as error:
        raise ValueError(
            f"stdout has the encoding {encoding}, which lacks {text[error.start]!a}; use --output, whose files are"
            " UTF-8, or set PYTHONUTF8=1"
        ) from error
