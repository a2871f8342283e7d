"""Weights of members on the simplex: how much each counts in the mean of their answers."""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from committee.data.number_types import F64

PRIOR = 1.0
"""Rows that are added to the others, shared out to all members alike: few rows are no reason to trust one alone."""
_MOST_STEPS = 10_000
_GAP = 1e-7


def log_loss_weights(p: F64, weights: F64) -> F64:
    """Weights w of the mixture ``sum_k w_k p_k`` whose mean log loss is least, w >= 0 and sum_k w_k = 1.

    The loss is convex. A step of expectation-maximisation, w_k <- (sum_i v_i w_k p_ki / p_i + c / m) / (sum_i v_i + c),
    never raises it; c are `PRIOR` rows that all m members explain alike. As the prior is the logarithm of a Dirichlet
    density, the limit is the only maximum of the penalised likelihood.

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
    m = len(p)
    w = np.full(m, 1.0 / m)
    total = weights.sum() + PRIOR
    for _ in range(_MOST_STEPS):
        step = p @ (weights / (w @ p))  # the slope of the likelihood
        new = (w * step + PRIOR / m) / total
        done = np.abs(new - w).max() < _GAP
        w = new
        if done:
            break
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
    m = len(error)
    gram = (error * weights) @ error.T / weights.sum()
    scale = np.trace(gram) / m
    if not scale > 0.0:
        return np.full(m, 1.0 / m)
    gram = gram / scale + np.eye(m) * (PRIOR / weights.sum() + 1e-12)
    root = np.linalg.cholesky(gram).T
    u, _ = nnls(root, np.linalg.solve(root.T, np.ones(m)))
    return np.asarray(u / u.sum())
