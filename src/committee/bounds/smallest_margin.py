"""Breiman's bound by the smallest margin: what arc-gv makes as small as it can."""

from __future__ import annotations

from math import inf, log, sqrt

import numpy as np
from numpy.typing import ArrayLike

from committee.bounds.arguments import number, numbers, risk_of_failure
from committee.bounds.result import Bound


def breiman_margin(margins: ArrayLike, ln_size: float, delta: float = 0.05) -> Bound:
    """Error on new rows of a weighted vote of two classes, by the smallest of its margins on the training rows.

    error <= R (ln(2 n) + ln(1 / R) + 1) + ln(|H| / delta) / n,    R = 32 ln(2 |H|) / (n theta_0^2),

    theta_0 the smallest margin, where theta_0 > 4 sqrt(2 / |H|) and R <= 2 n.

    Equation: breiman-bound (docs/theory.md).

    Parameters
    ----------
    margins, delta
        As for `schapire_margin`.
    ln_size : float
        ln|H|, H fixed before the rows are seen; see `ln_tree_class`.

    Returns
    -------
    Bound
        Terms: ``smallest_margin``, ``R``, ``by_margin`` and ``by_class`` (the two summands). Where a condition is not
        met the value is inf, and a remark names it.

    References
    ----------
    L. Breiman (1999). Prediction games and arcing algorithms. Neural Computation 11, Theorem 2. In W. Martinez, J. B.
    Gray, *On the current state of research in explaining ensemble performance using margins*, Theorem 2, R has
    n theta_0^2 within the logarithm: a misprint.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.bounds import breiman_margin
    >>> round(breiman_margin(np.full(100_000, 0.5), np.log(1000)).value, 4)
    0.1737
    """
    m = numbers("margins", margins, -1.0, 1.0)
    size, delta = number("ln_size", ln_size, 0.0, 1e300), risk_of_failure(delta)
    n, smallest = len(m), float(m.min())
    least = 4.0 * sqrt(2.0) * float(np.exp(-0.5 * size))
    R = 32.0 * (log(2.0) + size) / (n * smallest**2) if smallest > 0.0 else inf
    remarks = []
    if smallest <= 0.0:
        remarks.append(f"The smallest margin is {smallest:.4g}: the bound is for votes that get every row right.")
    elif smallest <= least:
        remarks.append(f"The smallest margin is {smallest:.4g}, and must exceed 4 sqrt(2 / |H|) = {least:.4g}.")
    if 2.0 * n < R < inf:
        remarks.append(f"R is {R:.4g}, and must be at most 2 n = {2 * n}.")
    by_margin = inf if remarks else R * (log(2.0 * n) - log(R) + 1.0)
    by_class = (size - log(delta)) / n
    return Bound(
        name="Breiman",
        statement=f"error on new rows is at most the value, with probability {1.0 - delta:g} over the training rows",
        value=by_margin + by_class,
        terms={"smallest_margin": smallest, "R": R, "by_margin": by_margin, "by_class": by_class},
        advice="More rows; a larger smallest margin (arc-gv, or the linear program of the smallest margin); voters out "
        "of a smaller class.",
        inputs={"margins": m, "ln_size": size, "delta": delta},
        remarks=tuple(remarks),
    )
