"""Digests of rows and columns, a cell at a time."""

import numpy as np

from tests.oracles.vote_graph import MASK, STRIDE, scramble


def cell_digest(x: float, number: int) -> int:
    """Of a cell in single precision, mixed with a number; 0 of a zero."""
    with np.errstate(over="ignore"):
        single = np.float32("nan") if np.isnan(x) else np.float32(x)
    if single == 0.0:
        return 0
    bits = int(np.array([abs(single) if np.isinf(single) else single]).view(np.uint32)[0])
    return scramble((bits + scramble((STRIDE * number) & MASK)) & MASK)


def row_digests(X: np.ndarray, column_number: list[int]) -> list[int]:
    """Of the rows, by the numbers of their columns."""
    return [sum(map(cell_digest, row, column_number)) & MASK for row in X.tolist()]


def column_digests(X: np.ndarray, row_number: list[int]) -> list[int]:
    """Of the columns, by the numbers of their rows."""
    return row_digests(X.T, row_number)
