"""Which code a benchmark's figures and finished cells come from."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from committee.files.journal import Journal, code_digest


def code_of(module: str) -> str:
    """Digest of the code that the figures of a module depend on, by its ``__name__`` (or "__main__")."""
    spec = sys.modules[module].__spec__
    return code_digest(spec.name if spec else module)


def kept_cells(path: Path, run: dict[str, Any], module: str) -> Journal:
    """Return the journal of a module's cells, by its ``__name__``; those of other code are not taken from it."""
    code = code_of(module)
    return Journal(path, run, code=lambda _: code)
