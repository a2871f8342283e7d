"""Bounds on the error by one margin of the training rows: the smallest, or the equilibrium margin."""

from __future__ import annotations

from math import inf, log, sqrt

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr

from committee.bounds.result import Bound, check_delta, check_number, check_numbers, on_new_rows
from committee.objectives.pac_bayes import kl_inverse

_NEAR_ONE = 1e-9
"""Bounds p this close to 1 are compared by an approximation of ln(1 - p), as they may round to 1."""

_SMALLEST = 1e-140
"""Floor of a margin: the square of a smaller one may underflow."""


def breiman_margin(margins: ArrayLike, ln_size: float, delta: float = 0.05) -> Bound:
    """Error on new rows of a weighted vote of two classes, by its smallest margin on the training rows.

    error <= R (ln(2 n) + ln(1 / R) + 1) + ln(|H| / delta) / n,    R = 32 ln(2 |H|) / (n theta_0^2),

    with theta_0 the smallest margin, where theta_0 > 4 sqrt(2 / |H|) and R <= 2 n. Arc-gv maximises theta_0.

    Equation: breiman-bound (docs/theory.md). Source: L. Breiman (1999), Theorem 2.

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
        met the value is inf, and a remark names the condition.

    Examples
    --------
    >>> from committee.bounds import breiman_margin
    >>> round(breiman_margin(np.full(100_000, 0.5), np.log(1000)).value, 4)
    0.1737
    """
    m = check_numbers("margins", margins, -1.0, 1.0)
    size, delta = check_number("ln_size", ln_size, 0.0, 1e300), check_delta(delta)
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
        statement=on_new_rows(delta),
        value=by_margin + by_class,
        terms={"smallest_margin": smallest, "R": R, "by_margin": by_margin, "by_class": by_class},
        advice="More rows; a larger smallest margin (arc-gv, or the linear program of the smallest margin); voters out "
        "of a smaller class.",
        inputs={"margins": m, "ln_size": size, "delta": delta},
        remarks=tuple(remarks),
    )


def equilibrium_margin(margins: ArrayLike, ln_size: float, delta: float = 0.05) -> Bound:
    """Error on new rows of a weighted vote of two classes, by the equilibrium margin of its training rows.

    With the margins in rising order m_1 <= m_2 <= ..., theta_q = m_(nq + 1) is the margin that a share q = 0, 1/n, ...
    of the rows do not reach, and

        error <= ln|H| / n + min over q with theta_q > 0 of sup{p : kl(q, p) <= u(theta_q)},
        u(theta) = (8 ln|H| ln(2 n^2 / ln|H|) / theta^2 + ln|H| + ln(n / delta)) / n,

    kl(q, p) = q ln(q / p) + (1 - q) ln((1 - q) / (1 - p)). The theta_q of the minimum is the equilibrium margin. At
    q = 0 theta_q is the smallest margin, so that this bound is never above Breiman's. The authors require
    theta_q > sqrt(8 / |H|), which the proof on the page about bounds does not need. Values p that round to 1 are
    compared by ln(1 - p), so that the equilibrium margin describes the margins even where the bound is vacuous.

    Equation: equilibrium-margin (docs/theory.md).
    Sources: L. Wang et al. (2011); W. Gao, Z.-H. Zhou (2013) for a bound by all margins at once.

    Parameters
    ----------
    margins, delta
        As for `schapire_margin`.
    ln_size : float
        ln|H|, at least ln 2, H fixed before the rows are seen; see `ln_tree_class`. For held-out rows of T voters it is
        ln T, or ln 2T where weights may be negative.

    Returns
    -------
    Bound
        Terms: ``equilibrium_margin``, ``share_below`` (q), ``complexity`` (u), ``by_class`` (the first summand). Where
        no margin is above 0 the value is inf, the equilibrium margin the largest, with a remark.

    Examples
    --------
    >>> from committee.bounds import breiman_margin, equilibrium_margin
    >>> margins = np.append(np.full(99_900, 0.5), np.full(100, 0.1))
    >>> bound = equilibrium_margin(margins, np.log(1000))
    >>> bound.terms["equilibrium_margin"], bound.terms["share_below"]
    (0.5, 0.001)
    >>> bound.value < 0.1 < breiman_margin(margins, np.log(1000)).value
    True
    """
    m = np.sort(check_numbers("margins", margins, -1.0, 1.0))
    size, delta = check_number("ln_size", ln_size, log(2.0), 1e300), check_delta(delta)
    n = len(m)
    by_class = size / n
    theta, first = np.unique(m, return_index=True)
    above = theta > 0.0
    theta, q = theta[above], first[above] / n
    found = m[-1], 1.0, inf
    value = inf
    if len(theta):
        draws = 8.0 * size * max(0.0, log(2.0) + 2.0 * log(n) - log(size)) / np.maximum(theta, _SMALLEST) ** 2
        u = (draws + size + log(n / delta)) / n
        error = kl_inverse(q, u)
        # near p = 1, kl(q, p) is -(1 - q) ln(1 - p) less the entropy of q
        far = (u + entr(q) + entr(1.0 - q)) / (1.0 - q)
        with np.errstate(divide="ignore"):
            best = int(np.where(error < 1.0 - _NEAR_ONE, -np.log1p(-error), far).argmin())
        found = theta[best], q[best], u[best]
        value = by_class + float(error[best])
    names = "equilibrium_margin", "share_below", "complexity"
    return Bound(
        name="equilibrium margin",
        statement=on_new_rows(delta),
        value=value,
        terms=dict(zip(names, map(float, found), strict=True)) | {"by_class": by_class},
        advice="More rows; larger margins of most rows; voters out of a smaller class.",
        inputs={"margins": m, "ln_size": size, "delta": delta},
        remarks=() if len(theta) else (f"No margin is above 0: the largest is {m[-1]:.4g}.",),
    )
