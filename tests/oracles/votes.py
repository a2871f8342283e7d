"""The vote the slow way: one row and one voter after the other, with Python's own numbers.

A label vote is a class index or -1 for none; a score vote is a list of D numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.voters.model_forest import ModelForest
from tests.oracles import traverse

Vote = int | Sequence[float]


def tally(votes: Sequence[Vote], weights: Sequence[float], n_outputs: int) -> list[float]:
    """Of one row."""
    F = [0.0] * n_outputs
    for vote, weight in zip(votes, weights, strict=True):
        if isinstance(vote, int):
            if vote >= 0:
                F[vote] += weight
        else:
            for k, value in enumerate(vote):
                F[k] += weight * value
    return F


def score(F: Sequence[float], n_classes: int) -> list[float]:
    """Signed for two classes (one number), the tally itself otherwise."""
    if n_classes != 2:
        return list(F)
    return [F[0] if len(F) == 1 else F[1] - F[0]]


def elected(scores: Sequence[float]) -> int:
    if len(scores) == 1:
        return 1 if scores[0] > 0 else 0
    best = 0
    for k, value in enumerate(scores):
        if value > scores[best]:
            best = k
    return best


def signed(vote: Vote) -> float:
    """A vote between two classes as a number, positive for the second."""
    if isinstance(vote, int):
        return {-1: 0, 0: -1, 1: 1}[vote]
    return vote[0] if len(vote) == 1 else vote[1] - vote[0]


def spread(leaves: Sequence[Vote]) -> float:
    """The most that a voter with these leaves can favour one class over another."""
    if isinstance(leaves[0], int):
        return 1.0
    return max(abs(vote[0]) if len(vote) == 1 else max(vote) - min(vote) for vote in leaves)  # type: ignore


def margin(scores: Sequence[float], truth: int, weights: Sequence[float], spreads: Sequence[float]) -> float:
    total = sum(abs(w) * s for w, s in zip(weights, spreads, strict=True))
    if total == 0:
        return 0.0
    if len(scores) == 1:
        return (scores[0] if truth == 1 else -scores[0]) / total
    rivals = [value for k, value in enumerate(scores) if k != truth]
    return (scores[truth] - max(rivals)) / total


def sigma(z: float) -> float:
    return 1.0 / (1.0 + math.exp(-z)) if z >= 0 else math.exp(z) / (1.0 + math.exp(z))


def softmax(F: Sequence[float], scale: float = 1.0) -> list[float]:
    if len(F) == 1:
        return [sigma(-scale * F[0]), sigma(scale * F[0])]
    powers = [math.exp(scale * (value - max(F))) for value in F]
    return [power / sum(powers) for power in powers]


def logistic(F: Sequence[float], scale: float = 2.0) -> list[float]:
    if len(F) <= 2:
        return softmax(score(F, 2), scale)
    each = [sigma(scale * value) for value in F]
    return [p / sum(each) for p in each]


def probit(F: Sequence[float]) -> list[float]:
    def normal(z: float) -> float:
        return 0.5 * math.erfc(-z / math.sqrt(2.0))

    if len(F) <= 2:
        (z,) = score(F, 2)
        return [normal(-z), normal(z)]
    each = [normal(value) for value in F]
    return [p / sum(each) for p in each]


def truncated(F: Sequence[float]) -> list[float]:
    def clipped(z: float) -> float:
        return min(max((1.0 + z) / 2.0, 0.0), 1.0)

    if len(F) <= 2:
        (z,) = score(F, 2)
        return [clipped(-z), clipped(z)]
    each = [clipped(value) for value in F]
    return [p / sum(each) for p in each] if sum(each) > 0 else [1.0 / len(F)] * len(F)


def smoothed_log_loss(z: list[list[float]], y: list[int], w: list[float], m: int, temperature: float) -> float:
    """Mean log loss of the softmax of z / T, and 1 / m of the mean over all rows and classes."""
    loss = doubt = 0.0
    for row, label, weight in zip(z, y, w, strict=True):
        log_p = [(each - max(row)) / temperature for each in row]
        normaliser = math.log(sum(math.exp(each) for each in log_p))
        loss -= weight * (log_p[label] - normaliser)
        doubt -= weight * (sum(log_p) / len(row) - normaliser)
    return (loss + doubt / m) / sum(w)


def tempered_share(row: list[float], temperature: float, prior: float) -> list[float]:
    """Powers of the votes, of which each class has some beforehand; the largest is taken out first."""
    powers = [((v + prior) / (max(row) + prior)) ** (1 / temperature) for v in row]
    return [power / sum(powers) for power in powers]


def share(F: Sequence[float], total: float | None = None) -> list[float]:
    if len(F) == 1:
        assert total is not None
        return [(1.0 - F[0] / total) / 2.0, (1.0 + F[0] / total) / 2.0]
    whole = sum(F) if total is None else total
    return [value / whole for value in F] if whole > 0 else [1.0 / len(F)] * len(F)


def goes_left(x: float, threshold: float, to_float32: Any) -> bool:
    """What scikit-learn's trees ask."""
    return float(to_float32(x)) <= threshold


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


def carried(link, shares: F64, total: float, n_steps: int = 20_000) -> F64:
    """``(places, K)`` of one row's shares ``(places, D)``: change of p where each feature alone goes a step further."""
    base, feature_pieces = shares[-1], shares[:-1]
    middle = base + (np.arange(n_steps)[:, None] + 0.5) / n_steps * feature_pieces.sum(axis=0)
    out = np.zeros((len(shares), link.probability(base[None], total).shape[1]))
    out[-1] = link.probability(base[None], total)[0]
    for j, share in enumerate(feature_pieces):
        half = share / n_steps / 2.0
        out[j] = (link.probability(middle + half, total) - link.probability(middle - half, total)).sum(axis=0)
    return out


def leaf_probabilities(voters: ModelForest, link, X: F64, weights: F64) -> F64:
    """``(n, p + 1, K)``: Shapley's mean over all sets, of trees of the leaves' own probabilities; then their lines."""
    forest, record = voters.forest, voters.record
    assert record is not None
    value, mass = np.zeros((len(voters.model), voters.n_classes)), np.zeros(len(voters.model))
    for t in range(len(forest)):
        first = int(forest.offset[t])
        for i in reversed(range(first, int(forest.offset[t + 1]))):
            model = int(voters.model[i])
            if model < 0:
                child = first + int(forest.left[i])
                mass[i] = mass[child] + mass[child + 1]
                continue
            mass[i] = record.mass[model]
            score = voters.intercept[model] + voters.coefficient[model] @ record.centre[model]
            value[i] = link.probability(score[None])[0]
    out = traverse.contributions(replace(forest, weight=mass), value, X, weights, voters.n_classes)
    D, leaf = voters.design.matrix(X), forest.apply(X)
    for i in range(len(X)):
        for t, weight in enumerate(weights):
            model = int(voters.model[forest.offset[t] + leaf[i, t]])
            shares = np.zeros((X.shape[1] + 1, voters.intercept.shape[1]))
            shares[-1] = voters.intercept[model] + voters.coefficient[model] @ record.centre[model]
            for c, j in enumerate(voters.design.source):
                shares[j] += voters.coefficient[model, :, c] * (D[i, c] - record.centre[model, c])
            out[i, :-1] += weight * carried(link, shares, 1.0, 2_000)[:-1]
    return out
