"""Arguments of bounds: numbers within their ranges, refused by the name of the argument."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from committee.data.number_types import F64, is_number


def numbers(name: str, given: ArrayLike, low: float, high: float) -> F64:
    """A vector of at least one number, each in [low, high].

    Raises
    ------
    ValueError
        Naming the argument, the value and the range.
    """
    values = np.atleast_1d(np.asarray(given, dtype=np.float64))
    if values.ndim != 1 or not len(values):
        raise ValueError(f"{name} has shape {values.shape}; give a vector of at least one number.")
    bad = ~((values >= low) & (values <= high))  # NaN is bad too
    if bad.any():
        raise ValueError(f"{name}[{bad.argmax()}] is {values[bad][0]}; it must be within {low:g} and {high:g}.")
    return values


def number(name: str, given: float, low: float, high: float) -> float:
    """One number in [low, high]."""
    if not (is_number(given) and low <= given <= high):
        raise ValueError(f"{name} is {given}; it must be within {low:g} and {high:g}.")
    return float(given)


def count(name: str, given: int, low: int = 1) -> int:
    """A whole number of at least `low`."""
    if not is_number(given) or int(given) != given or given < low:
        raise ValueError(f"{name} is {given}; it must be a whole number of at least {low}.")
    return int(given)


def risk_of_failure(given: float, name: str = "delta") -> float:
    """Probability with which a bound may fail, strictly between 0 and 1."""
    if not (is_number(given) and 0.0 < given < 1.0):
        raise ValueError(f"{name} is {given}, the probability that the bound fails; it must be between 0 and 1.")
    return float(given)
