"""The C-bound: error by the first two moments of the margin, on given rows and, by PAC-Bayes, on new ones."""

from __future__ import annotations

from math import log
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from committee.bounds.pac_bayes import tandem_weights
from committee.bounds.result import Bound, check_delta, check_numbers
from committee.bounds.voter_losses import VoterLosses
from committee.data.number_types import F64
from committee.objectives.margins.tandem_bound import exponentiated_gradient
from committee.objectives.pac_bayes import PacBayesKl, kl_inverse, mean_over

GRID = 201  # disagreements that each refinement of the search for the worst case tries

LEAST = 1e-12  # floor of shares: at 0 the slope of kl is infinite


def c_bound(margins: ArrayLike) -> Bound:
    """Share of the given rows that a vote gets wrong, by the first two moments of their margins.

    P[m <= 0] <= 1 - E[m]^2 / E[m^2] = 1 - (1 - 2 r)^2 / (1 - 2 d),

    with r the Gibbs risk and d the expected disagreement of two voters, if E[m] > 0 (Cantelli's inequality); else 1.
    It is a fact about the given rows; `c_bound_pac_bayes` is about new ones.

    Equation: c-bound (docs/theory.md). Source: P. Germain et al. (2015), Theorem 11.

    Parameters
    ----------
    margins : array-like (n,)
        Normalised margins, in [-1, 1].

    Returns
    -------
    Bound
        Terms: ``mean``, ``second_moment``, ``observed`` (the share itself).

    Examples
    --------
    >>> from committee.bounds import c_bound
    >>> print(c_bound([0.5, 0.5, 0.5, -0.1]))
    C-bound of these rows: 0.3553
    """
    m = check_numbers("margins", margins, -1.0, 1.0)
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
    """Error on new rows of a weighted vote: the largest C-bound among the moments that are compatible with the rows.

    error <= 1 - (1 - (2 e + d))^2 / (1 - 2 d),    e the tandem loss, d the disagreement, r = e + d / 2.

    - "separate": r <= sup{p : kl(r^, p) <= c_1}, d >= inf{p : kl(d^, p) <= c_2}, with delta / 2 each,
      c_1 = (KL + ln(4 sqrt n / delta)) / n, c_2 = (2 KL + ln(4 sqrt n / delta)) / n.
    - "joint": the largest over all (e, d) with kl((e^, d^), (e, d)) <= (2 KL + ln((2 sqrt n + n) / delta)) / n, with kl
      that of three outcomes. The bound is concave in (e, d) and the set convex, so a search along d finds the maximum.

    Both hold for all weights at once.

    Sources: P. Germain et al. (2015), PAC-Bounds 1 and 2; P. Viallard et al. (2021), Theorems 2 and 3.

    Parameters
    ----------
    losses, weights, delta
        As for `first_order`, which raises the same errors.
    form : {"joint", "separate"}, default="joint"
        Which pairs of moments count as compatible.

    Returns
    -------
    Bound
        Terms: ``tandem_loss`` (e^), ``disagreement`` (d^), ``worst_gibbs`` and ``worst_disagreement`` (at the maximum),
        ``rows``, ``divergence``, ``complexity``. The value is 1 where a mean margin of 0 is possible.

    Examples
    --------
    >>> from committee.bounds import VoterLosses, c_bound_pac_bayes
    >>> votes = np.where(np.random.default_rng(0).random((1000, 20)) < 0.1, -1, 1)
    >>> print(c_bound_pac_bayes(VoterLosses(votes, None, np.full(20, 0.05))))
    C-bound, joint: 0.1422
    """
    if form not in ("joint", "separate"):
        raise ValueError(f"form is {form!r}; it must be 'joint' or 'separate'.")
    rho, delta = losses.posterior(weights), check_delta(delta)
    pairs = np.outer(rho, rho)
    e = mean_over(pairs, losses.pair_rows, losses.tandem)
    d = mean_over(pairs, losses.pair_rows, losses.disagreement)
    if form == "joint":
        kl = PacBayesKl.of(pairs, losses.pair_rows, 2.0 * losses.ln_prior, delta, three_outcomes=True)
        worst_e, worst_d = worst_moments(e, d, kl.c) if kl.unknown == 0.0 else (1.0, 0.0)
        worst_r = worst_e + 0.5 * worst_d
    else:
        kl = PacBayesKl.of(pairs, losses.pair_rows, 2.0 * losses.ln_prior, delta / 2.0)
        single = PacBayesKl.of(rho, losses.rows, losses.ln_prior, delta / 2.0)
        worst_r, worst_d = single.above(mean_over(rho, losses.rows, losses.risk)), kl.below(d)
    return losses.bound(
        name=f"C-bound, {form}",
        value=float(_c(np.asarray(worst_r), np.asarray(worst_d))),
        terms={"tandem_loss": e, "disagreement": d, "worst_gibbs": worst_r, "worst_disagreement": worst_d, **kl.terms},
        advice="Voters that err less, or on different rows; " + losses.more_rows,
        weights=rho,
        delta=delta,
        form=form,
    )


def c_bound_weights(
    losses: VoterLosses, *, delta: float = 0.05, max_rounds: int = 50, max_steps: int = 500, tol: float = 1e-7
) -> F64:
    """Weights that minimise the joint C-bound over the simplex; `c_bound_pac_bayes` of them is a valid bound.

    The bound is concave in (e^, d^, c) (docs/bounds.md), so nowhere above its tangent. Each round finds the worst
    (e, d) at the present weights, and lowers the tangent, whose slopes in c, e^ and d^ are proportional to

        1,    ln(e h / e^),    ln(d h / d^),    h = (1 - e^ - d^) / (1 - e - d),

    by exponentiated-gradient steps. One search starts at uniform weights, one at those of the least tandem bound. Of
    these, the ensemble's own and the weights after each round, those of the least bound are returned. Where the C-bound
    of all of them is 1 it has no slope, and the uniform weights are returned.

    Source: P. Viallard et al. (2021), who minimise the same bound by gradient descent. The tangents are ours.

    Parameters
    ----------
    losses, delta, max_rounds, max_steps, tol
        As for `tandem_weights`.

    Returns
    -------
    float64 array (T,)
        Not negative, summing to one.

    Examples
    --------
    >>> from committee.bounds import VoterLosses, c_bound_pac_bayes, c_bound_weights
    >>> error = np.linspace(0.05, 0.45, 20)
    >>> votes = np.where(np.random.default_rng(0).random((1000, 20)) < error, -1, 1)
    >>> losses = VoterLosses(votes, None, np.full(20, 0.05))
    >>> c_bound_pac_bayes(losses, c_bound_weights(losses)).value < 0.8 * c_bound_pac_bayes(losses).value
    True
    """
    delta = check_delta(delta)
    uniform = np.full(losses.n_voters, 1.0 / losses.n_voters)
    by_pairs = tandem_weights(losses, delta=delta)
    ends = [_descend(losses, rho, delta, max_rounds, max_steps, tol) for rho in (uniform, by_pairs)]
    found = [uniform, by_pairs, losses.weights, *ends]
    return min(found, key=lambda rho: c_bound_pac_bayes(losses, rho, delta).value)


def _descend(losses: VoterLosses, rho: F64, delta: float, max_rounds: int, max_steps: int, tol: float) -> F64:
    counted = losses.pair_rows > 0.0
    both = np.where(counted, losses.tandem, 1.0)  # pairs without rows count as the worst
    apart = np.where(counted, losses.disagreement, 0.0)
    best, least = rho, c_bound_pac_bayes(losses, rho, delta)
    bound = least
    for _ in range(max_rounds):
        if bound.value >= 1.0:
            break
        # slopes of the tangent in the observed tandem loss and disagreement, in units of its slope in c
        e, d = max(bound.terms["tandem_loss"], LEAST), max(bound.terms["disagreement"], LEAST)
        worst_d = max(bound.terms["worst_disagreement"], LEAST)
        worst_e = max(bound.terms["worst_gibbs"] - 0.5 * worst_d, LEAST)
        right = log(max(1.0 - e - d, LEAST) / max(1.0 - worst_e - worst_d, LEAST))
        by_e, by_d = log(worst_e / e) + right, log(worst_d / d) + right
        rho = exponentiated_gradient(by_e * both + by_d * apart, rho, 2.0 / bound.terms["rows"], max_steps)
        new = c_bound_pac_bayes(losses, rho, delta)
        if new.value < least.value:
            best, least = rho, new
        if not new.value < bound.value - tol:
            break
        bound = new
    return best


def _c(r: F64, d: F64) -> F64:
    # 1 - (1 - 2 r)^2 / (1 - 2 d); 1 where r or d is 1/2 or more, at least 0
    finite = (r < 0.5) & (d < 0.5)
    value = np.where(finite, 1.0 - (1.0 - 2.0 * r) ** 2 / np.where(finite, 1.0 - 2.0 * d, 1.0), 1.0)
    return np.asarray(value).clip(0.0)


def worst_moments(e: float, d: float, c: float) -> tuple[float, float]:
    """Return the tandem loss and disagreement of the largest C-bound within distance c of the observed ones."""
    low, high = float(1.0 - kl_inverse(1.0 - d, c)), min(0.5, float(kl_inverse(d, c)))
    # the C-bound of the largest e for each d is concave in d
    for _ in range(6):
        grid = np.linspace(low, high, GRID)
        most = np.maximum(0.0, 1.0 - grid)
        if d < 1.0:
            # kl((e^, d^), (e, d)) = kl(d^, d) + (1 - d^) kl(e^ / (1 - d^), e / (1 - d))
            with np.errstate(divide="ignore", invalid="ignore"):
                spent = np.where(d > 0.0, d * np.log(d / grid), 0.0) + (1.0 - d) * np.log((1.0 - d) / (1.0 - grid))
            left = np.maximum(0.0, c - spent) / (1.0 - d)
            most = (1.0 - grid) * kl_inverse(min(1.0, e / (1.0 - d)), left)
        at = int(_c(most + 0.5 * grid, grid).argmax())
        low, high = float(grid[max(at - 1, 0)]), float(grid[min(at + 1, GRID - 1)])
    return float(most[at]), float(grid[at])
