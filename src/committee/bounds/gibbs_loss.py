"""The first-order bound: a vote errs at most twice as often as its voters do in the mean."""

from __future__ import annotations

from numpy.typing import ArrayLike

from committee.bounds.arguments import risk_of_failure
from committee.bounds.result import Bound
from committee.bounds.voter_losses import VoterLosses
from committee.objectives.pac_bayes import PacBayesKl, mean_over


def first_order(losses: VoterLosses, weights: ArrayLike | None = None, delta: float = 0.05) -> Bound:
    """Error on new rows of a weighted vote, by the mean loss of its voters (the Gibbs risk).

    error = P[W >= 1/2] <= 2 E[W] <= 2 sup{p : kl(g, p) <= c},    c = (KL(rho || pi) + ln(2 sqrt n / delta)) / n,

    g = sum_t rho_t L^_t the weighted mean of the voters' mean losses on rows that they have not seen, pi uniform. Out
    of bag every voter has rows n_t of its own; see `PacBayesKl`. It holds for all weights at once, also for those
    computed by means of the very rows, as long as the voters were not.

    Parameters
    ----------
    losses : VoterLosses
        On held-out rows or out of bag.
    weights : array-like (T,), default=None
        rho up to a factor, not negative; None: the ensemble's own.
    delta : float, default=0.05
        The bound fails with at most this probability.

    Returns
    -------
    Bound
        Terms: ``gibbs_risk`` (g), ``gibbs_bound`` (what is doubled), ``rows`` (n), ``divergence`` (KL), ``complexity``
        (c). Vacuous from 1 - 1 / K on, which guessing reaches.

    Raises
    ------
    ValueError
        If weights are not one number for each voter, not negative and not all zero, or delta is not in (0, 1).

    References
    ----------
    J. Langford, J. Shawe-Taylor (2002). PAC-Bayes and margins. NIPS 15. M. Seeger (2002), A. Maurer (2004) for kl.
    S. S. Lorenzen, C. Igel, Y. Seldin (2019). On PAC-Bayesian bounds for random forests. Machine Learning 108.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.bounds import VoterLosses, first_order
    >>> votes = np.where(np.random.default_rng(0).random((1000, 20)) < 0.1, -1, 1)
    >>> print(first_order(VoterLosses(votes, None, np.full(20, 0.05))))
    first order: 0.2831
    """
    rho, delta = losses.posterior(weights), risk_of_failure(delta)
    kl = PacBayesKl.of(rho, losses.rows, losses.ln_prior, delta)
    gibbs = mean_over(rho, losses.rows, losses.risk)
    most = kl.above(gibbs)
    return losses.bound(
        name="first order",
        value=2.0 * most,
        terms={
            "gibbs_risk": gibbs,
            "gibbs_bound": most,
            **kl.terms,
        },
        advice="Better single voters: it is never below twice their mean error.",
        weights=rho,
        delta=delta,
    )
