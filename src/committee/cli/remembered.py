"""What a model remembers of the files that it was learned from, so that other files are read as these were."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def remember(learner: Any, forms: Mapping[str, str], missing: Sequence[str]) -> None:
    """Let a fitted learner know how columns were written, and which cells stood for missing ones."""
    if learner.table_ is not None and (forms or missing):
        learner.table_ = learner.table_.with_forms(forms).with_missing(missing)


def remember_as(before: Any, after: Any) -> None:
    """Let a model that is made of another one know what that knows."""
    if before.table_ is not None:
        remember(after, before.table_.forms, before.table_.missing)
