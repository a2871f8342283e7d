"""Progress of passes over tables in pieces: a bar on a terminal, else - if wanted - a line for every tenth."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING, Any

from committee.cli.terminal import console
from committee.data.out_of_core.sources import DerivedFiles

if TYPE_CHECKING:
    from committee.data.out_of_core.scan import Pieces
    from committee.data.out_of_core.sources import Piece


def watched(pieces: Pieces, words: str, *, wanted: bool | None, bar: bool = True) -> Pieces:
    """Return the pieces with passes that are shown on stderr.

    Parameters
    ----------
    pieces : Pieces
        Files.
    words : str
        What a pass is for.
    wanted : bool or None
        Whether to show them; None: if stderr is a terminal.
    bar : bool, default=True
        Whether a bar may be drawn; else there are lines alone.
    """
    terminal = console(stderr=True).is_terminal
    if not (terminal if wanted is None else wanted):
        return pieces
    return replace(pieces, source=WatchedFiles(pieces.source, words, _bar if terminal and bar else _lines))


@dataclass(frozen=True, eq=False)
class WatchedFiles(DerivedFiles):
    """Files whose passes are numbered and shown."""

    words: str
    shown: Callable[[str, int], Any]
    passes: Iterator[int] = field(default_factory=lambda: count(1))

    def pieces(self, columns: Sequence[str] | None) -> Iterator[Piece]:
        """Rows of one file after the other."""
        with self.shown(f"{self.words}, pass {next(self.passes)}", self.n_rows) as advance:
            rows = 0
            for piece in self.source.pieces(columns):
                yield piece
                before, rows = rows, rows + len(piece)
                advance(before, rows)


@contextmanager
def _lines(words: str, total: int) -> Iterator[Callable[[int, int], None]]:
    def advance(before: int, rows: int) -> None:
        if rows * 10 // max(1, total) > before * 10 // max(1, total):
            # by sys.stderr itself, in whose place a bar that is being drawn puts lines above it
            print(f"{words}: {rows:,} of {total:,} rows", file=sys.stderr, flush=True)

    yield advance


@contextmanager
def _bar(words: str, total: int) -> Iterator[Callable[[int, int], None]]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(words), BarColumn(), MofNCompleteColumn(), TextColumn("rows"), TimeRemainingColumn())
    # stdout may be a file that predictions go to
    with Progress(*columns, console=console(stderr=True), transient=True, redirect_stdout=False) as bar:
        task = bar.add_task("", total=total)
        yield lambda before, rows: bar.update(task, completed=rows)
