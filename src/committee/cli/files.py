"""Files of commands: models that they read, and files that they write, refused early and moved into place whole."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any


def load_learner(path: Path) -> Any:
    """Load a model with the learner that made it, as commands need it; ``ValueError`` for a committee alone."""
    from committee import load

    model = load(path)
    if not hasattr(model, "committee_"):
        raise ValueError(
            f"{path} holds a {type(model).__name__} alone, and commands take a learner with its parameters, as fit "
            "writes it; load it in Python with committee.load"
        )
    return model


def check_writable(*paths: Path | None) -> None:
    """Refuse a place that cannot be written before the work that would be lost."""
    for path in paths:
        if path is None:
            continue
        if path.is_dir():
            raise ValueError(f"{path} is a folder; give the name of a file")
        folder = path.parent
        if not folder.is_dir():
            raise ValueError(f"{path} cannot be written: there is no folder {folder}")
        if not os.access(folder, os.W_OK):
            raise ValueError(f"{path} cannot be written: no permission in {folder}")


def write_beside(path: Path, write: Callable[[Path], object]) -> None:
    """Write to a file beside ``path`` and move it into place: nobody ever sees half a file."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        write(beside)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
