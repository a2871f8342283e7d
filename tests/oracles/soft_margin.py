"""The soft margin as one dense linear program, in its primal form, and as its definition."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

F64 = NDArray[np.float64]


def primal_program(
    signed: NDArray[Any], nu: float, weights: F64 | None = None, lines_of_row: int = 1
) -> tuple[float, F64]:
    """max rho - sum_i c_i xi_i over (alpha, rho, xi), one xi for all lines of a row; its value and alpha."""
    r, N = signed.shape
    n = r // lines_of_row
    w = np.ones(n) if weights is None else weights
    c = w / (nu * w.sum())
    cost = np.concatenate([np.zeros(N), [-1.0], c])
    A = np.hstack([-signed.astype(float), np.ones((r, 1)), -np.repeat(np.eye(n), lines_of_row, axis=0)])
    adds_up = np.concatenate([np.ones(N), np.zeros(1 + n)])[None]
    bounds = [(0, None)] * N + [(None, None)] + [(0, None)] * n
    found = linprog(cost, A, np.zeros(r), adds_up, [1.0], bounds)
    assert found.status == 0
    return -float(found.fun), found.x[:N]


def value_of(margins: F64, nu: float, weights: F64 | None = None) -> float:
    """max_rho rho - sum_i c_i max(0, rho - m_i): a concave function with its corners at the margins."""
    w = np.ones(len(margins)) if weights is None else weights
    c = w / (nu * w.sum())
    return max(float(rho - c @ np.maximum(0.0, rho - margins)) for rho in margins)


def all_signed_stumps(X: F64, y: NDArray[Any]) -> NDArray[np.int8]:
    """y_i h_j(x_i) of every stump between two different values, and of its complement."""
    votes = [np.where(x > cut, 1, -1) for x in X.T for cut in np.unique(x)[:-1]]
    signed = np.array(votes, dtype=np.int8).T * y[:, None].astype(np.int8)
    return np.hstack([signed, -signed])
