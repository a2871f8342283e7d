"""The bounds' ingredients as their definitions have them: loops over rows, pairs and outcomes."""

from itertools import product
from math import comb

import numpy as np
from numpy.typing import NDArray


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
