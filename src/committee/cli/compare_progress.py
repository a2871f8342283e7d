"""Progress of `committee compare`: a live table on a terminal, elsewhere a line for each tenth of the fits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from committee.cli.terminal import console, say
from committee.data.text import printable
from committee.report.metric_choice import known_metric

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from committee.report.crossvalidation import FoldResult

Hook: TypeAlias = "Callable[[int, int, str, FoldResult], None]"


@contextmanager
def comparison_progress(wanted: bool | None, names: list[str], metric: str) -> Iterator[Hook | None]:
    """Yield the callback that shows progress after every fit, or None if progress is off."""
    terminal = console(stderr=True)
    if wanted is False or (wanted is None and not terminal.is_terminal):
        yield None
    elif terminal.is_terminal:
        with _live(terminal, names, metric) as hook:
            yield hook
    else:
        yield Lines().add


class Lines:
    """Progress as plain lines, one for each tenth of the fits."""

    def __init__(self) -> None:
        self.start = time.monotonic()
        self.fits = 0
        """Fits of this run, without those of a checkpoint."""

    def add(self, done: int, total: int, model: str, result: FoldResult) -> None:
        """Print a line if this fit completes a tenth of all."""
        self.fits += 1
        if done * 10 // total > (done - 1) * 10 // total:
            say(f"{done}/{total} fits done, {_times(self.start, self.fits, total - done)}")


@contextmanager
def _live(terminal: Console, names: list[str], metric: str) -> Iterator[Hook]:
    from rich.live import Live

    so_far = SoFar(names, metric)
    with Live(console=terminal, transient=True, get_renderable=so_far.table, refresh_per_second=4):
        yield so_far.add


class SoFar:
    """Results of the fits that have ended, and the table that shows them."""

    def __init__(self, names: list[str], metric: str) -> None:
        self.metric = metric
        self.results: dict[str, list[FoldResult]] = {name: [] for name in names}
        self.done = 0
        self.total = 0
        self.start: float = time.monotonic()

    def add(self, done: int, total: int, model: str, result: FoldResult) -> None:
        """Take one more result."""
        self.done = done
        self.total = total
        self.results.setdefault(model, []).append(result)

    def table(self) -> RenderableType:
        """The table as it is now."""
        from rich import box
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        shown = known_metric(self.metric)
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
        table.add_column("model", no_wrap=True)
        for heading in ("fits", shown.heading, "fit time (s)"):
            table.add_column(heading, justify="right", no_wrap=True)
        for name, results in self.results.items():
            values = _figures(results, self.metric)
            seconds = _figures(results, "fit_seconds")
            failed = any(result.error is not None for result in results)
            score = "failed" if failed else shown.text(values) if values.size else ""
            told = f"{np.median(seconds):.2f}" if seconds.size else ""
            table.add_row(Text(printable(name)), str(len(results)), score, told)
        return Group(table, Text(self._time()))

    def _time(self) -> str:
        if not self.total:
            return "comparing"
        times = _times(self.start, sum(map(len, self.results.values())), self.total - self.done)
        return f"comparing {self.done}/{self.total} fits, {times}; Ctrl-C stops and reports the finished folds"


def _times(start: float, done: int, left: int) -> str:
    """Time since the start, and the time that the remaining fits take if they are as long as those done."""
    elapsed = time.monotonic() - start
    return f"{_clock(elapsed)} elapsed, about {_clock(elapsed / done * left)} left"


def _figures(results: list[FoldResult], name: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    values = [value for result in results if (value := result.figures.get(name)) is not None]
    return np.array(values, dtype=np.float64)


def _clock(seconds: float) -> str:
    """Minutes and seconds.

    Examples
    --------
    >>> _clock(75.2)
    '1:15'
    """
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02}"
