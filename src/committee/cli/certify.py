"""``committee certify``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from committee.cli.classes_only import refuse_numbers
from committee.cli.columns import columns_of
from committee.cli.files import load_learner
from committee.cli.model_options import AnswersColumn, ModelFile, RowsAre, check_choice
from committee.cli.table_options import TableOptions, split_names, takes_table_options
from committee.cli.terminal import Debug, console, errors_in_one_line, print_grids
from committee.data.text import printable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.bounds.result import Bound
    from committee.learners.certificates.certificates import Certificate
    from committee.report.grid import Grid


@takes_table_options
def certify(
    model: ModelFile,
    data: Annotated[Path, typer.Argument(help="Rows that judge the model, see --on.")],
    table: TableOptions,
    target: AnswersColumn = None,
    on: RowsAre = "validation",
    delta: Annotated[
        float, typer.Option(help="Probability with which the number may fail; and, apart from it, any of the table.")
    ] = 0.05,
    bounds: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B", help="Bounds by name; by default all that the rows can give.", show_default=False),
    ] = None,
    votes: Annotated[
        str,
        typer.Option(metavar="own|labels", help="The model's vote as it is, or one in which each voter names a class."),
    ] = "own",
    test: Annotated[
        Path | None,
        typer.Option(help="Table of further rows: the error on them stands beside the bounds.", show_default=False),
    ] = None,
    unlabelled: Annotated[
        Path | None,
        typer.Option(help="Table of rows without answers, for one more bound.", show_default=False),
    ] = None,
    debug: Debug = False,
) -> None:
    """Say what the error of a model of classes on new rows cannot exceed, with probability 1 - delta.

    One number comes first, with how it was got and what it needs; then the table of all bounds, which share delta.

    The rows must have had no part in training; with --on oob they are those of the training, each judged by the voters
    that have not drawn it. Training rows given as others make numbers that mean nothing, and are refused where the file
    knows them.

    Example: committee certify model.safetensors new.csv --target outcome
    """
    with errors_in_one_line(debug):
        from committee import certify as certified
        from committee.cli.labelled_rows import labelled_rows
        from committee.report.known_rows import known_rows, learned_from

        check_choice("--on", on, ("validation", "oob"))
        check_choice("--votes", votes, ("own", "labels"))
        learner = load_learner(model)
        refuse_numbers(learner, model, "certified")
        rows = labelled_rows(learner, data, target, table)
        if on == "validation" and (learned := learned_from(learner, known_rows(learner, rows.X))):
            raise ValueError(
                f"{learned}: they prove nothing of new ones; give rows that it has not seen, or --on oob for those "
                "that some of its voters have not"
            )
        further = None if test is None else labelled_rows(learner, test, target, table)
        names = split_names(bounds)
        try:
            found = certified(
                learner,
                rows.X,
                rows.y,
                delta,
                on,  # type: ignore[arg-type]  # checked above
                None if further is None else further.X,
                None if further is None else further.y,
                bounds=names or None,
                votes=votes,  # type: ignore[arg-type]
                X_unlabelled=None if unlabelled is None else columns_of(learner, unlabelled, table),
            )
        except TypeError as error:
            raise ValueError(f"{model} cannot be certified: {error}") from error
        for sentence in certificate_sentences(found, data, rows.y):
            console().print(printable(sentence), soft_wrap=True)
        console().print()
        print_grids([certificate_grid(found)])


def certificate_grid(found: Certificate) -> Grid:
    """The bounds, smallest first, with what would make each smaller."""
    from committee.report.grid import Grid

    records = sorted(found.rows(), key=lambda row: row["value"])
    tested = found.test_error is not None
    rows = tuple(
        (
            row["bound"],
            f"{_possible(row['value']):.4f}",
            *((f"{_possible(row['value']) - found.test_error:+.4f}",) if found.test_error is not None else ()),
            "says nothing" if row["vacuous"] else "holds",
            row["advice"],
        )
        for row in records
    )
    columns = ("bound", "error at most", *(("above test error",) if tested else ()), "", "smaller by")
    title = f"All bounds, which hold together with probability {1.0 - found.delta:g}"
    return Grid(title, columns, rows, "lr" + ("r" if tested else "") + "ll")


def certificate_sentences(found: Certificate, data: Path, y: NDArray[Any]) -> list[str]:
    """The one number, how it was got and what it needs; then guessing on rows of the labels `y`, and the test error."""
    sentences = list(found.sentences(f" of {data}"))
    sentences.append(_beside_guessing(found.headline, y))
    if found.test_error is not None:
        sentences.append(f"The error on the further rows is {found.test_error:.4f}.")
    return sentences


def _beside_guessing(bound: Bound, y: NDArray[Any]) -> str:
    """What guessing errs, of the two kinds, and whether the bound is below what the classes' shares give."""
    import numpy as np

    labels, counts = np.unique(y, return_counts=True)
    most = labels.tolist()[int(counts.argmax())]
    error = 1.0 - float(counts.max()) / len(y)
    small = "" if bound.vacuous or bound.value < error else ": the bound does not show that the model does better"
    return (
        f"A class drawn by equal chances is wrong with probability {bound.trivial:.4g}: bounds from there on say"
        f" nothing. Always saying {most}, the most frequent class, errs {error:.4f} on these rows{small}."
    )


def _possible(bound: float) -> float:
    """A bound on an error, which no error above 1 needs."""
    return min(bound, 1.0)
