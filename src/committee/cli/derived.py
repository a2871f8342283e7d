"""Where a model comes from that was made of another one: smaller, or with other weights."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from committee.files.documents import Provenance


def keep_provenance(model: Any, made_of: Any) -> None:
    """Give a model what is known of the training of the one that it was made of, whose estimate is not its own."""
    before: Provenance | None = getattr(made_of, "provenance_", None)
    if before is not None:
        model.provenance_ = replace(before, estimate=None)
