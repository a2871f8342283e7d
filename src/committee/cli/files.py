"""Files of commands: models that they read, and places to write that are refused early."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from committee.files.writing import check_replaceable


def load_learner(path: Path) -> Any:
    """Load a model with the learner that made it, as commands need it; a committee alone stands for its learner."""
    from committee import load

    model = load(path)
    if hasattr(model, "committee_"):
        return model
    from committee.cli.bare_committee import bare_committee

    return bare_committee(model)


def check_writable(*paths: Path | None, read: Iterable[Path | None] = ()) -> None:
    """Refuse a place that cannot be written, or that is named twice, before the work that would be lost."""
    named = {os.path.realpath(path) for path in read if path is not None}
    for path in paths:
        if path is None:
            continue
        if str(path) == "-":
            raise ValueError("- is standard output, which predictions alone are written to; name a file")
        check_replaceable(path)
        place = os.path.realpath(path)
        if place in named:
            raise ValueError(f"{path} is named for two files, of which one would be lost; give each its own name")
        named.add(place)
