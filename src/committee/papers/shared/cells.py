"""The loop over the cells of a run: those that are open are run, each is kept as soon as it is finished."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Protocol, TypeVar

from committee.papers.shared.journal import Cell, Journal

Progress = Callable[[int, int, str], None]
"""Called with cells done, cells in all and the name of the table."""


class Keyed(Protocol):
    """What is to be run, by what its cell is found."""

    @property
    def key(self) -> Hashable:
        """The same as that of its finished cell."""


T = TypeVar("T", bound=Keyed)


def finished(
    journal: Journal,
    tasks: Sequence[T],
    run_cell: Callable[[T], Cell],
    key_of: Callable[[Cell], Hashable],
    *,
    jobs: int = 1,
    progress: Progress | None = None,
) -> list[Cell]:
    """All cells of a journal, once those tasks are run that it has no cell of.

    Parameters
    ----------
    journal : Journal
        Takes every cell as it is finished.
    tasks : sequence
        What a whole run consists of; with ``jobs`` above 1 they and what `run_cell` returns must be picklable.
    run_cell : callable
        Runs one task. The cell names its ``"table"``.
    key_of : callable
        The key of a finished cell.
    jobs : int, default=1
        Processes.
    progress : callable, default=None
        See `Progress`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from dataclasses import dataclass
    >>> from committee.papers.shared.cells import finished
    >>> from committee.papers.shared.journal import Journal
    >>> @dataclass
    ... class Square:
    ...     key: int
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "cells.jsonl"
    >>> with Journal(path, {}) as journal:
    ...     journal.append({"table": "t", "number": 2, "square": 4})
    ...     cells = finished(
    ...         journal,
    ...         [Square(2), Square(3)],
    ...         lambda task: {"table": "t", "number": task.key, "square": task.key**2},
    ...         lambda cell: cell["number"],
    ...     )
    >>> [cell["square"] for cell in cells]
    [4, 9]
    """
    from joblib import Parallel, delayed

    done = {key_of(cell) for cell in journal.cells}
    open_ = [task for task in tasks if task.key not in done]
    count = len(tasks) - len(open_)
    calls = (delayed(run_cell)(task) for task in open_)
    for cell in Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch="2*n_jobs")(calls):
        journal.append(cell)
        count += 1
        if progress is not None:
            progress(count, len(tasks), cell["table"])
    return journal.cells


def check_same_tables(journal: Journal, digests: Mapping[str, str]) -> None:
    """Refuse a journal whose cells are of other tables than those read now.

    Parameters
    ----------
    journal : Journal
        Its cells have a ``"table"`` and a ``"digest"``.
    digests : mapping of str to str
        Of the tables by name; cells of others are not looked at.

    Raises
    ------
    ValueError
        Naming the first such table.
    """
    for cell in journal.cells:
        if digests.get(cell["table"], cell["digest"]) != cell["digest"]:
            raise ValueError(
                f"{journal.path} holds cells of another table {cell['table']!r} than the one read now; give another"
                " folder with --out, or remove that file to begin anew"
            )
