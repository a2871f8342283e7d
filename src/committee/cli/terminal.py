"""Output of the command line: tables on stdout; notes, errors and progress on stderr."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from committee.cli.spoken import in_options
from committee.data.packages import MissingExtraError
from committee.data.text import printable

if TYPE_CHECKING:
    from rich.console import Console

    from committee.report.comparison import Comparison
    from committee.report.grid import Grid

Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Progress = Annotated[bool | None, typer.Option("--progress/--no-progress", help="By default if stderr is a terminal.")]

INTERRUPTED = 130
"""Exit code of what Ctrl-C has ended, as shells have it."""

PIPED_WIDTH = 100
"""Width of tables when the output is no terminal and COLUMNS does not say."""


def console(*, stderr: bool = False) -> Console:
    """A rich console that takes text as it is: no markup, no colouring of numbers."""
    from rich.console import Console

    made = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not made.is_terminal and "COLUMNS" not in os.environ:
        made.width = PIPED_WIDTH
    return made


def say(text: str) -> None:
    """Say one line on stderr, which leaves stdout to tables and predictions."""
    console(stderr=True).print(printable(text), soft_wrap=True)


def note(text: str) -> None:
    """Point something out that is no error."""
    console(stderr=True).print(f"note: {printable(text)}", style="yellow", soft_wrap=True)


def say_notes(texts: Iterable[str]) -> None:
    """Point out several things, each once."""
    for text in dict.fromkeys(texts):
        note(text)


@contextmanager
def errors_in_one_line(debug: bool, *outputs: Path | None, words: Callable[[str], str] = in_options) -> Iterator[None]:
    """Turn expected errors into one red line and exit code 2, and Ctrl-C into what it has left of `outputs`.

    `words` makes what the library says that of the command line.
    """
    before = _states(outputs)
    try:
        yield
    except BrokenPipeError:
        raise  # the reader of a pipe went away, as `head` does; typer ends quietly
    except KeyboardInterrupt:
        if debug:
            raise
        say(words_of_interrupt([path for path, state in _states(outputs).items() if state != before[path]]))
        raise typer.Exit(INTERRUPTED) from None
    except (ValueError, OSError, MissingExtraError) as error:
        if debug:
            raise
        if isinstance(error, OSError) and error.strerror:
            text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
        else:
            text = words(str(error))
        console(stderr=True).print("error: " + printable(" ".join(text.split())), style="red", soft_wrap=True)
        raise typer.Exit(2) from None


def _states(paths: Iterable[Path | None]) -> dict[Path, tuple[int, ...] | None]:
    """What tells whether files have been written since."""
    found: dict[Path, tuple[int, ...] | None] = {}
    for path in paths:
        if path is not None:
            state = path.stat() if path.is_file() else None
            found[path] = None if state is None else (state.st_ino, state.st_mtime_ns, state.st_size)
    return found


def words_of_interrupt(written: Sequence[Path]) -> str:
    """What is said after Ctrl-C.

    Examples
    --------
    >>> from pathlib import Path
    >>> words_of_interrupt([]), words_of_interrupt([Path("a.json")])
    ('interrupted; no file is written', 'interrupted; written is a.json')
    """
    return f"interrupted; written is {', '.join(map(str, written))}" if written else "interrupted; no file is written"


@contextmanager
def notes_on_warnings() -> Iterator[None]:
    """Show warnings as notes, without the source line that Python adds."""
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = lambda message, *args, **kwargs: note(in_options(str(message)))
        yield


@contextmanager
def progress_hook(wanted: bool | None, steps: str = "fits") -> Iterator[Callable[[int, int, str], None] | None]:
    """Progress on stderr: a bar on a terminal, else - if wanted - a line for every tenth of the work."""
    terminal = console(stderr=True)
    if wanted is False or (wanted is None and not terminal.is_terminal):
        yield None
    elif terminal.is_terminal:
        with _bar(terminal, steps) as advance:
            yield advance
    else:
        yield partial(_line, steps)


def _line(steps: str, done: int, total: int, model: str) -> None:
    if done * 10 // total > (done - 1) * 10 // total:
        say(f"{done}/{total} {steps} done")


@contextmanager
def _bar(terminal: Console, steps: str) -> Iterator[Callable[[int, int, str], None]]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn(steps),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[model]}", markup=False),
    )
    with Progress(*columns, console=terminal, transient=True) as bar:
        task = bar.add_task("", total=None, model="")

        def advance(done: int, total: int, model: str) -> None:
            bar.update(task, completed=done, total=total, model=printable(model))

        yield advance


def print_grids(grids: list[Grid]) -> None:
    """Print tables one below the other; headings only where a table has some."""
    from committee.report.grid import rich_table

    terminal = console()
    for i, grid in enumerate(grids):
        if i:
            terminal.print()
        terminal.print(printable(grid.title), style="bold")
        terminal.print(rich_table(grid, terminal.width))


def print_comparison(result: Comparison) -> None:
    """Print a comparison: what on, the tables, the verdict, and what the models warned of."""
    from committee.report.tables import grids, parameters_set, table_sentence
    from committee.report.verdict import verdict

    terminal = console()
    terminal.print(printable(table_sentence(result)))
    terminal.print()
    print_grids(grids(result))
    terminal.print()
    for sentence in verdict(result):
        terminal.print(printable(sentence), style="red" if " failed in " in sentence else None)
    for name, values in parameters_set(result):
        terminal.print(printable(f"Parameters of {name}: {values}."))
    for model in result.models:
        for text in model.warnings:
            note(f"{model.name} warned: {in_options(text)}")
