"""Theorem 5: boosting's weighted errors bound the share of training rows of small margin."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from committee.bounds.arguments import number, numbers
from committee.bounds.result import Bound


def margin_product(errors: ArrayLike, theta: float = 0.0) -> Bound:
    """Share of training rows with margin <= theta, by AdaBoost's weighted errors (Theorem 5).

    share <= prod_t 2 sqrt(err_t^(1 - theta) (1 - err_t)^(1 + theta)).

    Two classes, and AdaBoost's own weights alpha_t = ln((1 - err_t) / err_t) both in the vote and in the rows'
    update; for any others see `exponential_loss`.

    Equation: margin-product (docs/theory.md).

    Parameters
    ----------
    errors : array-like (T,)
        Weighted error of each voter under the weights it was trained on, in [0, 1/2].
    theta : float, default=0.0
        Margin, in [-1, 1]; 0 bounds the training error.

    Returns
    -------
    Bound
        Terms: ``sum_gamma_squared``, gamma_t = 1/2 - err_t, and ``exponential``, exp(-2 sum gamma_t^2), which the
        product is never above when theta is 0 (eq. 16).

    Raises
    ------
    ValueError
        If an error is not in [0, 1/2] or theta not in [-1, 1].

    References
    ----------
    T. Qin, W.-M. Huang, On subbagging boosted probit model trees, Theorem 5. R. Schapire, Y. Freund,
    P. Bartlett, W. S. Lee (1998). Boosting the margin. Annals of Statistics 26, Theorem 5.

    Examples
    --------
    >>> from committee.bounds import margin_product
    >>> round(margin_product([0.1, 0.2], theta=0.1).value, 4)
    0.5742
    """
    # a voter worse than chance gets a negative alpha, and the formula then bounds another share than the margins'
    err = numbers("errors", errors, 0.0, 0.5)
    theta = number("theta", theta, -1.0, 1.0)
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
    """Share of training rows with margin <= theta, by the exponential loss; any positive weights, any classes.

    share <= prod_t exp(theta alpha_t / 2) Z_t, Z_t = (1 - err_t) exp(-alpha_t / 2) + err_t exp(alpha_t / 2).

    Where each round multiplies the weight of its wrong rows by exp(alpha_t), the final weights are the exponential
    loss of (weight voting right - weight voting wrong) / 2, divided by prod Z_t. That difference is the margin
    for two classes and at most the margin for more. With alpha_t = ln((1 - err_t) / err_t) this is Theorem 5; the
    half step of the SBPMT paper, and SAMME, have other weights, and this bound.

    Parameters
    ----------
    errors : array-like (T,)
        Weighted error of each voter under the weights it was trained on, in [0, 1].
    alpha : array-like (T,)
        Weight of each voter in the vote, positive; exp(alpha_t) multiplied the weights of round t's wrong rows.
    theta : float, default=0.0
        Margin, in [-1, 1]; 0 bounds the training error.

    Returns
    -------
    Bound
        Terms: ``product_of_normalisers``, prod Z_t, and ``margin_factor``, exp(theta sum alpha_t / 2).

    Raises
    ------
    ValueError
        If an argument is out of its range, or there are not as many errors as weights.

    References
    ----------
    R. Schapire, Y. Singer (1999). Improved boosting algorithms using confidence-rated predictions. Machine
    Learning 37, Theorem 1, and R. Schapire, Y. Freund, P. Bartlett, W. S. Lee (1998), Theorem 5, for the margins.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.bounds import exponential_loss, margin_product
    >>> err = np.array([0.1, 0.2])
    >>> round(exponential_loss(err, np.log((1 - err) / err)).value / margin_product(err).value, 12)
    1.0
    >>> exponential_loss(err, np.log((1 - err) / err) / 2).value > margin_product(err).value
    True
    """
    err = numbers("errors", errors, 0.0, 1.0)
    a = numbers("alpha", alpha, 0.0, 700.0) / 2.0
    theta = number("theta", theta, -1.0, 1.0)
    if len(err) != len(a):
        raise ValueError(f"errors are {len(err)} and alpha {len(a)}; give one of each for every voter.")
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
