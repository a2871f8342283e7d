"""Split criteria as formulas over a node's sums: functions of ``(..., planes)`` that return ``(...)``.

The planes are the class weights; (no, yes) weights per class for "confidence" with several outputs;
(sum w, sum w z) for squared error.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def ratio(a: Array, b: Array) -> Array:
    """a / b, and 0 where b is 0."""
    return np.divide(a, b, out=np.zeros(np.broadcast_shapes(a.shape, b.shape)), where=b > 0)


def gini(sums: Array) -> Array:
    return ratio((sums**2).sum(-1), sums.sum(-1))


def entropy(sums: Array) -> Array:
    total = sums.sum(-1)
    logs: Array = (sums * np.log(np.where(sums > 0, sums, 1))).sum(-1)
    return logs - total * np.log(np.where(total > 0, total, 1))


def confidence(sums: Array) -> Array:
    z: Array = 2.0 * np.sqrt(sums[..., 0::2] * sums[..., 1::2]).sum(-1)
    return -z


def squared_error(sums: Array) -> Array:
    """Summed over the targets, of which each has a plane."""
    return ratio((sums[..., 1:] ** 2).sum(-1), sums[..., 0])


def error(sums: Array) -> Array:
    """Right, if the node votes for its heaviest class."""
    return sums.max(-1)


SCORES: dict[str, Callable[[Array], Array]] = {
    "gini": gini,
    "entropy": entropy,
    "error": error,
    "confidence": confidence,
    "squared_error": squared_error,
}


def refusal_loss(right: Array, wrong: Array, refused: Array, n_classes: int) -> Array:
    """Z of a voter with these shares of the weight; 1 (no better than none) unless it beats chance."""
    others = n_classes - 1
    z = refused + n_classes * right ** (1 / n_classes) * (wrong / others) ** (others / n_classes)
    return np.where(others * right > wrong, z, 1.0)


def abstaining_gain(left: Array, right: Array) -> Array:
    """1 - Z of the best of (vote, vote), (vote, abstain), (abstain, vote), times the total weight."""
    n_classes = left.shape[-1]
    total = left.sum(-1) + right.sum(-1)
    right_of = [ratio(side.max(-1), total) for side in (left, right)]
    wrong_of = [np.maximum(ratio(side.sum(-1), total) - p, 0) for side, p in zip((left, right), right_of, strict=True)]
    zero = np.zeros_like(total)
    z: Array = np.minimum.reduce(
        [
            refusal_loss(right_of[0] + right_of[1], wrong_of[0] + wrong_of[1], zero, n_classes),
            refusal_loss(right_of[0], wrong_of[0], right_of[1] + wrong_of[1], n_classes),
            refusal_loss(right_of[1], wrong_of[1], right_of[0] + wrong_of[0], n_classes),
        ]
    )
    return (1.0 - z) * total


def gain(criterion: str, left: Array, right: Array) -> Array:
    """How much parting a node into ``left`` and ``right`` raises the score."""
    if criterion == "abstaining":
        return abstaining_gain(left, right)
    score = SCORES[criterion]
    return score(left) + score(right) - score(left + right)
