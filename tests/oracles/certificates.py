"""Certificates as their definitions have them: loops over rows, voters, pairs and outcomes."""

from math import comb, exp, factorial, inf, log, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

F64 = NDArray[np.float64]


def kl(q: float, p: float) -> float:
    """Of two outcomes."""
    return kl_outcomes((q, 1.0 - q), (p, 1.0 - p))


def kl_outcomes(q: tuple[float, ...], p: tuple[float, ...]) -> float:
    """Of any number of outcomes."""
    total = 0.0
    for a, b in zip(q, p, strict=True):
        if a > 0.0:
            total += a * log(a / b) if b > 0.0 else inf
    return total


def kl_above(q: float, c: float) -> float:
    """The largest p with kl(q, p) <= c."""
    top = 1.0 - 1e-15
    return 1.0 if q >= top or kl(q, top) <= c else float(brentq(lambda p: kl(q, p) - c, q, top, xtol=1e-15))


def kl_below(q: float, c: float) -> float:
    """The smallest p with kl(q, p) <= c."""
    low = 1e-15
    return 0.0 if q <= low or kl(q, low) <= c else float(brentq(lambda p: kl(q, p) - c, low, q, xtol=1e-15))


def losses(least: F64, unseen: NDArray[np.bool_] | None) -> tuple[F64, F64, F64, F64, F64]:
    """Risk, rows, tandem loss, disagreement and rows of pairs, row by row."""
    n, T = least.shape
    risk, rows = np.zeros(T), np.zeros(T)
    tandem, disagreement, pair_rows = np.zeros((T, T)), np.zeros((T, T)), np.zeros((T, T))
    for i in range(n):
        for t in range(T):
            if unseen is not None and not unseen[i, t]:
                continue
            a = (1.0 - least[i, t]) / 2.0
            risk[t] += a
            rows[t] += 1
            for u in range(T):
                if unseen is not None and not unseen[i, u]:
                    continue
                b = (1.0 - least[i, u]) / 2.0
                tandem[t, u] += a * b
                disagreement[t, u] += a * (1.0 - b) + b * (1.0 - a)
                pair_rows[t, u] += 1
    with np.errstate(invalid="ignore"):
        return risk / rows, rows, tandem / pair_rows, disagreement / pair_rows, pair_rows


def moment_of_kl(n: int, p: tuple[float, ...]) -> float:
    """E exp(n kl(K / n, p)), K the counts of n independent draws of two or three outcomes."""
    total = 0.0
    if len(p) == 2:
        for k in range(n + 1):
            share = (k / n, 1.0 - k / n)
            total += comb(n, k) * p[0] ** k * p[1] ** (n - k) * exp(n * kl_outcomes(share, p))
        return total
    for a in range(n + 1):
        for b in range(n + 1 - a):
            c = n - a - b
            ways = factorial(n) // (factorial(a) * factorial(b) * factorial(c))
            shares = (a / n, b / n, c / n)
            total += ways * p[0] ** a * p[1] ** b * p[2] ** c * exp(n * kl_outcomes(shares, p))
    return total


def worst_c_bound(e: float, d: float, c: float, steps: int = 400) -> float:
    """The largest C-bound among the tandem losses and disagreements of a fine grid that kl leaves possible."""
    worst = 0.0
    for y in np.linspace(1e-9, 0.5 - 1e-9, steps):
        for x in np.linspace(1e-9, 1.0 - y - 1e-9, steps):
            if kl_outcomes((e, d, 1.0 - e - d), (x, y, 1.0 - x - y)) <= c:
                mean = 1.0 - 2.0 * x - y
                worst = max(worst, 1.0 if mean <= 0.0 else 1.0 - mean**2 / (1.0 - 2.0 * y))
    return worst


def drawn_vote(W: F64, N: int) -> float:
    """Mean over rows of the probability that most of N drawn voters are wrong."""
    return float(np.mean([sum(comb(N, k) * w**k * (1 - w) ** (N - k) for k in range(N // 2 + 1, N + 1)) for w in W]))


def seeger(mean: float, divergence: float, n: int, delta: float) -> float:
    """The PAC-Bayes-kl bound."""
    return kl_above(mean, (divergence + log(2.0 * sqrt(n) / delta)) / n)


def schapire(m: F64, size: int, delta: float, theta: float, N: int) -> float:
    """One theta and one N of the bound, every number as it stands in the proof."""
    n = len(m)
    epsilon = sqrt((log(N * (N + 1) ** 2 / delta) + N * log(size)) / (2 * n))
    return float(np.mean(m <= theta)) + 2.0 * exp(-N * theta**2 / 8) + epsilon
