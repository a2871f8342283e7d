"""Efforts of a committee of ensembles, and the folds that each takes."""

from __future__ import annotations

from typing import Literal

Effort = Literal["fast", "default", "best"]


def n_folds(n: float, effort: Effort) -> int:
    """Return the folds of candidates without rows out of bag, on n rows.

    Examples
    --------
    >>> n_folds(500, "default"), n_folds(20_000, "default"), n_folds(10**6, "default"), n_folds(500, "fast")
    (8, 5, 3, 4)
    """
    most = {"fast": 4, "default": 8, "best": 10}[effort]
    return most if n < 10_000 else min(most, 5) if n < 100_000 else 3
