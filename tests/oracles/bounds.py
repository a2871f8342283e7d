"""The bounds' ingredients as their definitions have them: loops over rows, pairs and outcomes."""

from __future__ import annotations

from itertools import combinations_with_replacement, product
from math import comb, exp, factorial, inf, log, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq


def overlap(draws: NDArray[np.bool_]) -> tuple[float, float, float]:
    """A, B and C of eq. 36: over draws, draws again, rows and rows again."""
    M, n = draws.shape
    A = B = C = 0.0
    for k in range(n):
        R_k = sum(int(draws[i, k]) for i in range(M))
        A += R_k**2 / M**2
        C = max(C, R_k / M)
        for other in range(n):
            if other != k:
                R_kl = sum(int(draws[i, k] and draws[i, other]) for i in range(M))
                B += R_kl**2 / M**2
    return A, B, C


def moments(K: dict[tuple[int, ...], float], q: float) -> tuple[float, float, float, float]:
    """E[K], sigma_1^2, beta and gamma (eq. 15 and 37) of a symmetric kernel of m rows, each 1 with probability q.

    beta = E[(V_1 V_2 K)^2] and gamma = max over y, y' and the other rows of E[(V_1 V_2 K)^2] over the second.
    """
    m = len(next(iter(K)))

    def weight(x: tuple[int, ...]) -> float:
        return float(np.prod([q if value else 1.0 - q for value in x]))

    mean = sum(weight(x) * K[x] for x in K)
    given_first = [sum(weight(rest) * K[(x, *rest)] for rest in product((0, 1), repeat=m - 1)) for x in (0, 1)]
    sigma1 = (1.0 - q) * (given_first[0] - mean) ** 2 + q * (given_first[1] - mean) ** 2
    if m == 1:
        return mean, sigma1, 0.0, 0.0
    beta = gamma = 0.0
    for rest in product((0, 1), repeat=m - 2):
        for y, other in product((0, 1), repeat=2):
            over_second = 0.0
            for x, x_other in product((0, 1), repeat=2):
                change = K[(y, x, *rest)] - K[(other, x, *rest)] - K[(y, x_other, *rest)] + K[(other, x_other, *rest)]
                over_second += weight((x, x_other)) * change**2
            beta += weight(rest) * weight((y, other)) * over_second
            gamma = max(gamma, over_second)
    return mean, sigma1, beta, gamma


def majority_kernel(m: int) -> dict[tuple[int, ...], float]:
    """K = +1 where the majority of m labels is wrong (not 1), else -1."""
    return {x: 1.0 if 2 * sum(x) <= m else -1.0 for x in product((0, 1), repeat=m)}


def parity_kernel(m: int) -> dict[tuple[int, ...], float]:
    """K = the parity of m labels: no row alone says anything, all together everything."""
    return {x: 1.0 if sum(x) % 2 else -1.0 for x in product((0, 1), repeat=m)}


def votes_of_small_sets(n: int, d: int, n_rounds: int) -> int:
    """Labellings of n rows by weighted votes of T voters that are positive on at most d rows, or everywhere.

    T - 1 disjoint sets of weight 1 and the constant of weight T - 2: any set of at most d (T - 1) rows is voted
    positive. The voters' VC-dimension is d + 1.
    """
    return sum(comb(n, size) for size in range(d * (n_rounds - 1) + 1))


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


def every_sign(n: int) -> F64:
    """All sign vectors, ``(2^n, n)``."""
    return np.array(list(product((-1.0, 1.0), repeat=n)))


def complexity(H: F64, w: F64 | None = None) -> float:
    """E_sigma max_j |sum_i w_i sigma_i h_j(x_i)|, of a symmetric class."""
    w = np.full(len(H), 1.0 / len(H)) if w is None else w / w.sum()
    return float(np.abs((every_sign(len(H)) * w) @ H).max(axis=1).mean())


def complexity_of_functions(G: F64) -> float:
    """E_sigma max_g mean sigma_i g(z_i), of a class that need not be symmetric."""
    return float((every_sign(len(G)) @ G / len(G)).max(axis=1).mean())


def complexity_of_votes(H: F64, n_voters: int, p: float) -> float:
    """E_sigma of the supremum over T voters, one more than once if need be, and weights with ||alpha||_p = 1."""
    q = np.inf if p == 1.0 else 1.0 / (1.0 - 1.0 / p)
    correlations = every_sign(len(H)) @ H / len(H)
    chosen = combinations_with_replacement(range(H.shape[1]), n_voters)
    return float(np.mean(np.max([np.linalg.norm(correlations[:, c], q, axis=1) for c in map(list, chosen)], axis=0)))
