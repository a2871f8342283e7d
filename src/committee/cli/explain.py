"""``committee explain``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from committee.cli.columns import columns_of
from committee.cli.files import check_writable, load_learner
from committee.cli.model_options import ModelFile
from committee.cli.pictures import check_picture, write_picture
from committee.cli.table_options import TableOptions, takes_table_options
from committee.cli.terminal import Debug, console, errors_in_one_line, print_grids, say
from committee.data.text import printable
from committee.files.writing import write_file


@takes_table_options
def explain(
    model: ModelFile,
    data: Annotated[Path, typer.Argument(help="Table with the columns the model learned from.")],
    table: TableOptions,
    row: Annotated[int, typer.Option(help="Which row, from 0 on.")] = 0,
    label: Annotated[
        str | None,
        typer.Option("--class", help="Whose score or probability; by default that of the predicted class."),
    ] = None,
    quantile: Annotated[
        float | None,
        typer.Option(help="Of a model of quantiles: which of them; by default the one nearest to the median."),
    ] = None,
    most: Annotated[int, typer.Option(min=1, help="Columns that are shown; the others are one line.")] = 12,
    picture: Annotated[Path | None, typer.Option(help="Picture of the same, .svg, .png or .pdf.")] = None,
    report: Annotated[Path | None, typer.Option(help="HTML page of the same, with the model's card.")] = None,
    debug: Debug = False,
) -> None:
    """Say what each column adds to the answer for one row: its exact Shapley value.

    The columns' figures add up to the probability of the class (forests, committees of ensembles), to the score of the
    row (other models of classes), or to the number that is predicted.

    Example: committee explain model.safetensors new.csv --row 3 --picture row3.svg
    """
    with errors_in_one_line(debug, picture, report):
        from committee.report.prediction_sets import model_inside, set_of_row
        from committee.report.row_explanation import RowExplanation
        from committee.report.row_sentences import row_grid, row_sentences

        check_picture(picture)
        check_writable(picture, report, read=[model, data])
        learner = load_learner(model)
        X = columns_of(learner, data, table)
        if not 0 <= row < len(X):
            of_rows = "1 row, number 0" if len(X) == 1 else f"{len(X):,} rows, numbered from 0 to {len(X) - 1:,}"
            raise ValueError(f"--row {row} is not there: {data} has {of_rows}")
        label_of_row = _class_of(learner, label) if quantile is None else _quantile_of(learner, quantile)
        try:
            found = RowExplanation.of(model_inside(learner), X[row : row + 1], 0, label=label_of_row)
        except TypeError as error:
            raise ValueError(
                f"{model} cannot be explained: {error} Models of trees can, such as committee, gradient_boosting and"
                " random_forest"
            ) from error
        terminal, name = console(), f"row {row:,} of {data} (the first is 0)"
        terminal.print(printable(f"{name}: {found.remark}"), soft_wrap=True)
        for sentence in [*row_sentences(found), *filter(None, [set_of_row(learner, X[row : row + 1])])]:
            terminal.print(printable(sentence), soft_wrap=True)
        terminal.print()
        print_grids([row_grid(found, most)])
        if picture is not None:
            from committee.report.displays.contributions import ContributionDisplay

            display = ContributionDisplay.of(found, max_features=most)
            write_picture(display.plot().figure_, picture)
            say(f"picture written to {picture}")
        if report is not None:
            from committee.report.row_page import row_page

            write_file(report, row_page(learner, found, row=name, title=model.name, most=most))
            say(f"report written to {report}")


def _class_of(learner: Any, label: str | None) -> Any:
    """A class of the model by its name."""
    if label is None:
        return None
    from committee.data.text import suggest_names

    classes = getattr(learner, "classes_", None)
    if classes is None:
        raise ValueError(f"--class {label}: the {type(learner).__name__} predicts numbers; leave it out")
    by_name = {str(known): known for known in classes.tolist()}
    if label not in by_name:
        raise ValueError(f"--class {label!r} is no class of the model; {suggest_names(label, list(by_name))}")
    from committee.report.row_shares import explains_probabilities

    if len(by_name) == 2 and not explains_probabilities(learner):
        raise ValueError(
            f"--class {label}: of two classes there is one score, above 0 for {classes[1]} and below for {classes[0]};"
            " leave it out"
        )
    return by_name[label]


def _quantile_of(learner: Any, quantile: float) -> float:
    """A quantile that the model predicts beside others."""
    from committee.report.number_figures import quantile_levels

    levels = () if hasattr(learner, "classes_") else quantile_levels(learner, learner.committee_.voters.n_outputs)
    if len(levels) < 2:
        raise ValueError(
            f"--quantile {quantile:g}: the {type(learner).__name__} does not predict several; leave it out"
        )
    if quantile not in levels:
        raise ValueError(f"--quantile {quantile:g} is none of the model's: {', '.join(f'{q:g}' for q in levels)}")
    return quantile
