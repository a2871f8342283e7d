"""Weights that make the second-order bound small."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

from committee.bounds.arguments import risk_of_failure
from committee.bounds.pac_bayes import Complexity
from committee.bounds.tandem import tandem
from committee.bounds.voter_losses import VoterLosses

F64 = NDArray[np.float64]


def tandem_weights(
    losses: VoterLosses, *, delta: float = 0.05, max_rounds: int = 50, max_steps: int = 500, tol: float = 1e-7
) -> F64:
    """Weights that minimise the tandem bound over the simplex; `tandem` of them is a valid bound.

    The kl bound is never above

        e(rho) / (1 - lambda / 2) + (2 KL(rho || pi) + ln(2 sqrt n / delta)) / (lambda (1 - lambda / 2) n)

    for any lambda in (0, 2). Lambda and rho are made optimal in turn: lambda in closed form,

        lambda = 2 / (sqrt(2 n e / (2 KL + ln(2 sqrt n / delta)) + 1) + 1),

    rho by exponentiated gradient steps on e(rho) + 2 KL / (lambda n), which is convex on held-out rows. It starts at
    uniform weights, and of all rho after a round that of the least `tandem` bound is kept, so that the result is never
    above that of uniform weights.

    Parameters
    ----------
    losses : VoterLosses
        On held-out rows or out of bag.
    delta : float, default=0.05
        Of the bound that is minimised.
    max_rounds : int, default=50
        Most changes of lambda; rounds end when one lowers the bound by less than `tol`.
    max_steps : int, default=500
        Most gradient steps between them.
    tol : float, default=1e-7
        Least fall of the bound that a round is made for.

    Returns
    -------
    float64 array (T,)
        Positive, summing to one.

    Raises
    ------
    ValueError
        If delta is not in (0, 1).

    References
    ----------
    A. Masegosa, S. S. Lorenzen, C. Igel, Y. Seldin (2020). Second order PAC-Bayesian bounds for the weighted majority
    vote. NeurIPS 33, Theorem 10 and section 4.1. N. Thiemann, C. Igel, O. Wintenberger, Y. Seldin (2017). A strongly
    quasiconvex PAC-Bayesian bound. ALT, for lambda.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.bounds import VoterLosses, tandem, tandem_weights
    >>> error = np.linspace(0.05, 0.45, 20)
    >>> votes = np.where(np.random.default_rng(0).random((1000, 20)) < error, -1, 1)
    >>> losses = VoterLosses(votes, None, np.full(20, 0.05))
    >>> bool(tandem(losses, tandem_weights(losses)).value < 0.7 * tandem(losses).value)
    True
    """
    delta, T = risk_of_failure(delta), losses.n_voters
    both = np.where(losses.pair_rows > 0.0, losses.tandem, 1.0)  # what no row tells is taken for the worst
    rho = np.full(T, 1.0 / T)
    n = Complexity.of(np.outer(rho, rho), losses.pair_rows, 2.0 * losses.ln_prior, delta).rows
    best, least = rho, tandem(losses, rho, delta).value
    for _ in range(max_rounds if n > 0.0 else 0):
        loss, divergence = float(rho @ both @ rho), float(rho @ np.log(rho)) + losses.ln_prior
        penalty = max(0.0, 2.0 * divergence) + log(2.0 * sqrt(n) / delta)
        strength = 2.0 / (sqrt(2.0 * n * loss / penalty + 1.0) + 1.0)
        rho = _descended(both, rho, 2.0 / (strength * n), max_steps)
        value = tandem(losses, rho, delta).value
        if value < least:
            best = rho
        if not value < least - tol:
            break
        least = value
    return best


def _descended(both: F64, rho: F64, strength: float, max_steps: int) -> F64:
    """rho' E rho + strength sum rho ln rho made smaller by steps of the exponentiated gradient, each halved until it
    does; the objective never rises."""
    least = np.finfo(np.float64).tiny
    theta, step = np.log(rho), 1.0 / max(float(np.abs(both).max()), strength)
    value = float(rho @ both @ rho) + strength * float(rho @ theta)
    for _ in range(max_steps):
        slope = 2.0 * both @ rho + strength * theta
        slope = slope - rho @ slope
        gained = 0.0
        while step > 1e-12:
            tried = theta - step * slope
            tried = tried - tried.max()
            tried = np.log(np.maximum(np.exp(tried) / np.exp(tried).sum(), least))
            weights = np.exp(tried)
            weights /= weights.sum()
            new = float(weights @ both @ weights) + strength * float(weights @ tried)
            gained = value - new
            if gained >= 0.0:
                break
            step *= 0.5
        if not gained > 1e-13 * abs(value):
            break
        theta, rho, value, step = tried, weights, new, 2.0 * step
    return rho
