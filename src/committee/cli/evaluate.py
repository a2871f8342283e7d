"""``committee evaluate``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from committee.cli.files import check_writable, load_learner
from committee.cli.model_options import AnswersColumn, ModelFile
from committee.cli.table_options import TableOptions, takes_table_options
from committee.cli.terminal import Debug, errors_in_one_line, note, print_grids, say
from committee.data.text import pluralize
from committee.files.writing import write_file

if TYPE_CHECKING:
    from numpy.typing import NDArray


@takes_table_options
def evaluate(
    model: ModelFile,
    data: Annotated[
        list[Path],
        typer.Argument(
            help="Table that the model was not trained on, with the answers. Several files, a folder or a pattern in"
            " quotation marks are put together, and must fit in memory."
        ),
    ],
    table: TableOptions,
    target: AnswersColumn = None,
    report: Annotated[Path | None, typer.Option(help="HTML page with pictures: where it errs, and why.")] = None,
    json: Annotated[Path | None, typer.Option(help="Write every figure as JSON here.")] = None,
    debug: Debug = False,
) -> None:
    """Judge a saved model by rows whose answers are known.

    Classes: accuracy and eight further figures, the confusion matrix, calibration. Numbers: RMSE, MAE and R2; of models
    of quantiles pinball loss and coverage.

    Example: committee evaluate model.safetensors new.csv --target price
    """
    with errors_in_one_line(debug, report, json):
        from committee.cli.inputs import name_of_data
        from committee.cli.labelled_rows import labelled_rows
        from committee.report.evaluation import evaluate as judge
        from committee.report.known_rows import known_rows, known_rows_sentence

        check_writable(report, json, read=[model, *data])
        learner = load_learner(model)
        rows = labelled_rows(learner, data, target, table)
        say(words_of_target(rows.target, learner, rows.y))
        found = judge(learner, rows.X, rows.y)
        print_grids(found.grids())
        if known := known_rows_sentence(learner, known_rows(learner, rows.X), found):
            note(known)
        if report is not None:
            from committee.report.evaluation_page import evaluation_page

            write_file(report, evaluation_page(learner, rows.X, rows.y, title=model.name, data=name_of_data(data)))
            say(f"report written to {report}")
        if json is not None:
            from json import dumps

            write_file(json, dumps(_without_nan(found.to_json()), indent=1, allow_nan=False) + "\n")
            say(f"figures written to {json}")


def words_of_target(target: str, learner: Any, y: NDArray[Any]) -> str:
    """What the model predicts: classes or numbers."""
    if hasattr(learner, "classes_"):
        return f"target {target!r}: {pluralize(len(learner.classes_), 'class', 'classes')}"
    return f"target {target!r}: numbers from {y.min():.6g} to {y.max():.6g}"


def _without_nan(value: Any) -> Any:
    """NaN, which JSON does not have, as null."""
    if isinstance(value, dict):
        return {key: _without_nan(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_without_nan(each) for each in value]
    return None if isinstance(value, float) and value != value else value
