"""Emphasis the slow way: one row after the other."""

import numpy as np
from numpy.typing import NDArray


def scale_rows(
    weights: NDArray[np.float64],
    leaf_of_row: NDArray[np.int32],
    labels: NDArray[np.uint16],
    factor: NDArray[np.float64],
) -> float:
    for i, (leaf, label) in enumerate(zip(leaf_of_row, labels, strict=True)):
        if leaf < 0:
            continue
        if weights.ndim == 1:
            weights[i] *= factor[leaf, label]
        else:
            for output in range(weights.shape[1]):
                weights[i, output] *= factor[leaf, 2 * output + int(label == output)]
    return float(weights.sum())
