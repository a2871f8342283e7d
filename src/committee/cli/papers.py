"""``committee papers``: a command per paper, with the parameters of its `rebuild` as options, and ``fetch``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import typer

from committee.cli.options import Progress, split_names
from committee.cli.terminal import Debug, error_lines, info, notes_on_warnings, print_tables, progress_hook
from committee.papers import PAPERS
from committee.papers.public_tables.fetch import fetch
from committee.papers.shared.options import DATA_VARIABLE, Names


def papers_app(papers: Mapping[str, str]) -> typer.Typer:
    app = typer.Typer(
        add_completion=False,
        no_args_is_help=True,
        help="Reproduce the tables and figures of the papers and lecture notes that the methods come from.",
    )
    for name, module in papers.items():
        app.command(name)(paper_command(name, import_module(module).rebuild))
    app.command("fetch")(paper_command("fetch", fetch, "tables"))
    return app


def paper_command(name: str, rebuild: Callable[..., Any], steps: str = "fits") -> Callable[..., None]:
    """Return a command whose options are the annotated parameters of `rebuild`."""
    taken = [p for p in inspect.signature(rebuild).parameters.values() if get_origin(p.annotation) is Annotated]
    of_names = {p.name for p in taken if get_args(p.annotation)[0] == Names}

    def command(progress: bool | None, debug: bool, **options: Any) -> None:
        chosen = {key: list(split_names(value)) or None if key in of_names else value for key, value in options.items()}
        with error_lines(debug, words=str), notes_on_warnings(), progress_hook(progress, steps) as hook:
            grids = rebuild(**chosen, progress=hook)
        print_tables(grids)
        info(f"written to {chosen['out']}")

    last: dict[str, Any] = {"out": Path(f"papers-{name}"), "progress": None, "debug": False}
    annotations = {p.name: _option(p) for p in sorted(taken, key=lambda p: p.name in last)}
    defaults = last | {p.name: p.default for p in taken if p.default is not p.empty}
    annotations |= {"progress": Progress, "debug": Debug}
    parameters = [
        inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=defaults.get(key), annotation=annotation)
        for key, annotation in annotations.items()
    ]
    vars(command)["__signature__"] = inspect.Signature(parameters)  # which typer reads instead of the function's own
    command.__annotations__ = annotations
    summary, *_ = (inspect.getdoc(rebuild) or "").split("\n\n")
    command.__doc__ = f"{summary}\n\nAfter an interrupt, the same command resumes where it stopped."
    return command


def _option(parameter: inspect.Parameter) -> Any:
    kind, words = get_args(parameter.annotation)[:2]
    if kind == Names:
        return Annotated[list[str] | None, typer.Option(metavar="A,B", help=words)]
    if parameter.name == "data":
        return Annotated[kind, typer.Option(envvar=DATA_VARIABLE, help=words)]
    return Annotated[kind, typer.Option(*([f"--{parameter.name}"] if kind is bool else []), help=words)]


app = papers_app(PAPERS)
