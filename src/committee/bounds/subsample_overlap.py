"""Overlap of the draws of a subagged committee: A, B and C of Theorem 3."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.bounds.arguments import count, risk_of_failure

BLOCK_ROWS = 1 << 16
"""Rows whose draws are held as float64 at a time."""


@dataclass(frozen=True)
class Overlap:
    """Three numbers that say how dependent voters are because they share rows.

    With R_k the number of the M draws that hold row k, and R_kl those that hold both k and l,
    A = sum_k R_k^2 / M^2, B = sum_{k != l} R_kl^2 / M^2 (ordered pairs), C = max_k R_k / M.

    Parameters
    ----------
    A, B, C : float
        The numbers, or upper bounds on them.
    n_rows : int
        Rows n of the sample.
    n_drawn : int
        Rows m of each draw.
    n_draws : int
        Draws M.
    """

    A: float
    B: float
    C: float
    n_rows: int
    n_drawn: int
    n_draws: int


def overlap(draws: ArrayLike, n_rows: int | None = None) -> Overlap:
    """A, B and C of the draws that were made, exactly.

    As sum_k R_k^2 = sum_{i,j} |D_i & D_j| and sum_{k,l} R_kl^2 = sum_{i,j} |D_i & D_j|^2, the M x M matrix of
    shared rows is all that is needed: n M^2 operations, where the definition of B has n^2 M.

    Equation: subsample-overlap (docs/theory.md).

    Parameters
    ----------
    draws : array-like of bool (M, n)
        True where a draw holds a row; every draw of the same size, without replacement.
    n_rows : int, default=None
        Rows of the sample, where `draws` has columns for others that were never to be drawn (of zero weight, or
        the last bits of a byte). None: the columns of `draws`.

    Returns
    -------
    Overlap

    Raises
    ------
    ValueError
        If draws are not of one size, or hold something other than true and false.

    Examples
    --------
    >>> from committee.bounds import overlap
    >>> overlap([[1, 1, 0], [0, 1, 1]])
    Overlap(A=1.5, B=1.0, C=1.0, n_rows=3, n_drawn=2, n_draws=2)
    """
    D = np.asarray(draws)
    if D.ndim != 2 or not D.size:
        raise ValueError(f"draws has shape {D.shape}; it must be (M, n), one row of true and false for each draw.")
    if D.dtype != bool and not np.isin(D, (0, 1)).all():
        raise ValueError("draws holds other values than 0 and 1; Theorem 3 is for draws without replacement.")
    M, n = D.shape[0], D.shape[1] if n_rows is None else count("n_rows", n_rows)
    shared, most = np.zeros((M, M)), 0.0
    for first in range(0, D.shape[1], BLOCK_ROWS):
        block = D[:, first : first + BLOCK_ROWS].astype(np.float64)
        shared += block @ block.T  # whole numbers far below 2^53: exact
        most = max(most, float(block.sum(axis=0).max()))
    sizes = np.diag(shared)
    if (sizes != sizes[0]).any() or not 1 <= sizes[0] <= n:
        raise ValueError(
            f"draws have {sizes.min():.0f} to {sizes.max():.0f} of {n} rows; Theorem 3 is for draws of one size, "
            "with at least one row and without replacement."
        )
    A, pairs = float(shared.sum()) / M**2, float((shared**2).sum()) / M**2
    return Overlap(A, pairs - A, most / M, n, int(sizes[0]), M)


def overlap_limits(n_rows: int, n_drawn: int, n_draws: int, delta: float = 0.05) -> Overlap:
    """Upper bounds on A, B and C of draws that are yet to be made (eq. 15 and 40).

    sqrt A <= Q_A = m / sqrt n + (1 + 4 sqrt(ln(3 / delta))) sqrt(m / M),
    sqrt B <= Q_B = m^2 / n + (1 + 4 sqrt(ln(3 / delta))) m / sqrt M,
    C <= Q_C = m / n + (sqrt(2 m) + 3) / sqrt M ln(3 / delta),

    all three with probability 1 - delta. None can exceed what sharing every row gives, A <= m, B <= m (m - 1)
    and C <= 1, and the lesser is returned. The paper proves the last for M > ln(n)^2 (`advised_draws`).

    Parameters
    ----------
    n_rows, n_drawn, n_draws : int
        As of `Overlap`.
    delta : float, default=0.05
        Probability that one of the three is exceeded.

    Examples
    --------
    >>> from committee.bounds import overlap_limits
    >>> limits = overlap_limits(n_rows=20_000, n_drawn=14_000, n_draws=99)
    >>> round(limits.A), round(limits.C, 3)
    (14000, 1.0)
    """
    n, m, M = count("n_rows", n_rows), count("n_drawn", n_drawn), count("n_draws", n_draws)
    if m > n:
        raise ValueError(f"n_drawn is {m}, but n_rows only {n}; Theorem 3 is for draws without replacement.")
    tail = log(3.0 / risk_of_failure(delta))
    Q_A = m / sqrt(n) + (1.0 + 4.0 * sqrt(tail)) * sqrt(m / M)
    Q_B = m**2 / n + (1.0 + 4.0 * sqrt(tail)) * m / sqrt(M)
    Q_C = m / n + (sqrt(2.0 * m) + 3.0) / sqrt(M) * tail
    return Overlap(min(Q_A**2, float(m)), min(Q_B**2, m * (m - 1.0)), min(Q_C, 1.0), n, m, M)


def advised_draws(n_rows: int) -> float:
    """ln(n)^2: the number of draws that Theorem 3 requires to be exceeded. Nothing enforces it.

    Equation: draws-advised (docs/theory.md).

    Examples
    --------
    >>> from committee.bounds import advised_draws
    >>> round(advised_draws(20_000), 2)
    98.08
    """
    return log(count("n_rows", n_rows)) ** 2


def unpacked(draws: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """``SBPMTClassifier.draws_`` with a column for each row, and for the bits that fill up the last byte."""
    return np.unpackbits(draws, axis=1).astype(bool)
