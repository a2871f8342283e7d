"""Output of the command line: tables on stdout; notes, errors and progress on stderr."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from committee.data.packages import MissingExtraError
from committee.data.text import merge_alike, printable

if TYPE_CHECKING:
    from rich.console import Console

    from committee.report.comparison import Comparison
    from committee.report.page import Grid

Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]

INTERRUPTED = 130
"""Exit code after Ctrl-C, as in shells."""

PIPED_WIDTH = 100
"""Width of tables if the output is not a terminal and COLUMNS is not set."""

OPTIONS = {
    name: f"--{name.replace('_', '-')}"
    for name in (
        *("delta", "effort", "folds", "level", "max_loss", "max_nodes", "max_size", "max_voters", "metric"),
        *("min_gain", "objective", "on", "quantile", "repeats", "scratch", "task", "threshold", "time"),
        *("checkpoint", "memory_limit", "time_limit"),
    )
} | {"categorical_features": "--categorical"}
"""Options by the parameters of the library that they set."""

_VALUE = r"(?:'(?P<text>[^']*)'|(?P<plain>[\w.+-]*\w))"
_ARGUMENT = re.compile(rf"(?<![\w'(\[-])(?<!-p )(?P<name>[a-z]\w*)={_VALUE}")
_IN_BRACKETS = re.compile(rf"\((?P<name>[a-z]\w*)={_VALUE}\)")
_CALL = re.compile(r"\b([A-Z]\w+)\([^()]*\)")
_INVALID = re.compile(r"The '(?P<name>\w+)' parameter of \w+ must be (?P<wanted>.*?)\. Got (?P<value>.*?) instead\.")
_SUBJECT = re.compile(r"^(?P<name>[a-z]+_[a-z_]+|[a-z]+(?= is)) (?=must be |is [^;]*; it must be )")
_WITH_UNDERSCORE = re.compile(rf"(?<![\w.'-])({'|'.join(name for name in OPTIONS if '_' in name)})(?![\w=])")
_RANGE = re.compile(r"an? (?P<kind>int|float) in the range (?P<left>[\[(])(?P<low>\S+), (?P<high>\S+?)(?P<right>[\])])")
_SET = re.compile(r"a str among \{(.*?)\}")
_BOOL = re.compile(r"an instance of 'bool'((,| or) an instance of 'numpy.bool')?")

_PHRASES = {
    "drop names '": "--drop names '",
    "categorical names '": "--categorical names '",
    "numeric names '": "--exposure names '",
    "leave out groups=": "leave out --group",
    "groups holds one group only": "--group holds one group only",
    "leave groups out": "leave out --group",
    "leave out time=": "leave out --time",
    "y holds one class only": "the target holds one class only",
    " (rows of zero weight do not count)": "",
    ", and the attributes that describe a training are not set": "",
    "left_out_ names the others": "the table of members names the others",
    "is not among categorical_features; name it there": "was learned as numbers; name it by --categorical when fitting",
    "cannot be converted: estimator is": "cannot be converted: it is",
    "for which there is no adapter": "a kind that is not supported",
    "; for regressors use RegressionCommittee.from_estimator, and for other fitted classifiers EstimatorVoters": (
        ", and of regressors forests and boosters"
    ),
}


def with_options(text: str) -> str:
    for phrase, replacement in _PHRASES.items():
        text = re.sub(rf"(?<!-){re.escape(phrase)}", replacement, text)
    text = _CALL.sub(r"\1", text)
    text = _SUBJECT.sub(lambda found: f"{_option(found['name'])} ", text)
    text = _INVALID.sub(_invalid_parameter, text)
    text = _IN_BRACKETS.sub(lambda found: f"({_setting(found)})", text)
    return _WITH_UNDERSCORE.sub(lambda found: OPTIONS[found[1]], _ARGUMENT.sub(_setting, text))


def _option(name: str) -> str:
    return OPTIONS.get(name, f"-p {name}")


def _setting(found: re.Match[str]) -> str:
    value = found["plain"] if found["text"] is None else found["text"]
    return f"{_option(found['name'])}{' ' if found['name'] in OPTIONS else '='}{value}"


def _invalid_parameter(found: re.Match[str]) -> str:
    wanted = _RANGE.sub(_range, found["wanted"])
    wanted = _BOOL.sub("True or False", _SET.sub(_one_of, wanted))
    return f"{_option(found['name'])} must be {wanted}; got {found['value']}."


def _range(found: re.Match[str]) -> str:
    low = f">{'=' if found['left'] == '[' else ''} {found['low']}"
    high = f"<{'=' if found['right'] == ']' else ''} {found['high']}"
    ends = [end for end in (low, high) if not end.endswith("inf")]
    return " ".join(["a whole number" if found["kind"] == "int" else "a number", " and ".join(ends)]).rstrip()


def _one_of(found: re.Match[str]) -> str:
    values = sorted(found[1].split(", "))  # a set, whose order differs between runs
    return values[0] if len(values) == 1 else f"one of {', '.join(values)}"


def console(*, stderr: bool = False) -> Console:
    """Return a rich console that prints text as it is: no markup, no coloured numbers."""
    from rich.console import Console

    made = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not made.is_terminal and "COLUMNS" not in os.environ:
        made.width = PIPED_WIDTH
    return made


def info(text: str) -> None:
    console(stderr=True).print(printable(text), soft_wrap=True)


def note(text: str) -> None:
    console(stderr=True).print(f"note: {printable(text)}", style="yellow", soft_wrap=True)


def print_notes(texts: Iterable[str]) -> None:
    for text in merge_alike(texts):
        note(text)


def print_sentences(sentences: Iterable[str]) -> None:
    terminal = console()
    for sentence in sentences:
        terminal.print(printable(sentence), soft_wrap=True)


@contextmanager
def error_lines(debug: bool, *outputs: Path | None, words: Callable[[str], str] = with_options) -> Iterator[None]:
    """Print an expected error as one red line and exit with code 2; after Ctrl-C name the written `outputs`.

    `words` rewrites the messages of the library.
    """
    before = _file_states(outputs)
    try:
        yield
    except BrokenPipeError:
        raise  # the reader of a pipe has closed it, as `head` does; typer ends quietly
    except KeyboardInterrupt:
        if debug:
            raise
        written = [str(path) for path, state in _file_states(outputs).items() if state != before[path]]
        info(f"interrupted; written: {', '.join(written)}" if written else "interrupted; no file is written")
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


def _file_states(paths: Iterable[Path | None]) -> dict[Path, tuple[int, ...] | None]:
    found: dict[Path, tuple[int, ...] | None] = {}
    for path in paths:
        if path is not None:
            state = path.stat() if path.is_file() else None
            found[path] = None if state is None else (state.st_ino, state.st_mtime_ns, state.st_size)
    return found


@contextmanager
def notes_on_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = lambda message, *args, **kwargs: note(with_options(str(message)))
        yield


def print_tables(grids: list[Grid]) -> None:
    from committee.report.page import rich_tables

    terminal = console()
    for i, grid in enumerate(grids):
        if i:
            terminal.print()
        terminal.print(printable(grid.title), style="bold")
        for k, part in enumerate(rich_tables(grid, terminal.width)):
            if k:
                terminal.print()
            terminal.print(part)


def print_comparison(result: Comparison) -> None:
    from committee.report.comparison_tables import grids, model_warnings, parameters_set, table_sentence, verdict

    terminal = console()
    terminal.print(printable(table_sentence(result)))
    terminal.print()
    print_tables(grids(result))
    terminal.print()
    for sentence in verdict(result):
        terminal.print(printable(sentence), style="red" if " failed in " in sentence else None)
    for name, values in parameters_set(result):
        terminal.print(printable(f"Parameters of {name}: {values}."))
    for text in model_warnings(result):
        note(with_options(text))
