"""Larsen and Schalburg's margin bound for a finite class, whose order in every quantity cannot be improved."""

from __future__ import annotations

from math import e, inf, log

import numpy as np
from numpy.typing import ArrayLike

from committee.bounds.arguments import number, risk_of_failure
from committee.bounds.result import Bound
from committee.bounds.voting_margins import THETAS, margin_curve, rows_needed
from committee.data.number_types import F64


def tight_margin(
    margins: ArrayLike, ln_size: float, delta: float = 0.05, *, constant: float = 1.0, thetas: ArrayLike = THETAS
) -> Bound:
    """Error on new rows of a weighted vote of two classes, in the order that no bound by these quantities can beat.

    error <= min over theta of  nu + C (sqrt(nu (ln(e / nu) d + l)) + d ln(1 / d) + l),
    d = ln|H| / (theta^2 n),    l = ln(e / delta) / n,

    nu the share of training rows with margin <= theta, |H| the number of voters there were to choose from. The paper
    proves it for some C, for all weights and thetas at once, and that up to C nothing smaller is true; what C is it
    does not say. So this is a way to compare committees and **not a certificate**; `voting_certified` has explicit
    constants. It needs d < 1: where the margin is too small for the rows the value is inf.

    Equation: tight-margin-bound (docs/theory.md).

    Parameters
    ----------
    margins, thetas
        As for `voting`.
    ln_size : float
        ln|H|; see `ln_tree_class`. H is fixed before the rows are seen, and its voters vote -1 or +1.
    delta : float, default=0.05
        The bound fails with at most this probability, if C is as large as it has to be.
    constant : float, default=1.0
        The constant C.

    Returns
    -------
    Bound
        Terms, at the theta that is best: ``theta``, ``nu_theta``, ``by_margin`` (d), ``confidence`` (l),
        ``rows_to_be_useful`` (about how many rows of such margins would bring the value down to 1/2).

    References
    ----------
    K. G. Larsen, N. Schalburg (2025). Tight margin-based generalization bounds for voting classifiers over finite
    hypothesis sets. arXiv:2511.20407. The form is that of a summary of the paper, which itself could not be had.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.bounds import tight_margin
    >>> bound = tight_margin(np.full(100_000, 0.5), np.log(1000))
    >>> round(bound.value, 4), bound.terms["theta"]
    (0.0024, 0.49)
    """
    m, theta, nu = margin_curve(margins, thetas)
    size, delta = number("ln_size", ln_size, 0.0, inf), risk_of_failure(delta)
    C = number("constant", constant, 0.0, inf)

    def terms(n: float) -> tuple[F64, F64, float]:
        d, confidence = size / (theta**2 * n), log(e / delta) / n
        with np.errstate(divide="ignore", invalid="ignore"):
            shared = np.where(nu > 0.0, nu * (np.log(e / nu) * d + confidence), 0.0)
            value = nu + C * (np.sqrt(shared) + np.where(d > 0.0, d * np.log(1.0 / d), 0.0) + confidence)
        return np.where(d < 1.0, value, inf), d, confidence

    value, d, confidence = terms(len(m))
    best = int(value.argmin())
    return Bound(
        name="Larsen and Schalburg, C assumed",
        statement=f"error on new rows is at most the value, with probability {1.0 - delta:g} over the training rows, "
        f"if the theorem's constant is {C:g}",
        value=float(value[best]),
        terms={
            "theta": float(theta[best]),
            "nu_theta": float(nu[best]),
            "by_margin": float(d[best]),
            "confidence": confidence,
            "rows_to_be_useful": rows_needed(0.5, nu, lambda n: float(terms(n)[0].min())),
        },
        advice="More rows; larger margins; voters out of a smaller class.",
        inputs={"margins": m, "ln_size": size, "delta": delta, "constant": C, "thetas": theta},
        remarks=("The theorem's constant is not known: not a certificate.",),
    )
