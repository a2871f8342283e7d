"""What a contract of pruning counts: a loss of each row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from committee.data.number_types import F64, Index

RowLoss: TypeAlias = Callable[[Index, F64], F64]
"""From class numbers ``(n,)`` and probabilities ``(n, K)`` to losses ``(n,)``."""


def errors(y: Index, probability: F64) -> F64:
    """1 for rows whose likeliest class is another, which accuracy loses."""
    found: F64 = (probability.argmax(axis=1) != y).astype(np.float64)
    return found


def log_losses(y: Index, probability: F64) -> F64:
    """Minus the logarithm of the probability of a row's class."""
    found: F64 = -np.log(np.maximum(probability[np.arange(len(y)), y], np.finfo(float).eps))
    return found


def squares(y: Index, probability: F64) -> F64:
    """Brier's score: squared distance of the probabilities to the class, half of it for two classes."""
    off = probability - (y[:, None] == np.arange(probability.shape[1]))
    found: F64 = (off**2).sum(axis=1) / (2.0 if probability.shape[1] == 2 else 1.0)
    return found


ROW_LOSSES: dict[str, RowLoss] = {"accuracy": errors, "log_loss": log_losses, "brier": squares}
"""By the names that `metric` takes."""


def row_loss(metric: Any) -> RowLoss:
    """The loss of a name, or the function that is given, whose answers are checked."""
    if not callable(metric):
        return ROW_LOSSES[metric]

    def checked(y: Index, probability: F64) -> F64:
        found = answered(metric, "class numbers (n,) and probabilities (n, K)", y, probability)
        if found.shape != y.shape or not np.isfinite(found).all():
            gave = "numbers that are not finite" if found.shape == y.shape else f"an array of shape {found.shape}"
            raise ValueError(
                f"metric={metric!r} gave {gave} for {len(y)} rows; it must give one finite loss for each, from class "
                "numbers and probabilities."
            )
        return found

    return checked


def answered(metric: Any, asked: str, y: Any, predicted: F64) -> F64:
    """What a function says of rows, as numbers of them.

    Raises
    ------
    ValueError
        If it cannot be called with two arrays, gives no numbers, or one for all rows.
    """
    try:
        found = np.asarray(metric(y, predicted), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"metric={metric!r} cannot be asked for the losses of {len(y)} rows by {asked}: "
            f"{' '.join(str(error).split())}. It must take these two arrays and give one loss for each row; of all "
            "rows together give a scorer, as sklearn.metrics.make_scorer makes it."
        ) from error
    if found.ndim == 0 and len(y) > 1:
        raise ValueError(
            f"metric={metric!r} gave one number for {len(y)} rows; it must give one loss for each row. Make a scorer "
            "of what judges all rows together: sklearn.metrics.make_scorer(..., greater_is_better=...)."
        )
    return found
