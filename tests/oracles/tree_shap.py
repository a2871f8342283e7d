"""Contributions by their definition: Shapley's mean over all sets of features, the game played node by node."""

from itertools import combinations
from math import factorial

import numpy as np
from numpy.typing import NDArray

from committee.voters.forest import Forest
from tests.oracles.traverse import goes_left

F64 = NDArray[np.float64]


def worth(forest: Forest, value: F64, tree: int, row: F64, known: frozenset[int]) -> F64:
    """Mean value of the leaves a row can reach when only some of its features are known."""
    first = int(forest.offset[tree])

    def below(node: int) -> F64:
        j = int(forest.feature[node])
        if j < 0:
            return np.asarray(value[node])
        left = first + int(forest.left[node])
        if j in known:
            return below(left if goes_left(forest, node, row[j]) else left + 1)
        w = forest.weight[left : left + 2]
        share = w / w.sum() if w.sum() > 0 else np.array([0.5, 0.5])
        return np.asarray(share[0] * below(left) + share[1] * below(left + 1))

    return below(first)


def contributions(forest: Forest, value: F64, X: F64, weights: F64, n_outputs: int) -> F64:
    """``(n, p + 1, n_outputs)``: of every feature, and last of none."""
    p, D = forest.n_features, value.shape[1]
    out = np.zeros((len(X), p + 1, n_outputs))
    for i, row in enumerate(X):
        for t in range(len(forest)):
            outputs = slice(None) if n_outputs == D else slice(t % n_outputs, t % n_outputs + 1)
            weight = weights[t if n_outputs == D else t // n_outputs]
            out[i, -1, outputs] += weight * worth(forest, value, t, row, frozenset())
            for j in range(p):
                out[i, j, outputs] += weight * _shapley(forest, value, t, row, j)
    return out


def _shapley(forest: Forest, value: F64, tree: int, row: F64, j: int) -> F64:
    p = forest.n_features
    others = [k for k in range(p) if k != j]
    total = np.zeros(value.shape[1])
    for size in range(p):
        share = factorial(size) * factorial(p - size - 1) / factorial(p)
        for chosen in combinations(others, size):
            S = frozenset(chosen)
            total += share * (worth(forest, value, tree, row, S | {j}) - worth(forest, value, tree, row, S))
    return total
