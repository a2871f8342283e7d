"""Where a fit puts arrays that are as long as the table: in memory, or in files of its scratch folder."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

_ZEROS = 2**20
"""Bytes written at a time where the system cannot reserve room."""


@dataclass(eq=False)
class Storage:
    """Arrays of one fit.

    Parameters
    ----------
    memory_limit : float or None
        Most bytes of bin numbers in memory; None: any.
    folder : callable
        Makes the scratch folder when it is first needed, and returns it.
    """

    memory_limit: float | None
    folder: Callable[[], Path]
    _files: list[Path] = field(default_factory=list)

    def codes(self, shape: tuple[int, int], dtype: DTypeLike) -> NDArray[Any]:
        """Return an array for bin numbers: in memory if the limit allows it."""
        size = shape[0] * shape[1] * np.dtype(dtype).itemsize
        if self.memory_limit is None or size <= self.memory_limit:
            return np.empty(shape, dtype)
        return self.mapped("codes", shape, dtype)

    def mapped(self, what: str, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """Return an array that is a file of the scratch folder.

        Raises
        ------
        OSError
            If the disk has no room for it.
        """
        path = self.folder() / f"{what}-{len(self._files)}"
        self._files.append(path)
        size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        try:
            _take_room(path, size)
            array: NDArray[Any] = np.memmap(path, dtype, "r+", shape=shape)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise
            raise OSError(
                error.errno,
                f"no room for {size:,} bytes of {what} in the scratch folder; free some, or choose a folder on another "
                f"disk by scan(..., scratch=...): {error.strerror}",
                str(path),
            ) from error
        return array


def _take_room(path: Path, size: int) -> None:
    """Make a file of zeros. A full disk says so here; once the file is mapped, it would end the process."""
    with path.open("wb") as file:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)
            return
        for first in range(0, size, _ZEROS):
            file.write(bytes(min(_ZEROS, size - first)))
