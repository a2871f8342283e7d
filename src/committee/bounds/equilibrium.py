"""The equilibrium margin: where few rows of small margin and a large margin of the others balance, and its bound."""

from __future__ import annotations

from math import inf, log

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr

from committee.bounds.arguments import number, numbers, risk_of_failure
from committee.bounds.result import Bound
from committee.objectives.pac_bayes import kl_inverse

_NEAR_ONE = 1e-9
"""A bound that is no further from 1 is compared with others by its logarithm: they all round to 1."""

_SMALLEST = 1e-140
"""Margins below this count as this: the square of a smaller one is 0."""


def equilibrium_margin(margins: ArrayLike, ln_size: float, delta: float = 0.05) -> Bound:
    """Error on new rows of a weighted vote of two classes, by the equilibrium margin of its training rows.

    With the margins in rising order m_1 <= m_2 <= ..., theta_q = m_(nq + 1) is the margin that a share q = 0, 1/n, ...
    of the rows do not reach, and

        error <= ln|H| / n + min over q with theta_q > 0 of sup{p : kl(q, p) <= u(theta_q)},
        u(theta) = (8 ln|H| ln(2 n^2 / ln|H|) / theta^2 + ln|H| + ln(n / delta)) / n,

    kl(q, p) = q ln(q / p) + (1 - q) ln((1 - q) / (1 - p)). The theta_q of the minimum is the equilibrium margin, its q
    the share of rows that the vote gives up for it. With q = 0 alone theta_q is the smallest margin, so that this bound
    is never above Breiman's. The authors ask for theta_q > sqrt(8 / |H|), which the proof on the page about bounds
    does not need.

    Where the margins are too small, or the rows too few, for the bound to say anything, the equilibrium margin is a
    description all the same: it is found by how near to 1 the bounds are.

    Equation: equilibrium-margin (docs/theory.md).

    Parameters
    ----------
    margins, delta
        As for `schapire_margin`.
    ln_size : float
        ln|H|, at least ln 2, H fixed before the rows are seen; see `ln_tree_class`. Of rows that played no part in
        the training of T voters, it is ln T, or ln 2T where weights may be negative, however the weights are found.

    Returns
    -------
    Bound
        Terms: ``equilibrium_margin``, ``share_below`` (q), ``complexity`` (u), ``by_class`` (the first summand). Where
        no margin is above 0 the value is inf, the equilibrium margin the largest, and a remark says so.

    References
    ----------
    L. Wang, M. Sugiyama, Z. Jing, C. Yang, Z.-H. Zhou, J. Feng (2011). A refined margin analysis for boosting
    algorithms via equilibrium margin. JMLR 12. W. Gao, Z.-H. Zhou (2013). On the doubt about margin explanation of
    boosting. Artificial Intelligence 203, for a bound by all margins at once.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.bounds import breiman_margin, equilibrium_margin
    >>> margins = np.append(np.full(99_900, 0.5), np.full(100, 0.1))
    >>> bound = equilibrium_margin(margins, np.log(1000))
    >>> bound.terms["equilibrium_margin"], bound.terms["share_below"]
    (0.5, 0.001)
    >>> bound.value < 0.1 < breiman_margin(margins, np.log(1000)).value
    True
    """
    m = np.sort(numbers("margins", margins, -1.0, 1.0))
    size, delta = number("ln_size", ln_size, log(2.0), 1e300), risk_of_failure(delta)
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
        statement=f"error on new rows is at most the value, with probability {1.0 - delta:g} over the training rows",
        value=value,
        terms=dict(zip(names, map(float, found), strict=True)) | {"by_class": by_class},
        advice="More rows; larger margins of most rows; voters out of a smaller class.",
        inputs={"margins": m, "ln_size": size, "delta": delta},
        remarks=() if len(theta) else (f"No margin is above 0: the largest is {m[-1]:.4g}.",),
    )
