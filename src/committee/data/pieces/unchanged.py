"""Files as they were when they were first read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self


@dataclass(frozen=True)
class FileStates:
    """Sizes and times of files, by which a fit sees that one has changed between two passes.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "rows"
    >>> _ = path.write_bytes(b"1")
    >>> states = FileStates.of([path])
    >>> states.refuse_changes()
    >>> _ = path.write_bytes(b"12")
    >>> try:
    ...     states.refuse_changes()
    ... except ValueError as error:
    ...     "has changed since its rows were first read" in str(error)
    True
    """

    states: tuple[tuple[Path, int, int], ...]

    @classmethod
    def of(cls, files: Sequence[Path]) -> Self:
        """States of the files as they are."""
        return cls(tuple(map(_state, files)))

    def refuse_changes(self) -> None:
        """Raise if a file is gone, or has another size or time.

        Raises
        ------
        ValueError
            Naming it.
        """
        for path, size, time in self.states:
            try:
                same = _state(path) == (path, size, time)
            except OSError:
                same = False
            if not same:
                raise ValueError(
                    f"{str(path)!r} has changed since its rows were first read; fit again, on files that are left alone"
                )


def _state(path: Path) -> tuple[Path, int, int]:
    found = path.stat()
    return path, found.st_size, found.st_mtime_ns
