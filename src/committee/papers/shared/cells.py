"""Cells of a run, kept in a journal, and the tasks that compute those that are missing."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from committee.data.parallel import completed_results
from committee.files.journal import Cell, Journal, code_digest
from committee.papers.shared.options import Progress

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Key: TypeAlias = tuple[Any, ...]
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Task:
    """Computation of one cell (one measured result) of a run."""

    place: dict[str, Any]
    """Names and values that identify the cell, and perhaps the "digest" of its "table"."""
    run: Callable[[], Cell]
    label: str | None = None  # shown with the progress; by default its "table", or its "name" up to a colon

    @property
    def key(self) -> Key:
        return key_of(self.place, self.place)

    @property
    def code(self) -> str:
        run = self.run
        while isinstance(run, partial):
            run = run.func
        return code_digest(run.__module__)

    def __call__(self) -> Cell:
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1):
            return {**self.place, **self.run()}


def key_of(cell: Cell, place: Mapping[str, Any]) -> Key:
    return tuple(cell[name] for name in place if name != "digest")


def finished_cells(
    path: Path, run: dict[str, Any], tasks: Sequence[Task], *, jobs: int = 1, progress: Progress | None = None
) -> dict[Key, Cell]:
    """Run the tasks whose cells are not in the journal, and return the cells of all tasks by key."""
    from joblib import delayed

    place, codes = tasks[0].place, {task.key: task.code for task in tasks}

    def code(cell: Cell) -> str | None:
        return codes.get(key_of(cell, place))

    with Journal(path, run, elsewhere="give another folder with --out", code=code) as journal:
        if "digest" in place:
            _check_same_tables(journal, {task.place["table"]: task.place["digest"] for task in tasks})
        cells = {key_of(cell, place): cell for cell in journal.cells}
        if stale := {key_of(cell, place) for cell in journal.stale} & codes.keys() - cells.keys():
            of = f"{len(stale)} of the {len(tasks)} cells in {path}"
            warnings.warn(f"{of} were computed by other code; they are run again", stacklevel=2)
        labels = {task.key: task.label or str(task.place.get("table", task.key[0])).partition(":")[0] for task in tasks}
        calls = [delayed(task)() for task in tasks if task.key not in cells]
        count = len(tasks) - len(calls)
        with completed_results(calls, jobs) as finished:
            for cell in finished:
                journal.append(cell)
                cells[key := key_of(cell, place)] = cell
                count += 1
                if progress is not None:
                    progress(count, len(tasks), labels[key])
    return {task.key: cells[task.key] for task in tasks}


def _check_same_tables(journal: Journal, digests: Mapping[str, str]) -> None:
    for cell in journal.cells:
        if digests.get(cell["table"], cell["digest"]) != cell["digest"]:
            raise ValueError(
                f"{journal.path} holds cells of another table {cell['table']!r} than the one read now; give another"
                " folder with --out, or remove that file to begin anew"
            )


def journal_of(
    paper: str, plan: DataclassInstance, seed: int, out: Path, *, quick: bool, small: bool = False
) -> tuple[Path, dict[str, Any]]:
    name = "cells-small.jsonl" if small else "cells-quick.jsonl" if quick else "cells.jsonl"
    return out / name, {"paper": paper, **asdict(plan), "seed": seed}


def timed(call: Callable[[], T]) -> tuple[T, float]:
    start = time.perf_counter()
    found = call()
    return found, time.perf_counter() - start
