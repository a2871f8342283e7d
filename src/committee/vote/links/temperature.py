"""Calibration of a vote by temperature scaling."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64

STEPS = 16
"""Temperatures per factor of two."""
MOST_DOUBLINGS = 40
"""Temperatures are between 2^-40 and 2^40."""
BLOCK_CELLS = 2**17
"""Rows times classes that are computed at a time."""


def best_temperature(evidence: F64, labels: NDArray[np.uint16], weights: F64, n_rows: int) -> float:
    """Temperature T with the least log loss of exp(z_k / T) / sum_j exp(z_j / T) for held-out z ``(n, K)``.

    C. Guo, G. Pleiss, Y. Sun, K. Weinberger (2017). On calibration of modern neural networks. ICML.

    Equation: temperature (docs/theory.md).
    """
    by_class: F64 = np.ascontiguousarray(evidence.T)
    z = by_class - by_class.max(axis=0)  # (K, n), the largest 0
    if not z.any():
        return 1.0
    share = weights / weights.sum()
    target = float(share @ z[labels, np.arange(len(labels))])
    # each row counts again with weight 1 / n_rows and all classes equally likely, so that T stays above 0
    anywhere = float(share @ z.mean(axis=0)) / n_rows

    blocks = np.array_split(z, max(1, min(z.shape[1] // 2, z.size // BLOCK_CELLS)), axis=1)

    def rises(step: int) -> bool:
        mean = np.concatenate([_softmax_mean(block, 2.0 ** (step / STEPS)) for block in blocks])
        return (1.0 + 1.0 / n_rows) * float(share @ mean) >= target + anywhere

    low, high = -STEPS * MOST_DOUBLINGS, STEPS * MOST_DOUBLINGS
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if rises(middle) else (middle + 1, high)
    return float(2.0 ** (-low / STEPS))


def _softmax_mean(z: F64, factor: float) -> F64:
    # mean of each column of z by softmax weights of z times a factor
    p = np.exp(z * factor)
    total = p.sum(axis=0)
    p *= z
    return np.asarray(p.sum(axis=0) / total)
