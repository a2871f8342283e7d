"""Arguments and options of commands that take a saved model and rows with answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ModelFile = Annotated[Path, typer.Argument(help="File that fit, prune, margins or convert wrote.")]

AnswersColumn = Annotated[
    str | None,
    typer.Option(
        "--target",
        "-t",
        help="Column of the answers; by default what the model predicts, or the only one that it does not know.",
        show_default=False,
    ),
]

RowsAre = Annotated[
    str,
    typer.Option(
        "--on",
        metavar="oob|validation|train",
        help="What the rows are to the model: oob, its training rows, each judged by the voters that have not drawn it;"
        " validation, rows that it has not seen; train, its training rows, judged by all voters.",
    ),
]


def check_choice(option: str, given: str, known: tuple[str, ...]) -> None:
    """Refuse a value that is none of those known, before any work is done."""
    from committee.data.text import suggest_names

    if given not in known:
        raise ValueError(f"{option} {given!r} is unknown; {suggest_names(given, list(known))}")
