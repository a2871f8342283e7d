"""Naive bins, row digests and target statistics."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tests.oracles.vote_graph import MASK, STRIDE, scramble


def between(a: float, b: float) -> float:
    """A number e with a <= e < b, half-way where the floating-point grid has such a number."""
    middle = 0.5 * a + 0.5 * b
    return middle if a <= middle < b else a


def values_in_use(column: NDArray[np.float64], weights: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """The distinct values that count: not missing, and of positive weight."""
    keep = ~np.isnan(column)
    if weights is not None:
        keep &= weights > 0.0
    return np.unique(column[keep])


def exact_edges(column: NDArray[np.float64], weights: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """One bin per distinct value."""
    values = values_in_use(column, weights)
    return np.array([between(a, b) for a, b in pairwise(values)], dtype=np.float64)


def shared_edges(column: NDArray[np.float64], max_bins: int) -> NDArray[np.float64]:
    """Edges of more distinct values than bins, none missing: run by run of equal values, as the docs say it.

    A bin is closed once it holds its share of what is left, or is half full and the next run would overfill it.
    """
    values, counts = np.unique(column + 0.0, return_counts=True)
    edges: list[float] = []
    left, filled, bins_left = len(column), 0, max_bins
    for (value, following), (count, after) in zip(pairwise(values.tolist()), pairwise(counts.tolist()), strict=True):
        if bins_left == 1:
            break
        filled += count
        share = left / bins_left
        if filled >= share or (2 * filled >= share and filled + after >= 2 * share):
            edges.append(between(value, following))
            left, filled, bins_left = left - filled, 0, bins_left - 1
    return np.array(edges)


def bin_codes(
    X: NDArray[np.float64],
    edges: NDArray[np.float64],
    offset: NDArray[np.int64],
    n_categories: NDArray[np.int32],
) -> NDArray[np.int64]:
    codes = np.empty(X.shape, dtype=np.int64)
    for j in range(X.shape[1]):
        column = X[:, j]
        if n_categories[j] > 0:
            known = np.isin(column, np.arange(n_categories[j]))
            codes[:, j] = np.where(known, np.where(known, column, 0), n_categories[j])
        else:
            own = edges[offset[j] : offset[j + 1]]
            codes[:, j] = np.where(np.isnan(column), len(own) + 1, np.searchsorted(own, column, side="left"))
    return codes


def sample_level(row: int) -> int:
    """Zero bits at the end of a row's number, scrambled as in SplitMix64; 64 of a zero."""
    z = row
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % 2**64
    z ^= z >> 31
    return 64 if z == 0 else (z & -z).bit_length() - 1


def sampled_rows(n: int, most: int) -> list[int]:
    """The rows of the least level of which there are at most `most`."""
    levels = [sample_level(row) for row in range(n)]
    least = next(least for least in range(66) if sum(level >= least for level in levels) <= most)
    return [row for row in range(n) if levels[row] >= least]


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
