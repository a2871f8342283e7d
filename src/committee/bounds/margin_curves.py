"""Bounds on the error by margins of the training rows: shares of small ones, the smallest, the equilibrium margin."""

from __future__ import annotations

from collections.abc import Callable
from math import e, inf, log, sqrt

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaln, entr, gammaln

from committee.bounds.result import Bound, at, check_count, check_delta, check_number, check_numbers, on_new_rows
from committee.data.number_types import F64
from committee.objectives.pac_bayes import kl_inverse

THETAS: F64 = np.arange(1, 101) / 100  # margins theta that the bounds are minimised over by default

DRAWN: F64 = np.unique(np.round(2.0 ** (np.arange(41) / 2)))  # numbers N of drawn voters, up to a million

MOST_ROWS = 1e15  # upper limit of the search for ``rows_to_be_useful``

_NEAR_ONE = 1e-9  # bounds p this close to 1, which may round to 1, are compared by an approximation of ln(1 - p)

_SMALLEST = 1e-140  # floor of a margin: the square of a smaller one may underflow

SMALLER_CLASS = "More rows; larger margins; voters out of a smaller class."
FEWER_BINS = "More rows; larger margins; voters out of a smaller class: fewer bins, fewer columns, fewer leaves."


def voting(
    margins: ArrayLike, ln_size: float, eta: float = 0.05, *, constant: float = 1.0, thetas: ArrayLike = THETAS
) -> Bound:
    """Voting bound of the lecture notes on the error of a weighted vote on new rows, up to an unknown constant.

    error <= min over theta of nu_theta + C sqrt(ln|B| ln n / (n theta^2) + ln(G / eta) / n),

    with nu_theta the share of training rows with margin <= theta and G the number of thetas. Schapire et al. prove it
    for some C without a value, so it compares committees and is **not a certificate**; `voting_certified` has explicit
    constants.

    Equation: voting-bound (docs/theory.md). Source: R. Schapire et al. (1998), Theorem 1.

    Parameters
    ----------
    margins : array-like (n,)
        Normalised margins of the training rows, in [-1, 1].
    ln_size : float
        ln|B|, the logarithm of the number of different voters that could be chosen; see `ln_tree_class`.
    eta : float, default=0.05
        The bound fails with at most this probability, if C is large enough.
    constant : float, default=1.0
        The constant C.
    thetas : array-like (G,), default=0.01, 0.02, ..., 1
        Margins theta > 0 to minimise over.

    Returns
    -------
    Bound
        Terms, at the best theta: ``theta``, ``nu_theta``, ``complexity`` and ``confidence`` (the two summands under the
        root), ``rows_to_be_useful`` (about how many rows with such margins lower the value to 1/2; inf if none do).

    Examples
    --------
    >>> from committee.bounds import voting
    >>> bound = voting(np.full(100_000, 0.5), np.log(1000))
    >>> round(bound.value, 4), bound.terms["theta"]
    (0.0582, 0.49)
    """
    m, theta, nu = margin_shares(margins, thetas)
    size, eta = check_number("ln_size", ln_size, 0.0, inf), check_delta(eta, "eta")
    C = check_number("constant", constant, 0.0, inf)

    def terms(n: float) -> tuple[F64, F64, float]:
        # of one row, ln n = 0 times a size without bound
        complexity, confidence = (size * log(n) if n > 1.0 else 0.0) / (n * theta**2), log(len(theta) / eta) / n
        return nu + C * np.sqrt(complexity + confidence), complexity, confidence

    value, complexity, confidence = terms(len(m))
    best = int(value.argmin())
    return Bound(
        name="voting bound, C assumed",
        statement=f"{on_new_rows(eta)}, if the theorem's constant is {C:g}",
        value=float(value[best]),
        terms=at(best, theta=theta, nu_theta=nu, complexity=complexity)
        | {"confidence": confidence, "rows_to_be_useful": rows_to_be_useful(nu, lambda n: float(terms(n)[0].min()))},
        advice=FEWER_BINS,
        inputs={"margins": m, "ln_size": size, "eta": eta, "constant": C, "thetas": theta},
        remarks=("The source states no constant: not a certificate.",),
    )


def voting_certified(
    margins: ArrayLike,
    ln_size: float,
    eta: float = 0.05,
    *,
    n_classes: int = 2,
    rows_per_voter: int = 0,
    thetas: ArrayLike = THETAS,
) -> Bound:
    """Voting bound on the error of a weighted vote on new rows, with explicit constants.

    With N voters drawn from the committee by their weights, m = n - r N and e = exp(-N theta^2 / 8),

        error <= min over theta, N of  e + sup{p : kl(q, p) <= c},
        q = min(1, (n / m) (nu_theta + (K - 1) e)),
        c = (ln C(|B| + N - 1, N) + ln(G J / eta)) / m,

    kl(q, p) = q ln(q / p) + (1 - q) ln((1 - q) / (1 - p)), C(|B| + N - 1, N) the number of ways to draw N of |B|
    voters with repetition, and G, J the numbers of thetas and of Ns tried. It holds for all weights at once and does
    not depend on the number of voters in the committee. With the default thetas its value is at most 1. The proof is on
    the page about bounds.

    Sources: R. Schapire et al. (1998), Theorem 1 and section 2.4; J. Langford (2005) for the inverted Chernoff bound;
    S. Floyd, M. Warmuth (1995) for `rows_per_voter`.

    Parameters
    ----------
    margins, eta, thetas
        As for `voting`.
    ln_size : float
        ln|B|: the logarithm of the number of voters that could be chosen, or with `rows_per_voter` of the number of
        their descriptions. Voters vote within [-1, 1] (two classes), or for one class or none.
    n_classes : int, default=2
        Number of classes K.
    rows_per_voter : int, default=0
        Training rows r that determine a voter's thresholds. 0: B was fixed before the rows were seen.

    Returns
    -------
    Bound
        Terms, at the best theta and N: ``theta``, ``nu_theta``, ``drawn`` (N), ``tail`` (e), ``complexity`` (c),
        ``rows_to_be_useful`` as for `voting`.

    Examples
    --------
    >>> from committee.bounds import voting_certified
    >>> bound = voting_certified(np.full(100_000, 0.5), np.log(1000))
    >>> round(bound.value, 4), bound.terms["drawn"]
    (0.0081, 362.0)
    >>> voting_certified(np.full(100, 0.1), np.log(1000)).vacuous
    True
    """
    m, theta, nu = margin_shares(margins, thetas)
    size, eta = check_number("ln_size", ln_size, 0.0, inf), check_delta(eta, "eta")
    K, r = check_count("n_classes", n_classes, 2), check_count("rows_per_voter", rows_per_voter, 0)
    tail = np.exp(-np.outer(theta**2, DRAWN) / 8.0)
    bits = _ln_multisets(size) + log(len(theta) * len(DRAWN) / eta)

    def values(n: float) -> tuple[F64, F64]:  # for every theta and N the value, and for every N the complexity
        left = n - r * DRAWN
        left = np.where(left >= 1.0, left, np.nan)  # too few rows for so many voters: the bound is 1
        q = np.minimum(1.0, n / left * (nu[:, None] + (K - 1) * tail))
        c = bits / left
        return tail + np.nan_to_num(kl_inverse(q, c), nan=1.0), c

    value, complexity = values(len(m))
    best, terms = best_draw(value, theta, nu, tail, np.nan_to_num(complexity, nan=inf))
    return Bound(
        name="voting bound, certified",
        statement=on_new_rows(eta),
        value=best,
        terms=terms | {"rows_to_be_useful": rows_to_be_useful(nu, lambda n: float(values(n)[0].min()))},
        advice=FEWER_BINS,
        inputs={"margins": m, "ln_size": size, "eta": eta, "n_classes": K, "rows_per_voter": r, "thetas": theta},
    )


def schapire_margin(margins: ArrayLike, ln_size: float, delta: float = 0.05, *, thetas: ArrayLike = THETAS) -> Bound:
    """Error on new rows of a weighted vote of two classes, with the constants of the first margin bound's proof.

    error <= min over theta, N of  nu_theta + 2 exp(-N theta^2 / 8) + sqrt((N ln|H| + ln(N (N + 1)^2 / delta)) / (2 n)),

    with nu_theta the share of training rows with margin <= theta, |H| the number of voters that could be chosen and N
    the number of voters that the proof draws. The theorem is printed as nu_theta + O(sqrt(ln|H| ln n / (n theta^2)));
    these are its terms before N is chosen. It holds for all weights, thetas and N at once.

    Equation: schapire-bound (docs/theory.md). Source: R. Schapire et al. (1998), Theorem 1.

    Parameters
    ----------
    margins, thetas
        As for `voting`.
    delta : float, default=0.05
        The bound fails with at most this probability.
    ln_size : float
        ln|H|; see `ln_tree_class`. H is fixed before the rows are seen, and its voters vote -1 or +1.

    Returns
    -------
    Bound
        Terms, at the best theta and N: ``theta``, ``nu_theta``, ``drawn`` (N), ``tail`` (the second summand),
        ``complexity`` (the third).

    Examples
    --------
    >>> from committee.bounds import schapire_margin
    >>> bound = schapire_margin(np.full(100_000, 0.5), np.log(1000))
    >>> round(bound.value, 4), bound.terms["drawn"]
    (0.0884, 181.0)
    """
    m, theta, nu = margin_shares(margins, thetas)
    size, delta = check_number("ln_size", ln_size, 0.0, inf), check_delta(delta)
    tail = 2.0 * np.exp(-np.outer(theta**2, DRAWN) / 8.0)
    complexity = np.sqrt((DRAWN * size + np.log(DRAWN) + 2.0 * np.log(DRAWN + 1.0) + log(1.0 / delta)) / (2.0 * len(m)))
    best, terms = best_draw(nu[:, None] + tail + complexity, theta, nu, tail, complexity)
    return Bound(
        name="Schapire et al.",
        statement=on_new_rows(delta),
        value=best,
        terms=terms,
        advice=SMALLER_CLASS,
        inputs={"margins": m, "ln_size": size, "delta": delta, "thetas": theta},
    )


def tight_margin(
    margins: ArrayLike, ln_size: float, delta: float = 0.05, *, constant: float = 1.0, thetas: ArrayLike = THETAS
) -> Bound:
    """Error on new rows of a weighted vote of two classes, of the best possible order in each of its quantities.

    error <= min over theta of  nu + C (sqrt(nu (ln(e / nu) d + l)) + d ln(1 / d) + l),
    d = ln|H| / (theta^2 n),    l = ln(e / delta) / n,

    with nu the share of training rows with margin <= theta and |H| the number of voters that could be chosen. The paper
    proves it for some C, for all weights and thetas at once, and that up to C nothing smaller is true, but states no C.
    So it compares committees and is **not a certificate**; `voting_certified` has explicit constants. Thetas with
    d >= 1, too small for so few rows, are left out; if all are, the value is inf.

    Equation: tight-margin-bound (docs/theory.md). Source: K. G. Larsen, N. Schalburg (2025), by a summary of the paper.

    Parameters
    ----------
    margins, ln_size, thetas
        As for `schapire_margin`.
    delta : float, default=0.05
        The bound fails with at most this probability, if C is large enough.
    constant : float, default=1.0
        The constant C.

    Returns
    -------
    Bound
        Terms, at the best theta: ``theta``, ``nu_theta``, ``by_margin`` (d), ``confidence`` (l), ``rows_to_be_useful``
        as for `voting`.

    Examples
    --------
    >>> from committee.bounds import tight_margin
    >>> bound = tight_margin(np.full(100_000, 0.5), np.log(1000))
    >>> round(bound.value, 4), bound.terms["theta"]
    (0.0024, 0.49)
    """
    m, theta, nu = margin_shares(margins, thetas)
    size, delta = check_number("ln_size", ln_size, 0.0, inf), check_delta(delta)
    C = check_number("constant", constant, 0.0, inf)

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
        statement=f"{on_new_rows(delta)}, if the theorem's constant is {C:g}",
        value=float(value[best]),
        terms=at(best, theta=theta, nu_theta=nu, by_margin=d)
        | {"confidence": confidence, "rows_to_be_useful": rows_to_be_useful(nu, lambda n: float(terms(n)[0].min()))},
        advice=SMALLER_CLASS,
        inputs={"margins": m, "ln_size": size, "delta": delta, "constant": C, "thetas": theta},
        remarks=("The theorem's constant is not known: not a certificate.",),
    )


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
    square = max(smallest, 0.0) ** 2  # of a margin below 1e-162 it rounds to 0
    R = 32.0 * (log(2.0) + size) / (n * square) if square > 0.0 else inf
    remarks = []
    if smallest <= 0.0:
        remarks.append(f"The smallest margin is {smallest:.4g}: the bound is for votes that get every row right.")
    elif smallest <= least:
        remarks.append(f"The smallest margin is {smallest:.4g}, and must exceed 4 sqrt(2 / |H|) = {least:.4g}.")
    if smallest > 0.0 and 2.0 * n < R:
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


def margin_shares(margins: ArrayLike, thetas: ArrayLike) -> tuple[F64, F64, F64]:
    m = check_numbers("margins", margins, -1.0, 1.0)
    theta = check_numbers("thetas", thetas, np.nextafter(0.0, 1.0), 1.0)
    return m, theta, np.asarray(np.searchsorted(np.sort(m), theta, side="right") / len(m))


def best_draw(value: F64, theta: F64, nu: F64, tail: F64, complexity: F64) -> tuple[float, dict[str, float]]:
    i, j = np.unravel_index(int(value.argmin()), value.shape)
    names = "theta", "nu_theta", "drawn", "tail", "complexity"
    terms = theta[i], nu[i], DRAWN[j], tail[i, j], complexity[j]
    return float(value[i, j]), dict(zip(names, map(float, terms), strict=True))


def rows_to_be_useful(nu: F64, value: Callable[[float], float]) -> float:
    """Return about how many rows lower a bound to 1/2 at the same margins."""
    if nu.min() >= 0.5 or value(MOST_ROWS) > 0.5:
        return inf
    low, high = 1.0, MOST_ROWS
    while high > 1.01 * low:
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if value(middle) <= 0.5 else (middle, high)
    return high


def _ln_multisets(ln_size: float) -> F64:
    # ln C(|B| + N - 1, N) for every N in `DRAWN`; where |B| exceeds 1e13 its upper bound (|B| + N - 1)^N / N!
    if ln_size < 30.0:
        size = np.exp(ln_size)
        return np.asarray(-betaln(size, DRAWN + 1.0) - np.log(size + DRAWN))
    with np.errstate(divide="ignore"):
        highest = np.logaddexp(ln_size, np.log(DRAWN - 1.0))
    return np.asarray(DRAWN * highest - gammaln(DRAWN + 1.0))
