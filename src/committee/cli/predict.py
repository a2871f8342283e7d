"""``committee predict``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from committee.cli.columns import Drop, columns_of, split_names
from committee.cli.files import check_writable, load_learner
from committee.cli.terminal import Debug, errors_in_one_line, say
from committee.data.names import printable
from committee.files.replacement import replacing

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl


def predict(
    model: Annotated[Path, typer.Argument(help="File that fit wrote.")],
    data: Annotated[Path, typer.Argument(help="Table with the columns the model learned from.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="CSV, Parquet or Feather by ending; CSV to the screen if left out."),
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Add the probability of every class.")] = False,
    safe_cells: Annotated[
        bool, typer.Option("--safe-cells", help="Put ' before labels that a spreadsheet would run as formulas.")
    ] = False,
    drop: Drop = None,
    debug: Debug = False,
) -> None:
    """Predict the rows of a table.

    Columns are matched by name, in any order. One that the model does not know is an error, unless it is the
    only one and holds nothing but classes of the model: then it is taken for the labels and set aside.
    """
    with errors_in_one_line(debug):
        import polars as pl

        check_writable(output, read=[model, data])
        if output is not None:
            _writer(output)  # refuses an unknown ending before any work is done
        learner = load_learner(model)
        X = columns_of(learner, data, split_names(drop) or [])
        if proba and not hasattr(learner, "predict_proba"):
            raise ValueError(f"{model} holds a {type(learner).__name__}, which predicts numbers; leave out --proba")
        result = pl.DataFrame(_named(learner, learner.predict(X)))
        if proba:
            chances = learner.predict_proba(X)
            names = [f"probability:{label}" for label in learner.classes_]
            result = result.with_columns(pl.Series(n, chances[:, k]) for k, n in enumerate(names))
        if safe_cells:
            result = _without_formulas(result)
        if output is None:
            text = result.write_csv()
            sys.stdout.write(printable(text) if sys.stdout.isatty() else text)
            sys.stdout.flush()
        else:
            write = _writer(output)
            with replacing(output) as file:
                write(result, file)
            say(f"{result.height:,} predictions written to {output}")


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


def _writer(path: Path) -> Callable[[pl.DataFrame, BinaryIO], object]:
    """Writer of a frame, by the ending of the file."""
    import gzip

    name = path.name.lower()
    if name.endswith(".csv"):
        return lambda frame, file: frame.write_csv(file)
    if name.endswith(".csv.gz"):
        return lambda frame, file: file.write(gzip.compress(frame.write_csv().encode(), mtime=0))
    if name.endswith(".parquet"):
        return lambda frame, file: frame.write_parquet(file)
    if name.endswith((".feather", ".arrow", ".ipc")):
        return lambda frame, file: frame.write_ipc(file)
    raise ValueError(f"{path} has an unknown ending; write .csv, .csv.gz, .parquet or .feather")
