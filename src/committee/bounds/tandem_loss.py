"""The second-order bound: by how often two voters are wrong together."""

from __future__ import annotations

from numpy.typing import ArrayLike

from committee.bounds.arguments import risk_of_failure
from committee.bounds.result import Bound
from committee.bounds.voter_losses import VoterLosses
from committee.objectives.margins.tandem_bound import tandem_complexity, tandem_loss


def tandem(losses: VoterLosses, weights: ArrayLike | None = None, delta: float = 0.05) -> Bound:
    """Error on new rows of a weighted vote, by the tandem loss: how often two voters are wrong on the same row.

    error = P[W >= 1/2] <= 4 E[W^2] <= 4 sup{p : kl(e, p) <= c},    c = (2 KL(rho || pi) + ln(2 sqrt n / delta)) / n,

    e = sum_{t,u} rho_t rho_u E^[l_t l_u]. Out of bag a pair has the n_tu rows that neither has seen, about a seventh of
    them after two bootstraps: there `max_samples` below 1 makes the bound smaller. It holds for all weights at once.

    Parameters
    ----------
    losses, weights, delta
        As for `first_order`, which says what is refused too; `tandem_weights` are those of the least bound.

    Returns
    -------
    Bound
        Terms: ``tandem_loss`` (e), ``tandem_bound``, ``rows`` (n), ``least_rows`` (of any pair), ``divergence``,
        ``complexity`` (c). Vacuous from 1 - 1 / K on.

    References
    ----------
    A. Masegosa, S. S. Lorenzen, C. Igel, Y. Seldin (2020). Second order PAC-Bayesian bounds for the weighted majority
    vote. NeurIPS 33, Theorems 2 and 9. There n is the least n_tu; here the harmonic mean, see `Complexity`.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.bounds import VoterLosses, tandem
    >>> votes = np.where(np.random.default_rng(0).random((1000, 20)) < 0.1, -1, 1)
    >>> print(tandem(VoterLosses(votes, None, np.full(20, 0.05))))
    second order (tandem): 0.136
    """
    rho, delta = losses.posterior(weights), risk_of_failure(delta)
    kl = tandem_complexity(losses.pairs, rho, losses.ln_prior, delta)
    both = tandem_loss(losses.pairs, rho)
    most = kl.above(both)
    return losses.bound(
        name="second order (tandem)",
        value=4.0 * most,
        terms={
            "tandem_loss": both,
            "tandem_bound": most,
            "rows": kl.rows,
            "least_rows": float(losses.pair_rows.min()),
            "divergence": kl.divergence,
            "complexity": kl.c,
        },
        advice="Voters that err on different rows; " + losses.more_rows,
        weights=rho,
        delta=delta,
    )
