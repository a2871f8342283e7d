"""Output of the command line: tables on stdout; notes, errors and progress on stderr."""

from __future__ import annotations

import os
import re
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from committee.data.packages import MissingExtraError
from committee.data.text import merge_alike, printable

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.progress import ProgressColumn

    from committee.report.comparison import Comparison
    from committee.report.crossvalidation import FoldResult
    from committee.report.page import Grid

Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]

INTERRUPTED = 130
"""Exit code after Ctrl-C, as in shells."""

PIPED_WIDTH = 100

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
_SET = re.compile(r"a (?:bool|str) among \{(.*?)\}")
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
    "Use model.without('second_layer'), or train": "Train",
    "cannot be converted: estimator is": "cannot be converted: it is",
    "it must be a fitted classifier.": "it must be a fitted classifier or regressor.",
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
    """Print an expected error as one red line, and exit with code 2."""
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


# --- progress --------------------------------------------------------------------------------------------

Hook: TypeAlias = "Callable[[int, int, str, FoldResult], None]"


def progress_console(wanted: bool | None) -> Console | None:
    terminal = console(stderr=True)
    return terminal if (terminal.is_terminal if wanted is None else wanted) else None


def completes_tenth(done: int, before: int, total: int) -> bool:
    return done * 10 // max(1, total) > before * 10 // max(1, total)


@contextmanager
def progress_hook(wanted: bool | None, steps: str) -> Iterator[Callable[[int, int, str], None] | None]:
    terminal = progress_console(wanted)
    if terminal is None:
        yield None
        return
    if not terminal.is_terminal:

        def line(done: int, total: int, model: str) -> None:
            if completes_tenth(done, done - 1, total):
                info(f"{done}/{total} {steps} done")

        yield line
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

    name = TextColumn("{task.fields[model]}", markup=False)
    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), name)
    with progress_bar(terminal, steps, *columns, model="") as update:
        yield lambda done, total, model: update(completed=done, total=total, model=printable(model))


@contextmanager
def progress_bar(
    terminal: Console, task: str, *columns: ProgressColumn, total: float | None = None, **fields: Any
) -> Iterator[Callable[..., None]]:
    # a bar that ends without a trace; stdout is left alone, as it may be a file of predictions
    from rich.progress import Progress, TextColumn

    with Progress(TextColumn(task), *columns, console=terminal, transient=True, redirect_stdout=False) as bar:
        yield partial(bar.update, bar.add_task("", total=total, **fields))


@contextmanager
def member_progress(learner: Any, *, wanted: bool | None) -> Iterator[None]:
    terminal = progress_console(wanted)
    if terminal is None:
        yield
        return
    from committee.learners.blend.training import MemberLines

    try:
        if terminal.is_terminal:
            with _member_bar(terminal) as callback:
                learner.set_callbacks(callback)
                yield
        else:
            learner.set_callbacks(MemberLines(info))
            yield
    finally:
        learner.set_callbacks()


@contextmanager
def _member_bar(terminal: Console) -> Iterator[Any]:
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn

    from committee.learners.blend.training import MemberLines, time_left_text

    class Bar(MemberLines):
        def moved(self, name: str) -> None:
            left = self.time_left
            update(completed=left.share, name=printable(name), left=f"{time_left_text(left)} left")

    fields = (TextColumn(f"{{task.fields[{name}]}}", markup=False) for name in ("left", "name"))
    columns = (BarColumn(), TaskProgressColumn(), *fields)
    with progress_bar(terminal, "training", *columns, total=1.0, name="", left="") as update:
        yield Bar(lambda line: terminal.print(printable(line), soft_wrap=True))


@contextmanager
def comparison_progress(wanted: bool | None, names: list[str], metric: str) -> Iterator[Hook | None]:
    terminal = progress_console(wanted)
    if terminal is None:
        yield None
    elif not terminal.is_terminal:
        start, fits = time.monotonic(), count(1)  # fits of this run, without those of a checkpoint

        def add(done: int, total: int, model: str, result: FoldResult) -> None:
            n = next(fits)
            if completes_tenth(done, done - 1, total):
                info(f"{done}/{total} fits done, {_times(start, n, total - done)}")

        yield add
    else:
        from rich.live import Live

        so_far = InterimResults(names, metric)
        with Live(console=terminal, transient=True, get_renderable=so_far.table, refresh_per_second=4):
            yield so_far.add


class InterimResults:
    def __init__(self, names: list[str], metric: str) -> None:
        self.metric = metric
        self.results: dict[str, list[FoldResult]] = {name: [] for name in names}
        self.done = 0
        self.total = 0
        self.start: float = time.monotonic()

    def add(self, done: int, total: int, model: str, result: FoldResult) -> None:
        self.done = done
        self.total = total
        self.results.setdefault(model, []).append(result)

    def table(self) -> RenderableType:
        import numpy as np
        from rich import box
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        from committee.report.metrics import known_metric

        shown = known_metric(self.metric)
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
        table.add_column("model", no_wrap=True)
        for heading in ("fits", shown.heading, "fit time (s)"):
            table.add_column(heading, justify="right", no_wrap=True)
        for name, results in self.results.items():
            values, seconds = (
                np.array([fold.figures[key] for fold in results if fold.figures.get(key) is not None], dtype=np.float64)
                for key in (self.metric, "fit_seconds")
            )
            failed = any(result.error is not None for result in results)
            score = "failed" if failed else shown.text(values) if values.size else ""
            median = f"{np.median(seconds):.2f}" if seconds.size else ""
            table.add_row(Text(printable(name)), str(len(results)), score, median)
        status = "comparing"
        if self.total:
            times = _times(self.start, sum(map(len, self.results.values())), self.total - self.done)
            status += f" {self.done}/{self.total} fits, {times}; Ctrl-C stops and reports the finished folds"
        return Group(table, Text(status))


def _times(start: float, done: int, left: int) -> str:
    elapsed = time.monotonic() - start
    return f"{_clock(elapsed)} elapsed, about {_clock(elapsed / done * left)} left"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02}"
