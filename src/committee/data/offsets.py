"""Offsets: scores to which those of a model are added, such as logarithms of exposures or another model's scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from committee.data.number_types import F64
from committee.data.rows import WeightedRows, nonzero_weights
from committee.data.text import pluralize

R = TypeVar("R", bound=WeightedRows)


@dataclass(frozen=True)
class Offsets:
    training: Any = None
    validation: Any = None

    def of_training(self, rows: R, weights: ArrayLike | None) -> R:
        """Add the offsets to training rows; `weights` are those of all the user's rows, None if none was left out."""
        if self.training is None:
            return rows
        kept = np.ones(len(rows), dtype=bool) if weights is None else nonzero_weights(np.asarray(weights))
        return rows.changed(offset=checked_offset(self.training, len(kept))[kept])

    def of_validation(self, rows: R) -> R:
        if (self.training is None) != (self.validation is None):
            missing = "offset_val" if self.validation is None else "offset"
            raise ValueError(f"offset and offset_val go together, and {missing} is missing; give it, zeros if need be.")
        if self.validation is None:
            return rows
        return rows.changed(offset=checked_offset(self.validation, len(rows), "offset_val"))


def checked_offset(offset: Any, n_rows: int, name: str = "offset") -> F64:
    try:
        numbers = np.asarray(offset, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} is {offset!r:.60}; give numbers of shape (n,), or (n, D) for D scores.") from error
    if numbers.ndim not in (1, 2) or len(numbers) != n_rows:
        raise ValueError(
            f"{name} has shape {numbers.shape}, and X has {n_rows} rows; give shape ({n_rows},), or ({n_rows}, D) "
            "for D scores."
        )
    if not np.isfinite(numbers).all():
        row = int(np.argmin(np.isfinite(numbers.reshape(n_rows, -1)).all(axis=1)))
        raise ValueError(
            f"{name}[{row}] is {numbers[row]}; offsets must be finite. Leave such rows out; if it is the logarithm of "
            "an exposure of 0, correct the exposure."
        )
    return numbers[:, 0] if numbers.ndim == 2 and numbers.shape[1] == 1 else numbers


def check_scores(offset: F64 | None, n_scores: int) -> None:
    given = 1 if offset is None or offset.ndim == 1 else offset.shape[1]
    if offset is not None and given != n_scores:
        shape = "(n,)" if n_scores == 1 else f"(n, {n_scores})"
        raise ValueError(
            f"offset has {pluralize(given, 'number')} for each row, and a row has {pluralize(n_scores, 'score')} here; "
            f"give shape {shape}."
        )
