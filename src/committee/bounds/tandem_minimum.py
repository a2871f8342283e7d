"""Weights that make the second-order bound small."""

from __future__ import annotations

from committee.bounds.arguments import risk_of_failure
from committee.bounds.voter_losses import VoterLosses
from committee.data.number_types import F64
from committee.objectives.margins.tandem_bound import least_tandem_bound


def tandem_weights(
    losses: VoterLosses, *, delta: float = 0.05, max_rounds: int = 50, max_steps: int = 500, tol: float = 1e-7
) -> F64:
    """Weights that minimise the tandem bound over the simplex; `tandem` of them is a valid bound.

    By tangents of the bound, each of which is lowered in turn, from uniform weights on; see `least_tandem_bound` of
    `committee.objectives.margins.tandem_bound`. ``MarginReweighter(ensemble, "tandem")`` makes a classifier of
    them. The result is never above the bound of uniform weights, nor above that of the ensemble's own.

    Parameters
    ----------
    losses : VoterLosses
        On held-out rows or out of bag.
    delta, max_rounds, max_steps, tol
        As for `least_tandem_bound`.

    Returns
    -------
    float64 array (T,)
        Not negative, summing to one.

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
    best, _ = least_tandem_bound(
        losses.pairs,
        losses.ln_prior,
        losses.weights,
        delta=risk_of_failure(delta),
        max_rounds=max_rounds,
        max_steps=max_steps,
        tol=tol,
    )
    return best
