"""Contributions by their definition: Shapley's mean over all sets of features, the game played node by node."""

from collections.abc import Callable, Iterable
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


def interventional(
    forest: Forest,
    value: F64,
    X: F64,
    Z: F64,
    weights: F64,
    n_outputs: int,
    line: Callable[[int, F64], F64] | None = None,
) -> F64:
    """``(n, p + 1, n_outputs)``: Shapley's mean over all sets, with the trees walked by mixtures of two rows.

    ``line(node, row)`` is what the lines of a leaf add, of each column of `value`.
    """
    p, D = forest.n_features, value.shape[1]

    def score(row: F64) -> F64:
        total = np.zeros(n_outputs)
        for t in range(len(forest)):
            at = int(forest.offset[t])
            while forest.feature[at] >= 0:
                j = int(forest.feature[at])
                at = int(forest.offset[t]) + int(forest.left[at]) + (not goes_left(forest, at, row[j]))
            outputs = slice(None) if n_outputs == D else slice(t % n_outputs, t % n_outputs + 1)
            weight = weights[t if n_outputs == D else t // n_outputs]
            total[outputs] += weight * (value[at] + (0.0 if line is None else line(at, row)))
        return total

    out = np.zeros((len(X), p + 1, n_outputs))
    for i, row in enumerate(X):
        for z in Z:
            worth = {S: score(np.where([j in S for j in range(p)], row, z)) for S in _sets(range(p))}
            out[i, -1] += worth[frozenset()] / len(Z)
            for j in range(p):
                for S in _sets([k for k in range(p) if k != j]):
                    share = factorial(len(S)) * factorial(p - len(S) - 1) / factorial(p)
                    out[i, j] += share * (worth[S | {j}] - worth[S]) / len(Z)
    return out


def interactions(forest: Forest, value: F64, X: F64, weights: F64, n_outputs: int) -> F64:
    """``(n, p, p, n_outputs)``: half of Shapley's interaction index for two features, and 0 for one."""
    p, D = forest.n_features, value.shape[1]
    out = np.zeros((len(X), p, p, n_outputs))
    for i, row in enumerate(X):
        for t in range(len(forest)):
            outputs = slice(None) if n_outputs == D else slice(t % n_outputs, t % n_outputs + 1)
            weight = weights[t if n_outputs == D else t // n_outputs]
            known = {S: worth(forest, value, t, row, S) for S in _sets(range(p))}
            for j, k in combinations(range(p), 2):
                for S in _sets([one for one in range(p) if one not in (j, k)]):
                    share = factorial(len(S)) * factorial(p - len(S) - 2) / factorial(p - 1) / 2.0
                    both = known[S | {j, k}] - known[S | {j}] - known[S | {k}] + known[S]
                    out[i, j, k, outputs] += weight * share * both
                    out[i, k, j, outputs] += weight * share * both
    return out


def _sets(features: Iterable[int]) -> list[frozenset[int]]:
    chosen = list(features)
    return [frozenset(some) for size in range(len(chosen) + 1) for some in combinations(chosen, size)]
