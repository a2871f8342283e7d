"""Histograms the slow way: one row after the other, in Python's integers."""

import math

import numpy as np
from numpy.typing import NDArray


def unit_of(n_rows: int, total: float) -> float:
    """Quanta per unit of weight, such that the sums of ``n_rows`` weights and counts fit 63 bits."""
    return math.ldexp(1.0, 63 - n_rows.bit_length()) / total


def quanta(weights: NDArray[np.float64], unit: float) -> list[int]:
    return [math.floor(w * unit + 0.5) for w in weights.tolist()]


def cell_offsets(n_bins: NDArray[np.int32]) -> NDArray[np.int64]:
    """Feature j owns cells ``offset[j]:offset[j + 1]``; the last of them counts its missing values."""
    return np.concatenate([[0], np.cumsum(n_bins.astype(np.int64) + 1)])


def class_histogram(
    codes: NDArray[np.integer],
    n_bins: NDArray[np.int32],
    labels: NDArray[np.uint16],
    n_classes: int,
    weights: NDArray[np.float64],
    rows: NDArray[np.int32] | None,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    used = np.arange(len(codes)) if rows is None else rows
    offset = cell_offsets(n_bins)
    unit = unit_of(len(used), math.fsum(weights[used]))
    integer = quanta(weights, unit)
    sums = [[0] * int(offset[-1]) for _ in range(n_classes)]
    counts = np.zeros((n_classes, offset[-1]), dtype=np.int64)
    for i in used:
        for j in range(codes.shape[1]):
            cell = int(offset[j]) + int(codes[i, j])
            sums[labels[i]][cell] += integer[i]
            counts[labels[i], cell] += 1
    return np.array([[float(s) / unit for s in plane] for plane in sums]).reshape(n_classes, -1), counts
