"""Margin objectives as dense programs given to scipy, and rounds of the margin boosters."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog, minimize

F64 = NDArray[np.float64]
INFEASIBLE = 2


def dense_program(cost: F64, S: F64, at_least: F64) -> tuple[int, float, F64 | None]:
    """max cost @ w over the simplex with S w >= at_least; scipy's status, the value, w."""
    T = len(cost)
    found = linprog(-cost, -S, -at_least, np.ones((1, T)), [1.0], [(0, None)] * T, method="highs")
    return found.status, np.nan if found.x is None else -float(found.fun), found.x


def rows_program(r: F64, S: F64, at_least: F64) -> tuple[int, float]:
    """max sum_i r_i z_i over (w, z), z_i up to each of row i's lines and at least its own number; status and value."""
    n, T = len(r), S.shape[1]
    A = np.hstack([-S, np.repeat(np.eye(n), len(S) // n, axis=0)])
    bounds = [(0, None)] * T + [(float(b), None) for b in at_least]
    adds_up = np.append(np.ones(T), np.zeros(n))[None]
    found = linprog(np.append(np.zeros(T), -r), A, np.zeros(len(S)), adds_up, [1.0], bounds, method="highs")
    return found.status, np.nan if found.x is None else -float(found.fun)


def row_margins(S: F64, w: F64, n: int) -> F64:
    """The least of each row's lines, which are next to each other."""
    return np.array([lines.min() for lines in np.split(S @ w, n)])


def emphasised(kind: str, margins: F64, row_weight: F64, parameter: float) -> F64:
    """Weights r_i of the rows in the sum that is maximised; they sum to one."""
    n = len(margins)
    if kind == "uniform":
        r = np.ones(n)
    elif kind == "rank":
        rank = np.array([1 + np.sum(margins < m - 1e-12) for m in margins])
        r = (n + 1.0 - rank) ** parameter
    else:
        r = (margins <= level(margins, row_weight, parameter) + 1e-12).astype(float)
    r = r * row_weight
    return r / r.sum()


def level(margins: F64, row_weight: F64, xi: float) -> float:
    """The least margin m with a share of at least xi of the weight at or below it."""
    return float(min(m for m in margins if row_weight[margins <= m].sum() >= xi - 1e-12))


def least_margin(S: F64) -> float:
    """max z with S w >= z."""
    r, T = S.shape
    A = np.hstack([-S, np.ones((r, 1))])
    bounds = [(0, None)] * T + [(None, None)]
    found = linprog(np.append(np.zeros(T), -1.0), A, np.zeros(r), [[1.0] * T + [0.0]], [1.0], bounds, method="highs")
    return -float(found.fun)


def distance_program(S: F64, share: F64, centre: float, largest: bool) -> float:
    """min of the mean or the largest |centre - S w|, with a number for each row's distance."""
    r, T = S.shape
    each = np.ones((r, 1)) if largest else np.eye(r)
    k = each.shape[1]
    A = np.vstack([np.hstack([S, -each]), np.hstack([-S, -each])])
    b = np.append(np.full(r, centre), np.full(r, -centre))
    cost = np.append(np.zeros(T), [1.0] if largest else share)
    bounds = [(0, None)] * (T + k)
    found = linprog(cost, A, b, [[1.0] * T + [0.0] * k], [1.0], bounds, method="highs")
    return float(found.fun)


def quadratic(S: F64, share: F64, centre: float, mean: float | None, start: F64) -> float:
    """min of the mean of (S w - centre)^2 over the simplex, with a fixed mean if there is one, by SLSQP."""
    equations: list[dict[str, Any]] = [{"type": "eq", "fun": lambda w: w.sum() - 1.0}]
    if mean is not None:
        equations.append({"type": "eq", "fun": lambda w: share @ S @ w - mean})
    found = minimize(
        lambda w: share @ (S @ w - centre) ** 2,
        start,
        jac=lambda w: 2.0 * S.T @ (share * (S @ w - centre)),
        bounds=[(0.0, 1.0)] * len(start),
        constraints=equations,
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-14},
    )
    return float(found.fun)


def tangent_gap(S: F64, share: F64, centre: float, w: F64, mean: float | None) -> float:
    """How far w is from satisfying the conditions of Karush, Kuhn and Tucker for the quadratic program.

    The slope, less multipliers for the equations, is zero where w is positive and nowhere negative.
    """
    slope = 2.0 * S.T @ (share * (S @ w - centre))
    columns = [np.ones(len(w))] + ([] if mean is None else [share @ S])
    A = np.array(columns).T
    support = w > 1e-9
    multipliers = np.linalg.lstsq(A[support], slope[support], rcond=None)[0]
    rest = slope - A @ multipliers
    return float(max(np.abs(rest[support]).max(), -rest.min()))


def sigmoid_cost(S: F64, row_weight: F64, steepness: float, w: F64) -> float:
    """Mean of 1 - tanh(steepness m), m each row's margin; of several lines their smooth minimum."""
    sharp = 4.0 * steepness
    lines = np.split(S @ w, len(row_weight))
    m = np.array([-np.logaddexp.reduce(-sharp * at) / sharp + np.log(len(at)) / sharp for at in lines])
    return float(row_weight @ (1.0 - np.tanh(steepness * m)))


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


def mean_sigmoid_cost(share: F64, margins: F64, steepness: float) -> float:
    """sum_i p_i (1 - tanh(lambda m_i))."""
    return float(sum(p * (1.0 - np.tanh(steepness * m)) for p, m in zip(share, margins, strict=True)))


def sigmoid_slopes(share: F64, margins: F64, steepness: float) -> F64:
    """How fast each row's cost falls: p_i lambda / cosh^2(lambda m_i)."""
    return np.array([p * steepness / np.cosh(steepness * m) ** 2 for p, m in zip(share, margins, strict=True)])


def least_on_a_line(share: F64, margins: F64, votes: NDArray[Any], steepness: float, most: float) -> float:
    """The least cost of (1 - s) m + s y h, s on a fine grid over [0, most]."""
    return min(
        mean_sigmoid_cost(share, (1 - s) * margins + s * votes, steepness) for s in np.linspace(0.0, most, 401).tolist()
    )


def all_signed_stumps(X: F64, y: NDArray[Any]) -> NDArray[np.int8]:
    """y_i h_j(x_i) of every stump between two different values, and of its complement; y is -1 or +1."""
    votes = [np.where(x > (low + high) / 2, 1, -1) for x in X.T for low, high in pairwise(np.unique(x))]
    signed = np.array(votes, dtype=np.int8).T * y[:, None].astype(np.int8)
    return np.hstack([signed, -signed])


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


def signed_stump_votes(X: F64, y: NDArray[Any]) -> NDArray[np.int8]:
    """y_i h_j(x_i) of every stump between two different values, and of its complement."""
    votes = [np.where(x > cut, 1, -1) for x in X.T for cut in np.unique(x)[:-1]]
    signed = np.array(votes, dtype=np.int8).T * y[:, None].astype(np.int8)
    return np.hstack([signed, -signed])
