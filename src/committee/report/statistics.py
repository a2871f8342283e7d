"""Statistical tests of differences between models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy import special, stats

from committee.data.number_types import F64

About: TypeAlias = Literal["these tables", "tables like these"]


@dataclass(frozen=True)
class PairedTest:
    difference: float
    standard_error: float
    statistic: float
    degrees_of_freedom: int
    pvalue: float


def corrected_paired_t_test(differences: ArrayLike, test_train_ratio: float) -> PairedTest:
    r"""Corrected resampled paired t-test of Nadeau and Bengio [1]_.

    With :math:`J` differences of mean :math:`\bar d` and unbiased variance :math:`s^2`,

    .. math:: t = \frac{\bar d}{\sqrt{\left(\frac1J + \frac{n_\mathrm{test}}{n_\mathrm{train}}\right) s^2}},

    with :math:`J - 1` degrees of freedom. The second term corrects for the correlation of differences by shared
    training rows. ``J`` counts folds x repeats [2]_.

    `differences` (J,) are the scores of one model minus those of the other, one per test fold; `test_train_ratio` is
    ``1 / (k - 1)`` for k folds, and 0 for the ordinary paired t-test. If all differences are zero, p = 1. If all are
    the same other number, as with few small folds, p is that of the sign test, ``2^(1 - J)``.

    References
    ----------
    .. [1] C. Nadeau, Y. Bengio (2003). Inference for the generalization error. Machine Learning 52.
    .. [2] R. R. Bouckaert, E. Frank (2004). Evaluating the replicability of significance tests for comparing learning
       algorithms. PAKDD.

    Examples
    --------
    >>> test = corrected_paired_t_test([0.02, 0.01, 0.03, 0.02, 0.02], test_train_ratio=1 / 4)
    >>> round(test.statistic, 4), round(test.pvalue, 4)
    (4.2164, 0.0135)
    """
    d = np.asarray(differences, dtype=np.float64)
    if d.ndim != 1 or d.size < 2:
        raise ValueError(f"differences must be one-dimensional with at least 2 values; got shape {d.shape}")
    if not np.isfinite(d).all():
        raise ValueError("differences must be finite; leave out the folds in which a model has no score")
    if not test_train_ratio >= 0.0:
        raise ValueError(f"test_train_ratio must be >= 0; got {test_train_ratio!r}")
    mean = float(d.mean())
    # the variance of equal numbers can be a rounding error; np.ptp is exact
    variance = float(d.var(ddof=1)) if np.ptp(d) > 0.0 else 0.0
    error = float(np.sqrt((1.0 / d.size + test_train_ratio) * variance))
    if error == 0.0 and mean != 0.0:
        error = abs(mean) / float(stats.t.isf(0.5**d.size, df=d.size - 1))
    statistic = mean / error if error > 0.0 else 0.0
    pvalue = float(2.0 * stats.t.sf(abs(statistic), df=d.size - 1))
    return PairedTest(mean, error, statistic, d.size - 1, pvalue)


def holm(pvalues: ArrayLike) -> F64:
    r"""Adjust p-values of several tests by the step-down rule of S. Holm (1979), Scand. J. Statistics 6.

    With :math:`p_{(1)} \le \dots \le p_{(m)}`, the adjusted value is
    :math:`\tilde p_{(i)} = \max_{j \le i} \min\{1, (m - j + 1)\, p_{(j)}\}`. With a threshold of 0.05 the probability
    of any false positive among the m tests is at most 0.05, whatever their dependence.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03, 0.005]).tolist()
    [0.03, 0.06, 0.06, 0.02]
    """
    p = np.asarray(pvalues, dtype=np.float64)
    if p.ndim != 1:
        raise ValueError(f"pvalues must be one-dimensional; got shape {p.shape}")
    if not ((p >= 0.0) & (p <= 1.0)).all():
        raise ValueError("pvalues must lie in [0, 1]")
    order = np.argsort(p, kind="stable")
    stepped = np.minimum(1.0, p[order] * np.arange(p.size, 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(stepped)
    return adjusted


def average_ranks(scores: ArrayLike, *, higher_is_better: bool = True) -> F64:
    """Rank the models within every fold, and average over folds (J. Demsar 2006, JMLR 7); ties share the mean rank.

    `scores` has shape (n_folds, n_models). Ranks (n_models,) sum to ``n_models * (n_models + 1) / 2``; 1 is best.

    Examples
    --------
    >>> average_ranks([[0.9, 0.8, 0.8], [0.7, 0.9, 0.8]]).tolist()
    [2.0, 1.75, 2.25]
    """
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] == 0:
        raise ValueError(f"scores must have shape (n_folds, n_models), n_folds > 0; got {table.shape}")
    if not np.isfinite(table).all():
        raise ValueError("scores must be finite; leave out the models that failed")
    signed = -table if higher_is_better else table
    return np.asarray(stats.rankdata(signed, method="average", axis=1).mean(axis=0), dtype=np.float64)


def chance_of_being_better(a_only: ArrayLike, b_only: ArrayLike) -> F64:
    r"""Probability that A errs less than B on a table, given the rows that only one of them predicts right.

    With :math:`k_A` and :math:`k_B` such rows and a uniform prior, the share q of A among them has the posterior
    :math:`\mathrm{Beta}(k_A + 1, k_B + 1)`, and the probability is :math:`P(q > 1/2)`; 1/2 if both predict alike.

    `a_only` and `b_only` (n_tables,) are the test rows that A alone, and B alone, predicts right. Means over several
    splits need not be whole.

    Examples
    --------
    >>> chance_of_being_better([1, 0, 40], [0, 0, 20]).round(4).tolist()
    [0.75, 0.5, 0.9951]
    """
    counts = [np.asarray(count, dtype=np.float64) for count in (a_only, b_only)]
    for name, count in zip(("a_only", "b_only"), counts, strict=True):
        if count.ndim != 1:
            raise ValueError(f"{name} must be one-dimensional, a count per table; got shape {count.shape}")
        if len(odd := count[~(np.isfinite(count) & (count >= 0.0))]):
            raise ValueError(f"{name} must hold finite counts of at least 0; got {odd[0]}")
    if counts[0].size != counts[1].size:
        raise ValueError(f"a_only has {counts[0].size} tables but b_only has {counts[1].size}; give both for each")
    # P(q > 1/2) = P(1 - q < 1/2), which is accurate when it is small
    return np.asarray(special.betainc(counts[1] + 1.0, counts[0] + 1.0, 0.5), dtype=np.float64)


def poisson_binomial_test(a_only: ArrayLike, b_only: ArrayLike, *, about: About = "these tables") -> float:
    r"""Poisson-binomial test of Lacoste, Laviolette and Marchand [1]_: the probability that A is better than B.

    A is better on table i with the probability :math:`p_i` of `chance_of_being_better`, so the number K of tables on
    which it is has a Poisson-binomial distribution. A is better *on these N tables* if it is on more than half of them:

    .. math:: P(K > N/2) + \tfrac12 P(K = N/2).

    It is better *on tables like these*, of which the N are a sample, if it is more likely than not to be better on a
    further table. Given K of N, that probability has the posterior :math:`\mathrm{Beta}(K + 1, N - K + 1)`:

    .. math:: \sum_k P(K = k)\, P(\mathrm{Beta}(k + 1, N - k + 1) > \tfrac12).

    Equation: poisson-binomial (docs/theory.md).

    `a_only` and `b_only` are as for `chance_of_being_better`. The result is 1/2 if both predict alike; the probability
    of B is the complement.

    References
    ----------
    .. [1] A. Lacoste, F. Laviolette, M. Marchand (2012). Bayesian comparison of machine learning algorithms on single
       and multiple datasets. AISTATS.

    Examples
    --------
    >>> poisson_binomial_test([1, 2, 0], [0, 0, 0])
    0.8125
    """
    if about not in get_args(About):
        raise ValueError(f"about={about!r} is not known; use one of {', '.join(map(repr, get_args(About)))}")
    chances = chance_of_being_better(a_only, b_only)
    n = chances.size
    if n == 0:
        raise ValueError("a_only and b_only hold no table; a test needs one at least")
    k = np.arange(n + 1)
    wins = stats.poisson_binom(chances).pmf(k)
    if about == "these tables":
        won = np.where(2 * k == n, 0.5, (2 * k > n).astype(np.float64))
    else:
        won = special.betainc(n - k + 1.0, k + 1.0, 0.5)
    # rounding must not give a probability above one
    return min(float(wins @ won), 1.0)


@dataclass(frozen=True)
class SignTest:
    """Outcome of a two-sided exact sign test: tables on which A has the lower, the higher and the same error."""

    wins: int
    losses: int
    ties: int
    pvalue: float


def sign_test(a: ArrayLike, b: ArrayLike) -> SignTest:
    r"""Two-sided exact sign test of A against B, given their errors `a` and `b` (n_tables,).

    With w wins, l losses and m = w + l,

    .. math:: p = \min\Big\{1,\; 2^{1 - m} \sum_{k = \max(w, l)}^{m} \binom{m}{k}\Big\}.

    Ties are left out; without other tables p = 1.

    Examples
    --------
    >>> sign_test([0.1, 0.2, 0.3, 0.1, 0.2], [0.2, 0.3, 0.4, 0.2, 0.2])
    SignTest(wins=4, losses=0, ties=1, pvalue=0.125)
    """
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if first.ndim != 1 or first.shape != second.shape:
        raise ValueError(f"a and b must be one error per table each; got shapes {first.shape} and {second.shape}")
    if not (np.isfinite(first) & np.isfinite(second)).all():
        raise ValueError("errors must be finite; leave out the tables on which an algorithm has none")
    wins, losses = int((first < second).sum()), int((first > second).sum())
    pvalue = float(stats.binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0
    return SignTest(wins, losses, first.size - wins - losses, pvalue)
