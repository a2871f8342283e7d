"""The cells of a run: those without a finished one in the journal are run, each is kept as soon as it is finished."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from committee.papers.shared.journal import Cell, Journal
from committee.papers.shared.options import Progress

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Key: TypeAlias = tuple[Any, ...]
T = TypeVar("T")


class Task(Protocol):
    """One cell to be run; picklable where several processes are used."""

    @property
    def key(self) -> Key:
        """Values that tell its cell from others."""

    def __call__(self) -> Cell:
        """Run it; the cell holds the values of the key among others."""


def finished_cells(
    path: Path,
    run: dict[str, Any],
    tasks: Sequence[Task],
    names: Sequence[str],
    *,
    digests: Mapping[str, str] | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
    label: Callable[[Cell], str] = lambda cell: cell["table"],
) -> dict[Key, Cell]:
    """Run the tasks that the journal has no cell of, each on one thread, and return the cells of all tasks.

    Parameters
    ----------
    path : Path
        The journal.
    run : dict
        What the cells depend on, see `Journal`; the version of committee is added.
    tasks : sequence of Task
        A whole run.
    names : sequence of str
        Names, in a cell, of the values of a task's key.
    digests : mapping of str to str, optional
        Of the tables by name: a journal with cells of another ``"digest"`` of a ``"table"`` is refused.
    jobs : int, default=1
        Processes.
    progress : callable, optional
        See `Progress`.
    label : callable, optional
        Names what a cell belongs to, for `progress`; its ``"table"`` by default.

    Returns
    -------
    dict of tuple to dict
        By key, in the order of the tasks.

    Raises
    ------
    ValueError
        If the journal is of another run or of other tables.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from dataclasses import dataclass
    >>> from committee.papers.shared.cells import finished_cells
    >>> @dataclass
    ... class Square:
    ...     key: tuple[int]
    ...
    ...     def __call__(self):
    ...         return {"table": "t", "number": self.key[0], "square": self.key[0] ** 2}
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "cells.jsonl"
    >>> cells = finished_cells(path, {}, [Square((2,)), Square((3,))], ["number"])
    >>> [cell["square"] for cell in cells.values()]
    [4, 9]
    """
    from joblib import Parallel, delayed

    def key_of(cell: Cell) -> Key:
        return tuple(cell[name] for name in names)

    with Journal(path, {**run, "committee": version("committee")}) as journal:
        _check_same_tables(journal, digests or {})
        cells = {key_of(cell): cell for cell in journal.cells}
        calls = [delayed(_on_one_thread)(task) for task in tasks if task.key not in cells]
        count = len(tasks) - len(calls)
        for cell in Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch="2*n_jobs")(calls):
            journal.append(cell)
            cells[key_of(cell)] = cell
            count += 1
            if progress is not None:
                progress(count, len(tasks), label(cell))
    return {task.key: cells[task.key] for task in tasks}


def journal_of(
    paper: str, plan: DataclassInstance, seed: int, out: Path, *, quick: bool
) -> tuple[Path, dict[str, Any]]:
    """Return the journal's path for a plan, quick or in full, and what its cells depend on."""
    return out / ("cells-quick.jsonl" if quick else "cells.jsonl"), {"paper": paper, **asdict(plan), "seed": seed}


def _check_same_tables(journal: Journal, digests: Mapping[str, str]) -> None:
    for cell in journal.cells if digests else ():
        if digests.get(cell["table"], cell["digest"]) != cell["digest"]:
            raise ValueError(
                f"{journal.path} holds cells of another table {cell['table']!r} than the one read now; give another"
                " folder with --out, or remove that file to begin anew"
            )


def _on_one_thread(task: Task) -> Cell:
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    with threadpool_limits(1):
        return task()


def timed(call: Callable[[], T]) -> tuple[T, float]:
    """Return what a call returns, and the seconds that it took."""
    start = time.perf_counter()
    found = call()
    return found, time.perf_counter() - start
