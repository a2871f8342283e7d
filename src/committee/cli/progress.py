"""Progress on stderr: bars on a terminal, lines elsewhere on request."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias

from committee.cli.terminal import console, info
from committee.data.out_of_core.sources import DerivedFiles
from committee.data.text import printable

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.progress import ProgressColumn

    from committee.data.out_of_core.scan import Pieces
    from committee.data.out_of_core.sources import Piece
    from committee.report.crossvalidation import FoldResult

Hook: TypeAlias = "Callable[[int, int, str, FoldResult], None]"


def _shown(terminal: Console, wanted: bool | None) -> bool:
    return terminal.is_terminal if wanted is None else wanted


def _completes_tenth(done: int, before: int, total: int) -> bool:
    return done * 10 // max(1, total) > before * 10 // max(1, total)


@contextmanager
def progress_hook(wanted: bool | None, steps: str) -> Iterator[Callable[[int, int, str], None] | None]:
    """Yield a callback ``(done, total, model)`` that shows progress, or `None` if progress is off."""
    terminal = console(stderr=True)
    if not _shown(terminal, wanted):
        yield None
        return
    if not terminal.is_terminal:

        def line(done: int, total: int, model: str) -> None:
            if _completes_tenth(done, done - 1, total):
                info(f"{done}/{total} {steps} done")

        yield line
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

    name = TextColumn("{task.fields[model]}", markup=False)
    with _bar(terminal, steps, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), name, model="") as update:
        yield lambda done, total, model: update(completed=done, total=total, model=printable(model))


@contextmanager
def _bar(
    terminal: Console, task: str, *columns: ProgressColumn, total: float | None = None, **fields: Any
) -> Iterator[Callable[..., None]]:
    # a bar that ends without a trace; stdout is left alone, as it may be a file of predictions
    from rich.progress import Progress, TextColumn

    with Progress(TextColumn(task), *columns, console=terminal, transient=True, redirect_stdout=False) as bar:
        yield partial(bar.update, bar.add_task("", total=total, **fields))


def with_progress(pieces: Pieces, task: str, *, wanted: bool | None, bar: bool = True) -> Pieces:
    terminal = console(stderr=True)
    if not _shown(terminal, wanted):
        return pieces
    return replace(pieces, source=FilesWithProgress(pieces.source, task, terminal.is_terminal and bar))


@dataclass(frozen=True, eq=False)
class FilesWithProgress(DerivedFiles):
    task: str
    bar: bool
    passes: Iterator[int] = field(default_factory=lambda: count(1))

    def pieces(self, columns: Sequence[str] | None) -> Iterator[Piece]:
        shown = _row_bar if self.bar else _row_lines
        with shown(f"{self.task}, pass {next(self.passes)}", self.n_rows) as advance:
            rows = 0
            for piece in self.source.pieces(columns):
                yield piece
                before, rows = rows, rows + len(piece)
                advance(before, rows)


@contextmanager
def _row_lines(task: str, total: int) -> Iterator[Callable[[int, int], None]]:
    def advance(before: int, rows: int) -> None:
        if _completes_tenth(rows, before, total):
            # on sys.stderr itself, which a bar replaces to print lines above itself
            print(f"{task}: {rows:,} of {total:,} rows", file=sys.stderr, flush=True)

    yield advance


@contextmanager
def _row_bar(task: str, total: int) -> Iterator[Callable[[int, int], None]]:
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("rows"), TimeRemainingColumn())
    with _bar(console(stderr=True), task, *columns, total=total) as update:
        yield lambda before, rows: update(completed=rows)


@contextmanager
def member_progress(learner: Any, *, wanted: bool | None) -> Iterator[None]:
    terminal = console(stderr=True)
    if not _shown(terminal, wanted):
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

    columns = [TextColumn(f"{{task.fields[{name}]}}", markup=False) for name in ("left", "name")]
    with _bar(terminal, "training", BarColumn(), TaskProgressColumn(), *columns, total=1.0, name="", left="") as update:
        yield Bar(lambda line: terminal.print(printable(line), soft_wrap=True))


@contextmanager
def comparison_progress(wanted: bool | None, names: list[str], metric: str) -> Iterator[Hook | None]:
    terminal = console(stderr=True)
    if not _shown(terminal, wanted):
        yield None
    elif not terminal.is_terminal:
        yield _fit_lines()
    else:
        from rich.live import Live

        so_far = InterimResults(names, metric)
        with Live(console=terminal, transient=True, get_renderable=so_far.table, refresh_per_second=4):
            yield so_far.add


def _fit_lines() -> Hook:
    start, fits = time.monotonic(), count(1)  # fits of this run, without those of a checkpoint

    def add(done: int, total: int, model: str, result: FoldResult) -> None:
        n = next(fits)
        if _completes_tenth(done, done - 1, total):
            info(f"{done}/{total} fits done, {_times(start, n, total - done)}")

    return add


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
        return Group(table, Text(self._status()))

    def _status(self) -> str:
        if not self.total:
            return "comparing"
        times = _times(self.start, sum(map(len, self.results.values())), self.total - self.done)
        return f"comparing {self.done}/{self.total} fits, {times}; Ctrl-C stops and reports the finished folds"


def _times(start: float, done: int, left: int) -> str:
    elapsed = time.monotonic() - start
    return f"{_clock(elapsed)} elapsed, about {_clock(elapsed / done * left)} left"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02}"
