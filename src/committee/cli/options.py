"""Options that several commands have."""

from __future__ import annotations

from typing import Annotated

import typer

Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Target = Annotated[str | None, typer.Option("--target", "-t", help="Column that holds the labels.")]
Categorical = Annotated[
    list[str] | None,
    typer.Option(metavar="A,B", help="Columns of numbers that are categories.", show_default=False),
]
Drop = Annotated[list[str] | None, typer.Option(metavar="A,B", help="Columns to leave out.", show_default=False)]
Progress = Annotated[bool | None, typer.Option("--progress/--no-progress", help="By default if stderr is a terminal.")]


def split_names(values: list[str] | None) -> list[str] | None:
    """Turn ``--drop a,b --drop c`` into names; None where the option was not given."""
    if values is None:
        return None
    return [name.strip() for value in values for name in value.split(",") if name.strip()]
