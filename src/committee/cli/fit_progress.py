"""Progress of `committee fit`: a line for each candidate, and on a terminal a bar below."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from committee.cli.terminal import console, say
from committee.data.text import printable

if TYPE_CHECKING:
    from rich.console import Console


@contextmanager
def member_progress(learner: Any, *, wanted: bool | None) -> Iterator[None]:
    """Tell of the candidates of a committee of ensembles as they are trained; None: if stderr is a terminal."""
    terminal = console(stderr=True)
    if not (terminal.is_terminal if wanted is None else wanted):
        yield
        return
    from committee.learners.blend.progress import MemberLines

    try:
        if terminal.is_terminal:
            with _bar(terminal) as callback:
                learner.set_callbacks(callback)
                yield
        else:
            learner.set_callbacks(MemberLines(say))
            yield
    finally:
        learner.set_callbacks()


@contextmanager
def _bar(terminal: Console) -> Iterator[Any]:
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    from committee.learners.blend.progress import MemberLines, time_left_text

    class Bar(MemberLines):
        """Moves with every candidate and every one of its fits."""

        def moved(self, name: str) -> None:
            left = self.time_left
            bar.update(task, completed=left.share, name=printable(name), left=f"{time_left_text(left)} left")

    columns = (
        TextColumn("training"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[left]}", markup=False),
        TextColumn("{task.fields[name]}", markup=False),
    )
    with Progress(*columns, console=terminal, transient=True) as bar:
        task = bar.add_task("", total=1.0, name="", left="")
        yield Bar(lambda line: terminal.print(printable(line), soft_wrap=True))
