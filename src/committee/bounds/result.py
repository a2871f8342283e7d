"""The result of a bound, and range checks of the arguments of bounds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from committee.data.number_types import F64, is_number


@dataclass(frozen=True)
class Bound:
    """An upper bound on a share of rows or a probability.

    Parameters
    ----------
    name : str
        Theorem or inequality.
    statement : str
        The quantity that `value` bounds, and with which probability if it may fail.
    value : float
        Value of the formula. It is not clipped at 1, so that it shows how far a vacuous bound is from use.
    terms : dict of str to float
        Quantities of the formula by name.
    advice : str
        Changes that would lower the value.
    inputs : dict of str to object
        Arguments that the bound was computed from.
    remarks : tuple of str, default=()
        Assumptions, estimates, and conditions that are not met.
    trivial : float, default=1.0
        Value from which on the bound is useless: 1, the error of random guessing, or the value of a simpler bound.

    Examples
    --------
    >>> from committee.bounds import margin_product
    >>> bound = margin_product([0.2, 0.3])
    >>> print(bound, bound.vacuous)
    Theorem 5, margin product: 0.7332 False
    """

    name: str
    statement: str
    value: float
    terms: dict[str, float]
    advice: str
    inputs: dict[str, Any] = field(repr=False)
    remarks: tuple[str, ...] = field(default=())
    trivial: float = 1.0

    @property
    def vacuous(self) -> bool:
        """True if `value` is at least `trivial`."""
        return self.value >= self.trivial

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return f"{self.name}: {self.value:.4g}" + (" (vacuous)" if self.vacuous else "")


def on_new_rows(delta: float) -> str:
    return f"error on new rows is at most the value, with probability {1.0 - delta:g} over the given rows"


def at(best: int, **terms: F64) -> dict[str, float]:
    return {name: float(values[best]) for name, values in terms.items()}


def check_numbers(name: str, given: ArrayLike, low: float, high: float) -> F64:
    values = np.atleast_1d(np.asarray(given, dtype=np.float64))
    if values.ndim != 1 or not len(values):
        raise ValueError(f"{name} has shape {values.shape}; give a vector of at least one number.")
    bad = ~((values >= low) & (values <= high))  # NaN is bad too
    if bad.any():
        first = f"{name}[{bad.argmax()}]" if np.ndim(given) else name
        raise ValueError(f"{first} is {values[bad][0]}; it must be between {low:g} and {high:g}.")
    return values


def check_number(name: str, given: float, low: float, high: float) -> float:
    if not (is_number(given) and low <= given <= high):
        raise ValueError(f"{name} is {given!r}; it must be a number between {low:g} and {high:g}.")
    return float(given)


def check_count(name: str, given: int, low: int = 1) -> int:
    if not is_number(given) or given % 1 != 0 or given < low:
        raise ValueError(f"{name} is {given!r}; it must be a whole number of at least {low}.")
    return int(given)


def check_delta(given: float, name: str = "delta") -> float:
    if not (is_number(given) and 0.0 < given < 1.0):
        raise ValueError(f"{name} is {given!r}, the probability that the bound fails; it must be above 0 and below 1.")
    return float(given)
