"""The temperature of a vote: by what its evidence is divided so that its probabilities mean what they say."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64

STEPS = 16
"""Temperatures looked at between one and its double."""
MOST_DOUBLINGS = 40
"""The temperatures are 2^-40 to 2^40: evidence of one unit is then nothing, or all."""


def best_temperature(evidence: F64, labels: NDArray[np.uint16], weights: F64, n_rows: int) -> float:
    """Temperature T under which p_k = exp(z_k / T) / sum_j exp(z_j / T) has the least log loss [1]_.

    To the rows one of mean evidence is added whose class is any with the same probability. Where all rows are right a
    T of 0 would be best, and certainty; with that row m rows allow one that about one in m + 1 is wrong.

    The loss is convex in 1 / T, so that the sign of its slope tells the two halves of an interval apart. T is a power
    of 2^(1/16): half a step away from the best loses next to nothing, and sums in another order come to the same T.

    Equation: temperature (docs/theory.md).

    Parameters
    ----------
    evidence : float64 array (n, K)
        z, of rows that the voters have not seen.
    labels : uint16 array (n,)
        Their class numbers.
    weights : float64 array (n,)
        Their weights, of positive sum.
    n_rows : int
        m, how many rows they count as.

    Returns
    -------
    float
        1 if the evidence of every row is the same for all classes.

    References
    ----------
    .. [1] C. Guo, G. Pleiss, Y. Sun, K. Weinberger (2017). On calibration of modern neural networks. ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.vote.links.temperature import best_temperature
    >>> z, labels = np.array([[0.0, 8.0]] * 4), np.array([1, 1, 1, 0], dtype=np.uint16)
    >>> p = 1 / (1 + np.exp(-8.0 / best_temperature(z, labels, np.ones(4), 4)))
    >>> bool(0.69 < p < 0.71)
    True
    """
    by_class: F64 = np.ascontiguousarray(evidence.T)
    z = by_class - by_class.max(axis=0)  # (K, n), the largest 0
    if not z.any():
        return 1.0
    share = weights / weights.sum()
    target = float(share @ z[labels, np.arange(len(labels))])
    anywhere = float(share @ z.mean(axis=0)) / n_rows

    def rises(step: int) -> bool:
        """Tell whether the loss rises with 1 / T at T = 2^(-step / STEPS)."""
        p = np.exp(z * 2.0 ** (step / STEPS))
        return (1.0 + 1.0 / n_rows) * float(share @ ((p * z).sum(axis=0) / p.sum(axis=0))) >= target + anywhere

    low, high = -STEPS * MOST_DOUBLINGS, STEPS * MOST_DOUBLINGS
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if rises(middle) else (middle + 1, high)
    return float(2.0 ** (-low / STEPS))
