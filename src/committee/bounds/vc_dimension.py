"""Theorems 4 and 6: a boosted committee's error on new rows, by its training error and what its voters can do."""

from __future__ import annotations

from math import exp, inf, lgamma, log, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.bounds.arguments import count, number, numbers, risk_of_failure
from committee.bounds.result import Bound

MOST_CATEGORIES = 1e15
"""Categories of a column: more than any table has rows."""


def boosting_vc(training_error: float, n_rows: int, n_rounds: int, vc_dimension: float, delta: float = 0.05) -> Bound:
    """Error on new rows of a weighted vote of T voters, by its training error (Theorem 4).

    error <= training error + sqrt(32 (T ln(e n / T) + T d ln(e n / d) + ln(8 / delta)) / n).

    The paper prints d ln(e m / d) without the T, and m for n in two places. T voters can split n rows in up
    to (e n / d)^(d T) ways, and for each of these a weighted vote in up to (e n / T)^T: their logarithm is what
    stands here. It holds for any weights, so for any emphasis, and two classes.

    Equation: vc-bound (docs/theory.md).

    Parameters
    ----------
    training_error : float
        Share of the training rows that the committee gets wrong, or an upper bound on it.
    n_rows : int
        Training rows n.
    n_rounds : int
        Voters T.
    vc_dimension : float
        VC-dimension d of the voters, or an upper bound; for model trees see `model_tree_vc_dimension`.
    delta : float, default=0.05
        The bound fails with at most this probability.

    Returns
    -------
    Bound
        Terms: ``training_error``, ``penalty``, ``log_growth`` and ``rows_to_be_useful``, about how many rows would
        bring the penalty down to 1/2 with the same voters. With fewer rows than d or T, where the theorem says
        nothing, every labelling may be possible: the growth is then 2^n, and the bound vacuous.

    References
    ----------
    T. Qin, W.-M. Huang, On subbagging boosted probit model trees, Theorem 4. R. Schapire, Y. Freund (2012).
    Boosting: Foundations and Algorithms, chapter 4.

    Examples
    --------
    >>> from committee.bounds import boosting_vc
    >>> bound = boosting_vc(0.05, n_rows=100_000, n_rounds=5, vc_dimension=10)
    >>> round(bound.value, 4)
    0.4771
    >>> boosting_vc(0.05, n_rows=1_000, n_rounds=5, vc_dimension=10).vacuous
    True
    """
    error = number("training_error", training_error, 0.0, inf)
    n, T = count("n_rows", n_rows), count("n_rounds", n_rounds)
    d, delta = number("vc_dimension", vc_dimension, 1.0, inf), risk_of_failure(delta)
    penalty = _penalty(n, T, d, delta)
    return Bound(
        name="Theorem 4, VC-dimension",
        statement=f"error on new rows is at most the value, with probability {1.0 - delta:g} over the training rows",
        value=error + penalty,
        terms={
            "training_error": error,
            "penalty": penalty,
            "log_growth": _log_growth(n, T, d),
            "rows_to_be_useful": _rows_for(0.5, T, d, delta),
        },
        advice="More rows; fewer rounds; smaller trees, or fewer columns, of smaller VC-dimension.",
        inputs={"training_error": error, "n_rows": n, "n_rounds": T, "vc_dimension": d, "delta": delta},
    )


def boosting_probit_risk(risks: ArrayLike, n_rows: int, vc_dimension: float, delta: float = 0.05) -> Bound:
    """Error on new rows of AdaBoost on probit model trees, by the risk of their leaves (Theorem 6).

    error <= exp(-2 sum_t gamma_t(B)^2) + penalty of `boosting_vc`, gamma_t(B) = 1/2 - risk_t / ln 2.

    A wrong row has -ln Phi(y f) >= ln 2, so that a tree's weighted error is at most its weighted risk over
    ln 2; the risk never rises from one boosting step in the leaves to the next. AdaBoost's own weights
    (`emphasis="samme"`) and two classes. (Eq. 42 prints -ln(y G); it is -ln Phi(y G).)

    Equation: probit-risk-bound (docs/theory.md).

    Parameters
    ----------
    risks : array-like (T,)
        Weighted probit risk of each tree, in [0, ln(2) / 2); `SBPMTClassifier.risks_`. The logit's risk does as well,
        as it is ln 2 at zero too.
    n_rows : int
        Training rows n.
    vc_dimension : float
        VC-dimension d of the trees, or an upper bound.
    delta : float, default=0.05
        The bound fails with at most this probability.

    Returns
    -------
    Bound
        Terms: ``exponential``, ``product`` (prod sqrt(1 - 4 gamma_t^2), a little sharper), ``penalty``,
        ``least_gamma``, ``log_growth``.

    Raises
    ------
    ValueError
        If a risk is ln(2) / 2 or more (the theorem says nothing then: take more steps in the leaves, or
        bound by the errors with `margin_product`), or another argument is out of its range.

    References
    ----------
    T. Qin, W.-M. Huang, On subbagging boosted probit model trees, Theorem 6 and appendix E.

    Examples
    --------
    >>> from committee.bounds import boosting_probit_risk
    >>> bound = boosting_probit_risk([0.1, 0.15, 0.15], n_rows=10**6, vc_dimension=40)
    >>> round(bound.terms["exponential"], 4), round(bound.value, 4)
    (0.5628, 0.7731)
    """
    risk = numbers("risks", risks, 0.0, inf)
    if (risk >= log(2.0) / 2.0).any():
        t = int((risk >= log(2.0) / 2.0).argmax())
        raise ValueError(
            f"risks[{t}] is {risk[t]:.4g}; Theorem 6 is for risks below ln(2) / 2 = 0.3466. Take more steps in the "
            "leaves (n_leaf_steps), or bound by the errors with margin_product and boosting_vc."
        )
    n, d = count("n_rows", n_rows), number("vc_dimension", vc_dimension, 1.0, inf)
    delta = risk_of_failure(delta)
    gamma = 0.5 - risk / log(2.0)
    penalty, exponential = _penalty(n, len(risk), d, delta), exp(-2.0 * float(gamma @ gamma))
    return Bound(
        name="Theorem 6, probit risk",
        statement=f"error on new rows is at most the value, with probability {1.0 - delta:g} over the training rows",
        value=exponential + penalty,
        terms={
            "exponential": exponential,
            "product": float(np.sqrt(1.0 - 4.0 * gamma**2).prod()),
            "penalty": penalty,
            "least_gamma": float(gamma.min()),
            "log_growth": _log_growth(n, len(risk), d),
        },
        advice="More boosting steps in the leaves, which lower the risk; more rows; smaller trees, fewer columns.",
        inputs={"risks": risk, "n_rows": n, "vc_dimension": d, "delta": delta},
    )


def model_tree_vc_dimension(n_leaves: int, n_inputs: int, n_categories: ArrayLike) -> float:
    """An upper bound on the VC-dimension of trees with at most L leaves and a linear score in each; two classes.

    It is the largest n with 2^n <= Catalan(L - 1) S(n)^(L - 1) H(n)^L: the shapes of a tree, times the ways in
    which L - 1 splits divide n rows, times the ways in which L halfspaces do. A numeric column splits n rows in
    at most 2 (n + 1) ways, as missing values choose their side, a column of k categories in 2^(k + 1), and
    S adds up the columns; H(n) = (e n / (q + 1))^(q + 1) for scores of q inputs.

    The paper adds the dimensions of trees and of halfspaces (proof of Theorem 2), as if a model tree were
    one or the other; it is L halfspaces on the parts of a tree and shatters L (q + 1) rows.

    Parameters
    ----------
    n_leaves : int
        Most leaves L that a tree may have, not what a fitted one happens to have.
    n_inputs : int
        Inputs q of a leaf's score: numeric columns, and 0/1 columns of the categories.
    n_categories : array-like of int (p,)
        Categories of each column of the table; 0 for a number.

    Returns
    -------
    float
        A whole number.

    Examples
    --------
    >>> from committee.bounds import model_tree_vc_dimension
    >>> model_tree_vc_dimension(1, 2, [0, 0])
    9.0
    >>> model_tree_vc_dimension(8, 30, [0] * 30)
    1969.0
    """
    L, q = count("n_leaves", n_leaves), count("n_inputs", n_inputs)
    k = numbers("n_categories", n_categories, 0.0, MOST_CATEGORIES)
    low, high = L * (q + 1), 2 * L * (q + 1)
    while _log_model_trees(high, L, q, k) >= high * log(2.0):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if _log_model_trees(middle, L, q, k) >= middle * log(2.0):
            low = middle
        else:
            high = middle
    return float(low)


def _log_model_trees(n: int, n_leaves: int, n_inputs: int, n_categories: NDArray[np.float64]) -> float:
    """Logarithm of how many ways the trees can label n rows, at most; n >= n_inputs + 1."""
    # the sum of ln((L - 1 + i) / i) over 1 < i < L
    shapes = lgamma(2 * n_leaves - 1) - lgamma(n_leaves + 1) - lgamma(n_leaves) if n_leaves > 1 else 0.0
    ways = np.where(n_categories > 0, (n_categories + 1.0) * log(2.0), log(2.0 * (n + 1.0)))
    splits = float(np.logaddexp.reduce(ways))
    halfspaces = (n_inputs + 1) * log(np.e * n / (n_inputs + 1))
    return shapes + (n_leaves - 1) * splits + n_leaves * halfspaces


def _log_growth(n: int, T: int, d: float) -> float:
    """Logarithm of how many ways a weighted vote of T voters can label n rows, at most."""
    if n < max(d, T):
        return n * log(2.0)
    return min(n * log(2.0), T * log(np.e * n / T) + T * d * log(np.e * n / d))


def _penalty(n: int, T: int, d: float, delta: float) -> float:
    return sqrt(32.0 * (_log_growth(n, T, d) + log(8.0 / delta)) / n)


def _rows_for(penalty: float, T: int, d: float, delta: float) -> float:
    """About how many rows bring the penalty down to the given one."""
    low, high = 1.0, 2.0
    while _penalty(int(high), T, d, delta) > penalty and high < 1e18:
        low, high = high, 2.0 * high
    while high - low > 0.01 * low:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _penalty(int(middle), T, d, delta) > penalty else (low, middle)
    return float(round(high))
