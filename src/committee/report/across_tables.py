"""Which of two algorithms is the better one, across many tables: the Poisson-binomial test and the sign test.

Each table counts once, whatever its size. The sign test asks only who has the lower error; the Poisson-binomial test
also asks how sure that is, from the test rows that one of the two predicts right and the other does not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

__all__ = [
    "PoissonBinomialTest",
    "SignTest",
    "chance_of_being_better",
    "number_of_wins",
    "poisson_binomial_test",
    "sign_test",
]

F64: TypeAlias = NDArray[np.float64]
About: TypeAlias = Literal["these tables", "tables like these"]
Ties: TypeAlias = Literal["drop", "split"]


def chance_of_being_better(a_only: ArrayLike, b_only: ArrayLike, *, prior: float = 1.0) -> F64:
    r"""Probability that A errs less than B on a table, given the rows that only one of them predicts right.

    Rows that both predict right, or both wrong, say nothing. With :math:`k_A` and :math:`k_B` others and the same
    Beta prior for either side, the share q of A among them has the posterior
    :math:`\mathrm{Beta}(k_A + \beta, k_B + \beta)`, and the chance is :math:`P(q > 1/2)`. Two algorithms that
    predict alike have 1/2: there is no tie to be broken.

    Parameters
    ----------
    a_only, b_only : array-like of shape (n_tables,)
        Test rows that A alone, and B alone, predicts right. Means over several splits need not be whole.
    prior : float, default=1.0
        Both parameters :math:`\beta` of the prior; 1 is the uniform one.

    Returns
    -------
    ndarray of shape (n_tables,)

    Raises
    ------
    ValueError
        Counts that are negative, not finite or not equally many, or a prior that is not positive.

    References
    ----------
    A. Lacoste, F. Laviolette and M. Marchand (2012), Bayesian comparison of machine learning algorithms on single
    and multiple datasets, AISTATS, 665-675.

    Examples
    --------
    >>> from committee.report.across_tables import chance_of_being_better
    >>> chance_of_being_better([1, 0, 40], [0, 0, 20]).round(4).tolist()
    [0.75, 0.5, 0.9951]
    """
    counts = [np.asarray(count, dtype=np.float64) for count in (a_only, b_only)]
    for name, count in zip(("a_only", "b_only"), counts, strict=True):
        if count.ndim != 1:
            raise ValueError(f"{name} must be one-dimensional, a count per table; got shape {count.shape}")
        if not (np.isfinite(count) & (count >= 0.0)).all():
            raise ValueError(f"{name} must hold finite counts of at least 0; got {float(count.min())} as the least")
    if counts[0].size != counts[1].size:
        raise ValueError(f"a_only has {counts[0].size} tables but b_only has {counts[1].size}; give both for each")
    if not 0.0 < prior < math.inf:
        raise ValueError(f"prior must be positive and finite; got {prior!r}")
    # P(q > 1/2) = P(1 - q < 1/2), and the latter is what keeps its digits when it is small
    return np.asarray(special.betainc(counts[1] + prior, counts[0] + prior, 0.5), dtype=np.float64)


def number_of_wins(chances: ArrayLike) -> F64:
    r"""Distribution of the number of successes of independent trials: the Poisson-binomial distribution.

    Built trial by trial: :math:`f_i(k) = (1 - p_i) f_{i-1}(k) + p_i f_{i-1}(k - 1)`, sums of positive terms only.

    Parameters
    ----------
    chances : array-like of shape (n,)
        Chance :math:`p_i` of each trial, in [0, 1].

    Returns
    -------
    ndarray of shape (n + 1,)
        Probability of 0, 1, ..., n successes.

    Raises
    ------
    ValueError
        A chance outside [0, 1], or more than one dimension.

    Examples
    --------
    >>> from committee.report.across_tables import number_of_wins
    >>> number_of_wins([0.5, 0.2]).round(12).tolist()
    [0.4, 0.5, 0.1]
    """
    p = np.asarray(chances, dtype=np.float64)
    if p.ndim != 1:
        raise ValueError(f"chances must be one-dimensional; got shape {p.shape}")
    if not ((p >= 0.0) & (p <= 1.0)).all():
        raise ValueError("chances must lie in [0, 1]")
    wins = np.ones(1)
    for chance in p.tolist():
        wins = np.append(wins * (1.0 - chance), 0.0) + np.append(0.0, wins * chance)
    return wins


@dataclass(frozen=True, eq=False)
class PoissonBinomialTest:
    """Outcome of a Poisson-binomial test of A against B.

    Attributes
    ----------
    probability : float
        That A is the better algorithm; 1/2 when nothing tells them apart, and that of B against A is the rest.
    chances : ndarray of shape (n_tables,)
        That A is better on each table.
    wins : ndarray of shape (n_tables + 1,)
        Probability of each number of tables on which A is better.
    """

    probability: float
    chances: F64
    wins: F64


def poisson_binomial_test(
    a_only: ArrayLike, b_only: ArrayLike, *, prior: float = 1.0, about: About = "these tables"
) -> PoissonBinomialTest:
    r"""Poisson-binomial test of Lacoste, Laviolette and Marchand: how probable it is that A is better than B.

    On every table A is better with the chance :math:`p_i` of `chance_of_being_better`, so the number K of tables
    on which it is has a Poisson-binomial distribution. A is better *on these N tables* when it is on more than half
    of them:

    .. math:: P(K > N/2) + \tfrac12 P(K = N/2).

    *On tables like these*, of which the N are a sample, it is better when a further table is more likely to be won
    than not. K of N won leave :math:`\mathrm{Beta}(K + \beta, N - K + \beta)` for that chance, so that the step at
    N/2 becomes a slope:

    .. math:: \sum_k P(K = k)\, P(\mathrm{Beta}(k + \beta, N - k + \beta) > \tfrac12).

    Parameters
    ----------
    a_only, b_only : array-like of shape (n_tables,)
        Test rows that A alone, and B alone, predicts right.
    prior : float, default=1.0
        Parameter :math:`\beta` of all Beta priors.
    about : {"these tables", "tables like these"}, default="these tables"
        What A is to be better on.

    Returns
    -------
    PoissonBinomialTest

    Raises
    ------
    ValueError
        No table, an unknown `about`, or what `chance_of_being_better` refuses.

    References
    ----------
    A. Lacoste, F. Laviolette and M. Marchand (2012), Bayesian comparison of machine learning algorithms on single
    and multiple datasets, AISTATS, 665-675.

    Examples
    --------
    A wins one table by one row and another by two; nothing is known of the third.

    >>> from committee.report.across_tables import poisson_binomial_test
    >>> test = poisson_binomial_test([1, 2, 0], [0, 0, 0])
    >>> test.chances.tolist(), test.probability
    ([0.75, 0.875, 0.5], 0.8125)
    """
    if about not in get_args(About):
        raise ValueError(f"about={about!r} is not known; use one of {', '.join(map(repr, get_args(About)))}")
    chances = chance_of_being_better(a_only, b_only, prior=prior)
    n = chances.size
    if n == 0:
        raise ValueError("a_only and b_only hold no table; a test needs one at least")
    wins = number_of_wins(chances)
    k = np.arange(n + 1)
    if about == "these tables":
        won = np.where(2 * k == n, 0.5, (2 * k > n).astype(np.float64))
    else:
        won = special.betainc(n - k + prior, k + prior, 0.5)
    # the terms sum to one but for rounding, which must not take a probability beyond it
    return PoissonBinomialTest(min(float(wins @ won), 1.0), chances, wins)


@dataclass(frozen=True)
class SignTest:
    """Outcome of a two-sided sign test of A against B.

    Attributes
    ----------
    wins, losses, ties : int
        Tables on which A has the lower error, the higher, and the same.
    pvalue : float
        Two-sided and exact.
    """

    wins: int
    losses: int
    ties: int
    pvalue: float


def sign_test(a: ArrayLike, b: ArrayLike, *, ties: Ties = "drop") -> SignTest:
    r"""Sign test: could as many tables be won by two algorithms of which neither is better?

    With w wins, l losses and m = w + l,

    .. math:: p = \min\Big\{1,\; 2^{1 - m} \sum_{k = \max(w, l)}^{m} \binom{m}{k}\Big\},

    in whole numbers but for the last division. No table: p = 1.

    Parameters
    ----------
    a, b : array-like of shape (n_tables,)
        Errors of A and of B; the lower one wins.
    ties : {"drop", "split"}, default="drop"
        Leave out the tables on which they are equal, or give each algorithm half of them (of an odd number one is
        left out): the latter takes equal errors for evidence that neither is better.

    Returns
    -------
    SignTest

    Raises
    ------
    ValueError
        Errors that are not finite or not equally many, or an unknown `ties`.

    References
    ----------
    W. Mendenhall (1983), Nonparametric statistics, in Introduction to Probability and Statistics.

    J. Demsar (2006), Statistical comparisons of classifiers over multiple data sets, JMLR 7, 1-30.

    Examples
    --------
    >>> from committee.report.across_tables import sign_test
    >>> sign_test([0.1, 0.2, 0.3, 0.1, 0.2], [0.2, 0.3, 0.4, 0.2, 0.2])
    SignTest(wins=4, losses=0, ties=1, pvalue=0.125)
    """
    if ties not in get_args(Ties):
        raise ValueError(f"ties={ties!r} is not known; use one of {', '.join(map(repr, get_args(Ties)))}")
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if first.ndim != 1 or first.shape != second.shape:
        raise ValueError(f"a and b must be one error per table each; got shapes {first.shape} and {second.shape}")
    if not (np.isfinite(first) & np.isfinite(second)).all():
        raise ValueError("errors must be finite; leave out the tables on which an algorithm has none")
    wins, losses = int((first < second).sum()), int((first > second).sum())
    level = first.size - wins - losses
    each = level // 2 if ties == "split" else 0
    m, most = wins + losses + 2 * each, max(wins, losses) + each
    tail = sum(math.comb(m, k) for k in range(most, m + 1))
    return SignTest(wins, losses, level, min(1.0, 2 * tail / 2**m))
