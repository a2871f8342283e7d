"""Statistics that say which differences between models mean something.

Fold scores of cross-validation are not independent: the training parts overlap. A plain paired t-test on them
finds differences that are not there. The tests here are the usual corrections for that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

__all__ = ["PairedTest", "average_ranks", "corrected_paired_t_test", "holm"]


@dataclass(frozen=True)
class PairedTest:
    """Outcome of a two-sided paired test.

    Attributes
    ----------
    difference : float
        Mean of the paired differences.
    standard_error : float
        Its corrected standard error.
    statistic : float
        ``difference / standard_error``; infinite when all differences are the same non-zero number.
    degrees_of_freedom : int
        Number of differences minus one.
    pvalue : float
        Two-sided, from Student's t distribution.
    """

    difference: float
    standard_error: float
    statistic: float
    degrees_of_freedom: int
    pvalue: float


def corrected_paired_t_test(differences: ArrayLike, test_train_ratio: float) -> PairedTest:
    r"""Corrected resampled paired t-test of Nadeau and Bengio.

    With :math:`J` differences of mean :math:`\bar d` and unbiased variance :math:`s^2`,

    .. math:: t = \frac{\bar d}{\sqrt{\left(\frac1J + \frac{n_\mathrm{test}}{n_\mathrm{train}}\right) s^2}},

    with :math:`J - 1` degrees of freedom. The second term stands for the correlation that the shared training
    rows put between the differences. ``J`` counts folds x repeats, as in Bouckaert and Frank (2004).

    Parameters
    ----------
    differences : array-like of shape (J,)
        Score of one model minus score of the other, one value per test fold. At least two.
    test_train_ratio : float
        Test rows over training rows of a fold: ``1 / (k - 1)`` for k folds. 0 gives the ordinary paired
        t-test.

    Returns
    -------
    PairedTest
        All differences zero: p = 1. All the same non-zero number: p = 0.

    Raises
    ------
    ValueError
        Fewer than two differences, a difference that is not finite, or a negative ratio.

    References
    ----------
    C. Nadeau and Y. Bengio (2003), Inference for the generalization error, Machine Learning 52, 239-281.

    R. R. Bouckaert and E. Frank (2004), Evaluating the replicability of significance tests for comparing
    learning algorithms, PAKDD, 3-12.

    Examples
    --------
    >>> from committee.report.statistics import corrected_paired_t_test
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
    # Equal numbers can have a spread of a rounding error; np.ptp sees that they are equal.
    variance = float(d.var(ddof=1)) if np.ptp(d) > 0.0 else 0.0
    error = float(np.sqrt((1.0 / d.size + test_train_ratio) * variance))
    # Equal differences: no doubt about their sign, unless they are all zero.
    limit = 0.0 if mean == 0.0 else float(np.copysign(np.inf, mean))
    statistic = mean / error if error > 0.0 else limit
    pvalue = float(2.0 * stats.t.sf(abs(statistic), df=d.size - 1))
    return PairedTest(mean, error, statistic, d.size - 1, pvalue)


def holm(pvalues: ArrayLike) -> NDArray[np.float64]:
    r"""Adjust p-values of several tests by Holm's step-down rule.

    With :math:`p_{(1)} \le \dots \le p_{(m)}`, the adjusted value is
    :math:`\tilde p_{(i)} = \max_{j \le i} \min\{1, (m - j + 1)\, p_{(j)}\}`. Calling a difference significant
    when its adjusted value is at most 0.05 keeps the chance of any false alarm among the m tests at 0.05 at
    most, whatever the dependence between them.

    Parameters
    ----------
    pvalues : array-like of shape (m,)
        Each in [0, 1].

    Returns
    -------
    ndarray of shape (m,)
        Adjusted p-values, in the order given.

    Raises
    ------
    ValueError
        A value outside [0, 1] or NaN, or more than one dimension.

    References
    ----------
    S. Holm (1979), A simple sequentially rejective multiple test procedure, Scand. J. Statistics 6, 65-70.

    Examples
    --------
    >>> from committee.report.statistics import holm
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


def average_ranks(scores: ArrayLike, *, higher_is_better: bool = True) -> NDArray[np.float64]:
    """Rank the models within every fold and average over folds; ties share the mean of their ranks.

    Parameters
    ----------
    scores : array-like of shape (n_folds, n_models)
        One score per fold and model, all finite.
    higher_is_better : bool, default=True
        True for accuracy and ROC AUC, False for log loss.

    Returns
    -------
    ndarray of shape (n_models,)
        Average ranks; 1 is best in every fold. They sum to ``n_models * (n_models + 1) / 2``.

    Raises
    ------
    ValueError
        Not two-dimensional, no fold, or a score that is not finite.

    References
    ----------
    J. Demsar (2006), Statistical comparisons of classifiers over multiple data sets, JMLR 7, 1-30.

    Examples
    --------
    >>> from committee.report.statistics import average_ranks
    >>> average_ranks([[0.9, 0.8, 0.8], [0.7, 0.9, 0.8]]).tolist()
    [2.0, 1.75, 2.25]
    """
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] == 0:
        raise ValueError(f"scores must have shape (n_folds, n_models), not {table.shape}")
    if not np.isfinite(table).all():
        raise ValueError("scores must be finite; leave out the models that failed")
    signed = -table if higher_is_better else table
    return np.asarray(stats.rankdata(signed, method="average", axis=1).mean(axis=0), dtype=np.float64)
