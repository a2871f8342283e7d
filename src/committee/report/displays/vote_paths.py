"""What the edges of a graph of voters tell of the paths through it: how many, how likely, and with which scores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lstsq

F64 = NDArray[np.float64]


def answer_shares(following: NDArray[np.int64], reach: F64) -> F64:
    """Shares of rows that leave each voter by each answer, as far as the shares that come to voters tell.

    What comes to a voter leaves it, and what leads to a voter comes to it. Where this leaves some open, as where both
    answers lead to one voter, the shares are those of least squares that satisfy it.

    Parameters
    ----------
    following : int array (T, 2)
        Where + and - lead: a later voter, or -1.
    reach : float64 array (T,)
        Share of rows that meet each voter; all meet the first.

    Returns
    -------
    float64 array (T, 2)
        In [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from committee.report.displays.vote_paths import answer_shares
    >>> answer_shares(np.array([[1, -1], [-1, -1]]), np.array([1.0, 0.4])).round(2).tolist()
    [[0.4, 0.6], [0.2, 0.2]]
    """
    T = len(reach)
    balance = np.zeros((2 * T, 2 * T))
    wanted = np.concatenate([reach, reach])
    wanted[T] = 0.0  # nothing leads to the first
    for t in range(T):
        balance[t, [2 * t, 2 * t + 1]] = 1.0
        for answer in (0, 1):
            if following[t, answer] >= 0:
                balance[T + following[t, answer], 2 * t + answer] = 1.0
    shares = lstsq(balance, wanted, lapack_driver="gelsy")[0]
    return np.asarray(np.clip(shares.reshape(T, 2), 0.0, 1.0))


def scores_on_the_way(following: NDArray[np.int64], vote: F64) -> tuple[list[int], F64, F64]:
    """The number of ways to each voter, and the least and the largest score that one comes with.

    Parameters
    ----------
    following : int array (T, 2)
        Where + and - lead: a later voter, or -1.
    vote : float64 array (T, 2)
        What + and - add to the score.

    Returns
    -------
    ways : list of int (T,)
    low, high : float64 array (T,)

    Examples
    --------
    >>> import numpy as np
    >>> from committee.report.displays.vote_paths import scores_on_the_way
    >>> ways, low, high = scores_on_the_way(np.array([[1, 1], [-1, -1]]), np.array([[2.0, -1.0], [1.0, -1.0]]))
    >>> ways, low.tolist(), high.tolist()
    ([1, 2], [0.0, -1.0], [0.0, 2.0])
    """
    T = len(following)
    ways, low, high = [1] + [0] * (T - 1), np.full(T, np.inf), np.full(T, -np.inf)
    low[0] = high[0] = 0.0
    for t, ends in enumerate(following.tolist()):
        for answer, end in enumerate(ends):
            if end >= 0:
                ways[end] += ways[t]
                low[end] = min(low[end], low[t] + vote[t, answer])
                high[end] = max(high[end], high[t] + vote[t, answer])
    return ways, low, high
