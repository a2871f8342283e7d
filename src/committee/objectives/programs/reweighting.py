"""Best weights of the voters that a committee has: a penalised least squares, solved to the end."""

from __future__ import annotations

import numpy as np
import scipy.linalg as la

from committee.data.number_types import F64
from committee.objectives.programs.coordinate_steps import cyclic_sweeps
from committee.objectives.programs.penalty import Penalty

ROUNDING = 1e-13
"""Share of the largest product with the target below which a distance is noise: no step lowers it further."""

SWEEPS_BETWEEN = 20
"""Cyclic sweeps between two steps on the free weights."""

MOST_STEPS = 500
"""Most rounds of the two kinds of step."""


def reweight(gram: F64, b: F64, alpha: F64, penalty: Penalty, tol: float) -> float:
    """Minimise yy - 2 b'alpha + alpha' G alpha + penalty(alpha) over all weights, in place.

    Cyclic coordinate steps say which weights are free: not zero ("l1"), not at their bound ("linf"). Voters whose
    votes are nearly alike make them slow, so the free weights are then moved together to where their normal
    equations put them, or as far on the way as none of them changes its sign or leaves the box; both kinds of step
    lower the risk.

    Parameters
    ----------
    gram : float64 array (T, T)
        Products G of the voters.
    b : float64 array (T,)
        Their products with the target.
    alpha : float64 array (T,)
        Weights to start from; holds the solution afterwards.
    penalty : Penalty
        Penalty on the weights.
    tol : float
        Ends when 0 is this near to every coordinate's (halved) subdifferential, or as near as rounding allows.

    Returns
    -------
    float
        The distance reached; above `tol` if the steps ran out.
    """
    if not len(b):
        return 0.0
    gram = np.ascontiguousarray(gram)
    tol = max(tol, ROUNDING * float(np.abs(b).max()))
    alpha[:] = penalty.clipped(alpha)
    c = b - gram @ alpha
    distance = np.inf
    for _ in range(MOST_STEPS):
        distance = cyclic_sweeps(penalty, gram, c, alpha, tol, SWEEPS_BETWEEN)
        if distance <= tol:
            c = b - gram @ alpha  # the sweeps' own c has gathered rounding errors
            distance = float(penalty.distance(c, alpha).max())
            if distance <= tol:
                break
        _step_on_free(gram, b, alpha, penalty)
        c = b - gram @ alpha
    return distance


def _step_on_free(gram: F64, b: F64, alpha: F64, penalty: Penalty) -> None:
    """Move the free weights towards the solution of their normal equations."""
    free = penalty.free(alpha)
    if not free.any():
        return
    A = gram[np.ix_(free, free)]
    right = b[free] - gram[np.ix_(free, ~free)] @ alpha[~free] - penalty.slope(alpha[free])
    curvature = penalty.curvature(alpha[free])
    if np.any(curvature):
        A = A + curvature * np.eye(len(A))
    try:
        # voters that are alike make A singular; a ridge of rounding size picks one of the solutions
        factor = la.cho_factor(A + 1e-13 * np.trace(A) / len(A) * np.eye(len(A)), check_finite=False)
    except la.LinAlgError:
        return
    now = alpha[free]
    # the correction and not the solution is what the ridge may spoil
    way = la.cho_solve(factor, right - A @ now, check_finite=False)
    turns, ends = penalty.stops(now, way)
    # the shares of the way after which weights leave their smooth piece; the first of them ends the step for all
    shares = (ends[turns] - now[turns]) / way[turns]
    reach = float(min(1.0, shares.min(initial=1.0)))
    moved = now + reach * way
    # where rounding would leave a weight just beside its end, the next set of free weights would still hold it
    at_end = np.flatnonzero(turns)[shares <= reach]
    moved[at_end] = ends[at_end]
    alpha[free] = moved
