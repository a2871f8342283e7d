"""PAC-Bayesian bounds on the error of a weighted vote: first order, second order (tandem), binomial and partition."""

from __future__ import annotations

from math import log

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc

from committee.bounds.result import Bound, at, check_count, check_delta
from committee.bounds.voter_losses import ROUNDING, VoterLosses
from committee.data.number_types import F64
from committee.objectives.margins.tandem_bound import least_tandem_bound, tandem_complexity, tandem_loss
from committee.objectives.pac_bayes import PacBayesKl, kl_inverse, mean_over

DRAWN = (1, 3, 5, 11, 21, 51, 101, 201, 501, 1001)  # drawn voters that `binomial` and `partition` are minimised over

MOST_SUMS = 200_000  # limit on the number of sums that `least_sum` holds at a time


def first_order(losses: VoterLosses, weights: ArrayLike | None = None, delta: float = 0.05) -> Bound:
    """Error on new rows of a weighted vote, by the mean loss of its voters (the Gibbs risk).

    error <= P[W >= 1/2] <= 2 E[W] <= 2 sup{p : kl(g, p) <= c},    c = (KL(rho || pi) + ln(2 sqrt n / delta)) / n,

    with g = sum_t rho_t L^_t the weighted mean of the voters' mean losses on rows that they were not trained on, and pi
    uniform. Out of bag each voter has its own number of rows n_t (`PacBayesKl`). The bound holds for all weights at
    once, also for weights computed from the same rows, as long as the voters were not.

    Sources: J. Langford, J. Shawe-Taylor (2002, NIPS 15); S. Lorenzen, C. Igel, Y. Seldin (2019, Machine Learning 108).

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
        Terms: ``gibbs_risk`` (g), ``gibbs_bound`` (half the value), ``rows`` (n), ``divergence`` (KL), ``complexity``
        (c). Vacuous from 1 - 1 / K on, the error of random guessing.

    Raises
    ------
    ValueError
        If delta is not in (0, 1), or weights are negative, not finite, all zero or not one for each voter.

    Examples
    --------
    >>> from committee.bounds import VoterLosses, first_order
    >>> votes = np.where(np.random.default_rng(0).random((1000, 20)) < 0.1, -1, 1)
    >>> print(first_order(VoterLosses(votes, None, np.full(20, 0.05))))
    first order: 0.2831
    """
    rho, delta = losses.posterior(weights), check_delta(delta)
    kl = PacBayesKl.of(rho, losses.rows, losses.ln_prior, delta)
    gibbs = mean_over(rho, losses.rows, losses.risk)
    most = kl.above(gibbs)
    return losses.bound(
        name="first order",
        value=2.0 * most,
        terms={"gibbs_risk": gibbs, "gibbs_bound": most, **kl.terms},
        advice="Better single voters: the bound is never below twice their mean error.",
        weights=rho,
        delta=delta,
    )


def tandem(losses: VoterLosses, weights: ArrayLike | None = None, delta: float = 0.05) -> Bound:
    """Error on new rows of a weighted vote, by the tandem loss: how often two voters are wrong on the same row.

    error <= P[W >= 1/2] <= 4 E[W^2] <= 4 sup{p : kl(e, p) <= c},   c = (2 KL(rho || pi) + ln(2 sqrt n / delta)) / n,

    with e = sum_{t,u} rho_t rho_u E^[l_t l_u]. Out of bag a pair has the n_tu rows that are out of bag for both voters,
    about a seventh of the rows after two bootstraps, so `max_samples` below 1 can lower the bound. It holds for all
    weights at once.

    Source: A. Masegosa et al. (2020, NeurIPS 33), Theorems 2 and 9. There n is the least n_tu; here the harmonic mean.

    Parameters
    ----------
    losses, weights, delta
        As for `first_order`, which raises the same errors. `tandem_weights` minimises this bound.

    Returns
    -------
    Bound
        Terms: ``tandem_loss`` (e), ``tandem_bound``, ``rows`` (n), ``least_rows`` (of any pair), ``divergence``,
        ``complexity`` (c). Vacuous from 1 - 1 / K on.

    Examples
    --------
    >>> from committee.bounds import VoterLosses, tandem
    >>> votes = np.where(np.random.default_rng(0).random((1000, 20)) < 0.1, -1, 1)
    >>> print(tandem(VoterLosses(votes, None, np.full(20, 0.05))))
    second order (tandem): 0.136
    """
    rho, delta = losses.posterior(weights), check_delta(delta)
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


def tandem_weights(
    losses: VoterLosses, *, delta: float = 0.05, max_rounds: int = 50, max_steps: int = 500, tol: float = 1e-7
) -> F64:
    """Weights that minimise the tandem bound over the simplex; `tandem` at these weights is a valid bound.

    Each round minimises a tangent of the bound, from uniform weights on (`least_tandem_bound` in
    `committee.objectives.margins.tandem_bound`). The bound of the result is never above that of uniform weights, nor
    above that of the ensemble's own. ``MarginReweighter(ensemble, "tandem", on="oob")`` votes with these weights.

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
    >>> from committee.bounds import VoterLosses, tandem, tandem_weights
    >>> error = np.linspace(0.05, 0.45, 20)
    >>> votes = np.where(np.random.default_rng(0).random((1000, 20)) < error, -1, 1)
    >>> losses = VoterLosses(votes, None, np.full(20, 0.05))
    >>> bool(tandem(losses, tandem_weights(losses)).value < 0.7 * tandem(losses).value)
    True
    """
    delta, steps = check_delta(delta), {"max_rounds": max_rounds, "max_steps": max_steps}
    return least_tandem_bound(losses.pairs, losses.ln_prior, losses.weights, delta=delta, tol=tol, **steps)[0]


def binomial(
    losses: VoterLosses, weights: ArrayLike | None = None, delta: float = 0.05, *, n_drawn: int | None = None
) -> Bound:
    """Error on new rows of a weighted vote, by the plain vote of N voters drawn from it.

    error <= P[W >= 1/2] <= 2 E[b(W)] <= 2 sup{p : kl(b^, p) <= c},    b(w) = P[Bin(N, w) > N / 2],  N odd,

    as b(w) >= 1/2 for w >= 1/2; c = (N KL(rho || pi) + ln(2 sqrt n G / delta)) / n with G the number of Ns tried. N = 1
    is the first-order bound. It needs the loss W of all voters on a row, which out-of-bag rows do not have.

    Sources: A. Lacasse et al. (2010, ECML PKDD); V. Zantedeschi et al. (2021, NeurIPS 34), who compare it with others.

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
        If the losses are out of bag or N is no odd number above 0, and as for `first_order`.

    Examples
    --------
    >>> from committee.bounds import VoterLosses, binomial
    >>> votes = np.where(np.random.default_rng(0).random((1000, 20)) < 0.1, -1, 1)
    >>> print(binomial(VoterLosses(votes, None, np.full(20, 0.05))))
    drawn voters (binomial): 0.0188
    """
    rho, delta = losses.posterior(weights), check_delta(delta)
    W, n = losses.gibbs(rho), losses.n_rows
    if n_drawn is not None and (N := check_count("n_drawn", n_drawn)) % 2 == 0:
        raise ValueError(f"n_drawn is {N}; give an odd number, so that the drawn voters cannot tie.")
    tried = np.array(DRAWN if n_drawn is None else (n_drawn,), dtype=np.float64)
    single = PacBayesKl.of(rho, losses.rows, losses.ln_prior, delta)
    tail = np.array([_majority_wrong(N, W).mean() for N in tried])
    c = single.c + ((tried - 1.0) * single.divergence + log(len(tried))) / n
    value = 2.0 * kl_inverse(tail, c)
    best = int(value.argmin())
    return losses.bound(
        name="drawn voters (binomial)",
        value=float(value[best]),
        terms=at(best, drawn=tried, tail=tail)
        | {"rows": float(n), "divergence": single.divergence, "complexity": float(c[best])},
        advice="A better vote; more rows; weights nearer to equal ones, which let more voters be drawn.",
        weights=rho,
        delta=delta,
        n_drawn=n_drawn,
    )


def partition(losses: VoterLosses, weights: ArrayLike | None = None, delta: float = 0.05) -> Bound:
    """Error on new rows of a weighted vote of labels, by the least weight of wrong voters where the vote is wrong.

    Where such a vote is wrong, the weight W of its wrong voters is 1/2 or more **and a sum of some of the weights**, so
    at least S, the least sum of weights that is not below 1/2:

        error <= P[W >= S] <= E[W] / S <= sup{p : kl(g, p) <= c} / S,   c = (KL(rho || pi) + ln(2 sqrt n / delta)) / n,

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
    partition: 0.05545 | drawn voters (binomial): 0.1109
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
    """Return the least sum of weights ``(T,)`` that reaches 1/2, or a lower limit on it; all of them sum to one."""
    values, times = np.unique(weights[weights > 0.0], return_counts=True)
    slack = ROUNDING * (1 + len(values))  # sums are rounded once for every value
    left, sums, least = 1.0, np.zeros(1), 1.0
    for value, count in zip(values[::-1].tolist(), times[::-1].tolist(), strict=True):
        if len(sums) * (count + 1) > MOST_SUMS:  # a lower limit
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
