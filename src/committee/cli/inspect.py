"""``committee inspect``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from committee.cli.files import check_writable, load_learner
from committee.cli.model_options import AnswersColumn, ModelFile
from committee.cli.table_options import TableOptions, takes_table_options
from committee.cli.terminal import Debug, errors_in_one_line, print_grids, say
from committee.files.writing import write_file


@takes_table_options
def inspect(
    model: ModelFile,
    table: TableOptions,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Rows with answers: margins of classes, errors of numbers, members of a committee of ensembles."
        ),
    ] = None,
    target: AnswersColumn = None,
    report: Annotated[Path | None, typer.Option(help="HTML page of the same, with pictures.")] = None,
    debug: Debug = False,
) -> None:
    """Show what a saved model is: parameters, size, voters, margins, most used features."""
    with errors_in_one_line(debug, report):
        from committee.cli.labelled_rows import labelled_rows
        from committee.report.inspection import inspection
        from committee.report.member_answers import MemberAnswers
        from committee.report.member_rows import rows_grids
        from committee.report.members import has_members

        check_writable(report, read=[model, data])
        if data is None and target is not None:
            raise ValueError("--target names a column of a table; give that by --data, or leave --target out")
        learner = load_learner(model)
        X = y = margins = None
        if data is not None:
            rows = labelled_rows(learner, data, target, table)
            X, y = rows.X, rows.y
            if hasattr(learner, "classes_"):
                margins = learner.committee_.margins(X, y)
        size = model.stat().st_size
        grids = inspection(learner, file_bytes=size, margins=margins)
        if X is not None and has_members(learner):
            grids += rows_grids(MemberAnswers.of(learner, X, y))
        elif X is not None and y is not None and margins is None:
            from committee.report.evaluation import evaluate  # numbers have errors where classes have margins

            grids += evaluate(learner, X, y).grids()
        print_grids(grids)
        if report is not None:
            from committee.report.model_page import render_model

            of_rows = "" if data is None else data.name
            page = render_model(learner, X, y, name=model.name, data=of_rows, file_bytes=size, margins=margins)
            write_file(report, page)
            say(f"report written to {report}")
