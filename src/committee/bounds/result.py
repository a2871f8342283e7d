"""The result of a bound: its value, the terms that it is made of, and advice for a smaller one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Bound:
    """An upper bound on a share of rows or a probability.

    Parameters
    ----------
    name : str
        Theorem or inequality.
    statement : str
        What is at most `value`, and how surely.
    value : float
        The bound as its formula has it; it is not clipped, as by how much it misses 1 says how far it is from use.
    terms : dict of str to float
        The numbers that `value` is made of, in the order of the formula.
    advice : str
        What would make it smaller.
    inputs : dict of str to object
        The arguments it was computed from.
    remarks : tuple of str, default=()
        What was assumed or estimated, and which theorem does not apply here.
    trivial : float, default=1.0
        What holds without the theorem.

    Examples
    --------
    >>> from committee.bounds import margin_product
    >>> bound = margin_product([0.2, 0.3])
    >>> print(bound)
    Theorem 5, margin product: 0.7332
    >>> bound.vacuous
    False
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
        """True if `value` is no less than `trivial`: 1, which no share of rows exceeds, unless less is known."""
        return self.value >= self.trivial

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return f"{self.name}: {self.value:.4g}" + (" (vacuous)" if self.vacuous else "")
