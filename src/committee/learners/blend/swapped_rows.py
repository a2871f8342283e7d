"""Rows beside those of a table: each a row with some cells of the one that is nearest to it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from committee.data.columns import MOST_LEVELS
from committee.data.number_types import F64

SHARE = 0.5
"""Probability with which a cell is the near row's."""


def swapped_rows(X: F64, n_levels: NDArray[np.int32], copies: int, random: np.random.RandomState) -> F64:
    """Copies of rows in each of which about half of the cells are those of the nearest other row.

    They lie where rows lie, and are none that a forest has learned by heart: what it says of them is what it would
    say of new rows.

    Parameters
    ----------
    X : float64 array (n, p)
        Encoded rows; NaN is missing.
    n_levels : int array (p,)
        Levels of each column, of which the matrix has the codes; 0 of numbers.
    copies : int
        Copies of each row.
    random : RandomState
        Draws the cells.

    Returns
    -------
    float64 array (copies * n, p)

    References
    ----------
    C. Bucila, R. Caruana, A. Niculescu-Mizil (2006). Model compression. KDD.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [0.1, 2.0], [5.0, 3.0]])
    >>> rows = swapped_rows(X, np.zeros(2, dtype=np.int32), 4, np.random.RandomState(0))
    >>> rows.shape, bool(np.isin(rows[:, 0], X[:, 0]).all())
    ((12, 2), True)
    """
    n, p = X.shape
    if n < 2 or not copies:
        return np.empty((0, p))
    places = _places(X, n_levels)
    near = NearestNeighbors(n_neighbors=2).fit(places).kneighbors(places, return_distance=False)
    other = np.where(near[:, 0] == np.arange(n), near[:, 1], near[:, 0])  # of equal rows either may come first
    return np.concatenate([np.where(random.random_sample((n, p)) < SHARE, X[other], X) for _ in range(copies)])


def _places(X: F64, n_levels: NDArray[np.int32]) -> F64:
    """Numbers in units of their standard deviation, levels a unit apart; what is missing is in the middle."""
    columns = []
    for column, levels in zip(X.T, n_levels.tolist(), strict=True):
        if levels > MOST_LEVELS:
            continue  # hardly two rows have the same
        if levels:
            columns += [(column == level) * np.sqrt(0.5) for level in range(levels)]
        elif np.isfinite(column).any():
            middle, spread = np.nanmedian(column), np.nanstd(column)
            if 0.0 < spread < np.inf:
                columns.append(np.where(np.isnan(column), 0.0, (column - middle) / spread))
    return np.column_stack(columns) if columns else np.zeros((len(X), 1))
