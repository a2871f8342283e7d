"""The partition bound: which sums the weights of wrong voters can have where a vote of labels is wrong."""

from __future__ import annotations

from math import log

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc

from committee.bounds.arguments import risk_of_failure
from committee.bounds.binomial_tail import DRAWN
from committee.bounds.result import Bound
from committee.bounds.voter_losses import ROUNDING, VoterLosses
from committee.data.number_types import F64
from committee.objectives.pac_bayes import PacBayesKl, kl_inverse, mean_over

MOST_SUMS = 200_000
"""Different sums of weights from which on the least of them above 1/2 is taken for 1/2."""


def partition(losses: VoterLosses, weights: ArrayLike | None = None, delta: float = 0.05) -> Bound:
    """Error on new rows of a weighted vote of labels, by the least weight that wrong voters have where it is wrong.

    Where such a vote is wrong, W, the weight of the voters that are, is 1/2 or more **and a sum of some of the
    weights**: it is at least S, the least sum of weights that is not below 1/2. So

        error = P[W >= S] <= E[W] / S <= sup{p : kl(g, p) <= c} / S,    c = (KL(rho || pi) + ln(2 sqrt n / delta)) / n,

    g the mean of W. Three equal voters have S = 2/3, and an odd number T of them (T + 1) / (2 T). On held-out rows the
    same is said of N drawn voters, with b(w) = P[Bin(N, w) > N / 2] for w, so that the factor 2 of `binomial` becomes
    1 / b(S), which is near 1 for few voters:

        error <= E[b(W)] / b(S) <= sup{p : kl(b^, p) <= c_N} / b(S),    c_N = (N KL + ln(2 sqrt n G / delta)) / n,

    the least over the G numbers N that are tried. Out of bag N is 1. Where voters give scores or may abstain, or where
    their weights have too many sums, S is 1/2, and this is `binomial`, or out of bag `first_order`.

    Equation: partition-bound (docs/theory.md).

    Parameters
    ----------
    losses, weights, delta
        As for `first_order`, which says what is refused too.

    Returns
    -------
    Bound
        Terms: ``least_sum`` (S), ``factor`` (1 / S, or 1 / b(S)), ``drawn`` (N), ``risk`` (g or b^), ``divergence``,
        ``complexity``. Vacuous from 1 - 1 / K on.

    References
    ----------
    B. Leblanc, P. Germain (2025). A framework for bounding deterministic risk with PAC-Bayes: applications to majority
    votes. arXiv:2510.25569. The first line is its bound for one voter drawn by its weight, as its authors' program has
    it; the one for N drawn voters is ours, by the same step.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.bounds import VoterLosses, binomial, partition
    >>> votes = np.where(np.random.default_rng(0).random((1000, 3)) < 0.1, -1, 1)
    >>> losses = VoterLosses(votes, None, np.full(3, 1 / 3), names_classes=True)
    >>> print(partition(losses), "|", binomial(losses))
    partition: 0.05545 | binomial: 0.1109
    """
    rho, delta = losses.posterior(weights), risk_of_failure(delta)
    S = least_sum(rho) if losses.names_classes else 0.5
    single = PacBayesKl.of(rho, losses.rows, losses.ln_prior, delta)
    if losses.unseen is None:
        tried = np.array(DRAWN, dtype=np.float64)
        W = losses.gibbs(rho)
        risk = np.array([_wrong_draw(N, W).mean() for N in tried])
        c = single.c + ((tried - 1.0) * single.divergence + log(len(tried))) / losses.n_rows
        factor = 1.0 / np.array([float(_wrong_draw(N, np.asarray(S))) for N in tried])
        value = factor * kl_inverse(risk, c)
    else:
        tried, risk = np.ones(1), np.array([mean_over(rho, losses.rows, losses.risk)])
        c, factor = np.array([single.c]), np.array([1.0 / S])
        value = factor * single.above(float(risk[0]))
    best = int(value.argmin())
    return losses.bound(
        name="partition",
        value=float(value[best]),
        terms={
            "least_sum": S,
            "factor": float(factor[best]),
            "drawn": float(tried[best]),
            "risk": float(risk[best]),
            "divergence": single.divergence,
            "complexity": float(c[best]),
        },
        advice="Few voters, an odd number of equal ones, or weights of which no sum is near 1/2; better voters.",
        weights=rho,
        delta=delta,
    )


def least_sum(weights: F64) -> float:
    """The least sum of some of the weights that is not below 1/2; 1/2 where they have more sums than `MOST_SUMS`.

    Weights sum to one. Equal ones are counted together, so that many voters of few different weights have few sums.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.bounds.weight_sums import least_sum
    >>> [round(least_sum(np.array(w)), 6) for w in ([1 / 3] * 3, [0.6, 0.2, 0.2], [0.5, 0.3, 0.2])]
    [0.666667, 0.6, 0.5]
    """
    values, times = np.unique(weights[weights > 0.0], return_counts=True)
    slack = ROUNDING * (1 + len(values))  # sums are rounded once for every value
    left, sums, least = 1.0, np.zeros(1), 1.0
    for value, count in zip(values[::-1].tolist(), times[::-1].tolist(), strict=True):
        if len(sums) * (count + 1) > MOST_SUMS:
            return 0.5
        left -= value * count
        sums = np.unique(np.round(np.add.outer(sums, value * np.arange(count + 1)), 13))
        enough = sums >= 0.5 - slack
        least = float(sums[enough].min(initial=least))
        sums = sums[~enough & (sums + left >= 0.5 - slack)]  # others are no longer on the way to the least
    return max(0.5, least - slack)


def _wrong_draw(N: float, w: F64) -> F64:
    """b(w): how likely it is that more than half of N drawn voters are wrong, each with probability w."""
    return np.asarray(betainc((N + 1.0) / 2.0, (N + 1.0) / 2.0, w))
