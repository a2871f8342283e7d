"""Stumps as votes, and rounds on them, with every vote in a matrix: what the library never makes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]


def stump_votes(codes: NDArray[Any], stumps: Any, n_bins: NDArray[Any], categorical: NDArray[Any]) -> F64:
    """H (n, N), row by row from the definition of a stump."""
    H = np.empty((len(codes), len(stumps.feature)))
    for t in range(H.shape[1]):
        f = int(stumps.feature[t])
        for i, code in enumerate(codes[:, f].tolist()):
            if code == n_bins[f]:
                H[i, t] = stumps.missing[t]
            elif categorical[f]:
                H[i, t] = -1 if code == stumps.bin[t] else 1
            else:
                H[i, t] = -1 if code <= stumps.bin[t] else 1
    return H


def listed_stumps(
    n_bins: NDArray[Any], categorical: NDArray[Any], weight: F64, count: F64
) -> list[tuple[int, int, int]]:
    """Column, bin and vote on missing values of every stump, column by column from the weights and counts of cells."""
    stumps: list[tuple[int, int, int]] = []
    first = 0
    for j, n in enumerate(n_bins.tolist()):
        w, seen = weight[first : first + n], np.flatnonzero(count[first : first + n]).tolist()
        has_missing = count[first + n] > 0
        first += n + 1
        cut = (seen if len(seen) > 2 else seen[:-1]) if categorical[j] else seen[:-1]
        for b in cut:
            left = w[b] if categorical[j] else np.cumsum(w)[b]
            votes = [0, -1, 1] if has_missing else [-1 if 2.0 * left > w.sum() else 1]
            stumps += [(j, b, vote) for vote in votes]
        if has_missing and seen:
            stumps.append((j, n, -1) if categorical[j] else (j, n - 1, 1))
    return stumps


def cell_sums(codes: NDArray[Any], n_bins: NDArray[Any], values: F64) -> F64:
    """Sum of the values in each cell."""
    return np.concatenate(
        [
            [values[codes[:, j] == b].sum() for b in range(int(bins) + 1)]  # the last one: missing
            for j, bins in enumerate(n_bins)
        ]
    )


def cell_masks(codes: NDArray[Any], n_bins: NDArray[Any]) -> F64:
    """One column per cell: 1 where the row is in it."""
    return np.column_stack([codes[:, j] == b for j, bins in enumerate(n_bins) for b in range(int(bins) + 1)]).astype(
        float
    )


def objective(H: F64, y: F64, w: F64, alpha: F64, penalty: str, strength: float) -> float:
    """Weighted mean squared residual plus penalty; infinite outside the box."""
    risk = float(w @ (y - H @ alpha) ** 2)
    if penalty == "l1":
        return risk + 2.0 * strength * float(np.abs(alpha).sum())
    if penalty == "l2":
        return risk + strength * float((alpha**2).sum())
    if penalty == "linf":
        return risk if np.abs(alpha).max(initial=0.0) <= strength * (1 + 1e-12) else np.inf
    return risk


def best_weight(H: F64, y: F64, w: F64, alpha: F64, j: int, penalty: str, strength: float) -> float:
    """The paper's rule, from the residual of the other voters: eqs. 6 to 9."""
    h = H[:, j]
    others = y - H @ alpha + alpha[j] * h
    mu_m, eta = float(w @ (h * others)), float(w @ h**2)
    if eta <= 0:
        return float(alpha[j])
    if penalty == "l1":
        if mu_m > strength:
            return (mu_m - strength) / eta
        return -(-mu_m - strength) / eta if -mu_m > strength else 0.0
    if penalty == "l2":
        return mu_m / (eta + strength)
    if penalty == "linf" and abs(mu_m) / eta > strength:
        return strength * float(np.sign(mu_m))
    return mu_m / eta


def rounds(
    H: F64, y: F64, w: F64, penalty: str, strength: float, n_rounds: int, least: float, *, as_new: bool
) -> tuple[list[int], list[float], list[float]]:
    """Rounds of QuadBoost: voters, their new weights, and falls of the risk without the penalty."""
    alpha = np.zeros(H.shape[1])
    chosen, weights, falls = [], [], []
    for _ in range(n_rounds):
        found = []
        for j in range(H.shape[1]):
            residual = y - H @ alpha
            held = 0.0 if as_new else float(alpha[j])
            one = np.array([held])
            here, target = H[:, [j]], residual + held * H[:, j]
            best = best_weight(here, target, w, one, 0, penalty, strength)
            gain = objective(here, target, w, one, penalty, strength) - objective(
                here, target, w, np.array([best]), penalty, strength
            )
            found.append((gain, best - held))
        gains = np.array([gain for gain, _ in found])
        if gains.max() <= least:
            break
        j = int(np.argmax(gains >= gains.max() * (1.0 - 1e-9)))
        before = float(w @ (y - H @ alpha) ** 2)
        alpha[j] += found[j][1]
        chosen.append(j)
        weights.append(float(alpha[j]))
        falls.append(before - float(w @ (y - H @ alpha) ** 2))
    return chosen, weights, falls
