"""Files of commands: models that they read, and places to write that are refused early."""

from __future__ import annotations

import os
from collections.abc import Iterable
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


def check_writable(*paths: Path | None, read: Iterable[Path | None] = ()) -> None:
    """Refuse a place that cannot be written, or that is named twice, before the work that would be lost."""
    named = {os.path.realpath(path) for path in read if path is not None}
    for path in paths:
        if path is None:
            continue
        check_replaceable(path)
        place = os.path.realpath(path)
        if place in named:
            raise ValueError(f"{path} is named for two files, of which one would be lost; give each its own name")
        named.add(place)
