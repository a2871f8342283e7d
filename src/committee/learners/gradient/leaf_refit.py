"""Leaves of losses that a Newton step does not serve: each gets the constant that is best for its rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64
from committee.objectives.losses import Loss


def refits(loss: Loss) -> bool:
    """Tell whether the loss has a best constant of its own for the rows of a leaf."""
    return loss.leaf_constant(np.zeros(1), None) is not None


def refitted(
    loss: Loss, value: F64, bounds: F64, leaf: NDArray[np.int32], residual: F64, w: F64 | None, first: int = 0
) -> F64:
    """The leaf values ``(N, D)`` that are best for the leaves' rows, by the `leaf_constant` of the loss.

    Penalties choose the splits, and which leaves abstain: a value of 0 stays 0. The others are not shrunk, but stay
    within the node's bounds ``(N, 2)``, so that monotone constraints hold. Of each row are given its leaf, its
    residuals ``(D, m)`` and its weight; score `first` is the first of the D.
    """
    # 16 bits are enough for the leaves of most trees, and are sorted in linear time
    order = np.argsort(leaf.astype(np.int16) if len(value) < 1 << 15 else leaf, kind="stable")
    end = np.cumsum(np.bincount(leaf, minlength=len(value)))
    new = value.copy()
    weights = None if w is None else w[order]
    for k, part in enumerate(residual):
        ordered = part[order]
        for i in np.flatnonzero(value[:, k]).tolist():
            rows = slice(end[i - 1] if i else 0, end[i])
            if rows.start < rows.stop:
                best: Any = loss.leaf_constant(ordered[rows], None if weights is None else weights[rows], first + k)
                new[i, k] = min(max(best, bounds[i, 0]), bounds[i, 1])
    return new
