"""The vote the slow way: one row and one voter after the other, with Python's own numbers.

A label vote is a class index or -1 for none; a score vote is a list of D numbers.
"""

import math
from collections.abc import Sequence
from typing import Any

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
