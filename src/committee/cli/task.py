"""A target of numbers that a few spoilt cells have made text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data.task import MOST_NUMERIC_CLASSES

if TYPE_CHECKING:
    from numpy.typing import NDArray


def refuse_spoilt_numbers(target: str, y: NDArray[Any]) -> None:
    """Refuse a target of numbers that is text for a few cells that are none."""
    import polars as pl

    from committee.data.reading.nearly_numeric import nearly_numeric_columns

    for nearly in nearly_numeric_columns(pl.DataFrame({target: y})):
        if len(np.unique(y)) > MOST_NUMERIC_CLASSES:
            raise ValueError(
                f"target {nearly.name!r} is text, as {nearly.count} cell(s) are no numbers"
                f" ({', '.join(map(repr, nearly.values))}); leave these rows out, or say --task classes"
            )
