"""Theorem 3: the vote of many subsamples, by the error of one and by how much the subsamples overlap."""

from __future__ import annotations

from math import ceil

import numpy as np
from numpy.typing import ArrayLike

from committee.bounds.arguments import count, number, numbers
from committee.bounds.result import Bound
from committee.bounds.subsample_overlap import Overlap, advised_draws
from committee.data.number_types import F64


def subagging(
    p_sub: ArrayLike,
    overlap: Overlap,
    *,
    sigma1_squared: float | None = None,
    beta: float | None = None,
    gamma: float | None = None,
) -> Bound:
    """Error of the majority vote of M classifiers, each trained on m of n rows (Theorem 3, eq. 39).

    P[vote wrong] <= exp(-t^2 / (2 A sigma_1^2 + B beta / 2 + (sqrt(B gamma) + 4 C / 3) t)),
    t = (ceil(M / 2) - M / 2) / M + 1 - 2 p_sub.

    The probability is over training samples, **at one point (x, y)**: p_sub is the probability that a
    classifier trained on m new rows is wrong there, and K = +1 where it is wrong, else -1, is the kernel whose
    incomplete U-statistic the vote is. Give p_sub at several points to have the mean over them. (The paper
    takes the mean error over points for p_sub. The point is then one more random argument that all M kernels
    share, and the inequality, which knows of no such argument, can fail: see docs/bounds.md.)

    Eq. 14 prints sqrt(Q_B gamma) and Q_C^2; A <= Q_A^2, B <= Q_B^2, C <= Q_C in the inequality above give
    Q_B sqrt(gamma) and Q_C.

    Equation: subsample-vote (docs/theory.md).

    Parameters
    ----------
    p_sub : float or array-like (points,)
        Probability that one classifier is wrong at the point. Where t <= 0 the bound is 1.
    overlap : Overlap
        A, B, C of the draws: `overlap` of those that were made, or `overlap_limits` before.
    sigma1_squared : float, default=None
        Var E[K | X_1], what one row decides alone. None: 4 p_sub (1 - p_sub) / m, the most that it can be.
    beta : float, default=None
        E[(V_1 V_2 K)^2], V_k the change when row k is replaced: how far two rows act together. None:
        16 p_sub (1 - p_sub), the most that it can be.
    gamma : float, default=None
        The largest E[(V_1 V_2 K)^2] when all but the second row are fixed. None: 8, the most that it can be.

    Returns
    -------
    Bound
        Terms: means over the points where t > 0 of ``t``, and of the three parts of the denominator,
        ``single_rows`` (2 A sigma_1^2), ``pairs`` (B beta / 2) and ``range`` (the last); A, B, C; and
        ``share_beyond_bound``, the share of points where t <= 0. It is vacuous when `majority`, which needs no
        more than the mean of p_sub, gives less.

    Raises
    ------
    ValueError
        If p_sub is no probability, or a given moment is negative or beyond the most that it can be.

    Notes
    -----
    Hoeffding's decomposition K = sum of v_S over sets S of rows, uncorrelated, gives the three limits:
    Var K = 4 p (1 - p) >= m sigma_1^2; beta = 4 Var(sum over S that hold 1 and 2) <= 4 Var K; and with all but
    the second row fixed, V_1 K is a function of that row within [-2, 2], of variance at most 4, and gamma twice
    that. No classifier needs to come near them: with beta and gamma unknown the bound is vacuous but for draws
    of a few rows.

    References
    ----------
    T. Qin, W.-M. Huang, On subbagging boosted probit model trees, Theorem 3 and appendix D. A. Maurer (2022).
    Exponential finite sample bounds for incomplete U-statistics.

    Examples
    --------
    >>> from committee.bounds import overlap_limits, subagging
    >>> draws = overlap_limits(n_rows=1_000, n_drawn=100, n_draws=100_001)
    >>> round(subagging(0.1, draws, sigma1_squared=0.001, beta=0.0, gamma=0.0).value, 4)
    0.175
    >>> subagging(0.1, draws).vacuous
    True
    """
    p = numbers("p_sub", p_sub, 0.0, 1.0)
    M, m = overlap.n_draws, overlap.n_drawn
    variance = 4.0 * p * (1.0 - p)
    s1 = _moment("sigma1_squared", sigma1_squared, variance / m)
    b = _moment("beta", beta, 4.0 * variance)
    g = _moment("gamma", gamma, np.full_like(p, 8.0))
    t = (ceil(M / 2) - M / 2) / M + 1.0 - 2.0 * p
    useful = t > 0.0
    single, pairs = 2.0 * overlap.A * s1, overlap.B * b / 2.0
    reach = (np.sqrt(overlap.B * g) + 4.0 * overlap.C / 3.0) * np.maximum(t, 0.0)
    exponent = np.divide(t**2, single + pairs + reach, out=np.zeros_like(t), where=useful)
    return Bound(
        name="Theorem 3, subagging",
        statement=f"probability that the vote of {M} is wrong, mean over {len(p)} point(s), is at most the value",
        value=float(np.exp(-exponent).mean()),
        terms={
            "t": _mean(t, useful),
            "single_rows": _mean(single, useful),
            "pairs": _mean(pairs, useful),
            "range": _mean(reach, useful),
            "A": overlap.A,
            "B": overlap.B,
            "C": overlap.C,
            "share_beyond_bound": float(1.0 - useful.mean()),
            "advised_draws": advised_draws(overlap.n_rows),
        },
        advice=_advice(overlap, beta, gamma, bool(useful.all())),
        inputs={"p_sub": p, "overlap": overlap, "sigma1_squared": sigma1_squared, "beta": beta, "gamma": gamma},
        remarks=_remarks(overlap, sigma1_squared, beta, gamma),
        trivial=min(1.0, majority(float(p.mean()), M).value),
    )


def majority(error: float, n_voters: int) -> Bound:
    """Error of a plain majority vote by the mean error of its voters, whatever ties them together.

    P[vote wrong] <= M / ceil(M / 2) * mean error: at least half of the votes are wrong where the vote is, and
    Markov's inequality does the rest. It is what holds with the mean error over points, where Theorem 3 does not.

    Parameters
    ----------
    error : float
        Mean over the voters of their error on new rows.
    n_voters : int
        Voters M, one vote each.

    Examples
    --------
    >>> from committee.bounds import majority
    >>> round(majority(0.1, 21).value, 4)
    0.1909
    """
    error, M = number("error", error, 0.0, 1.0), count("n_voters", n_voters)
    factor = M / ceil(M / 2)
    return Bound(
        name="majority vote",
        statement="error of the vote on new rows is at most the value",
        value=factor * error,
        terms={"mean_error": error, "factor": factor},
        advice="Better voters; an odd number of them.",
        inputs={"error": error, "n_voters": M},
    )


def _moment(name: str, given: float | None, most: F64) -> F64:
    """The moment at every point, the most that it can be where it is not known."""
    if given is None:
        return most
    value = number(name, given, 0.0, float(most.max()) * (1.0 + 1e-12))
    return np.minimum(value, most)


def _mean(values: F64, where: np.typing.NDArray[np.bool_]) -> float:
    return float(values[where].mean()) if where.any() else float("nan")


def _advice(overlap: Overlap, beta: float | None, gamma: float | None, all_useful: bool) -> str:
    parts = ["A smaller max_samples, so that draws share fewer rows (it also changes p_sub)."]
    if overlap.n_draws <= advised_draws(overlap.n_rows):
        parts.append(f"More draws: the theorem requires more than ln(n)^2 = {advised_draws(overlap.n_rows):.1f}.")
    if beta is None or gamma is None:
        parts.append("Knowing beta and gamma, which are taken as large as they can be.")
    parts.append("Better single classifiers." if all_useful else "Classifiers that are right more often than not.")
    return " ".join(parts)


def _remarks(overlap: Overlap, *moments: float | None) -> tuple[str, ...]:
    texts = []
    if overlap.n_draws <= advised_draws(overlap.n_rows):
        texts.append(
            f"{overlap.n_draws} draws are no more than ln(n)^2 = {advised_draws(overlap.n_rows):.1f}; the limits on "
            "A, B, C before drawing (overlap_limits) are proved for more. Exact A, B, C need no such condition."
        )
    names = [name for name, given in zip(("sigma1_squared", "beta", "gamma"), moments, strict=True) if given is None]
    if names:
        texts.append(f"{', '.join(names)} not given: the most that it can be for any classifier was taken.")
    return tuple(texts)
