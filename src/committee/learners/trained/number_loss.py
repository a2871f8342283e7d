"""What a contract of pruning counts where numbers are predicted: a loss of each row."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from committee.data.number_types import F64
from committee.learners.trained.row_loss import answered

NumberLoss: TypeAlias = Callable[[F64, F64], F64]
"""From numbers ``(n,)`` and predictions ``(n,)`` to losses ``(n,)``."""

NUMBER_LOSSES = ("squared_error", "absolute_error", "pinball")
"""The names that `metric` takes."""


def squares(y: F64, predicted: F64) -> F64:
    """Squared errors."""
    found: F64 = (predicted - y) ** 2
    return found


def distances(y: F64, predicted: F64) -> F64:
    """Absolute errors."""
    found: F64 = np.abs(predicted - y)
    return found


def pinball(y: F64, predicted: F64, quantile: float) -> F64:
    """A distance above the prediction counts `quantile`, one below it the rest of 1: least at that quantile."""
    above = y - predicted
    found: F64 = np.maximum(quantile * above, (quantile - 1.0) * above)
    return found


def fitted_loss(quantile: float | None) -> NumberLoss:
    """The loss that suits what an ensemble predicts: a quantile, or means (None)."""
    return squares if quantile is None else partial(pinball, quantile=quantile)


def number_loss(metric: Any, quantile: float | None) -> NumberLoss:
    """The loss of a name (None: the one that suits the ensemble), or the function given, whose answers are checked.

    Raises
    ------
    ValueError
        For "pinball" where the ensemble predicts no quantile.
    """
    if callable(metric):
        return partial(_checked, metric)
    if metric == "pinball" and quantile is None:
        raise ValueError(
            "metric='pinball' is of a quantile, and the ensemble is taken for one of means; give quantile=, the one "
            "that it predicts, or another metric."
        )
    named = {None: fitted_loss(quantile), "squared_error": squares, "absolute_error": distances}
    return named.get(metric, fitted_loss(quantile))


def _checked(metric: Callable[[F64, F64], Any], y: F64, predicted: F64) -> F64:
    found = answered(metric, "numbers (n,) and predictions (n,)", y, predicted)
    if found.shape != y.shape or not np.isfinite(found).all() or (found < 0.0).any():
        of_numbers = "negative numbers" if np.isfinite(found).all() else "numbers that are not finite"
        gave = of_numbers if found.shape == y.shape else f"an array of shape {found.shape}"
        raise ValueError(
            f"metric={metric!r} gave {gave} for {len(y)} rows; it must give one finite loss for each, not below 0, "
            "from numbers and predictions."
        )
    return found
