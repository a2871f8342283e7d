"""Rademacher complexities as their definitions have them: every choice of signs, every choice of voters."""

from itertools import combinations_with_replacement, product

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]


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
