"""Bounds for boosting by weighted errors, VC-dimension and risk of leaves (T. Qin, W.-M. Huang, Theorems 4 to 6)."""

from __future__ import annotations

from math import exp, inf, lgamma, log, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.bounds.result import Bound, check_count, check_delta, check_number, check_numbers, on_new_rows

MOST_CATEGORIES = 1e15  # of a column: more than any table has rows


def margin_product(errors: ArrayLike, theta: float = 0.0) -> Bound:
    """Share of training rows with margin <= theta, by AdaBoost's weighted errors (Theorem 5).

    share <= prod_t 2 sqrt(err_t^(1 - theta) (1 - err_t)^(1 + theta)).

    It holds for two classes, if AdaBoost's weights alpha_t = ln((1 - err_t) / err_t) are used both in the vote and in
    the update of the row weights. For other weights see `exponential_loss`.

    Equation: margin-product (docs/theory.md).
    Source: T. Qin, W.-M. Huang, Theorem 5; R. Schapire et al. (1998), Theorem 5.

    Parameters
    ----------
    errors : array-like (T,)
        Weighted error of each voter under the weights it was trained on, in [0, 1/2].
    theta : float, default=0.0
        Margin, in [-1, 1]; 0 bounds the training error.

    Returns
    -------
    Bound
        Terms: ``rounds``, ``largest_factor`` (of the product), ``sum_gamma_squared`` (gamma_t = 1/2 - err_t) and
        ``exponential``, exp(-2 sum gamma_t^2), which the product is never above when theta is 0 (eq. 16).

    Examples
    --------
    >>> from committee.bounds import margin_product
    >>> round(margin_product([0.1, 0.2], theta=0.1).value, 4)
    0.5742
    """
    # a voter worse than chance gets a negative alpha, and the formula then bounds another share than the margins'
    err = check_numbers("errors", errors, 0.0, 0.5)
    theta = check_number("theta", theta, -1.0, 1.0)
    factors = 2.0 * np.sqrt(err ** (1.0 - theta) * (1.0 - err) ** (1.0 + theta))
    gamma = 0.5 - err
    return Bound(
        name="Theorem 5, margin product",
        statement=f"share of training rows with margin <= {theta:g} is at most the value",
        value=float(factors.prod()),
        terms={
            "rounds": float(len(err)),
            "largest_factor": float(factors.max()),
            "sum_gamma_squared": float(gamma @ gamma),
            "exponential": float(np.exp(-2.0 * gamma @ gamma)),
        },
        advice=_advice(theta),
        inputs={"errors": err, "theta": theta},
    )


def exponential_loss(errors: ArrayLike, alpha: ArrayLike, theta: float = 0.0) -> Bound:
    """Share of training rows with margin <= theta, by the exponential loss, for weights >= 0 and any number of classes.

    share <= prod_t exp(theta alpha_t / 2) Z_t, Z_t = (1 - err_t) exp(-alpha_t / 2) + err_t exp(alpha_t / 2).

    Where each round multiplies the weight of its wrong rows by exp(alpha_t), the final weight of a row is its first
    weight times exp(-d / 2) / prod Z_t, with d the weight of the voters that are right on it less that of the others. d
    is the margin (not normalised) for two classes and at most the margin for more. With alpha_t = ln((1 - err_t) /
    err_t) this is Theorem 5. It also applies to the weights of SAMME, and to the half step of the SBPMT paper.

    Sources: R. Schapire, Y. Singer (1999), Theorem 1; for the margins R. Schapire et al. (1998), Theorem 5.

    Parameters
    ----------
    errors : array-like (T,)
        Weighted error of each voter under the weights it was trained on, in [0, 1].
    alpha : array-like (T,)
        Weight of each voter in the vote, in [0, 700]; exp(alpha_t) multiplied the weights of round t's wrong rows.
    theta : float, default=0.0
        Margin, in [-1, 1]; 0 bounds the training error.

    Returns
    -------
    Bound
        Terms: ``rounds``, ``largest_normaliser``, ``product_of_normalisers``, prod Z_t, and ``margin_factor``,
        exp(theta sum alpha_t / 2).

    Examples
    --------
    >>> from committee.bounds import exponential_loss, margin_product
    >>> err = np.array([0.1, 0.2])
    >>> alpha = np.log((1 - err) / err)
    >>> round(exponential_loss(err, alpha).value / margin_product(err).value, 12)
    1.0
    >>> exponential_loss(err, alpha / 2).value > margin_product(err).value
    True
    """
    err = check_numbers("errors", errors, 0.0, 1.0)
    a = check_numbers("alpha", alpha, 0.0, 700.0) / 2.0
    theta = check_number("theta", theta, -1.0, 1.0)
    if len(err) != len(a):
        raise ValueError(f"errors has length {len(err)} and alpha {len(a)}; give one of each for every voter.")
    normalisers = (1.0 - err) * np.exp(-a) + err * np.exp(a)
    product, factor = float(normalisers.prod()), float(np.exp(theta * a.sum()))
    return Bound(
        name="exponential-loss product",
        statement=f"share of training rows with margin <= {theta:g} is at most the value",
        value=product * factor,
        terms={
            "rounds": float(len(err)),
            "largest_normaliser": float(normalisers.max()),
            "product_of_normalisers": product,
            "margin_factor": factor,
        },
        advice=_advice(theta) + " The step alpha = ln((1 - err) / err) makes each normaliser as small as it can be.",
        inputs={"errors": err, "alpha": 2.0 * a, "theta": theta},
    )


def _advice(theta: float) -> str:
    advice = "Voters of smaller weighted error, or more rounds as long as their factors stay below 1."
    return advice + (" A smaller theta." if theta > 0.0 else "")


def boosting_vc(training_error: float, n_rows: int, n_rounds: int, vc_dimension: float, delta: float = 0.05) -> Bound:
    """Error on new rows of a weighted vote of T voters, by its training error (Theorem 4).

    error <= training error + sqrt(32 (T ln(e n / T) + T d ln(e n / d) + ln(8 / delta)) / n).

    It holds for any weights, so for any emphasis, and two classes. The paper's formula has misprints (docs/bounds.md).

    Equation: vc-bound (docs/theory.md).
    Sources: T. Qin, W.-M. Huang, Theorem 4; R. Schapire, Y. Freund (2012), chapter 4.

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
        Terms: ``training_error``, ``penalty``, ``log_growth`` and ``rows_to_be_useful``, about how many rows lower the
        penalty to 1/2 with the same T and d. With fewer rows than d or T, which the theorem does not cover, the growth
        is 2^n, and the bound vacuous.

    Examples
    --------
    >>> from committee.bounds import boosting_vc
    >>> bound = boosting_vc(0.05, n_rows=100_000, n_rounds=5, vc_dimension=10)
    >>> round(bound.value, 4)
    0.4771
    >>> boosting_vc(0.05, n_rows=1_000, n_rounds=5, vc_dimension=10).vacuous
    True
    """
    error = check_number("training_error", training_error, 0.0, inf)
    n, T = check_count("n_rows", n_rows), check_count("n_rounds", n_rounds)
    d, delta = check_number("vc_dimension", vc_dimension, 1.0, inf), check_delta(delta)
    penalty = _penalty(n, T, d, delta)
    return Bound(
        name="Theorem 4, VC-dimension",
        statement=on_new_rows(delta),
        value=error + penalty,
        terms={
            "training_error": error,
            "penalty": penalty,
            "log_growth": _log_growth(n, T, d),
            "rows_to_be_useful": _rows_to_be_useful(T, d, delta),
        },
        advice="More rows; fewer rounds; smaller trees, or fewer columns, of smaller VC-dimension.",
        inputs={"training_error": error, "n_rows": n, "n_rounds": T, "vc_dimension": d, "delta": delta},
    )


def boosting_probit_risk(risks: ArrayLike, n_rows: int, vc_dimension: float, delta: float = 0.05) -> Bound:
    """Error on new rows of AdaBoost on probit model trees, by the risk of their leaves (Theorem 6).

    error <= exp(-2 sum_t gamma_t(B)^2) + penalty of `boosting_vc`, gamma_t(B) = 1/2 - risk_t / ln 2.

    A wrong row has -ln Phi(y f) >= ln 2, so that a tree's weighted error is at most its weighted risk over ln 2. The
    bound holds for AdaBoost's own weights (such as ``emphasis="samme"``) and two classes.

    Equation: probit-risk-bound (docs/theory.md). Source: T. Qin, W.-M. Huang, Theorem 6.

    Parameters
    ----------
    risks : array-like (T,)
        Weighted probit risk of each tree, in [0, ln(2) / 2): `SBPMTClassifier.risks_` of one of its committees. The
        logit risk is valid as well, since its loss at zero is also ln 2.
    n_rows, delta
        As for `boosting_vc`.
    vc_dimension : float
        VC-dimension d of the trees, or an upper bound.

    Returns
    -------
    Bound
        Terms: ``exponential``, ``product`` (prod sqrt(1 - 4 gamma_t^2), slightly sharper), ``penalty``,
        ``least_gamma``, ``log_growth``.

    Raises
    ------
    ValueError
        If a risk is ln(2) / 2 or more, which the theorem does not cover, or another argument is out of its range.

    Examples
    --------
    >>> from committee.bounds import boosting_probit_risk
    >>> bound = boosting_probit_risk([0.1, 0.15, 0.15], n_rows=10**6, vc_dimension=40)
    >>> round(bound.terms["exponential"], 4), round(bound.value, 4)
    (0.5628, 0.7731)
    """
    risk = check_numbers("risks", risks, 0.0, inf)
    if (risk >= log(2.0) / 2.0).any():
        t = int((risk >= log(2.0) / 2.0).argmax())
        raise ValueError(
            f"risks[{t}] is {risk[t]:.4g}; Theorem 6 is for risks below ln(2) / 2 = 0.3466. Take more steps in the "
            "leaves (n_leaf_steps), or bound by the errors with margin_product and boosting_vc."
        )
    n, d = check_count("n_rows", n_rows), check_number("vc_dimension", vc_dimension, 1.0, inf)
    delta = check_delta(delta)
    gamma = 0.5 - risk / log(2.0)
    penalty, exponential = _penalty(n, len(risk), d, delta), exp(-2.0 * float(gamma @ gamma))
    return Bound(
        name="Theorem 6, probit risk",
        statement=on_new_rows(delta),
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
    """Upper bound on the VC-dimension of trees with at most L leaves and a linear score in each, for two classes.

    It is the largest n with 2^n <= Catalan(L - 1) S(n)^(L - 1) H(n)^L: the shapes of a tree, times the ways in which L
    - 1 splits divide n rows, times the ways in which L halfspaces do. A numeric column splits n rows in at most 2 (n +
    1) ways, as missing values may go to either side; a column of k categories in 2^(k + 1). S(n) is the sum over the
    columns; H(n) = (e n / (q + 1))^(q + 1) for scores of q inputs.

    Parameters
    ----------
    n_leaves : int
        Most leaves L that a tree may have, not those of a fitted one.
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
    >>> model_tree_vc_dimension(1, 2, [0, 0]), model_tree_vc_dimension(8, 30, [0] * 30)
    (9.0, 1969.0)
    """
    L, q = check_count("n_leaves", n_leaves), check_count("n_inputs", n_inputs)
    k = check_numbers("n_categories", n_categories, 0.0, MOST_CATEGORIES)
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
    # logarithm of the number of labellings of n >= n_inputs + 1 rows; shapes: the sum of ln((L - 1 + i) / i), 1 < i < L
    shapes = lgamma(2 * n_leaves - 1) - lgamma(n_leaves + 1) - lgamma(n_leaves) if n_leaves > 1 else 0.0
    ways = np.where(n_categories > 0, (n_categories + 1.0) * log(2.0), log(2.0 * (n + 1.0)))
    splits = float(np.logaddexp.reduce(ways))
    halfspaces = (n_inputs + 1) * log(np.e * n / (n_inputs + 1))
    return shapes + (n_leaves - 1) * splits + n_leaves * halfspaces


def _log_growth(n: int, T: int, d: float) -> float:
    if n < max(d, T):
        return n * log(2.0)
    return min(n * log(2.0), T * log(np.e * n / T) + T * d * log(np.e * n / d))


def _penalty(n: int, T: int, d: float, delta: float) -> float:
    return sqrt(32.0 * (_log_growth(n, T, d) + log(8.0 / delta)) / n)


def _rows_to_be_useful(T: int, d: float, delta: float) -> float:
    low, high = 1.0, 2.0
    while _penalty(int(high), T, d, delta) > 0.5 and high < 1e18:
        low, high = high, 2.0 * high
    while high - low > 0.01 * low:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _penalty(int(middle), T, d, delta) > 0.5 else (low, middle)
    return float(round(high))
