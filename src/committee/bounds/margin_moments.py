"""The C-bound: by the mean and the second moment of the margin, on given rows and, by PAC-Bayes, on new ones."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from committee.bounds.arguments import numbers, risk_of_failure
from committee.bounds.result import Bound
from committee.bounds.voter_losses import VoterLosses
from committee.data.number_types import F64
from committee.objectives.pac_bayes import PacBayesKl, kl_inverse, mean_over

GRID = 201
"""Disagreements looked at in each narrowing of the search for the worst case."""


def c_bound(margins: ArrayLike) -> Bound:
    """Share of the given rows that a vote gets wrong, by the first two moments of their margins.

    P[m <= 0] <= 1 - E[m]^2 / E[m^2] = 1 - (1 - 2 r)^2 / (1 - 2 d),

    r the Gibbs risk and d the expected disagreement of two voters, if E[m] > 0 (Cantelli's inequality); else it says 1.
    It is a fact about the rows whose margins are given, not about new ones; `c_bound_pac_bayes` is.

    Equation: c-bound (docs/theory.md).

    Parameters
    ----------
    margins : array-like (n,)
        Normalised margins, in [-1, 1].

    Returns
    -------
    Bound
        Terms: ``mean``, ``second_moment``, ``observed`` (the share itself).

    References
    ----------
    P. Germain, A. Lacasse, F. Laviolette, M. Marchand, J.-F. Roy (2015). Risk bounds for the majority vote. JMLR 16,
    Theorem 11. In W. Martinez, J. B. Gray, *On the current state of research in explaining ensemble performance using
    margins*, eq. 6, the numerator lacks its square: a misprint.

    Examples
    --------
    >>> from committee.bounds import c_bound
    >>> print(c_bound([0.5, 0.5, 0.5, -0.1]))
    C-bound of these rows: 0.3553
    """
    m = numbers("margins", margins, -1.0, 1.0)
    scale = float(np.abs(m).max()) or 1.0  # squares of tiny margins are 0
    mean, second = float(m.mean()), float((m / scale) @ (m / scale)) / len(m)
    return Bound(
        name="C-bound of these rows",
        statement="share of the given rows that the vote gets wrong is at most the value",
        value=1.0 - (mean / scale) ** 2 / second if mean > 0.0 else 1.0,
        terms={"mean": mean, "second_moment": second * scale**2, "observed": float((m <= 0.0).mean())},
        advice="Margins that are larger in the mean, or vary less.",
        inputs={"margins": m},
        remarks=() if mean > 0.0 else (f"The mean margin is {mean:.4g}; the C-bound is for means above 0.",),
    )


def c_bound_pac_bayes(
    losses: VoterLosses,
    weights: ArrayLike | None = None,
    delta: float = 0.05,
    *,
    form: Literal["joint", "separate"] = "joint",
) -> Bound:
    """Error on new rows of a weighted vote: the worst C-bound among the moments that the rows leave possible.

    error <= 1 - (1 - (2 e + d))^2 / (1 - 2 d),    e the tandem loss, d the disagreement, r = e + d / 2.

    - "separate": r <= sup{p : kl(r^, p) <= c_1}, d >= inf{p : kl(d^, p) <= c_2}, with delta / 2 each,
      c_1 = (KL + ln(4 sqrt n / delta)) / n, c_2 = (2 KL + ln(4 sqrt n / delta)) / n.
    - "joint": the most over all (e, d) with kl((e^, d^), (e, d)) <= (2 KL + ln((2 sqrt n + n) / delta)) / n, kl that of
      three outcomes. The bound is concave in (e, d) and the set convex, so one search along d ends at the most.

    Both hold for all weights at once.

    Parameters
    ----------
    losses, weights, delta
        As for `first_order`, which says what is refused too.
    form : {"joint", "separate"}, default="joint"
        Which.

    Returns
    -------
    Bound
        Terms: ``tandem_loss`` (e^), ``disagreement`` (d^), ``worst_gibbs`` and ``worst_disagreement`` (where the bound
        is read off), ``rows``, ``divergence``, ``complexity``. 1 where a mean margin of 0 is possible.

    References
    ----------
    P. Germain and others (2015), as above: PAC-Bounds 1 and 2. P. Viallard, P. Germain, A. Habrard, E. Morvant (2021).
    Self-bounding majority vote learning algorithms by the direct minimization of a tight PAC-Bayesian C-bound. ECML
    PKDD: Theorems 2 and 3.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.bounds import VoterLosses, c_bound_pac_bayes
    >>> votes = np.where(np.random.default_rng(0).random((1000, 20)) < 0.1, -1, 1)
    >>> print(c_bound_pac_bayes(VoterLosses(votes, None, np.full(20, 0.05))))
    C-bound, joint: 0.1422
    """
    if form not in ("joint", "separate"):
        raise ValueError(f"form is {form!r}; it must be 'joint' or 'separate'.")
    rho, delta = losses.posterior(weights), risk_of_failure(delta)
    pairs = np.outer(rho, rho)
    e = mean_over(pairs, losses.pair_rows, losses.tandem)
    d = mean_over(pairs, losses.pair_rows, losses.disagreement)
    if form == "joint":
        kl = PacBayesKl.of(pairs, losses.pair_rows, 2.0 * losses.ln_prior, delta, three_outcomes=True)
        worst_e, worst_d = worst_pair(e, d, kl.c) if kl.unknown == 0.0 else (1.0, 0.0)
        worst_r = worst_e + 0.5 * worst_d
    else:
        kl = PacBayesKl.of(pairs, losses.pair_rows, 2.0 * losses.ln_prior, delta / 2.0)
        single = PacBayesKl.of(rho, losses.rows, losses.ln_prior, delta / 2.0)
        worst_r, worst_d = single.above(mean_over(rho, losses.rows, losses.risk)), kl.below(d)
    return losses.bound(
        name=f"C-bound, {form}",
        value=float(_c(np.asarray(worst_r), np.asarray(worst_d))),
        terms={
            "tandem_loss": e,
            "disagreement": d,
            "worst_gibbs": worst_r,
            "worst_disagreement": worst_d,
            **kl.terms,
        },
        advice="Voters that err less, or on different rows; " + losses.more_rows,
        weights=rho,
        delta=delta,
        form=form,
    )


def _c(r: F64, d: F64) -> F64:
    """1 - (1 - 2 r)^2 / (1 - 2 d); 1 where r or d is 1/2 or more, at least 0."""
    said = (r < 0.5) & (d < 0.5)
    return np.asarray(np.where(said, 1.0 - (1.0 - 2.0 * r) ** 2 / np.where(said, 1.0 - 2.0 * d, 1.0), 1.0)).clip(0.0)


def worst_pair(e: float, d: float, c: float) -> tuple[float, float]:
    """The possible tandem loss and disagreement of the largest C-bound.

    For each disagreement the largest tandem loss is an inverse of kl of two outcomes, as
    kl((e^, d^), (e, d)) = kl(d^, d) + (1 - d^) kl(e^ / (1 - d^), e / (1 - d)). The bound at it is concave along d.
    """
    low, high = float(1.0 - kl_inverse(1.0 - d, c)), min(0.5, float(kl_inverse(d, c)))
    for _ in range(6):
        grid = np.linspace(low, high, GRID)
        most = _most_tandem(e, d, grid, c)
        bound = _c(most + 0.5 * grid, grid)
        at = int(bound.argmax())
        low, high = float(grid[max(at - 1, 0)]), float(grid[min(at + 1, GRID - 1)])
    return float(most[at]), float(grid[at])


def _most_tandem(e: float, d: float, grid: F64, c: float) -> F64:
    """The largest tandem loss that goes with each disagreement."""
    if d >= 1.0:
        return np.maximum(0.0, 1.0 - grid)
    with np.errstate(divide="ignore", invalid="ignore"):
        spent = np.where(d > 0.0, d * np.log(d / grid), 0.0) + (1.0 - d) * np.log((1.0 - d) / (1.0 - grid))
    left = np.maximum(0.0, c - spent) / (1.0 - d)
    return np.asarray((1.0 - grid) * kl_inverse(min(1.0, e / (1.0 - d)), left))
