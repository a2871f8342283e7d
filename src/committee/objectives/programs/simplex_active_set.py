"""A convex quadratic over the simplex, from a start that is nearly the answer: few steps, each of them exact."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64

ROUNDING = 1e-12


def simplex_minimum(Q: F64, q: F64, start: F64) -> F64:
    """Minimise ``w'Qw / 2 - q'w`` over ``w >= 0, sum w = 1`` by a primal active-set method.

    On the voters that have weight the minimum is one system of linear equations. Where it would make a weight
    negative, the way towards it is gone until a weight is zero, which is left out; where it is feasible, the voter with
    the steepest slope comes in; and where none has a slope below the mean slope of the weights, w is the optimum. A
    singular system without a solution has a direction in which the function decreases without curving, which is gone.

    Parameters
    ----------
    Q : float64 array (T, T)
        Symmetric, without negative eigenvalues.
    q : float64 array (T,)
    start : float64 array (T,)
        Weights on the simplex.

    Returns
    -------
    float64 array (T,)
        The optimum; no voter's slope is below the mean slope of the weights by more than rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.objectives.programs.simplex_active_set import simplex_minimum
    >>> simplex_minimum(np.diag([1.0, 3.0]), np.zeros(2), np.array([1.0, 0.0])).round(9).tolist()
    [0.75, 0.25]
    """
    w = start.copy()
    used = w > 0.0
    size = max(float(np.abs(Q).max()), float(np.abs(q).max()), 1e-300)
    for _ in range(20 * len(q) + 100):
        support = np.flatnonzero(used)
        toward, bounded = _on_support(Q, q, support, w[support])
        decreasing = toward < -ROUNDING * np.abs(toward).max(initial=0.0)
        room = np.where(decreasing, w[support] / np.where(decreasing, -toward, 1.0), np.inf)
        first = int(np.argmin(room))
        if not bounded or room[first] < 1.0:
            if not np.isfinite(room[first]):
                break  # a direction that is no more than rounding
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


def _on_support(Q: F64, q: F64, support: NDArray[np.intp], w: F64) -> tuple[F64, bool]:
    """From w to the minimum on these voters, or a direction in which there is none; and which of the two it is."""
    k = len(support)
    if k == 1:  # one voter has all the weight there is
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
        # singular, or nearly: the shortest of the answers that come nearest
        solution = np.linalg.lstsq(system, wanted, rcond=1e-12)[0]
        missed = wanted - system @ solution
        if np.abs(missed).max() > 1e3 * near:
            return missed[:k] - missed[:k].mean(), False
    return solution[:k], True
