"""Weights that make the PAC-Bayesian C-bound small."""

from __future__ import annotations

from math import log

import numpy as np

from committee.bounds.arguments import risk_of_failure
from committee.bounds.margin_moments import c_bound_pac_bayes
from committee.bounds.result import Bound
from committee.bounds.tandem_minimum import tandem_weights
from committee.bounds.voter_losses import VoterLosses
from committee.data.number_types import F64
from committee.objectives.margins.tandem_bound import descended

LEAST = 1e-12
"""Shares below this count as this: at 0 the slope of kl has no end."""


def c_bound_weights(
    losses: VoterLosses, *, delta: float = 0.05, max_rounds: int = 50, max_steps: int = 500, tol: float = 1e-7
) -> F64:
    """Weights that minimise the joint C-bound over the simplex; `c_bound_pac_bayes` of them is a valid bound.

    The bound is the largest 1 - (1 - 2 e - d)^2 / (1 - 2 d) among the (e, d) with kl((e^, d^), (e, d)) <= c. It is
    concave in (e, d) and that set convex, so that it is concave in (e^, d^, c) too, and nowhere above its tangent.
    Each round finds the worst (e, d) at the weights as they are, and lowers the tangent, whose slopes are in the
    proportion

        1 : ln(e h / e^) : ln(d h / d^)    by    c : e^ : d^,    h = (1 - e^ - d^) / (1 - e - d),

    by steps of the exponentiated gradient: on held-out rows the bound falls with it. It starts at uniform weights and
    at those of the least tandem bound, and of these, the own and all after a round, the weights of the least bound
    are returned. Where the C-bound of all of them is 1 it has no slope, and they are what is returned.

    Parameters
    ----------
    losses : VoterLosses
        On held-out rows or out of bag.
    delta, max_rounds, max_steps, tol
        As for `tandem_weights`.

    Returns
    -------
    float64 array (T,)
        Not negative, summing to one.

    References
    ----------
    P. Viallard, P. Germain, A. Habrard, E. Morvant (2021). Self-bounding majority vote learning algorithms by the
    direct minimization of a tight PAC-Bayesian C-bound. ECML PKDD: the bound that is minimised, there by gradient
    descent with a search for the worst (e, d) inside. The tangents are ours.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.bounds import VoterLosses, c_bound_pac_bayes, c_bound_weights
    >>> error = np.linspace(0.05, 0.45, 20)
    >>> votes = np.where(np.random.default_rng(0).random((1000, 20)) < error, -1, 1)
    >>> losses = VoterLosses(votes, None, np.full(20, 0.05))
    >>> c_bound_pac_bayes(losses, c_bound_weights(losses)).value < 0.8 * c_bound_pac_bayes(losses).value
    True
    """
    delta = risk_of_failure(delta)
    uniform = np.full(losses.n_voters, 1.0 / losses.n_voters)
    by_pairs = tandem_weights(losses, delta=delta)
    starts = [_lowered(losses, rho, delta, max_rounds, max_steps, tol) for rho in (uniform, by_pairs)]
    found = [uniform, by_pairs, losses.weights, *starts]
    return min(found, key=lambda rho: c_bound_pac_bayes(losses, rho, delta).value)


def _lowered(losses: VoterLosses, rho: F64, delta: float, max_rounds: int, max_steps: int, tol: float) -> F64:
    """The best weights on the way from `rho`."""
    known = losses.pair_rows > 0.0
    both = np.where(known, losses.tandem, 1.0)  # what no row tells is taken for the worst
    apart = np.where(known, losses.disagreement, 0.0)
    best, least = rho, c_bound_pac_bayes(losses, rho, delta)
    bound = least
    for _ in range(max_rounds):
        if bound.value >= 1.0:
            break
        by_e, by_d = _slopes(bound)
        rho = descended(by_e * both + by_d * apart, rho, 2.0 / bound.terms["rows"], max_steps)
        new = c_bound_pac_bayes(losses, rho, delta)
        if new.value < least.value:
            best, least = rho, new
        if not new.value < bound.value - tol:
            break
        bound = new
    return best


def _slopes(bound: Bound) -> tuple[float, float]:
    """How much the tangent rises with the observed tandem loss and disagreement, for each unit that it does with c."""
    e, d = max(bound.terms["tandem_loss"], LEAST), max(bound.terms["disagreement"], LEAST)
    worst_d = max(bound.terms["worst_disagreement"], LEAST)
    worst_e = max(bound.terms["worst_gibbs"] - 0.5 * worst_d, LEAST)
    right = log(max(1.0 - e - d, LEAST) / max(1.0 - worst_e - worst_d, LEAST))
    return log(worst_e / e) + right, log(worst_d / d) + right
