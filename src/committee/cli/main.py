"""The command line: all commands under one name, each imported when it is called."""

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

from committee.cli import print_version

COMMANDS = {
    "compare": "committee.cli.compare:compare",
    "fit": "committee.cli.fit:fit",
    "predict": "committee.cli.predict:predict",
    "evaluate": "committee.cli.reports:evaluate",
    "explain": "committee.cli.reports:explain",
    "inspect": "committee.cli.reports:inspect",
    "prune": "committee.cli.prune:prune",
    "margins": "committee.cli.margins:margins",
    "certify": "committee.cli.reports:certify",
    "convert": "committee.cli.convert:convert",
    "models": "committee.cli.reports:models",
    "papers": "committee.cli.papers:app",
}


class LazyCommands(Mapping[str, Any]):
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
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands: LazyCommands = LazyCommands()  # type: ignore[assignment]  # nothing is added to it


app = typer.Typer(
    cls=LazyGroup,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Voting ensembles for tabular data: compare, fit, evaluate, explain and prune models; reproduce papers.",
)


def _version(wanted: bool) -> None:
    if wanted:
        print_version()
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # characters that the encoding lacks must not end a command
            stream.reconfigure(errors="backslashreplace")
    if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _exit_on_signal)
    app()


def _exit_on_signal(number: int, _: FrameType | None) -> None:
    # an exception, unlike the signal, removes scratch folders and half-written files
    raise SystemExit(128 + number)
