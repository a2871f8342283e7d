"""Two methods compared over tables, by the test rows that each predicts right; and the error of a mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.data.number_types import F64
from committee.report.statistics import About, SignTest, poisson_binomial_test, sign_test

LEVEL = 0.05


@dataclass(frozen=True)
class PairedComparison:
    """One method against another over the tables that have both."""

    signs: SignTest
    """Of the errors."""
    less: float
    """Mean over the tables of the first one's error less the second's; NaN of no table."""
    probability: float = np.nan
    """That the first one errs less on most tables; NaN where rows are not known, or of no table."""


def compared(errors: F64, alone: ArrayLike | None = None, about: About = "these tables") -> PairedComparison:
    """Compare two methods by their test errors, ``(2, n_tables)``.

    Of the test rows that only the first, and only the second, predicts right, ``(n_tables, 2)``, comes the
    `poisson_binomial_test`, about these tables or tables like them.
    """
    # means of shares of whole numbers of rows are equal but for their rounding
    signs = sign_test(*errors.round(12))
    if not errors.size:
        return PairedComparison(signs, np.nan)
    less = float((errors[0] - errors[1]).mean())
    if alone is None:
        return PairedComparison(signs, less)
    return PairedComparison(signs, less, poisson_binomial_test(*np.asarray(alone, dtype=np.float64).T, about=about))


def signs_text(signs: SignTest) -> str:
    """Wins, losses and ties of the first method and the p of the sign test, starred where that is significant."""
    star = "*" if signs.pvalue <= LEVEL else ""
    return f"{signs.wins}-{signs.losses}-{signs.ties}, {signs.pvalue:.3f}{star}"


def standard_error(values: Sequence[float] | F64) -> float:
    """Standard error of a mean; 0 of a single value."""
    n = len(values)
    return float(np.std(values, ddof=1) / np.sqrt(n)) if n > 1 else 0.0


def packed(right: NDArray[np.bool_]) -> str:
    """Bits as hexadecimal digits."""
    return np.packbits(right).tobytes().hex()


def unpacked(digits: str, count: int) -> NDArray[np.bool_]:
    """Return the first `count` bits of hexadecimal digits."""
    return np.unpackbits(np.frombuffer(bytes.fromhex(digits), dtype=np.uint8), count=count).astype(bool)
