"""The command line: the commands of `committee.cli` under one name.

A command is imported when it is called, and all that it needs inside it, so that ``committee --help`` answers at once.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator, Mapping
from io import TextIOWrapper
from pkgutil import resolve_name
from types import FrameType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

COMMANDS = {
    "compare": "committee.cli.compare:compare",
    "fit": "committee.cli.fit:fit",
    "predict": "committee.cli.predict:predict",
    "evaluate": "committee.cli.evaluate:evaluate",
    "explain": "committee.cli.explain:explain",
    "inspect": "committee.cli.inspect:inspect",
    "prune": "committee.cli.prune:prune",
    "margins": "committee.cli.margins:margins",
    "certify": "committee.cli.certify:certify",
    "convert": "committee.cli.convert:convert",
    "papers": "committee.cli.papers:app",
}
"""Functions, or groups of commands, by the name of the command."""


class LazyCommands(Mapping[str, Any]):
    """The commands of `COMMANDS`, each imported when it is looked up."""

    def __getitem__(self, name: str) -> Any:
        found = resolve_name(COMMANDS[name])
        if not isinstance(found, typer.Typer):
            alone = typer.Typer(add_completion=False)
            alone.command()(found)
            found = alone
        command = typer.main.get_command(found)
        command.name = name
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class LazyGroup(TyperGroup):
    """The group of these commands."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands: LazyCommands = LazyCommands()  # type: ignore[assignment]  # nothing is added to it


app = typer.Typer(
    cls=LazyGroup,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Voting ensembles for tabular data: models compared, fitted, judged, explained, made smaller; papers rebuilt.",
)


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
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # characters that its encoding lacks end no command
            stream.reconfigure(errors="backslashreplace")
    if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _ended)
    app()


def _ended(number: int, _: FrameType | None) -> None:
    """End as after an error, which removes scratch folders and files that are half written."""
    raise SystemExit(128 + number)
