"""The command line: the commands of `committee.cli` under one name.

Whatever a command needs is imported inside it, so that ``committee --help`` answers at once.
"""

from __future__ import annotations

from typing import Annotated

import typer

from committee.cli.compare import compare
from committee.cli.fit import fit
from committee.cli.inspect import inspect
from committee.cli.papers import app as papers
from committee.cli.predict import predict

__all__ = ["app", "main"]

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Voting ensembles for tabular data: compare, fit, predict, inspect; papers rebuilt.",
)
for command in (compare, fit, predict, inspect):
    app.command()(command)
app.add_typer(papers, name="papers")


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"committee {version('committee')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line."""
    app()
