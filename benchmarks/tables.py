"""Synthetic tables of any size; the same seed gives the same table."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.datasets import make_hastie_10_2

Table = tuple[NDArray[np.float64], NDArray[np.int64]]
SparseTable = tuple[csr_array, NDArray[np.int64]]


def collisions(n: int, seed: int = 0) -> Table:
    """A table of the kind of HIGGS: 28 columns of two classes, a nonlinear rule under noise.

    21 measured columns - skewed momenta, angles, and four with three or four distinct values - and seven
    derived from them (products, ratios, combined masses), on which the rule mostly rests, as in
    particle physics. About 30% of the labels cannot be known.

    Returns
    -------
    X : float64 array (n, 28)
    y : int64 array (n,)
    """
    r = np.random.default_rng(seed)
    momenta = r.gamma(2.0, 0.5, (n, 6))
    angles = r.uniform(-np.pi, np.pi, (n, 6))
    slopes = r.normal(0.0, 1.0, (n, 5))
    tags = np.column_stack([r.choice([0.0, 1.1, 2.2], n, p=[0.5, 0.2, 0.3]) for _ in range(3)])
    count = r.integers(1, 5, (n, 1)).astype(np.float64)
    p, a, s = momenta.T, angles.T, slopes.T
    masses = [
        np.sqrt(2.0 * p[i] * p[j] * np.maximum(np.cosh(s[i]) - np.cos(a[i] - a[j]), 0.0))
        for i, j in ((0, 1), (1, 2), (2, 3), (3, 4))
    ]
    derived = np.column_stack([*masses, p[:4].sum(axis=0), p[4] / (p[5] + 0.1), np.abs(a[0] - a[1])])
    X = np.column_stack([momenta, angles, slopes, tags, count, derived])
    m = derived.T
    score = (
        1.1 * (np.abs(m[0] - 1.2) < 0.5)
        + 0.9 * np.tanh(m[1] - m[2])
        + 0.5 * (tags[:, 0] > 0.0) * (tags[:, 1] > 0.0)
        - 0.7 * (m[4] > 4.5)
        + 0.6 * np.sin(m[6])
        + 0.3 * s[0] * s[1]
        - 0.35
    )
    y = (r.random(n) < 1.0 / (1.0 + np.exp(-1.6 * score))).astype(np.int64)
    return np.ascontiguousarray(X), y


def hastie(n: int, seed: int = 0) -> Table:
    """Hastie's ten Gaussian columns, class 1 outside a sphere (`make_hastie_10_2`), classes 0 and 1."""
    X, y = make_hastie_10_2(n, random_state=seed)
    return np.ascontiguousarray(X), (y > 0).astype(np.int64)


def several_targets(n: int, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """20 Gaussian columns and five numbers that follow from them: directions in common, and each a product of its own.

    Returns
    -------
    X : float64 array (n, 20)
    Y : float64 array (n, 5)
    """
    r, rule = np.random.default_rng(seed), np.random.default_rng(7)
    X = r.normal(size=(n, 20))
    common = np.tanh(X[:, :8] @ rule.normal(size=(8, 2))) @ rule.normal(size=(2, 5))
    own = X[:, 8:13] * X[:, 13:18]
    return X, 2.0 * common + own + 0.5 * r.normal(size=(n, 5))


def one_hot(n: int, seed: int = 0) -> SparseTable:
    """20 categorical columns of 25 levels each, one-hot encoded: 500 columns, 20 stored ones in a row.

    The lower a level the more frequent it is; the class is a noisy sum over levels, halved at its median.
    """
    r, rule = np.random.default_rng(seed), np.random.default_rng(7)
    levels = (25 * r.random((n, 20)) * r.random((n, 20))).astype(np.int64)
    columns = (levels + 25 * np.arange(20)).astype(np.int32)
    X = csr_array((np.ones(columns.size), columns.ravel(), np.arange(0, columns.size + 1, 20, np.int32)), (n, 500))
    score = X @ rule.normal(size=500)
    return X, (score + 0.5 * score.std() * r.normal(size=n) > np.median(score)).astype(np.int64)


def documents(n: int, seed: int = 0) -> SparseTable:
    """Counts of 20,000 words, the k-th of which comes up as often as 1 / k, in some 80 cells a row.

    One word in twenty matters to the class, by the logarithm of its count.
    """
    r, rule = np.random.default_rng(seed), np.random.default_rng(7)
    share = 1.0 / np.arange(1, 20_001)
    length = r.poisson(115, n)
    words = r.choice(20_000, size=length.sum(), p=share / share.sum())
    row = np.repeat(np.arange(n), length)
    cell, count = np.unique(row * 20_000 + words, return_counts=True)
    start = np.searchsorted(cell, np.arange(n + 1) * 20_000).astype(np.int32)
    X = csr_array((count.astype(np.float64), (cell % 20_000).astype(np.int32), start), (n, 20_000))
    score = X.log1p() @ (rule.normal(size=20_000) * (rule.random(20_000) < 0.05))
    return X, (score + 0.5 * score.std() * r.normal(size=n) > np.median(score)).astype(np.int64)
