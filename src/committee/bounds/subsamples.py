"""Error of a vote of classifiers trained on subsamples, by the error of one and the overlap of the subsamples."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.bounds.result import Bound, check_count, check_delta, check_number, check_numbers
from committee.data.number_types import F64

BLOCK_ROWS = 1 << 16  # rows whose draws are converted to float64 at a time


@dataclass(frozen=True)
class Overlap:
    """Overlap of M draws of m out of n rows.

    With R_k the number of the M draws that hold row k, and R_kl those that hold both k and l,
    A = sum_k R_k^2 / M^2, B = sum_{k != l} R_kl^2 / M^2 (ordered pairs), C = max_k R_k / M.

    Parameters
    ----------
    A, B, C : float
        The numbers, or upper bounds on them.
    n_rows : int
        Rows n of the sample.
    n_drawn : int
        Rows m of each draw.
    n_draws : int
        Draws M.
    """

    A: float
    B: float
    C: float
    n_rows: int
    n_drawn: int
    n_draws: int


def overlap(draws: ArrayLike, n_rows: int | None = None) -> Overlap:
    """A, B and C of given draws, exactly.

    As sum_k R_k^2 = sum_{i,j} |D_i & D_j| and sum_{k,l} R_kl^2 = sum_{i,j} |D_i & D_j|^2, the M x M matrix of
    shared rows gives all three: n M^2 operations, where the definition of B has n^2 M.

    Equation: subsample-overlap (docs/theory.md).

    Parameters
    ----------
    draws : array-like of bool (M, n)
        True where a draw holds a row; every draw of the same size, without replacement.
    n_rows : int, default=None
        Number of rows of the sample, if some columns of `draws` cannot be drawn (rows of zero weight, or bits that pad
        the last byte). None: the number of columns.

    Returns
    -------
    Overlap

    Raises
    ------
    ValueError
        If draws are not of one size, or hold something other than true and false.

    Examples
    --------
    >>> from committee.bounds import overlap
    >>> overlap([[1, 1, 0], [0, 1, 1]])
    Overlap(A=1.5, B=1.0, C=1.0, n_rows=3, n_drawn=2, n_draws=2)
    """
    D = np.asarray(draws)
    if D.ndim != 2 or not D.size:
        raise ValueError(f"draws has shape {D.shape}; it must be (M, n), one row of true and false for each draw.")
    if D.dtype != bool and not np.isin(D, (0, 1)).all():
        raise ValueError("draws holds other values than 0 and 1; Theorem 3 is for draws without replacement.")
    M, n = D.shape[0], D.shape[1] if n_rows is None else check_count("n_rows", n_rows)
    shared, most = np.zeros((M, M)), 0.0
    for first in range(0, D.shape[1], BLOCK_ROWS):
        block = D[:, first : first + BLOCK_ROWS].astype(np.float64)
        shared += block @ block.T  # whole numbers far below 2^53: exact
        most = max(most, float(block.sum(axis=0).max()))
    sizes = np.diag(shared)
    if (sizes != sizes[0]).any() or not 1 <= sizes[0] <= n:
        raise ValueError(
            f"draws have {sizes.min():.0f} to {sizes.max():.0f} of {n} rows; Theorem 3 is for draws without "
            f"replacement, all of one size of 1 to {n} rows."
        )
    A, pairs = float(shared.sum()) / M**2, float((shared**2).sum()) / M**2
    return Overlap(A, pairs - A, most / M, n, int(sizes[0]), M)


def overlap_limits(n_rows: int, n_drawn: int, n_draws: int, delta: float = 0.05) -> Overlap:
    """Upper bounds on A, B and C before the draws are made (eq. 15 and 40).

    sqrt A <= Q_A = m / sqrt n + (1 + 4 sqrt(ln(3 / delta))) sqrt(m / M),
    sqrt B <= Q_B = m^2 / n + (1 + 4 sqrt(ln(3 / delta))) m / sqrt M,
    C <= Q_C = m / n + (sqrt(2 m) + 3) / sqrt M ln(3 / delta),

    all three with probability 1 - delta. If every draw had the same rows, A would be m, B m (m - 1) and C 1; the lesser
    of the two limits is returned. The paper proves the limit on C for M > ln(n)^2 (`advised_draws`).

    Parameters
    ----------
    n_rows, n_drawn, n_draws : int
        As for `Overlap`.
    delta : float, default=0.05
        Probability that one of the three is exceeded.

    Examples
    --------
    >>> from committee.bounds import overlap_limits
    >>> limits = overlap_limits(n_rows=20_000, n_drawn=14_000, n_draws=99)
    >>> round(limits.A), round(limits.C, 3)
    (14000, 1.0)
    """
    n, m, M = check_count("n_rows", n_rows), check_count("n_drawn", n_drawn), check_count("n_draws", n_draws)
    if m > n:
        raise ValueError(f"n_drawn is {m}, but n_rows only {n}; Theorem 3 is for draws without replacement.")
    tail = log(3.0 / check_delta(delta))
    Q_A = m / sqrt(n) + (1.0 + 4.0 * sqrt(tail)) * sqrt(m / M)
    Q_B = m**2 / n + (1.0 + 4.0 * sqrt(tail)) * m / sqrt(M)
    Q_C = m / n + (sqrt(2.0 * m) + 3.0) / sqrt(M) * tail
    return Overlap(min(Q_A**2, float(m)), min(Q_B**2, m * (m - 1.0)), min(Q_C, 1.0), n, m, M)


def advised_draws(n_rows: int) -> float:
    """ln(n)^2: `overlap_limits` is proved for more draws than this; neither it nor `subagging` enforces that.

    Equation: draws-advised (docs/theory.md).

    Examples
    --------
    >>> from committee.bounds import advised_draws
    >>> round(advised_draws(20_000), 2)
    98.08
    """
    return log(check_count("n_rows", n_rows)) ** 2


def unpack_draws(draws: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Unpack `draws_` of a subagged learner to ``(M, n)``, plus columns of False that pad the last byte."""
    return np.unpackbits(draws, axis=1).astype(bool)


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
    incomplete U-statistic the vote is. Give p_sub at several points to have the mean over them. With the mean error
    over points for p_sub, as in the paper, it can fail (docs/bounds.md).

    Equation: subsample-vote (docs/theory.md). Sources: T. Qin, W.-M. Huang, Theorem 3 and appendix D; A. Maurer (2022).

    Parameters
    ----------
    p_sub : float or array-like (points,)
        Probability that one classifier is wrong at the point. Where t <= 0 the bound is 1.
    overlap : Overlap
        A, B, C of the draws: `overlap` after they were made, or `overlap_limits` before.
    sigma1_squared : float, default=None
        Var E[K | X_1], the effect of one row alone. None: 4 p_sub (1 - p_sub) / m, its largest possible value.
    beta : float, default=None
        E[(V_1 V_2 K)^2], V_k the change when row k is replaced: the interaction of two rows. None:
        16 p_sub (1 - p_sub), its largest possible value.
    gamma : float, default=None
        The largest E[(V_1 V_2 K)^2] when all but the second row are fixed. None: 8, its largest possible value.

    Returns
    -------
    Bound
        Terms: means over the points where t > 0 of ``t``, and of the three parts of the denominator,
        ``single_rows`` (2 A sigma_1^2), ``pairs`` (B beta / 2) and ``range`` (the last); A, B, C; ``advised_draws``;
        ``share_beyond_bound``, the share of points where t <= 0. Vacuous from 1 on, or from `majority` if less.

    Examples
    --------
    >>> from committee.bounds import overlap_limits, subagging
    >>> draws = overlap_limits(n_rows=1_000, n_drawn=100, n_draws=100_001)
    >>> round(subagging(0.1, draws, sigma1_squared=0.001, beta=0.0, gamma=0.0).value, 4)
    0.175
    >>> subagging(0.1, draws).vacuous
    True
    """
    p = check_numbers("p_sub", p_sub, 0.0, 1.0)
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
    means = {"t": t, "single_rows": single, "pairs": pairs, "range": reach}
    return Bound(
        name="Theorem 3, subagging",
        statement=f"error of the vote of {M} classifiers, mean over {len(p)} point(s), is at most the value",
        value=float(np.exp(-exponent).mean()),
        terms={
            **{name: float(part[useful].mean()) if useful.any() else float("nan") for name, part in means.items()},
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
    """Error of a plain majority vote by the mean error of its voters, whatever their dependence.

    P[vote wrong] <= M / ceil(M / 2) * mean error, by Markov's inequality: at least half of the votes are wrong where
    the vote is. It holds with the mean error over points, where Theorem 3 does not.

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
    error, M = check_number("error", error, 0.0, 1.0), check_count("n_voters", n_voters)
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
    if given is None:
        return most
    return np.minimum(check_number(name, given, 0.0, float(most.max()) * (1.0 + 1e-12)), most)


def _advice(overlap: Overlap, beta: float | None, gamma: float | None, all_useful: bool) -> str:
    parts = ["A smaller max_samples, so that draws share fewer rows (it also changes p_sub)."]
    if overlap.n_draws <= advised_draws(overlap.n_rows):
        parts.append(f"More draws: the limit on C is proved above ln(n)^2 = {advised_draws(overlap.n_rows):.1f}.")
    for name, given in (("beta", beta), ("gamma", gamma)):
        if given is None:
            parts.append(f"A value of {name}, which is taken as large as it can be.")
    parts.append("Better single classifiers." if all_useful else "Classifiers that are right more often than not.")
    return " ".join(parts)


def _remarks(overlap: Overlap, *moments: float | None) -> tuple[str, ...]:
    texts = []
    if overlap.n_draws <= advised_draws(overlap.n_rows):
        texts.append(
            f"{overlap.n_draws} draws are no more than ln(n)^2 = {advised_draws(overlap.n_rows):.1f}; the limit on C "
            "before drawing (overlap_limits) is proved for more. Exact A, B, C need no such condition."
        )
    names = [name for name, given in zip(("sigma1_squared", "beta", "gamma"), moments, strict=True) if given is None]
    if names:
        texts.append(f"Not given: {', '.join(names)}. The largest possible value for any classifier is used.")
    return tuple(texts)
