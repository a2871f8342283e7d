"""The objectives of the margins as dense programs, each written out whole and given to scipy."""

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
