"""Partition bound of a weighted vote of labels, from the possible total weights of its wrong voters."""

from __future__ import annotations

from math import log

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc

from committee.bounds.pac_bayes import DRAWN
from committee.bounds.result import Bound, at, check_delta
from committee.bounds.voter_losses import ROUNDING, VoterLosses
from committee.data.number_types import F64
from committee.objectives.pac_bayes import PacBayesKl, kl_inverse, mean_over

MOST_SUMS = 200_000
"""Limit on the number of sums that `least_sum` holds at a time; with more of them it returns 1/2."""


def partition(losses: VoterLosses, weights: ArrayLike | None = None, delta: float = 0.05) -> Bound:
    """Error on new rows of a weighted vote of labels, by the least weight of wrong voters where the vote is wrong.

    Where such a vote is wrong, the weight W of its wrong voters is 1/2 or more **and a sum of some of the weights**, so
    at least S, the least sum of weights that is not below 1/2:

        error = P[W >= S] <= E[W] / S <= sup{p : kl(g, p) <= c} / S,    c = (KL(rho || pi) + ln(2 sqrt n / delta)) / n,

    with g the mean of W. Three equal voters have S = 2/3, an odd number T of them (T + 1) / (2 T). On held-out rows the
    same holds for N drawn voters, with b(w) = P[Bin(N, w) > N / 2] for w, so that the factor 2 of `binomial` becomes
    1 / b(S), near 1 for few voters:

        error <= E[b(W)] / b(S) <= sup{p : kl(b^, p) <= c_N} / b(S),    c_N = (N KL + ln(2 sqrt n G / delta)) / n,

    the least over the G numbers N that are tried. Out of bag N is 1. Where voters give scores or may abstain, or where
    their weights have too many sums, S is 1/2, and this is `binomial`, or out of bag `first_order`.

    Equation: partition-bound (docs/theory.md).
    Source: B. Leblanc, P. Germain (2025), for one voter drawn by its weight; N drawn voters are ours.

    Parameters
    ----------
    losses, weights, delta
        As for `first_order`, which raises the same errors.

    Returns
    -------
    Bound
        Terms: ``least_sum`` (S), ``factor`` (1 / S, or 1 / b(S)), ``drawn`` (N), ``risk`` (g or b^), ``divergence``,
        ``complexity``. Vacuous from 1 - 1 / K on.

    Examples
    --------
    >>> from committee.bounds import VoterLosses, binomial, partition
    >>> votes = np.where(np.random.default_rng(0).random((1000, 3)) < 0.1, -1, 1)
    >>> losses = VoterLosses(votes, None, np.full(3, 1 / 3), names_classes=True)
    >>> print(partition(losses), "|", binomial(losses))
    partition: 0.05545 | binomial: 0.1109
    """
    rho, delta = losses.posterior(weights), check_delta(delta)
    S = least_sum(rho) if losses.names_classes else 0.5
    single = PacBayesKl.of(rho, losses.rows, losses.ln_prior, delta)
    if losses.unseen is None:
        tried = np.array(DRAWN, dtype=np.float64)
        W = losses.gibbs(rho)
        risk = np.array([_majority_wrong(N, W).mean() for N in tried])
        c = single.c + ((tried - 1.0) * single.divergence + log(len(tried))) / losses.n_rows
        factor = 1.0 / np.array([float(_majority_wrong(N, np.asarray(S))) for N in tried])
        value = factor * kl_inverse(risk, c)
    else:
        tried, risk = np.ones(1), np.array([mean_over(rho, losses.rows, losses.risk)])
        c, factor = np.array([single.c]), np.array([1.0 / S])
        value = factor * single.above(float(risk[0]))
    best = int(value.argmin())
    return losses.bound(
        name="partition",
        value=float(value[best]),
        terms={"least_sum": S}
        | at(best, factor=factor, drawn=tried, risk=risk)
        | {"divergence": single.divergence, "complexity": float(c[best])},
        advice="Few voters, an odd number of equal ones, or weights of which no sum is near 1/2; better voters.",
        weights=rho,
        delta=delta,
    )


def least_sum(weights: F64) -> float:
    """Return the least sum of some of the weights ``(T,)``, which sum to one, that is not below 1/2.

    Equal weights are counted together, so that many voters of few different weights have few sums. With more sums than
    `MOST_SUMS` the result is 1/2.
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
        sums = sums[~enough & (sums + left >= 0.5 - slack)]  # the others cannot reach 1/2 any more
    return max(0.5, least - slack)


def _majority_wrong(N: float, w: F64) -> F64:
    # b(w): probability that more than half of N drawn voters are wrong, each with probability w
    return np.asarray(betainc((N + 1.0) / 2.0, (N + 1.0) / 2.0, w))
