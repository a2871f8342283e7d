"""``committee papers``: a command per paper, with the parameters of its `rebuild` as options, and ``fetch``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import typer

from committee.cli.table_options import split_names
from committee.cli.terminal import (
    Debug,
    Progress,
    errors_in_one_line,
    notes_on_warnings,
    print_grids,
    progress_hook,
    say,
)
from committee.papers import PAPERS
from committee.papers.public_tables.fetch import fetch
from committee.papers.shared.options import DATA_VARIABLE, Names


def papers_app(papers: Mapping[str, str]) -> typer.Typer:
    """Return the group of commands that rebuild these papers: modules by name."""
    app = typer.Typer(
        add_completion=False,
        no_args_is_help=True,
        help="Rebuild the tables and figures of the papers and lecture notes behind it.",
    )
    for name, module in papers.items():
        app.command(name)(command_of(name, import_module(module).rebuild))
    app.command("fetch")(command_of("fetch", fetch, "tables"))
    return app


def command_of(name: str, rebuild: Callable[..., Any], steps: str = "fits") -> Callable[..., None]:
    """Return a command that asks for the parameters of `rebuild` that come with words for the help, and calls it.

    The progress counts what `steps` says.
    """
    taken = [p for p in inspect.signature(rebuild).parameters.values() if get_origin(p.annotation) is Annotated]
    of_names = {p.name for p in taken if get_args(p.annotation)[0] == Names}

    def command(progress: bool | None, debug: bool, **options: Any) -> None:
        chosen = {key: list(split_names(value)) or None if key in of_names else value for key, value in options.items()}
        with errors_in_one_line(debug, words=str), notes_on_warnings(), progress_hook(progress, steps) as hook:
            grids = rebuild(**chosen, progress=hook)
        print_grids(grids)
        say(f"written to {chosen['out']}")

    last: dict[str, Any] = {"out": Path(f"papers-{name}"), "progress": None, "debug": False}
    annotations = {p.name: _option(p) for p in sorted(taken, key=lambda p: p.name in last)}
    defaults = last | {p.name: p.default for p in taken if p.default is not p.empty}
    annotations |= {"progress": Progress, "debug": Debug}
    parameters = [
        inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=defaults.get(key), annotation=annotation)
        for key, annotation in annotations.items()
    ]
    vars(command)["__signature__"] = inspect.Signature(parameters)  # which typer reads in place of the function's own
    command.__annotations__ = annotations
    summary, *_ = (inspect.getdoc(rebuild) or "").split("\n\n")
    command.__doc__ = f"{summary}\n\nBroken off, the same command goes on where it stopped."
    return command


def _option(parameter: inspect.Parameter) -> Any:
    """The parameter's type with typer's option for it."""
    kind, words = get_args(parameter.annotation)[:2]
    if kind == Names:
        return Annotated[list[str] | None, typer.Option(metavar="A,B", help=words)]
    if parameter.name == "data":
        return Annotated[kind, typer.Option(envvar=DATA_VARIABLE, help=words)]
    return Annotated[kind, typer.Option(*([f"--{parameter.name}"] if kind is bool else []), help=words)]


app = papers_app(PAPERS)
