"""Schapire, Freund, Bartlett and Lee's margin bound for a finite class, with the constants of its proof."""

from __future__ import annotations

from math import inf, log

import numpy as np
from numpy.typing import ArrayLike

from committee.bounds.arguments import number, risk_of_failure
from committee.bounds.result import Bound
from committee.bounds.voting_margins import DRAWN, THETAS, least_draw, margin_curve


def schapire_margin(margins: ArrayLike, ln_size: float, delta: float = 0.05, *, thetas: ArrayLike = THETAS) -> Bound:
    """Error on new rows of a weighted vote of two classes, by its margins on the training rows.

    error <= min over theta, N of  nu_theta + 2 exp(-N theta^2 / 8) + sqrt((N ln|H| + ln(N (N + 1)^2 / delta)) / (2 n)),

    nu_theta the share of training rows with margin <= theta, |H| the number of voters there were to choose from, N the
    number of voters that the proof draws. The theorem is printed as nu_theta + O(sqrt(ln|H| ln n / (n theta^2))); these
    are the terms that it adds up, before N is chosen. It holds for all weights, thetas and N at once, so that the
    least may be taken. `voting_certified` proves more from the same draw, and is nearly always smaller.

    Equation: schapire-bound (docs/theory.md).

    Parameters
    ----------
    margins, delta, thetas
        As for `voting`, whose eta is delta here.
    ln_size : float
        ln|H|; see `ln_tree_class`. H is fixed before the rows are seen, and its voters vote -1 or +1.

    Returns
    -------
    Bound
        Terms, at the theta and N that are best: ``theta``, ``nu_theta``, ``drawn`` (N), ``tail`` (the second summand),
        ``complexity`` (the third).

    References
    ----------
    R. Schapire, Y. Freund, P. Bartlett, W. S. Lee (1998). Boosting the margin. Annals of Statistics 26, Theorem 1.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.bounds import schapire_margin
    >>> bound = schapire_margin(np.full(100_000, 0.5), np.log(1000))
    >>> round(bound.value, 4), bound.terms["drawn"]
    (0.0884, 181.0)
    """
    m, theta, nu = margin_curve(margins, thetas)
    size, delta = number("ln_size", ln_size, 0.0, inf), risk_of_failure(delta)
    tail = 2.0 * np.exp(-np.outer(theta**2, DRAWN) / 8.0)
    complexity = np.sqrt((DRAWN * size + np.log(DRAWN) + 2.0 * np.log(DRAWN + 1.0) + log(1.0 / delta)) / (2.0 * len(m)))
    value = nu[:, None] + tail + complexity
    best, terms = least_draw(value, theta, nu, tail, complexity)
    return Bound(
        name="Schapire et al.",
        statement=f"error on new rows is at most the value, with probability {1.0 - delta:g} over the training rows",
        value=best,
        terms=terms,
        advice="More rows; larger margins; voters out of a smaller class.",
        inputs={"margins": m, "ln_size": size, "delta": delta, "thetas": theta},
    )
