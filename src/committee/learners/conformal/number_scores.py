"""How far a number is from what is predicted, in one measure or another, and the interval of what is no further."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from committee.data.number_types import F64

NumberScore: TypeAlias = Literal["absolute", "normalised", "quantile"]

ROUNDED = 4.0 * float(np.finfo(np.float64).eps)
"""Share of the larger of two numbers by which their rounded difference, scaled and added again, may be off."""


def distances(y: F64, low: F64, high: F64, unit: F64 | float) -> F64:
    """How far numbers are above `high` or below `low`, in units: negative between them.

    With one prediction for both this is the absolute error; with two quantiles the score of Romano et al. (2019).

    Examples
    --------
    >>> distances(np.array([3.0, 0.5]), np.array([1.0, 0.0]), np.array([1.0, 2.0]), 2.0).tolist()
    [1.0, -0.25]
    """
    return np.asarray(np.maximum(low - y, y - high) / unit)


def intervals(low: F64, high: F64, unit: F64 | float, threshold: F64) -> F64:
    """The numbers whose distance is no more than the threshold, lower and upper ends ``(n, 2)``.

    Both ends are `outward` by what rounding may be: a number whose computed distance is the threshold is inside.

    Where quantiles move past each other no number is so near; then both ends are the middle.

    Examples
    --------
    >>> intervals(np.array([1.0, 0.0]), np.array([1.0, 2.0]), 1.0, np.array([0.5, -3.0])).round(9).tolist()
    [[0.5, 1.5], [1.0, 1.0]]
    """
    wide = threshold * unit
    ends = np.column_stack([-outward(-low, wide), outward(high, wide)])
    crossed = ends[:, 0] > ends[:, 1]
    ends[crossed] = ((low + high) / 2.0)[crossed, None]
    return ends


def outward(end: F64, wide: F64) -> F64:
    """The upper end that is so wide above another, and a little above it: by a few units of the last digit of either.

    The difference, the quotient, the product and the sum between a score and an end each round by half of one.

    Examples
    --------
    >>> y, f = np.array([0.9]), np.array([0.2])
    >>> bool((f + (y - f) >= y).all()), bool((outward(f, y - f) >= y).all())
    (False, True)
    """
    little = ROUNDED * np.maximum(np.abs(end), np.abs(wide))
    return np.asarray(end + wide + little)


def between(low: F64, high: F64) -> F64:
    """Lower and upper ends ``(n, 2)`` out of ends that may be the wrong way round, which become their middle."""
    ends = np.column_stack([low, high])
    crossed = ends[:, 0] > ends[:, 1]
    ends[crossed] = ends[crossed].mean(axis=1, keepdims=True)
    return ends
