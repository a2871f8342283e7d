"""Weights of members on the simplex: how much each counts in the mean of their answers."""

from __future__ import annotations

import numpy as np

from committee.data.number_types import F64

PRIOR = 1.0
"""Rows that are added to the others, shared out to all members alike: few rows are no reason to trust one alone."""
_MOST_STEPS, _MOST_HALVINGS = 200, 40
_GAP = 1e-15
"""Rows, as a share of all, by whose log likelihood a solution may be short of the best one."""
_INSIDE = 0.99
"""Share of the way to the border of the simplex that a step goes at most."""


def log_loss_weights(p: F64, weights: F64) -> F64:
    """Weights w of the mixture ``sum_k w_k p_k`` whose mean log loss is least, w >= 0 and sum_k w_k = 1.

    `PRIOR` rows c that all m members explain alike join the others. Then the loss is ``- sum_i v_i log sum_k w_k p_ki -
    c / m sum_k log w_k``: convex, with its only minimum inside of the simplex. Newton's steps within it find it, halved
    while they do not lower the loss, until they promise no more than 1e-15 a row.

    Equation: blend-weights (docs/theory.md).

    Parameters
    ----------
    p : float64 array (m, n)
        Probability that each member gives the class of each row that it has not seen.
    weights : float64 array (n,)
        Weights v of the rows, in numbers of rows.

    Returns
    -------
    float64 array (m,)

    Examples
    --------
    >>> import numpy as np
    >>> good, bad = np.full(1000, 0.9), np.full(1000, 0.1)
    >>> log_loss_weights(np.array([good, bad]), np.ones(1000)).round(2).tolist()
    [1.0, 0.0]
    """
    m, prior = len(p), PRIOR / len(p)
    gap = _GAP * (float(weights.sum()) + PRIOR)

    def loss(w: F64) -> float:
        return -float(weights @ np.log(w @ p)) - prior * float(np.log(w).sum())

    w = np.full(m, 1.0 / m)
    now = loss(w)
    system = np.ones((m + 1, m + 1))  # the steps of all weights add up to 0
    system[m, m] = 0.0
    for _ in range(_MOST_STEPS):
        mixture = w @ p
        slopes = -(p @ (weights / mixture)) - prior / w
        scaled = p * (np.sqrt(weights) / mixture)
        system[:m, :m] = scaled @ scaled.T + np.diag(prior / w**2)
        step = np.linalg.solve(system, np.append(-slopes, 0.0))[:m]
        promised = -float(slopes @ step)
        if promised <= gap:
            break
        length = min(1.0, _INSIDE / max(float((-step / w).max()), _INSIDE))
        for _ in range(_MOST_HALVINGS):
            after = loss(w + length * step)
            if after <= now - 1e-4 * length * promised:
                break
            length *= 0.5
        else:
            break  # no more than rounding is left to go down
        w, now = w + length * step, after
    return np.asarray(w / w.sum())


def squared_error_weights(error: F64, weights: F64) -> F64:
    """Weights w of the mean ``sum_k w_k f_k`` whose mean squared error is least, w >= 0 and sum_k w_k = 1.

    With errors e_ki and G = sum_i v_i e_i e_i', plus a ridge of `PRIOR` rows of mean error, the loss is w'Gw. Its least
    point on the simplex is u / sum u for the u >= 0 of least ``u'Gu / 2 - sum u``, which are least squares without
    negative weights.

    Equation: blend-least-squares (docs/theory.md).

    Parameters
    ----------
    error : float64 array (m, n)
        Prediction of each member less the target, of rows that it has not seen.
    weights : float64 array (n,)
        Weights v of the rows, in numbers of rows.

    Returns
    -------
    float64 array (m,)

    Examples
    --------
    >>> import numpy as np
    >>> error = np.array([[1.0, -1.0], [-1.0, 1.0]])
    >>> squared_error_weights(error, np.ones(2)).round(6).tolist()
    [0.5, 0.5]
    """
    from scipy.optimize import nnls  # models that predict weigh no members

    m = len(error)
    error = np.ldexp(error, -np.frexp(np.abs(error).max(initial=0.0))[1])  # a unit in which squares are numbers
    gram = (error * weights) @ error.T / weights.sum()
    scale = np.trace(gram) / m
    if not scale > 0.0:
        return np.full(m, 1.0 / m)
    gram = gram / scale + np.eye(m) * (PRIOR / weights.sum() + 1e-12)
    root = np.linalg.cholesky(gram).T
    u, _ = nnls(root, np.linalg.solve(root.T, np.ones(m)))
    return np.asarray(u / u.sum())
