"""Rademacher complexity of classes of voters and of their votes, and error bounds by it (Theorem 1 of QuadBoost)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, lgamma, log, log2, pi, sqrt
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_expit, log_ndtr

from committee.bounds.result import Bound, at, check_count, check_delta, check_number, check_numbers, on_new_rows
from committee.data.number_types import F64
from committee.objectives.complexity import Complexity

if TYPE_CHECKING:
    from committee.data.bins import Bins


def ln_tree_class(n_splits: int, n_leaves: int, n_outputs: int) -> float:
    """Logarithm of the number |B| of trees with at most L leaves, O outputs of a leaf and S splits of a node.

    Two leaves: |B| = S O (O - 1) + O, stumps and constants; exact if no two splits are alike. More:
    |B| <= Catalan(L - 1) S^(L - 1) O^L; a smaller tree is counted as one whose extra splits have equal leaves.

    Parameters
    ----------
    n_splits : int
        Splits S of a node: the thresholds, or ways to partition the categories, of all columns.
    n_leaves : int
        Most leaves L.
    n_outputs : int
        Outputs O of a leaf: the classes, and one more if it may abstain.

    Examples
    --------
    >>> from math import exp
    >>> from committee.bounds import ln_tree_class
    >>> round(exp(ln_tree_class(100, n_leaves=2, n_outputs=2)))  # 2 x 100 stumps and two constants
    202
    """
    S, L = check_count("n_splits", n_splits, 0), check_count("n_leaves", n_leaves)
    K = check_count("n_outputs", n_outputs, 2)
    if L == 1 or S == 0:
        return log(K)
    if L == 2:
        return log(S * K * (K - 1) + K)
    ln_catalan = lgamma(2 * L - 1) - lgamma(L) - lgamma(L + 1)
    return ln_catalan + (L - 1) * log(S) + L * log(K)


def splits_of_bins(bins: Bins, missing: NDArray[np.bool_]) -> int:
    """Number of possible splits of a binned table whose bin edges are fixed independently of the rows."""
    total = 0
    for edges, k, gaps in zip(np.diff(bins.offset).tolist(), bins.n_categories.tolist(), missing.tolist(), strict=True):
        # missing values go to either side, or are one
        total += _partitions(k + gaps) if k else edges * (1 + gaps) + gaps
    return total


def splits_of_rows(n_rows: int, n_categories: NDArray[np.int32]) -> int:
    """Number of possible splits of a table whose thresholds lie between the values of any two of n training rows."""
    n = check_count("n_rows", n_rows)
    return sum(_partitions(k + 1) if k else n * (n - 1) + 1 for k in n_categories.tolist())


def _partitions(k: int) -> int:
    return int(2 ** (k - 1) - 1)


def massart(ln_size: float, n_rows: int) -> float:
    """Massart's bound sqrt(2 ln|B| / n) on the Rademacher complexity of a finite class of voters within [-1, 1].

    It holds for the complexity on every sample, and so for the expected one too.

    Equation: massart (docs/theory.md). Source: P. Massart (2000), Lemma 5.2.

    Parameters
    ----------
    ln_size : float
        ln|B|, a voter and its opposite counted as two: ln(2 N) for N stumps of either sign.
    n_rows : int
        Rows n.

    Examples
    --------
    >>> from math import log
    >>> from committee.bounds import massart
    >>> round(massart(log(2 * 300), 500), 4)
    0.16
    """
    return sqrt(2.0 * check_number("ln_size", ln_size, 0.0, inf) / check_count("n_rows", n_rows))


def ensemble_complexity(complexity: float, n_voters: int, p: float = 1.0) -> float:
    """Rademacher complexity T^(1 - 1/p) R of the votes sum_t alpha_t h_t of T voters with ||alpha||_p <= 1 (Lemma 1).

    The supremum over the weights is the q-norm of the voters' correlations with the signs, 1/p + 1/q = 1, largest if
    all T voters are the best one; so it is an equality if a voter may be taken more than once.

    Source: L. Fortier-Dubois et al., Efficient learning of ensembles with QuadBoost, Lemma 1.

    Parameters
    ----------
    complexity : float
        Rademacher complexity R of the voters, a symmetric class.
    n_voters : int
        Number of voters T.
    p : float, default=1.0
        Norm of the weights; 1 <= p <= inf.

    Examples
    --------
    >>> from committee.bounds import ensemble_complexity
    >>> [ensemble_complexity(0.05, 100, p) for p in (1, 2, float("inf"))]
    [0.05, 0.5, 5.0]
    """
    R, p = check_number("complexity", complexity, 0.0, inf), check_number("p", p, 1.0, inf)
    return float(R * float(check_count("n_voters", n_voters)) ** (1.0 - 1.0 / p))


def expected_complexity(empirical: float, n_rows: int, delta: float = 0.05) -> float:
    """Upper bound on the expected Rademacher complexity R_n by that of one sample, R_S.

    With probability 1 - delta, and L = ln(1 / delta) / (2 n),

        R_n <= min((sqrt(L) + sqrt(L + R_S))^2, R_S + sqrt(L)).

    One row more raises n R_S by a number between 0 and 1, and these numbers sum to at most n R_S: it is self-bounding,
    which gives the first term. The bounded differences give the second.

    Source: S. Boucheron, G. Lugosi, P. Massart (2000).

    Parameters
    ----------
    empirical : float
        R_S, or an upper limit of it, of a symmetric class of voters within [-1, 1].
    n_rows : int
        Rows n.
    delta : float, default=0.05
        The bound fails with at most this probability.

    Examples
    --------
    >>> from committee.bounds import expected_complexity
    >>> round(expected_complexity(0.05, 500), 4), round(expected_complexity(0.05, 50_000), 4)
    (0.0812, 0.0525)
    """
    R, n = check_number("empirical", empirical, 0.0, inf), check_count("n_rows", n_rows)
    L = log(1.0 / check_delta(delta)) / (2.0 * n)
    return min((sqrt(L) + sqrt(L + R)) ** 2, R + sqrt(L))


Form = Literal["empirical", "expected"]

RADII_PER_DOUBLING = 8
SCALES: NDArray[np.int64] = np.arange(-2 * RADII_PER_DOUBLING, 16 * RADII_PER_DOUBLING + 1)  # of norms 2^(j / 8)


@dataclass(frozen=True)
class Surrogate:
    """A loss L(y F) that is 1 or more where y F <= 0, with the Lipschitz constant of min(L, 1).

    Parameters
    ----------
    name : str
    value : callable
        L, array to array.
    lipschitz : float
        The constant, l.

    Examples
    --------
    >>> from committee.bounds import Surrogate
    >>> ramp = Surrogate("ramp", lambda x: np.clip(1.0 - 2.0 * x, 0.0, 1.0), 2.0)
    >>> ramp.value(np.array([0.0, 0.25, 2.5])).tolist()
    [1.0, 0.5, 0.0]
    """

    name: str
    value: Callable[[F64], F64]
    lipschitz: float


def _exponential(x: F64) -> F64:
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(-x))


# all convex and 1 at zero, so that the Lipschitz constant is the slope there
SURROGATES: dict[str, Surrogate] = {
    loss.name: loss
    for loss in (
        Surrogate("squared_error", lambda x: np.square(1.0 - x), 2.0),
        Surrogate("squared_hinge", lambda x: np.square(np.maximum(1.0 - x, 0.0)), 2.0),
        Surrogate("hinge", lambda x: np.maximum(1.0 - x, 0.0), 1.0),
        Surrogate("exponential", _exponential, 1.0),
        # ln 2 at zero: in units of that they are losses in bits, and bound the error
        Surrogate("log_loss", lambda x: np.asarray(-log_expit(x) / log(2.0)), 0.5 / log(2.0)),
        Surrogate("probit", lambda x: np.asarray(-log_ndtr(x) / log(2.0)), sqrt(2.0 / pi) / log(2.0)),
    )
}


def ensemble_norm(
    signed_scores: ArrayLike,
    weights: ArrayLike,
    complexity: float | Complexity,
    delta: float = 0.05,
    *,
    p: float = 1.0,
    loss: str | Surrogate = "squared_error",
    form: Form = "empirical",
    clipped: bool = False,
) -> Bound:
    """Error on new rows of a weighted vote of T voters, however it was trained: Theorem 1 of QuadBoost.

    P[y F(x) <= 0] <= mean L(y_i F(x_i)) + 4 l T^(1 - 1/p) ||alpha||_p R
                      + k sqrt(ln(pi^2 (T + 1)^2 / (6 d)) / (2 n)) + k sqrt(ln log2(2 ||alpha||_p) / n)

    for all votes at once, with probability 1 - delta. R is the expected complexity of the voters, k = 1 and d = delta
    (``form="expected"``), or the empirical one, k = 3 and d = delta / 2. Where ||alpha||_p < 1, for which the source's
    last term is not defined, M = max(T^(1 - 1/p) ||alpha||_p, 1) takes its place and that of T^(1 - 1/p) ||alpha||_p.
    In the source only the last term has the factor k; the proof needs it in both. Derivations are on the page about
    bounds; `ensemble_margin` is tighter.

    Equation: quadboost-theorem-1 (docs/theory.md).

    Parameters
    ----------
    signed_scores : array-like (n,)
        y_i F(x_i), not normalised, of the training rows, y_i = -1 or +1.
    weights : array-like (T,)
        Weights alpha of the voters; an intercept is the weight of the constant voter.
    complexity : float or Complexity
        Rademacher complexity of the class of the voters, which is symmetric and was fixed before the rows were seen. Of
        a `Complexity`, an estimate from random signs, the upper bound is used, and its `delta` is added to `delta`.
    delta : float, default=0.05
        The bound fails with at most this probability.
    p : float, default=1.0
        Norm of the weights; 1 <= p <= inf.
    loss : str or Surrogate, default="squared_error"
        L: "squared_error", "squared_hinge", "hinge", "exponential", "log_loss" and "probit" (both in units of
        ln 2), or one of your own. It need not be the training loss.
    form : {"empirical", "expected"}, default="empirical"
        Kind of complexity.
    clipped : bool, default=False
        Take the mean of min(L, 1), with which the bound holds as well.

    Returns
    -------
    Bound
        Terms: ``loss`` (the mean), ``complexity`` (with 4 l and the norm), ``confidence``, ``norm_confidence`` (the
        four summands), ``norm`` (||alpha||_p), ``n_voters`` (T), ``rademacher`` (R), ``rows_to_be_useful``
        (about how many rows lower the value to 1/2, if R decreases as their root; inf if none do).

    Examples
    --------
    >>> from committee.bounds import ensemble_norm
    >>> bound = ensemble_norm(np.full(100_000, 0.9), [0.5, 0.3, 0.2], complexity=0.01)
    >>> round(bound.value, 4), round(bound.terms["complexity"], 4)
    (0.1077, 0.08)
    >>> ensemble_norm(np.full(100, 0.9), [0.5, 0.3, 0.2], complexity=0.3).vacuous
    True
    """
    yF, L = check_numbers("signed_scores", signed_scores, -inf, inf), _surrogate(loss)
    alpha, p = check_numbers("weights", weights, -1e300, 1e300), check_number("p", p, 1.0, inf)
    R, risk, delta = _complexity(complexity, delta)
    n, T = len(yF), len(alpha)
    k, d = (1.0, delta) if _checked(form) == "expected" else (3.0, delta / 2.0)
    norm = float(np.linalg.norm(alpha, p))
    longest = ensemble_complexity(norm, T, p)  # at least the 1-norm
    longest, counted = (longest, norm) if norm >= 1.0 else (max(longest, 1.0),) * 2
    # a loss may overflow, and then the bound is infinite
    losses = L.value(yF)
    mean = float(np.minimum(losses, 1.0).mean() if clipped else losses.mean())
    complexity_term = 4.0 * L.lipschitz * longest * R
    confidence = k * sqrt(log(pi**2 * (T + 1) ** 2 / (6.0 * d)) / (2.0 * n))
    norm_confidence = k * sqrt(log(log2(2.0 * counted)) / n)
    beyond = complexity_term + confidence + norm_confidence
    return Bound(
        name=f"Theorem 1, L{p:g} norm",
        statement=on_new_rows(risk),
        value=mean + beyond,
        terms={
            "loss": mean,
            "complexity": complexity_term,
            "confidence": confidence,
            "norm_confidence": norm_confidence,
            "norm": norm,
            "n_voters": float(T),
            "rademacher": R,
            "rows_to_be_useful": n * (beyond / (0.5 - mean)) ** 2 if mean < 0.5 else inf,
        },
        advice=_advice(mean, complexity_term, "; smaller weights")
        + (" p = 1, whose complexity is never larger." if p > 1.0 else ""),
        inputs={
            "signed_scores": yF, "weights": alpha, "complexity": complexity, "delta": delta, "p": p, "loss": L.name,
            "form": form, "clipped": clipped,
        },
        remarks=_from_signs(complexity),
    )  # fmt: skip


def ensemble_margin(
    margins: ArrayLike,
    complexity: float | Complexity,
    delta: float = 0.05,
    *,
    loss: str | Surrogate = "hinge",
    form: Form = "empirical",
) -> Bound:
    """Error on new rows of a weighted vote by its margins and its voters' complexity.

    With m_i the normalised margins and r = 2^(j/8) the norm that the weights are scaled to,

        P[y F(x) <= 0] <= min over j of  mean min(L(r m_i), 1) + 2 l r R
                                         + k sqrt(ln(3 (|j| + 1) (|j| + 2) / (2 delta)) / (2 n)),

    for j = -16, ..., 128; k = 1 with the expected complexity and 2 with the empirical one. It holds for all weights at
    once, for any number of voters. Scaling the weights changes no vote, so the best scale is free; with the hinge loss,
    1 / r is the margin theta of the other margin bounds.

    Parameters
    ----------
    margins : array-like (n,)
        Normalised margins of the training rows, in [-1, 1].
    complexity, delta, form
        As for `ensemble_norm`.
    loss : str or Surrogate, default="hinge"
        L, as there; min(hinge, 1) is the ramp.

    Returns
    -------
    Bound
        Terms, at the best norm: ``norm`` (r), ``loss``, ``complexity``, ``confidence`` (the three summands),
        ``rademacher`` (R), ``rows_to_be_useful`` as for `ensemble_norm`.

    References
    ----------
    V. Koltchinskii, D. Panchenko (2002). Empirical margin distributions and bounding the generalization error of
    combined classifiers. Annals of Statistics 30. The constants are derived on the page about bounds.

    Examples
    --------
    >>> from committee.bounds import ensemble_margin
    >>> bound = ensemble_margin(np.full(100_000, 0.5), complexity=0.01)
    >>> round(bound.value, 4), bound.terms["norm"]
    (0.0526, 2.0)
    """
    m, L = check_numbers("margins", margins, -1.0, 1.0), _surrogate(loss)
    R, risk, delta = _complexity(complexity, delta)
    n, k = len(m), 1.0 if _checked(form) == "expected" else 2.0
    norm = 2.0 ** (SCALES / RADII_PER_DOUBLING)
    mean = np.array([np.minimum(L.value(r * m), 1.0).mean() for r in norm.tolist()])
    complexity_term = 2.0 * L.lipschitz * norm * R
    j = np.abs(SCALES)
    confidence = k * np.sqrt(np.log(1.5 * (j + 1.0) * (j + 2.0) / delta) / (2.0 * n))
    beyond = complexity_term + confidence
    best = int((mean + beyond).argmin())
    with np.errstate(divide="ignore"):
        rows = np.where(mean < 0.5, n * np.square(beyond / np.abs(0.5 - mean)), inf)
    return Bound(
        name="margins and complexity",
        statement=on_new_rows(risk),
        value=float(mean[best] + beyond[best]),
        terms=at(best, norm=norm, loss=mean, complexity=complexity_term, confidence=confidence)
        | {"rademacher": R, "rows_to_be_useful": float(rows.min())},
        advice=_advice(float(mean[best]), float(complexity_term[best])),
        inputs={"margins": m, "complexity": complexity, "delta": delta, "loss": L.name, "form": form},
        remarks=_from_signs(complexity),
    )


def _surrogate(loss: str | Surrogate) -> Surrogate:
    if isinstance(loss, Surrogate):
        return loss
    if loss not in SURROGATES:
        raise ValueError(f"loss is {loss!r}; it must be one of {', '.join(SURROGATES)}, or a Surrogate.")
    return SURROGATES[loss]


def _complexity(given: float | Complexity, delta: float) -> tuple[float, float, float]:
    # R, the whole risk of failure, and delta
    delta = check_delta(delta)
    if isinstance(given, Complexity):
        return given.upper, delta + given.delta, delta
    return check_number("complexity", given, 0.0, inf), delta, delta


def _checked(form: str) -> str:
    if form not in ("empirical", "expected"):
        raise ValueError(f"form is {form!r}; it must be 'empirical' or 'expected'.")
    return form


def _advice(loss: float, complexity: float, weights: str = "") -> str:
    if loss >= 0.5:
        return "A smaller loss on the training rows: more rounds, a weaker penalty, or better voters."
    smaller = "voters out of a smaller class: fewer thresholds, fewer columns, fewer leaves"
    return f"More rows; {smaller}{weights}." if complexity > 0.1 else "More rows; a smaller loss on them."


def _from_signs(complexity: float | Complexity) -> tuple[str, ...]:
    if isinstance(complexity, Complexity):
        return (f"The complexity is estimated from {complexity.draws} draws of random signs: {complexity}.",)
    return ()
