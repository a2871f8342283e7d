"""Lines in leaves, by NumPy: weighted least squares of one leaf, and what a voter adds row by row."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def lines_of_a_leaf(X: Floats, g: Floats, h: Floats, l2: float) -> tuple[Floats, Floats, Floats, Floats]:
    """Slope, centre, least and largest value of each column, for the leaf's rows."""
    there = ~np.isnan(X)
    centre = np.array([np.average(x[t], weights=h[t]) for x, t in zip(X.T, there.T, strict=True)])
    U = np.where(there, X - centre, 0.0)
    deviation = np.sqrt((h @ U**2) / (h @ there))
    U /= deviation
    root = np.sqrt(h)[:, None]
    # ridge as least squares: rows of sqrt(l2) below
    A = np.vstack([root * U, np.sqrt(l2) * np.eye(U.shape[1])])
    b = np.concatenate([-g / root[:, 0], np.zeros(U.shape[1])])
    slope = np.linalg.lstsq(A, b, rcond=None)[0] / deviation
    return slope, centre, np.nanmin(X, axis=0), np.nanmax(X, axis=0)


def added(voters: Any, t: int, X: Floats) -> Floats:
    """What voter t adds to the scores of each row, ``(n, D)``, one row and one line after the other."""
    K, forest, lines = voters.trees_per_voter, voters.forest, voters.lines
    out = np.zeros((len(X), voters.n_outputs))
    for tree in range(t * K, t * K + K):
        for i, leaf in enumerate(forest.apply(X)[:, tree]):
            node = forest.offset[tree] + leaf
            vote = forest.value[node].copy()
            for m in range(lines.start[node], lines.start[node + 1]):
                x = X[i, lines.column[m]]
                if not np.isnan(x):
                    vote += lines.slope[m] * (min(max(x, lines.low[m]), lines.high[m]) - lines.centre[m])
            out[i, tree % K : tree % K + len(vote)] += vote
    return out
