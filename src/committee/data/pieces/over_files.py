"""Files whose pieces pass through somebody's hands on their way."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, eq=False)
class OverFiles:
    """Base of sources that make other pieces of those of files, and are like these in all else."""

    source: Any

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that are read."""
        files: tuple[Path, ...] = self.source.files
        return files

    @property
    def names(self) -> tuple[str, ...]:
        """Columns of the first file."""
        names: tuple[str, ...] = self.source.names
        return names

    @property
    def n_rows(self) -> int:
        """Rows of all files."""
        n_rows: int = self.source.n_rows
        return n_rows
