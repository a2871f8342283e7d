"""The binomial bound: the vote of voters drawn from the committee."""

from __future__ import annotations

from math import log

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc

from committee.bounds.arguments import count, risk_of_failure
from committee.bounds.result import Bound
from committee.bounds.voter_losses import VoterLosses
from committee.objectives.pac_bayes import PacBayesKl, kl_inverse

DRAWN = (1, 3, 5, 11, 21, 51, 101, 201, 501, 1001)
"""Numbers of drawn voters that `binomial` is minimised over."""


def binomial(
    losses: VoterLosses, weights: ArrayLike | None = None, delta: float = 0.05, *, n_drawn: int | None = None
) -> Bound:
    """Error on new rows of a weighted vote, by the plain vote of N voters drawn from it.

    error = P[W >= 1/2] <= 2 E[b(W)] <= 2 sup{p : kl(b^, p) <= c},    b(w) = P[Bin(N, w) > N / 2],  N odd,

    as b(w) >= 1/2 for w >= 1/2; c = (N KL(rho || pi) + ln(2 sqrt n G / delta)) / n, G the numbers N tried. N = 1 is
    the first-order bound. It needs W, the loss of all voters on a row, so rows out of bag will not do: N voters share
    hardly any that none of them has seen.

    Parameters
    ----------
    losses, weights, delta
        As for `first_order`, but losses on held-out rows alone.
    n_drawn : int, default=None
        N, odd; None: the best of 1, 3, 5, 11, ..., 1001.

    Returns
    -------
    Bound
        Terms, at the best N: ``drawn`` (N), ``tail`` (b^, the mean of b(W)), ``rows`` (n), ``divergence`` (KL),
        ``complexity`` (c).

    Raises
    ------
    ValueError
        If the losses are out of bag or N is even, and as of `first_order`.

    References
    ----------
    A. Lacasse, F. Laviolette, M. Marchand, F. Turgeon-Boutin (2010). Learning with randomized majority votes. ECML
    PKDD. Compared with the others in V. Zantedeschi, P. Viallard, E. Morvant, R. Emonet, A. Habrard, P. Germain, B.
    Guedj (2021). Learning stochastic majority votes by minimizing a PAC-Bayes generalization bound. NeurIPS 34.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.bounds import VoterLosses, binomial
    >>> votes = np.where(np.random.default_rng(0).random((1000, 20)) < 0.1, -1, 1)
    >>> print(binomial(VoterLosses(votes, None, np.full(20, 0.05))))
    binomial: 0.0188
    """
    rho, delta = losses.posterior(weights), risk_of_failure(delta)
    W, n = losses.gibbs(rho), losses.n_rows
    tried = np.array(DRAWN if n_drawn is None else (_odd(n_drawn),), dtype=np.float64)
    single = PacBayesKl.of(rho, losses.rows, losses.ln_prior, delta)
    tail = np.array([betainc((N + 1) / 2, (N + 1) / 2, W).mean() for N in tried])
    c = single.c + ((tried - 1.0) * single.divergence + log(len(tried))) / n
    value = 2.0 * kl_inverse(tail, c)
    best = int(value.argmin())
    return losses.bound(
        name="binomial",
        value=float(value[best]),
        terms={
            "drawn": float(tried[best]),
            "tail": float(tail[best]),
            "rows": float(n),
            "divergence": single.divergence,
            "complexity": float(c[best]),
        },
        advice="A better vote; more rows; weights nearer to equal ones, which let more voters be drawn.",
        weights=rho,
        delta=delta,
        n_drawn=n_drawn,
    )


def _odd(n_drawn: int) -> int:
    N = count("n_drawn", n_drawn)
    if N % 2 == 0:
        raise ValueError(f"n_drawn is {N}; give an odd number, so that the drawn voters cannot tie.")
    return N
