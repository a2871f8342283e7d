"""Files of commands: models that they read, and places to write that are refused early."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from committee.files.replacement import check_replaceable


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
        if path is not None:
            check_replaceable(path)
