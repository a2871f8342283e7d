"""The voting bound: error on new rows by margins, rows and how many voters were possible, not by how many vote."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, log

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaln, gammaln

from committee.bounds.arguments import count, number, numbers, risk_of_failure
from committee.bounds.result import Bound
from committee.data.number_types import F64
from committee.objectives.pac_bayes import kl_inverse

THETAS: F64 = np.arange(1, 101) / 100
"""Margins that the bounds are minimised over; the risk of failure is shared out evenly."""

DRAWN: F64 = np.unique(np.round(2.0 ** (np.arange(41) / 2)))
"""Numbers N of drawn voters that `voting_certified` is minimised over, up to about a million."""

MOST_ROWS = 1e15
"""Number of rows at which the search for ``rows_to_be_useful`` gives up."""


def voting(
    margins: ArrayLike, ln_size: float, eta: float = 0.05, *, constant: float = 1.0, thetas: ArrayLike = THETAS
) -> Bound:
    """Error on new rows of a weighted vote, as the lecture notes have it: with a constant that nobody states.

    error <= min over theta of nu_theta + C sqrt(ln|B| ln n / (n theta^2) + ln(G / eta) / n),

    nu_theta the share of training rows with margin <= theta, G the number of thetas. Schapire et al. prove it for
    some C and give no value, so this is a way to compare committees and **not a certificate**, whatever C is put
    in; `voting_certified` has explicit constants.

    Equation: voting-bound (docs/theory.md).

    Parameters
    ----------
    margins : array-like (n,)
        Normalised margins of the training rows, in [-1, 1].
    ln_size : float
        ln|B|, the logarithm of how many different voters there were to choose from; see `ln_tree_class`.
    eta : float, default=0.05
        The bound fails with at most this probability, if C is as large as it has to be.
    constant : float, default=1.0
        The constant C.
    thetas : array-like (G,), default=0.01, 0.02, ..., 1
        Margins theta > 0 to minimise over.

    Returns
    -------
    Bound
        Terms, at the theta that is best: ``theta``, ``nu_theta``, ``complexity`` and ``confidence`` (the two summands
        under the root), ``rows_to_be_useful`` (about how many rows of such margins would bring the value down to
        1/2; inf where none do).

    References
    ----------
    R. Schapire, Y. Freund, P. Bartlett, W. S. Lee (1998). Boosting the margin. Annals of Statistics 26, Theorem 1.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.bounds import voting
    >>> bound = voting(np.full(100_000, 0.5), np.log(1000))
    >>> round(bound.value, 4), bound.terms["theta"]
    (0.0582, 0.49)
    """
    m, theta, nu = margin_curve(margins, thetas)
    size, eta = number("ln_size", ln_size, 0.0, inf), risk_of_failure(eta, "eta")
    C = number("constant", constant, 0.0, inf)

    def terms(n: float) -> tuple[F64, F64, float]:
        complexity, confidence = size * log(n) / (n * theta**2), log(len(theta) / eta) / n
        return nu + C * np.sqrt(complexity + confidence), complexity, confidence

    value, complexity, confidence = terms(len(m))
    best = int(value.argmin())
    return Bound(
        name="voting bound, C assumed",
        statement=f"error on new rows is at most the value, with probability {1.0 - eta:g} over the training rows, "
        f"if the theorem's constant is {C:g}",
        value=float(value[best]),
        terms={
            "theta": float(theta[best]),
            "nu_theta": float(nu[best]),
            "complexity": float(complexity[best]),
            "confidence": confidence,
            "rows_to_be_useful": rows_needed(0.5, nu, lambda n: float(terms(n)[0].min())),
        },
        advice=_ADVICE,
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
    """Error on new rows of a weighted vote, every constant explicit.

    With N voters drawn from the committee by their weights, m = n - r N and e = exp(-N theta^2 / 8),

        error <= min over theta, N of  e + sup{p : kl(q, p) <= c},
        q = min(1, (n / m) (nu_theta + (K - 1) e)),
        c = (ln C(|B| + N - 1, N) + ln(G J / eta)) / m,

    kl(q, p) = q ln(q / p) + (1 - q) ln((1 - q) / (1 - p)), C(., .) the number of ways to draw N of |B| voters and
    G, J the numbers of thetas and of Ns tried. It holds for all weights at once, so for any way to find them, and
    does not depend on how many voters vote. Where it says nothing its value is 1. The proof is on the page about
    bounds.

    Parameters
    ----------
    margins, eta, thetas
        As for `voting`.
    ln_size : float
        ln|B|: the logarithm of the number of voters that there were to choose from, or with `rows_per_voter` of the
        number of their descriptions. Voters vote within [-1, 1] (two classes), or for one class or none.
    n_classes : int, default=2
        Number of classes K.
    rows_per_voter : int, default=0
        Training rows r that a voter's thresholds were read off. 0: B was fixed before the rows were seen.

    Returns
    -------
    Bound
        Terms, at the theta and N that are best: ``theta``, ``nu_theta``, ``drawn`` (N), ``tail`` (e), ``complexity``
        (c), ``rows_to_be_useful`` (about how many rows of such margins would bring the value down to 1/2; inf where
        none do).

    References
    ----------
    R. Schapire, Y. Freund, P. Bartlett, W. S. Lee (1998). Boosting the margin. Annals of Statistics 26, Theorem 1
    and section 2.4 for more classes. J. Langford (2005). Tutorial on practical prediction theory for
    classification. JMLR 6, for the inverted Chernoff bound. S. Floyd, M. Warmuth (1995). Sample compression,
    learnability, and the Vapnik-Chervonenkis dimension. Machine Learning 21.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.bounds import voting_certified
    >>> bound = voting_certified(np.full(100_000, 0.5), np.log(1000))
    >>> round(bound.value, 4), bound.terms["drawn"]
    (0.0081, 362.0)
    >>> voting_certified(np.full(100, 0.1), np.log(1000)).vacuous
    True
    """
    m, theta, nu = margin_curve(margins, thetas)
    size, eta = number("ln_size", ln_size, 0.0, inf), risk_of_failure(eta, "eta")
    K, r = count("n_classes", n_classes, 2), count("rows_per_voter", rows_per_voter, 0)
    tail = np.exp(-np.outer(theta**2, DRAWN) / 8.0)
    bits = _ln_multisets(size) + log(len(theta) * len(DRAWN) / eta)

    def values(n: float) -> tuple[F64, F64]:
        """For every theta and N the value, and for every N the complexity."""
        left = n - r * DRAWN
        left = np.where(left >= 1.0, left, np.nan)  # too few rows for so many voters: the bound says 1
        q = np.minimum(1.0, n / left * (nu[:, None] + (K - 1) * tail))
        c = bits / left
        return tail + np.nan_to_num(kl_inverse(q, c), nan=1.0), c

    value, complexity = values(len(m))
    best, terms = least_draw(value, theta, nu, tail, np.nan_to_num(complexity, nan=inf))
    return Bound(
        name="voting bound, certified",
        statement=f"error on new rows is at most the value, with probability {1.0 - eta:g} over the training rows",
        value=best,
        terms=terms | {"rows_to_be_useful": rows_needed(0.5, nu, lambda n: float(values(n)[0].min()))},
        advice=_ADVICE,
        inputs={
            "margins": m, "ln_size": size, "eta": eta, "n_classes": K, "rows_per_voter": r, "thetas": theta,
        },
    )  # fmt: skip


_ADVICE = "More rows; larger margins; voters out of a smaller class: fewer bins, fewer columns, fewer leaves."


def _ln_multisets(ln_size: float) -> F64:
    """ln C(|B| + N - 1, N) for every N in `DRAWN`; where |B| exceeds 1e13 its upper bound (|B| + N - 1)^N / N!."""
    if ln_size < 30.0:
        size = np.exp(ln_size)
        return np.asarray(-betaln(size, DRAWN + 1.0) - np.log(size + DRAWN))
    with np.errstate(divide="ignore"):
        highest = np.logaddexp(ln_size, np.log(DRAWN - 1.0))
    return np.asarray(DRAWN * highest - gammaln(DRAWN + 1.0))


def margin_curve(margins: ArrayLike, thetas: ArrayLike) -> tuple[F64, F64, F64]:
    """Margins, thetas, and the share of margins at or below each theta."""
    m = numbers("margins", margins, -1.0, 1.0)
    theta = numbers("thetas", thetas, np.nextafter(0.0, 1.0), 1.0)
    return m, theta, np.asarray(np.searchsorted(np.sort(m), theta, side="right") / len(m))


def least_draw(value: F64, theta: F64, nu: F64, tail: F64, complexity: F64) -> tuple[float, dict[str, float]]:
    """The least value over all thetas and numbers of drawn voters, and the terms that it is made of."""
    i, j = np.unravel_index(int(value.argmin()), value.shape)
    names = "theta", "nu_theta", "drawn", "tail", "complexity"
    terms = theta[i], nu[i], DRAWN[j], tail[i, j], complexity[j]
    return float(value[i, j]), dict(zip(names, map(float, terms), strict=True))


def rows_needed(target: float, nu: F64, value: Callable[[float], float]) -> float:
    """About how many rows bring a bound down to a target, margins as they are; within a hundredth."""
    if nu.min() >= target or value(MOST_ROWS) > target:
        return inf
    low, high = 1.0, MOST_ROWS
    while high > 1.01 * low:
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if value(middle) <= target else (middle, high)
    return high
