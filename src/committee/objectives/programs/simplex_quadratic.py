"""Quadratic programs over the simplex, as non-negative least squares."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog, nnls

from committee.data.number_types import F64

PULL = 1e5
"""Weight of the equation of the mean while the support is searched; the mean is missed by about its inverse square."""

STEPS = 100
"""Most steps of the active-set method for each weight."""


def simplex_quadratic(Q: F64, *, mean_votes: F64 | None = None, mean: float = 0.0) -> tuple[F64, float]:
    """Minimise ``w'Qw`` over the simplex, with ``mean_votes @ w = mean`` if that is given.

    For v >= 0 that need not sum to one, v'Qv + (1 - sum v)^2 is least where v is a multiple of the optimal w: the first
    term sets the direction whatever the length. So with Q = R'R the program is one of non-negative least squares,
    which the active-set method of Lawson and Hanson solves without tolerances. The other equation is, on the simplex,
    (mean_votes - mean) @ w = 0: one more row with a large weight. Then, with the set of positive weights known, the
    optimum is solved again as a system of linear equations, in which it holds exactly.

    Parameters
    ----------
    Q : float64 array (T, T)
        Symmetric, without negative eigenvalues.
    mean_votes : float64 array (T,), default=None
        One more equation; `mean` lies within its range.
    mean : float, default=0.0
        Its right-hand side.

    Returns
    -------
    weights : float64 array (T,)
    gap : float
        By how much no feasible weights can be better: the convex function lies above its tangent at `weights`, whose
        least value on the feasible set is known.

    Raises
    ------
    RuntimeError
        If the active-set method does not end.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.objectives.programs.simplex_quadratic import simplex_quadratic
    >>> weights, gap = simplex_quadratic(np.diag([1.0, 3.0]))
    >>> weights.round(9).tolist(), gap < 1e-12
    ([0.75, 0.25], True)
    """
    T = len(Q)
    away = None if mean_votes is None else mean_votes - mean
    eigenvalues, vectors = np.linalg.eigh(Q)
    largest = max(float(eigenvalues[-1]), 1e-300)
    some = eigenvalues > 1e-15 * largest
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
    """Return the optimum on these weights, less those that would be negative; None if there is none."""
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
    """Decrease of the tangent at w over the feasible set: slope @ w - max_b min_t (slope - b away)_t."""
    slope: F64 = 2.0 * (Q @ w)
    if away is None:
        return max(0.0, float(slope @ w - slope.min()))
    # the largest level s, over the equation's multiplier b, with s + b away_t <= slope_t for every voter
    columns = np.stack([np.ones(len(w)), away], axis=1)
    solution = linprog([-1.0, 0.0], columns, slope, bounds=[(None, None)] * 2, method="highs")
    return float("nan") if solution.fun is None else max(0.0, float(slope @ w) + solution.fun)
