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
from committee.data.counts import counted
from committee.data.names import printable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.bounds.result import Bound
    from committee.learners.trained.certificates import Certificate
    from committee.report.grid import Grid


@takes_table_options
def certify(
    model: ModelFile,
    data: Annotated[Path, typer.Argument(help="Rows that judge the model, see --on.")],
    table: TableOptions,
    target: AnswersColumn = None,
    on: RowsAre = "validation",
    delta: Annotated[float, typer.Option(help="Probability with which any of the bounds may fail.")] = 0.05,
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

    The rows must have had no part in training; with --on oob they are those of the training, each judged by the voters
    that have not drawn it. Training rows given as others make numbers that mean nothing.

    Example: committee certify model.safetensors new.csv --target outcome
    """
    with errors_in_one_line(debug):
        from committee import certify as certified
        from committee.cli.labelled_rows import labelled_rows

        check_choice("--on", on, ("validation", "oob"))
        check_choice("--votes", votes, ("own", "labels"))
        learner = load_learner(model)
        refuse_numbers(learner, model, "certified")
        rows = labelled_rows(learner, data, target, table)
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
        print_grids([certificate_grid(found)])
        console().print()
        for sentence in certificate_sentences(found, data, rows.y):
            console().print(printable(sentence), soft_wrap=True)


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
    return Grid("Bounds on the error on new rows", columns, rows, "lr" + ("r" if tested else "") + "ll")


def certificate_sentences(found: Certificate, data: Path, y: NDArray[Any]) -> list[str]:
    """What the smallest bound says, by which rows with the labels `y`, beside guessing, and the test error."""
    surely = f"with probability {1.0 - found.delta:g}"
    by = {
        "validation": f"{counted(found.n_rows, 'row')} of {data}",
        "oob": f"{counted(found.n_rows, 'training row')}, out of bag",
    }[found.on]
    best: Any = found.best
    if found.vacuous:
        sentences = [f"No bound is below the error of guessing, by {by}; more rows make bounds smaller."]
    else:
        sentences = [f"On new rows of this kind the error is at most {best.value:.4f} {surely} ({best.name}), by {by}."]
    if found.on == "validation":
        sentences.append("That holds if these rows had no part in training.")
    sentences.append(_beside_guessing(best, y))
    if found.test_error is not None:
        sentences.append(f"The error on the further rows is {found.test_error:.4f}.")
    return sentences


def _beside_guessing(best: Bound, y: NDArray[Any]) -> str:
    """What guessing errs, of the two kinds, and whether the smallest bound is below what the classes' shares give."""
    import numpy as np

    labels, counts = np.unique(y, return_counts=True)
    most = labels.tolist()[int(counts.argmax())]
    error = 1.0 - float(counts.max()) / len(y)
    small = "" if best.vacuous or best.value < error else ": no bound shows that the model does better than that"
    return (
        f"A class drawn by equal chances is wrong with probability {best.trivial:.4g}: bounds from there on say"
        f" nothing. Always saying {most}, the most frequent class, errs {error:.4f} on these rows{small}."
    )


def _possible(bound: float) -> float:
    """A bound on an error, which no error above 1 needs."""
    return min(bound, 1.0)
