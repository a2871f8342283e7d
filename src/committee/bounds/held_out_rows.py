"""Error bounds from additional rows: errors on held-out rows, and margins on unlabelled rows."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import beta

from committee.bounds.pac_bayes import first_order
from committee.bounds.result import Bound, at, check_delta
from committee.bounds.voter_losses import VoterLosses
from committee.data.number_types import F64
from committee.objectives.pac_bayes import kl_inverse

NEAR = 0.05  # distance of the bound from the observed error up to which the advice names no number of rows

THRESHOLDS: F64 = np.linspace(0.05, 1.0, 20)  # values of theta that `unlabelled_margins` is minimised over


def held_out_errors(losses: VoterLosses, delta: float = 0.05) -> Bound:
    """Error on new rows of a vote that was fixed before the rows were seen, by the number that it gets wrong.

    sup{p : P[Bin(n, p) <= k] >= delta}, with k the number of rows that the vote gets wrong. No valid bound on the vote
    itself can be smaller for all k. It does **not hold for weights chosen by means of these rows**, and so has no
    `weights`; the PAC-Bayesian bounds hold for such weights, too.

    Sources: C. Clopper, E. Pearson (1934, Biometrika 26); J. Langford (2005), Theorem 3.3.

    Parameters
    ----------
    losses : VoterLosses
        On held-out rows; out-of-bag losses raise a ValueError.
    delta : float, default=0.05
        The bound fails with at most this probability.

    Returns
    -------
    Bound
        Terms: ``wrong`` (k), ``rows`` (n), ``error`` (k / n).

    Examples
    --------
    >>> from committee.bounds import VoterLosses, held_out_errors
    >>> votes = np.where(np.arange(100)[:, None] < 5, -1, 1)
    >>> print(held_out_errors(VoterLosses(votes, None, np.ones(1))))
    test set: 0.1023
    """
    delta, n = check_delta(delta), losses.n_rows
    wrong = int(losses.errors.sum())
    return losses.bound(
        name="test set",
        value=_binomial_limit(wrong, n, delta),
        terms={"wrong": float(wrong), "rows": float(n), "error": wrong / n},
        advice=f"A better vote; more rows{_rows_to_be_near(wrong, n, delta)}.",
        delta=delta,
        remarks=("For a vote that was fixed before these rows were seen, weights included.",),
    )


@dataclass(frozen=True)
class HeldOutPlan:
    """Bound `value` that `rows` held-out rows, a `share` of all, would give at the error rate `error` of a vote."""

    rows: int
    share: float
    error: float
    value: float

    @classmethod
    def of(cls, error: float, n: int, delta: float) -> Self:
        """Hold out a tenth of n rows if that brings the bound near the error, else a fifth.

        >>> HeldOutPlan.of(0.04, 5000, 0.05).share, HeldOutPlan.of(0.04, 500, 0.05).share
        (0.1, 0.2)
        """
        shares = [(share, max(1, round(share * n))) for share in (0.1, 0.2)]
        plans = [cls(m, share, error, _binomial_limit(error * m, m, delta)) for share, m in shares]
        return next((plan for plan in plans if plan.value <= error + NEAR), plans[-1])


def _binomial_limit(wrong: float, n: float, delta: float) -> float:
    return 1.0 if wrong >= n else float(beta.ppf(1.0 - delta, wrong + 1.0, n - wrong))


def _rows_to_be_near(wrong: int, n: int, delta: float) -> str:
    share = wrong / n
    if wrong == n or _binomial_limit(wrong, n, delta) <= share + NEAR:
        return ""
    low, high = float(n), 2.0 * n
    while _binomial_limit(share * high, high, delta) > share + NEAR:
        low, high = high, 2.0 * high
    while high - low > 0.5:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _binomial_limit(share * middle, middle, delta) > share + NEAR else (low, middle)
    rows = float(f"{high:.2g}")
    return f" (about {rows:,.0f} would bring the bound within {NEAR:g} of the share that is wrong)"


def unlabelled_margins(losses: VoterLosses, leads: ArrayLike, delta: float = 0.05) -> Bound:
    """Error on new rows of a weighted vote, by the mean loss of its voters and its margins on unlabelled rows.

    The lead M of a row is the margin of the elected class over the second, as a share of all weight, and needs no
    label. With W the Gibbs loss of the row (`VoterLosses`), W >= (1 - M) / 2 where the vote is right and W >= (1 + M) /
    2 where it is wrong, so that M 1[wrong] <= W - (1 - M) / 2, and as 1 <= M / theta + (1 - M / theta)_+,

        error <= (E[W] - 1/2) / theta + E[phi(M)],    phi(M) = M / (2 theta) + (1 - M / theta)_+,

    for every theta in (0, 1]. E[W] is bounded by half the first-order bound at delta / 2, and E[phi], with phi between
    1/2 and max(1, 1 / (2 theta)), by the inverse kl of its mean at delta / 40, for each of 20 thetas.

    Source: M.-R. Amini et al. (2008), there for the error on the unlabelled rows themselves.

    Parameters
    ----------
    losses : VoterLosses
        On held-out rows or out of bag. The bound is for the ensemble's own weights.
    leads : array-like (m,)
        M of each unlabelled row, in [0, 1]: `Committee.margins` for the elected classes. The rows are new to the voters
        and the weights.
    delta : float, default=0.05
        The bound fails with at most this probability.

    Returns
    -------
    Bound
        Terms: ``gibbs_bound`` (of E[W]), ``theta`` (the best), ``mean`` (of phi on the unlabelled rows), ``mean_bound``
        (of its expectation), ``unlabelled_rows`` (m). Vacuous from 1 - 1 / K on.

    Examples
    --------
    >>> from committee.bounds import VoterLosses, unlabelled_margins
    >>> votes = np.where(np.random.default_rng(0).random((1000, 20)) < 0.1, -1, 1)
    >>> losses = VoterLosses(votes, None, np.full(20, 0.05))
    >>> print(unlabelled_margins(losses, np.abs(votes.mean(axis=1))))
    unlabelled margins: 0.1068
    """
    delta = check_delta(delta)
    M = np.asarray(leads, dtype=np.float64)
    if M.ndim != 1 or not len(M) or not ((M >= 0.0) & (M <= 1.0 + 1e-9)).all():
        raise ValueError("leads must be one number in [0, 1] for each of at least one unlabelled row.")
    gibbs = first_order(losses, delta=delta / 2.0).terms["gibbs_bound"]
    M, theta = np.minimum(M, 1.0)[:, None], THRESHOLDS
    span = np.maximum(1.0, 0.5 / theta) - 0.5
    mean = (0.5 * M / theta + np.maximum(0.0, 1.0 - M / theta)).mean(axis=0)
    share = np.clip((mean - 0.5) / span, 0.0, 1.0)  # rounding may take it a little outside
    most = 0.5 + span * kl_inverse(share, log(2.0 * len(theta) / delta) / len(M))
    value = (gibbs - 0.5) / theta + most
    best = int(value.argmin())
    return losses.bound(
        name="unlabelled margins",
        value=float(value[best]),
        terms={"gibbs_bound": gibbs}
        | at(best, theta=theta, mean=mean, mean_bound=most)
        | {"unlabelled_rows": float(len(M))},
        advice="More unlabelled rows; larger margins where the vote is right.",
        leads=leads,
        delta=delta,
        remarks=("For weights that were fixed before the unlabelled rows were seen.",),
    )
