"""``committee predict``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from committee.cli.columns import columns_of, learned_columns, pieced_columns_of
from committee.cli.files import check_writable, load_learner
from committee.cli.inputs import are_in_pieces, paths_of, scanned, words_of
from committee.cli.predictions import check_ending, predictions_by_parts, write_predictions
from committee.cli.reading import watched
from committee.cli.table_options import TableOptions, takes_table_options
from committee.cli.terminal import Debug, Progress, errors_in_one_line, say
from committee.data.names import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import polars as pl

    from committee.data.pieces.scan import Pieces


@takes_table_options
def predict(
    model: Annotated[Path, typer.Argument(help="File that fit wrote.")],
    data: Annotated[
        list[Path],
        typer.Argument(
            help="Table with the columns the model learned from. Several files, a folder or a pattern in quotation"
            " marks are read in pieces, and predictions are written as they come."
        ),
    ],
    table: TableOptions,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="CSV, Parquet or Feather by ending; CSV to the screen if left out."),
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Add the probability of every class.")] = False,
    safe_cells: Annotated[
        bool, typer.Option("--safe-cells", help="Put ' before labels that a spreadsheet would run as formulas.")
    ] = False,
    progress: Progress = None,
    debug: Debug = False,
) -> None:
    """Predict the rows of a table, or of several files one after the other.

    Columns are matched by name, in any order; a note names those that the model does not use.
    """
    with errors_in_one_line(debug):
        check_writable(output, read=[model, *data])
        if output is not None:
            check_ending(output)  # before any work is done
        learner = load_learner(model)
        if proba and not hasattr(learner, "predict_proba"):
            raise ValueError(f"{model} holds a {type(learner).__name__}, which predicts numbers; leave out --proba")

        def predictions(X: Any) -> pl.DataFrame:
            found = _predictions(learner, X, proba=proba)
            return _without_formulas(found) if safe_cells else found

        if are_in_pieces(data):
            pieces = scanned(data, table)
            check_writable(output, read=paths_of(pieces))
            say(words_of(pieces))
            if output is None and sys.stdout.isatty():
                progress = False  # predictions and a bar would be mixed up
            pieces = watched(pieced_columns_of(learner, pieces), "predicting", wanted=progress)
            by_place = learned_columns(learner)[0] is None
            _write_parts(_parts(pieces, predictions, by_place=by_place), output)
            return
        result = predictions(columns_of(learner, data[0], table))
        if output is None:
            _show(result.write_csv())
        else:
            write_predictions(result, output)
            say(f"{result.height:,} predictions written to {output}")


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
        if not n:
            raise ValueError("the files have 0 rows; at least one is needed")
    say(f"{n:,} predictions written to {output}")


def _parts(pieces: Pieces, predictions: Callable[[Any], pl.DataFrame], *, by_place: bool) -> Iterator[pl.DataFrame]:
    """Predict the rows of one piece after the other."""
    from committee.cli.inputs import frame_of

    files = pieces.files
    for piece in pieces:
        if len(piece):
            with piece.named_in_errors():
                frame = frame_of(piece)
                part = predictions(frame.to_numpy() if by_place else frame)
            yield part
    files.refuse_changes()


def _show(text: str) -> None:
    sys.stdout.write(printable(text) if sys.stdout.isatty() else text)
    sys.stdout.flush()


def _predictions(learner: Any, X: Any, *, proba: bool) -> pl.DataFrame:
    """Predictions by column, and probabilities where they are asked for."""
    import polars as pl

    result = pl.DataFrame(_named(learner, learner.predict(X)))
    if not proba:
        return result
    chances = learner.predict_proba(X)
    names = [f"probability:{label}" for label in learner.classes_]
    return result.with_columns(pl.Series(n, chances[:, k]) for k, n in enumerate(names))


def _without_formulas(frame: pl.DataFrame) -> pl.DataFrame:
    """Put an apostrophe before text that begins as formulas of spreadsheets do."""
    import polars as pl

    text = pl.col(pl.String)
    return frame.with_columns(pl.when(text.str.contains(r"^[=+\-@\t\r]")).then("'" + text).otherwise(text).name.keep())


def _named(learner: Any, predicted: Any) -> dict[str, Any]:
    """Predictions by column: one, or one for each quantile."""
    if predicted.ndim == 1:
        return {"prediction": predicted}
    return {f"prediction:{q:g}": predicted[:, k] for k, q in enumerate(learner.quantile)}
