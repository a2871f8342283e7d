"""AdaBoost the slow way: every stump on the raw values is tried, and every row is re-weighted by the book.

Votes are written as in the papers: h in {-1, 0, +1} with 1/2 ln, where two classes are concerned; the factor of two
between this and a tally of votes per class is the caller's affair.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]


class TieError(Exception):
    """Two stumps are equally good: which of them is taken is nobody's business."""


@dataclass(frozen=True)
class Round:
    """One round: the stump, what its sides say (a class, a score per class), and the numbers that came out."""

    feature: int
    threshold: float
    left: Floats
    right: Floats
    alpha: float
    error: float
    normaliser: float

    def say(self, X: Floats) -> Floats:
        return np.where((X[:, self.feature] <= self.threshold)[:, None], self.left, self.right)


def stumps(X: Floats) -> Iterator[tuple[int, float, Mask]]:
    """Every stump: a threshold half-way between neighbouring values."""
    for j in range(X.shape[1]):
        values = np.unique(X[:, j])
        for low, high in pairwise(values):
            threshold = low + (high - low) / 2
            yield j, threshold, X[:, j] <= threshold


def class_weights(side: Mask, y: Integers, w: Floats, n_classes: int) -> Floats:
    return np.array([w[side & (y == k)].sum() for k in range(n_classes)])


def least(losses: list[float]) -> int:
    """The place of the least loss, if it is the only one."""
    order = np.argsort(losses)
    if len(order) > 1 and losses[order[1]] - losses[order[0]] <= 1e-9:
        raise TieError
    return int(order[0])


def best_stump(X: Floats, loss: Callable[[Mask], float]) -> tuple[int, float, Mask]:
    found = list(stumps(X))
    return found[least([loss(left) for _, _, left in found])]


# --- impurities and losses ----------------------------------------------------------------------------------


def gini(W: Floats) -> float:
    """Weight times impurity of one side."""
    return float(W.sum() - (W**2).sum() / W.sum()) if W.sum() > 0 else 0.0


def entropy(W: Floats) -> float:
    W = W[W > 0]
    return float(-(W * np.log(W / W.sum())).sum()) if len(W) else 0.0


IMPURITIES = {"gini": gini, "entropy": entropy}


# --- the algorithms -----------------------------------------------------------------------------------------


def samme(
    X: Floats, y: Integers, w: Floats, n_classes: int, learning_rate: float, rounds: int, criterion: str = "gini"
) -> Iterator[Round]:
    """Zhu et al. 2009, algorithm 2, with stumps of least impurity."""
    impurity, eps = IMPURITIES[criterion], 0.5 / max(w.sum(), len(y))
    w = w / w.sum()
    for _ in range(rounds):

        def loss(left: Mask, w: Floats = w) -> float:
            return sum(impurity(class_weights(side, y, w, n_classes)) for side in (left, ~left))

        feature, threshold, left = best_stump(X, loss)
        sides = [class_weights(side, y, w, n_classes) for side in (left, ~left)]
        for W in sides:
            least([*(-W)])  # a side of two equally heavy classes may vote for either
        labels = [int(W.argmax()) for W in sides]
        wrong = np.where(left, labels[0], labels[1]) != y
        error = float(w[wrong].sum())
        if error >= 1 - 1 / n_classes - 1e-9:
            raise TieError  # a voter of no worth; whether it is kept is a matter of rounding
        perfect = not wrong.any()
        bounded = eps if perfect else error
        alpha = learning_rate * (np.log((1 - bounded) / bounded) + np.log(n_classes - 1))
        # the exponential loss of Zhu et al., eq. 4: exp(-1/J Y . g), with Y and g summing to zero over the classes
        w = w * np.exp(np.where(wrong, alpha / n_classes, -alpha * (n_classes - 1) / n_classes))
        Z = float(w.sum())
        w = w / Z
        votes = np.eye(n_classes)[labels]
        yield Round(feature, threshold, votes[0], votes[1], alpha, error, Z)
        if perfect:
            return


def confidence(X: Floats, y: Integers, w: Floats, learning_rate: float, rounds: int) -> Iterator[Round]:
    """Schapire & Singer 1999, section 4.2: domain-partitioning voters with smoothed predictions; two classes."""
    eps, sign = 0.5 / max(w.sum(), len(y)), 2.0 * y - 1
    w = w / w.sum()
    for _ in range(rounds):

        def loss(left: Mask, w: Floats = w) -> float:
            return sum(2 * np.sqrt(np.prod(class_weights(side, y, w, 2))) for side in (left, ~left))

        feature, threshold, left = best_stump(X, loss)
        W = np.array([class_weights(side, y, w, 2) for side in (left, ~left)])
        c = 0.5 * np.log((W[:, 1] + eps) / (W[:, 0] + eps))
        w = w * np.exp(-learning_rate * sign * np.where(left, c[0], c[1]))
        Z = float(w.sum())
        w = w / Z
        error = float(W.min(axis=1).sum())
        yield Round(feature, threshold, c[:1], c[1:], learning_rate, error, Z)
        if error == 0:
            return


def adaboost_mh(
    X: Floats, y: Integers, w: Floats, n_classes: int, learning_rate: float, rounds: int
) -> Iterator[Round]:
    """Schapire & Singer 1999, section 6: a weight for every row and class, and a score for every class."""
    eps = 0.5 / (max(w.sum(), len(y)) * n_classes)
    Y = np.where(y[:, None] == np.arange(n_classes), 1.0, -1.0)
    D = np.repeat(w[:, None] / (w.sum() * n_classes), n_classes, axis=1)
    for _ in range(rounds):

        def pairs(side: Mask, D: Floats = D) -> tuple[Floats, Floats]:
            return (D * (Y > 0))[side].sum(axis=0), (D * (Y < 0))[side].sum(axis=0)

        def loss(left: Mask, pairs: Callable[[Mask], tuple[Floats, Floats]] = pairs) -> float:
            return sum(2 * np.sqrt(np.prod(pairs(side), axis=0)).sum() for side in (left, ~left))

        feature, threshold, left = best_stump(X, loss)
        yes, no = (np.array(W) for W in zip(pairs(left), pairs(~left), strict=True))
        c = 0.5 * np.log((yes + eps) / (no + eps))
        D = D * np.exp(-learning_rate * Y * np.where(left[:, None], c[0], c[1]))
        Z = float(D.sum())
        D = D / Z
        error = float(np.minimum(yes, no).sum())
        yield Round(feature, threshold, c[0], c[1], learning_rate, error, Z)
        if error == 0:
            return


def abstaining(X: Floats, y: Integers, w: Floats, learning_rate: float, rounds: int) -> Iterator[Round]:
    """Votes -1, 0, +1 of each side in every combination; the one with the least 1 - (sqrt P - sqrt N)^2."""
    eps, sign = 0.5 / max(w.sum(), len(y)), 2.0 * y - 1
    w = w / w.sum()
    votes = [pair for pair in product((-1.0, 0.0, 1.0), repeat=2) if pair != (0.0, 0.0)]
    for _ in range(rounds):
        found = [(j, t, left, pair) for (j, t, left), pair in product(stumps(X), votes)]
        shares = []
        for _, _, left, pair in found:
            agreement = sign * np.where(left, *pair)
            shares.append((w[agreement > 0].sum(), w[agreement < 0].sum()))
        # a voter that is wrong more often than right is the opposite of another
        losses = [1 - (np.sqrt(P) - np.sqrt(N)) ** 2 if P > N else 1.0 for P, N in shares]
        best = least(losses)
        (feature, threshold, left, pair), (P, N) = found[best], shares[best]
        alpha = learning_rate * 0.5 * np.log((P + eps) / (N + eps))
        w = w * np.exp(-alpha * sign * np.where(left, *pair))
        Z = float(w.sum())
        w = w / Z
        yield Round(feature, threshold, np.array(pair[:1]), np.array(pair[1:]), alpha, float(N), Z)
        if N == 0 and 0.0 not in pair:
            return
