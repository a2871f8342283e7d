"""Every subsample of the rows, where there are few: complete subagging."""

from __future__ import annotations

from itertools import combinations
from math import comb, inf, lgamma, log

import numpy as np
from numpy.typing import NDArray

MOST_DRAWS = 10_000
"""Subsamples that are made at most."""

MOST_COUNTS = 10**7
"""Subsamples times rows at most: each has a count of 8 bytes."""


def complete_draws(
    labels: NDArray[np.uint16], n_classes: int, size: int, random: np.random.RandomState
) -> list[NDArray[np.int64]]:
    """Count how often each row is drawn, 0 or 1, in every subsample of so many rows that has a row of each class.

    They come in random order, so that the first of them are a sample of all.

    Raises
    ------
    ValueError
        If there are more than `MOST_DRAWS`, or they hold more than `MOST_COUNTS`.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.learners.bagging.complete_draws import complete_draws
    >>> draws = complete_draws(np.array([0, 0, 1], dtype=np.uint16), 2, 2, np.random.RandomState(0))
    >>> sorted(counts.tolist() for counts in draws)
    [[0, 1, 1], [1, 0, 1]]
    """
    n = len(labels)
    most = min(MOST_DRAWS, MOST_COUNTS // n)
    if (count := n_draws(n, size)) > most:
        there_are = f"{count:,.0f}" if count < 1e12 else "more than 1e12"
        instead = f", or max_samples={n - 1} for the {n} that leave out one row" if n <= most else ""
        raise ValueError(
            f"n_estimators='all' asks for every subsample of {size} of the {n} rows, and there are {there_are}; at "
            f"most {most:,} of so many rows are drawn. Give a number of them{instead}."
        )
    few = 2 * size <= n  # the smaller side is listed: those drawn, or those left out
    listed = np.array(list(combinations(range(n), size if few else n - size)), dtype=np.intp)
    drawn = np.full((len(listed), n), 0 if few else 1, dtype=np.int64)
    np.put_along_axis(drawn, listed, 1 if few else 0, axis=1)
    held = np.stack([drawn[:, labels == k].any(axis=1) for k in range(n_classes)])
    whole = drawn[held.all(axis=0)]
    return list(whole[random.permutation(len(whole))])


def n_draws(n_rows: int, size: int) -> float:
    """Return how many subsamples of so many rows there are; infinity for more than 1e12, which take long to count.

    Examples
    --------
    >>> from committee.learners.bagging.complete_draws import n_draws
    >>> n_draws(7, 3), n_draws(100_000, 70_000)
    (35.0, inf)
    """
    logarithm = lgamma(n_rows + 1) - lgamma(size + 1) - lgamma(n_rows - size + 1)
    return float(comb(n_rows, size)) if logarithm < log(1e12) else inf
