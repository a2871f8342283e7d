"""Quadratic programs over the simplex: by non-negative least squares, or by an active-set method from a good start."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64

PULL = 1e5  # weight of the equation of the mean in the search for the support; its error is about the inverse square

STEPS = 100  # most steps of non-negative least squares for each weight


def simplex_quadratic(Q: F64, *, mean_votes: F64 | None = None, mean: float = 0.0) -> tuple[F64, float]:
    """Minimise ``w'Qw`` over the simplex, with ``mean_votes @ w = mean`` if given; return w and its optimality gap."""
    from scipy.optimize import nnls  # a prediction does without

    T = len(Q)
    away = None if mean_votes is None else mean_votes - mean
    eigenvalues, vectors = np.linalg.eigh(Q)
    largest = max(float(eigenvalues[-1]), 1e-300)
    some = eigenvalues > 1e-15 * largest
    # over v >= 0, v'Qv + (1 - sum v)^2 is least at a multiple of the optimal w
    rows = [(vectors[:, some] * np.sqrt(eigenvalues[some] / largest)).T]
    if away is not None and np.abs(away).max() > 1e-14:
        rows.append(PULL * away[None] / np.abs(away).max())
    system = np.concatenate([*rows, np.ones((1, T))])
    steps = max(1, int(STEPS * T))
    try:
        v, _ = nnls(system, np.append(np.zeros(len(system) - 1), 1.0), maxiter=steps)
    except RuntimeError as error:
        raise RuntimeError(
            f"Non-negative least squares of {T} weights did not end in {steps} steps; leave out voters that are alike."
        ) from error
    w: F64 = v / v.sum()
    exact = _on_support(Q, away, np.flatnonzero(w))
    if exact is not None and _gap(Q, away, exact) <= _gap(Q, away, w) + 1e-10 * largest:
        w = exact
    return w, _gap(Q, away, w)


def _on_support(Q: F64, away: F64 | None, support: NDArray[np.intp]) -> F64 | None:
    A = np.ones((1, len(Q))) if away is None else np.stack([np.ones(len(Q)), away])
    while len(support):
        k, m = len(support), len(A)
        system = np.zeros((k + m, k + m))
        system[:k, :k] = Q[np.ix_(support, support)]
        system[k:, :k] = A[:, support]
        system[:k, k:] = A[:, support].T
        right = np.zeros(k + m)
        right[k] = 1.0
        solution = np.linalg.lstsq(system, right, rcond=1e-14)[0][:k]
        if (solution >= 0.0).all():
            if np.abs(A[:, support] @ solution - right[k:]).max() > 1e-12:
                return None
            w = np.zeros(len(Q))
            w[support] = solution
            return w
        support = support[solution > 0.0]
    return None


def _gap(Q: F64, away: F64 | None, w: F64) -> float:
    slope: F64 = 2.0 * (Q @ w)
    if away is None:
        return max(0.0, float(slope @ w - slope.min()))
    # the largest level s, over the equation's multiplier b, with s + b away_t <= slope_t for every voter
    columns = np.stack([np.ones(len(w)), away], axis=1)
    from scipy.optimize import linprog

    solution = linprog([-1.0, 0.0], columns, slope, bounds=[(None, None)] * 2, method="highs")
    return float("nan") if solution.fun is None else max(0.0, float(slope @ w) + solution.fun)


ROUNDING = 1e-12


def simplex_minimum(Q: F64, q: F64, start: F64) -> F64:
    """Minimise ``w'Qw / 2 - q'w`` over ``w >= 0, sum w = 1`` by a primal active-set method."""
    w = start.copy()
    used = w > 0.0
    size = max(float(np.abs(Q).max()), float(np.abs(q).max()), 1e-300)
    for _ in range(20 * len(q) + 100):
        support = np.flatnonzero(used)
        toward, bounded = _step_on_support(Q, q, support, w[support])
        decreasing = toward < -ROUNDING * np.abs(toward).max(initial=0.0)
        room = np.where(decreasing, w[support] / np.where(decreasing, -toward, 1.0), np.inf)
        first = int(np.argmin(room))
        if not bounded or room[first] < 1.0:
            if not np.isfinite(room[first]):
                break  # a direction within rounding of zero
            w[support] = np.maximum(0.0, w[support] + room[first] * toward)
            w[support[first]] = 0.0
            used[support[first]] = False
            continue
        w[support] = np.maximum(0.0, w[support] + toward)
        w /= w.sum()
        slope = Q @ w - q
        entering = int(np.argmin(np.where(used, np.inf, slope)))
        if used[entering] or slope[entering] >= float(slope @ w) - ROUNDING * size:
            break
        used[entering] = True
    return w


def _step_on_support(Q: F64, q: F64, support: NDArray[np.intp], w: F64) -> tuple[F64, bool]:
    k = len(support)
    if k == 1:  # one voter has all the weight
        return np.zeros(1), True
    system = np.zeros((k + 1, k + 1))
    system[:k, :k] = Q[np.ix_(support, support)]
    scale = max(float(np.abs(system).max()), float(np.abs(q[support]).max()), 1e-300)
    system[:k, :k] /= scale
    system[k, :k] = system[:k, k] = 1.0
    wanted = np.append(q[support] / scale - system[:k, :k] @ w, 0.0)
    try:
        solution = np.linalg.solve(system, wanted)
    except np.linalg.LinAlgError:
        solution = np.full(k + 1, np.nan)
    near = ROUNDING * max(float(np.abs(wanted).max()), 1.0) * k
    if (
        not np.isfinite(solution).all()
        or np.abs(system @ solution - wanted).max() > near
        or np.abs(solution[:k]).max() > 1e6
    ):
        # singular, or nearly: the shortest least-squares solution
        solution = np.linalg.lstsq(system, wanted, rcond=1e-12)[0]
        missed = wanted - system @ solution
        if np.abs(missed).max() > 1e3 * near:
            return missed[:k] - missed[:k].mean(), False
    return solution[:k], True
