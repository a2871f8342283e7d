"""Reduced-error pruning from its definition: every node's score refitted on its kept rows, and judged by the others."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tests.oracles import linear_boost

Floats = NDArray[np.float64]
Integers = NDArray[np.integer]


def held_out_error(
    D: Floats,
    labels: NDArray[np.uint16],
    weights: Floats,
    rows: Integers,
    held_out: Integers,
    n_outputs: int,
    settings: linear_boost.Settings,
    most_rows: int,
) -> tuple[float, bool]:
    """Weight of a node's held-out rows that its own scores are wrong about, and whether no step or vote is a tie."""
    judges, fitted = rows[held_out[rows] == 1], rows[held_out[rows] == 0]
    if not len(fitted):
        return float(weights[judges].sum()), True
    if len(fitted) > most_rows:
        fitted = fitted[[i * len(fitted) // most_rows for i in range(most_rows)]]
    signs = linear_boost.signs(labels[fitted], n_outputs)
    fit = linear_boost.boost(D[fitted], signs, weights[fitted], settings)
    scores = fit.intercept + D[judges] @ fit.coefficient.T
    both = np.hstack([np.zeros_like(scores), scores]) if n_outputs == 1 else scores
    lead = np.diff(np.sort(both, axis=1)[:, -2:], axis=1)
    wrong = both.argmax(axis=1) != labels[judges]
    return float(weights[judges][wrong].sum()), fit.clear == settings.n_steps and bool((lead > 1e-7).all())


def least_error(left: Sequence[int], errors: Sequence[float], node: int = 0) -> float:
    """The least that any way of cutting the tree below a node gets wrong, by trying all of them."""
    if left[node] < 0:
        return errors[node]
    below = least_error(left, errors, left[node]) + least_error(left, errors, left[node] + 1)
    return min(errors[node], below)
