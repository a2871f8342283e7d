"""Boosting that looks at margins, by the book: every row and every stump, signed[i, j] = y_i h_j(x_i)."""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

F64 = NDArray[np.float64]


def largest_minimum_margin(signed: NDArray[Any]) -> float:
    """max rho s.t. signed @ w >= rho, w on the simplex: one dense linear program."""
    n, N = signed.shape
    found = linprog(
        np.append(np.zeros(N), -1.0),
        np.hstack([-signed.astype(float), np.ones((n, 1))]),
        np.zeros(n),
        np.append(np.ones(N), 0.0)[None],
        [1.0],
        [(0, None)] * N + [(None, None)],
    )
    assert found.status == 0
    return -float(found.fun)


def arc_gv_round(share: F64, chosen: list[NDArray[Any]], alphas: list[float]) -> tuple[F64, float]:
    """Row weights and the margin reached before the next round; `chosen` are the signed votes so far."""
    F = np.zeros(len(share))
    for alpha, votes in zip(alphas, chosen, strict=True):
        F += alpha * votes
    u = share * np.exp(-F)
    reached = max(0.0, float(F.min()) / sum(alphas)) if alphas else 0.0
    return u / u.sum(), reached


def arc_gv_step(edge: float, reached: float) -> float:
    """1/2 ln((1 + g) / (1 - g)) - 1/2 ln((1 + r) / (1 - r))."""
    return 0.5 * float(np.log((1 + edge) / (1 - edge)) - np.log((1 + reached) / (1 - reached)))


def md_matrix(n: int) -> F64:
    """A = I - (11' - I) / (n - 1)."""
    return np.eye(n) - (np.ones((n, n)) - np.eye(n)) / (n - 1)


def md_objective(rho: F64) -> float:
    """1/2 rho' A rho - 1' rho."""
    return float(0.5 * rho @ md_matrix(len(rho)) @ rho - rho.sum())


def md_row_weights(rho: F64) -> F64:
    """u = 1 - A rho."""
    weights: F64 = 1.0 - md_matrix(len(rho)) @ rho
    return weights


def sigmoid_cost(share: F64, margins: F64, steepness: float) -> float:
    """sum_i p_i (1 - tanh(lambda m_i))."""
    return float(sum(p * (1.0 - np.tanh(steepness * m)) for p, m in zip(share, margins, strict=True)))


def sigmoid_slopes(share: F64, margins: F64, steepness: float) -> F64:
    """How fast each row's cost falls: p_i lambda / cosh^2(lambda m_i)."""
    return np.array([p * steepness / np.cosh(steepness * m) ** 2 for p, m in zip(share, margins, strict=True)])


def least_on_a_line(share: F64, margins: F64, votes: NDArray[Any], steepness: float, most: float) -> float:
    """The least cost of (1 - s) m + s y h, s on a fine grid over [0, most]."""
    return min(
        sigmoid_cost(share, (1 - s) * margins + s * votes, steepness) for s in np.linspace(0.0, most, 401).tolist()
    )


def all_signed_stumps(X: F64, y: NDArray[Any]) -> NDArray[np.int8]:
    """y_i h_j(x_i) of every stump between two different values, and of its complement; y is -1 or +1."""
    votes = [np.where(x > (low + high) / 2, 1, -1) for x in X.T for low, high in pairwise(np.unique(x))]
    signed = np.array(votes, dtype=np.int8).T * y[:, None].astype(np.int8)
    return np.hstack([signed, -signed])
