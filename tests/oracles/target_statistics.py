"""Target statistics of a column of many levels, row by row as the documentation has them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]


def first_axis(levels: list[int], fold: list[int], targets: F64, weights: F64) -> F64:
    """The direction in which levels agree most between folds about targets ``(n, q)``, its largest part above 0."""
    residual = targets - np.average(targets, axis=0, weights=weights)
    agreement = np.zeros((targets.shape[1], targets.shape[1]))
    for r in range(len(targets)):
        others = [i for i in range(len(targets)) if levels[i] == levels[r] and fold[i] != fold[r]]
        said = weights[others] @ residual[others] / (weights[others].sum() + 1.0)
        agreement += weights[r] * np.outer(residual[r], said)
    axis: F64 = np.linalg.eigh(agreement + agreement.T)[1][:, -1]
    return axis * np.sign(axis[np.abs(axis).argmax()])


def shrunk_means(levels: list[int], fold: list[int], score: F64, weights: F64) -> tuple[F64, dict[int, float]]:
    """The number of every row, by the other folds, and of every level.

    Weights must add up to the number of different rows, and the levels say something of the scores in other folds.
    """
    n, mean = len(score), float(np.average(score, weights=weights))
    residual = score - mean
    everywhere = range(n)
    others = [[i for i in everywhere if levels[i] == levels[r] and fold[i] != fold[r]] for r in everywhere]
    weight = np.array([weights[rows].sum() for rows in others])
    total = np.array([weights[rows] @ residual[rows] for rows in others])
    between = (weights @ (residual * total / (weight + 1.0))) / (weights @ (weight / (weight + 1.0)))
    within = float(weights @ residual**2) / weights.sum() - between
    shrinkage = max(within, 0.0) / between
    of_level = {}
    for level in set(levels):
        rows = [i for i in everywhere if levels[i] == level]
        of_level[level] = mean + float(weights[rows] @ residual[rows]) / (weights[rows].sum() + shrinkage)
    return mean + total / (weight + shrinkage), of_level
