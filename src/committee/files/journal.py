"""A file of finished cells, so that a long run that breaks off goes on where it stopped."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from committee.files.replacement import check_replaceable, lock

Cell: TypeAlias = dict[str, Any]
"""Numbers of one cell, as JSON can hold them."""

_BEGINNING = b'{"run": '
"""Of every journal; a file that does not begin so, or as a part of it, is somebody else's."""


class Journal:
    """Finished cells of one run, a line of JSON each, below a first line that says what run they belong to.

    Every line is on the disk before `append` returns. A last line that an interruption cut short is dropped.
    One run at a time writes to it; another one gets ValueError.
    The file and its folder are made if they are not there; `cells` are all finished ones, oldest first.

    The run is all that the cells depend on, as JSON values: settings, seed, version. Cells are never added to those of
    another run: a file that holds such, or is no such file, raises ValueError, which names the settings that differ
    and, in the words of `elsewhere`, how to choose another file.

    With `code`, which gives the digest of the code that a cell depends on (see `code_digest`), each line keeps that of
    its cell. Cells that other code has made stay in the file, but are `stale` and not among the `cells`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from committee.files.journal import Journal
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "cells.jsonl"
    >>> with Journal(path, {"seed": 0}) as journal:
    ...     journal.append({"table": "iris", "fold": 0, "accuracy": 1.0})
    >>> with Journal(path, {"seed": 0}) as journal:
    ...     journal.cells
    [{'table': 'iris', 'fold': 0, 'accuracy': 1.0}]
    """

    def __init__(
        self,
        path: Path,
        run: dict[str, Any],
        elsewhere: str = "name another file",
        *,
        code: Callable[[Cell], str | None] | None = None,
    ) -> None:
        self.path: Path = path
        self._elsewhere = elsewhere
        self.run: dict[str, Any] = run
        self._code = code
        self.cells: list[Cell] = []
        self.stale: list[Cell] = []
        path.parent.mkdir(parents=True, exist_ok=True)
        check_replaceable(path)
        self._file = path.open("a+b")
        try:
            self._lock()
            self._file.seek(0)
            kept = self._read(self._file.read())
            self._file.truncate(kept)
            if kept == 0:
                self._write({"run": run})
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def append(self, cell: Cell) -> None:
        """Add a finished cell, and see it onto the disk."""
        self._write(cell if self._code is None else {"code": self._code(cell), **cell})
        self.cells.append(cell)

    def _lock(self) -> None:
        try:
            lock(self._file.fileno())
        except BlockingIOError as error:
            raise ValueError(
                f"another run is writing its cells to {self.path}; wait until it ends, or {self._elsewhere}"
            ) from error
        except OSError:
            pass  # a file system without locks; cells are appended there all the same

    def _write(self, values: dict[str, Any]) -> None:
        self._file.write(json.dumps(values, allow_nan=False).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def _read(self, content: bytes) -> int:
        """Take over the cells of the file; the number of its bytes that are whole lines."""
        *lines, rest = content.split(b"\n")
        if not lines and not _BEGINNING.startswith(rest[: len(_BEGINNING)]):
            raise self._no_cell(1)
        for number, line in enumerate(lines, start=1):
            try:
                values = json.loads(line)
            except ValueError:
                values = None
            if not isinstance(values, dict) or (number == 1 and not isinstance(values.get("run"), dict)):
                raise self._no_cell(number)
            if number == 1:
                self._same_run(values["run"])
            elif self._code is None or values.pop("code", None) == self._code(values):
                self.cells.append(values)
            else:
                self.stale.append(values)
        return sum(len(line) + 1 for line in lines)

    def _no_cell(self, number: int) -> ValueError:
        return ValueError(f"line {number} of {self.path} is no finished cell; move the file away or mend it")

    def _same_run(self, found: dict[str, Any]) -> None:
        here = json.loads(json.dumps(self.run))
        other = [name for name in {**found, **here} if found.get(name) != here.get(name)]
        if other:
            name = other[0]
            raise ValueError(
                f"{self.path} holds the cells of another run, with {name}={found.get(name)!r} instead of"
                f" {here.get(name)!r}; {self._elsewhere}, or remove that file to begin anew"
            )
