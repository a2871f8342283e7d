"""Flat trees by definition: each row walked node by node, and Shapley's mean over all sets of features."""

import math
from collections.abc import Callable, Iterable
from itertools import combinations
from math import factorial

import numpy as np
from numpy.typing import NDArray

from committee.voters.forest import Forest


def goes_left(forest: Forest, node: int, x: float) -> bool:
    """Whether a value goes left at a node, counted over the whole forest."""
    bits = forest.category_bits[forest.category_offset[node] : forest.category_offset[node + 1]]
    if math.isnan(x):
        return bool(forest.missing_left[node])
    if len(bits) == 0:
        return bool(x <= forest.threshold[node])
    if math.isinf(x) or x != math.floor(x) or not 0 <= x < 32 * len(bits):
        return bool(forest.missing_left[node])
    category = int(x)
    return bool(int(bits[category // 32]) >> (category % 32) & 1)


def leaf(forest: Forest, tree: int, row: NDArray[np.float64]) -> int:
    """Leaf that a row reaches in a tree, counted over the whole forest."""
    first = int(forest.offset[tree])
    node = first
    while forest.feature[node] >= 0:
        left = first + int(forest.left[node])
        node = left if goes_left(forest, node, row[forest.feature[node]]) else left + 1
    return node


def apply(forest: Forest, X: NDArray[np.float64]) -> NDArray[np.int32]:
    """``(n, T)`` leaves, counted within each tree."""
    leaves = np.zeros((len(X), len(forest)), dtype=np.int32)
    for i, row in enumerate(X):
        for t in range(len(forest)):
            leaves[i, t] = leaf(forest, t, row) - forest.offset[t]
    return leaves


def votes(forest: Forest, X: NDArray[np.float64]) -> NDArray[np.int16] | NDArray[np.float64]:
    """Class indices ``(n, T)``, or scores ``(n, T, D)``."""
    cast = forest.label if forest.label is not None else forest.value
    assert cast is not None
    table = [[cast[leaf(forest, t, row)] for t in range(len(forest))] for row in X]
    if forest.label is not None:
        return np.array(table, dtype=np.int16).reshape(len(X), len(forest))
    return np.array(table, dtype=np.float64).reshape(len(X), len(forest), forest.n_outputs)


def tally(forest: Forest, X: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weighted sum of the votes, voter after voter."""
    total = np.zeros((len(X), forest.n_outputs))
    for i, row in enumerate(votes(forest, X)):
        for t, vote in enumerate(row):
            if forest.kind == "score":
                total[i] += weights[t] * vote
            elif vote >= 0:
                total[i, vote] += weights[t]
    return total


def sum_outputs(
    forest: Forest, value: NDArray[np.float64], X: NDArray[np.float64], weights: NDArray[np.float64], n_outputs: int
) -> NDArray[np.float64]:
    """``(n, n_outputs)``: tree t K + k adds its leaf's number, times the round's weight, to output k."""
    total = np.zeros((len(X), n_outputs))
    for i, row in enumerate(X):
        for t in range(len(forest)):
            total[i, t % n_outputs] += weights[t // n_outputs] * value[leaf(forest, t, row)]
    return total


def random_forest(
    rng: np.random.Generator,
    *,
    n_trees: int = 4,
    n_splits: int = 6,
    n_categories: tuple[int, ...] = (0, 0, 5, 40),
    n_classes: int = 3,
    n_outputs: int | None = None,
) -> Forest:
    """Trees that no data made: random splits (``n_categories[j] > 0`` makes column j categorical) and votes.

    ``n_outputs`` None gives label voters, of which some abstain.
    """
    nodes: dict[str, list[float]] = {
        name: [] for name in ("feature", "threshold", "left", "missing_left", "gain", "weight", "count")
    }
    sizes: list[int] = []
    words: list[int] = []
    bits: list[int] = []
    for _ in range(n_trees):
        size = 2 * int(rng.integers(n_splits + 1)) + 1
        inner = _inner_nodes(rng, size)
        sizes.append(size)
        for i in range(size):
            j = int(rng.integers(len(n_categories))) if i in inner else -1
            categorical = j >= 0 and n_categories[j] > 0
            n_words = -(-n_categories[j] // 32) if categorical else 0
            words.append(n_words)
            bits.extend(rng.integers(2**32, size=n_words))
            nodes["feature"].append(j)
            nodes["threshold"].append(0.0 if j < 0 or categorical else float(rng.integers(-3, 4)) / 2)
            nodes["left"].append(inner.get(i, -1))
            nodes["missing_left"].append(int(rng.integers(2)) if j >= 0 else 0)
            nodes["gain"].append(float(rng.random()) if j >= 0 else 0.0)
            nodes["weight"].append(float(rng.random()))
            nodes["count"].append(int(rng.integers(1, 1000)))
    N = sum(sizes)
    is_leaf = np.array(nodes["feature"]) < 0
    label = np.where(is_leaf, rng.integers(-1, n_classes, size=N), -1).astype(np.int32)
    return Forest(
        n_features=len(n_categories),
        n_classes=n_classes,
        offset=np.cumsum([0, *sizes], dtype=np.int64),
        feature=np.array(nodes["feature"], dtype=np.int32),
        threshold=np.array(nodes["threshold"], dtype=np.float64),
        left=np.array(nodes["left"], dtype=np.int32),
        missing_left=np.array(nodes["missing_left"], dtype=np.uint8),
        category_offset=np.cumsum([0, *words], dtype=np.int64),
        category_bits=np.array(bits, dtype=np.uint32),
        label=label if n_outputs is None else None,
        value=None if n_outputs is None else rng.normal(size=(N, n_outputs)),
        gain=np.array(nodes["gain"], dtype=np.float64),
        weight=np.array(nodes["weight"], dtype=np.float64),
        count=np.array(nodes["count"], dtype=np.int64),
    )


def _inner_nodes(rng: np.random.Generator, size: int) -> dict[int, int]:
    """A random shape of ``size`` nodes: inner node -> left child, children numbered in order of splitting."""
    inner: dict[int, int] = {}
    leaves = [0]
    for left in range(1, size, 2):
        inner[leaves.pop(int(rng.integers(len(leaves))))] = left
        leaves += [left, left + 1]
    return inner


def random_rows(rng: np.random.Generator, n: int, n_categories: tuple[int, ...] = (0, 0, 5, 40)) -> NDArray[np.float64]:
    """Rows that meet thresholds exactly, miss values, and hold codes that no training row had."""
    X = rng.integers(-4, 5, size=(n, len(n_categories))) / 2
    for j, k in enumerate(n_categories):
        if k:
            X[:, j] = rng.integers(0, k, size=n)
    odd = rng.random(X.shape) < 0.2
    X[odd] = rng.choice([np.nan, -0.0, -1.0, 0.5, 31.0, 32.0, 63.0, 64.0, 1e300, -1e300], size=odd.sum())
    return X


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
