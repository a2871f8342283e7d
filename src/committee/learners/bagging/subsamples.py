"""Subsamples of rows, drawn or complete; the out-of-bag votes and the variance of a vote of subsamples."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb, inf, lgamma, log
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.data.number_types import F64, Index, Mask
from committee.data.rows import Rows, balanced_class_factors, nonzero_sample_weights
from committee.data.user_warnings import warn_user
from committee.vote.committee import Committee
from committee.vote.weighted_votes import elected

MOST_DRAWS = 10_000
"""Most subsamples of complete subagging."""
MOST_COUNTS = 10**7
"""Most subsamples times rows: each has a count of 8 bytes."""

Counts = NDArray[np.int64]
"""How often each row is drawn, ``(n,)``."""


def draw_subsamples(
    labels: NDArray[np.uint16],
    n_classes: int,
    n_draws: int | Literal["all"],
    max_samples: float | int,
    bootstrap: bool,
    random: np.random.RandomState,
    group: Index | None = None,
) -> list[Counts]:
    if n_draws == "all":
        if group is not None:
            raise ValueError("n_estimators='all' lists draws of rows, and groups of rows are drawn; give a number.")
        return all_subsamples(labels, n_classes, subsample_size(len(labels), n_classes, max_samples, False), random)
    if group is None:
        return [draw_subsample(labels, n_classes, max_samples, bootstrap, random) for _ in range(n_draws)]
    return [draw_groups(labels, group, n_classes, max_samples, bootstrap, random) for _ in range(n_draws)]


def draw_subsample(
    labels: NDArray[np.uint16], n_classes: int, max_samples: float | int, bootstrap: bool, random: np.random.RandomState
) -> Counts:
    n = len(labels)
    size = subsample_size(n, n_classes, max_samples, bootstrap)
    drawn = random.randint(n, size=size) if bootstrap else random.permutation(n)[:size]
    counts = np.bincount(drawn, minlength=n)
    held = np.bincount(labels, weights=counts, minlength=n_classes)
    for lost in np.flatnonzero(held == 0):
        # a row of the lost class replaces one of a class that has several: the size stays
        counts[random.choice(np.flatnonzero(labels == lost))] += 1
        given_up = random.choice(np.flatnonzero((counts > 0) & (held[labels] > 1)))
        counts[given_up] -= 1
        held[labels[given_up]] -= 1
        held[lost] = 1
    return counts


def draw_groups(
    labels: NDArray[np.uint16],
    group: Index,
    n_classes: int,
    max_samples: float | int,
    bootstrap: bool,
    random: np.random.RandomState,
) -> Counts:
    """Draw groups, and return counts by row.

    A group of a lost class replaces one without which no class is lost, or is added if there is none.
    """
    n = int(group.max()) + 1
    holds = np.zeros((n, n_classes), dtype=bool)
    holds[group, labels] = True
    size = subsample_size(n, 1, max_samples, bootstrap, "groups")
    drawn = random.randint(n, size=size) if bootstrap else random.permutation(n)[:size]
    times = np.bincount(drawn, minlength=n)
    held = times @ holds
    for lost in range(n_classes):
        if held[lost]:
            continue
        for given, change in ((np.flatnonzero(holds[:, lost]), 1), (np.flatnonzero(times), -1)):
            if change < 0:
                given = given[~(holds[given] & (held == 1)).any(axis=1)]
            if len(given):
                chosen = random.choice(given)
                times[chosen] += change
                held += change * holds[chosen]
    return times[group]


def subsample_size(n: int, n_classes: int, max_samples: float | int, bootstrap: bool, drawn: str = "rows") -> int:
    size = int(max_samples) if isinstance(max_samples, Integral) else int(max_samples * n)
    if size > n and not bootstrap:
        raise ValueError(
            f"max_samples={max_samples} asks for {size} {drawn} without replacement, but only {n} can be drawn; "
            "lower it."
        )
    if size < n_classes and isinstance(max_samples, Integral):
        raise ValueError(
            f"max_samples={max_samples} is fewer than the {n_classes} classes, and every draw needs a row "
            "of each; raise it."
        )
    return max(size, n_classes)


def all_subsamples(
    labels: NDArray[np.uint16], n_classes: int, size: int, random: np.random.RandomState
) -> list[Counts]:
    n = len(labels)
    most = min(MOST_DRAWS, MOST_COUNTS // n)
    if (count := count_subsamples(n, size)) > most:
        there_are = f"{count:,.0f}" if count < 1e12 else "more than 1e12"
        instead = f", or max_samples={n - 1} for the {n} that leave out one row" if n <= most else ""
        raise ValueError(
            f"n_estimators='all' asks for every subsample of {size} of the {n} rows, and there are {there_are}; at "
            f"most {most:,} are possible for so many rows. Set n_estimators to a number{instead}."
        )
    few = 2 * size <= n  # the smaller side is listed: those drawn, or those left out
    listed = np.array(list(combinations(range(n), size if few else n - size)), dtype=np.intp)
    drawn = np.full((len(listed), n), 0 if few else 1, dtype=np.int64)
    np.put_along_axis(drawn, listed, 1 if few else 0, axis=1)
    held = np.stack([drawn[:, labels == k].any(axis=1) for k in range(n_classes)])
    whole = drawn[held.all(axis=0)]
    return list(whole[random.permutation(len(whole))])


def count_subsamples(n_rows: int, size: int) -> float:
    logarithm = lgamma(n_rows + 1) - lgamma(size + 1) - lgamma(n_rows - size + 1)
    return float(comb(n_rows, size)) if logarithm < log(1e12) else inf  # exact counts of more take long


def draw_weights(rows: Rows, n_classes: int, class_weight: Any, counts: Counts) -> F64:
    """Row weights ``(n,)`` before the factor `counts`; after it "balanced_subsample" gives classes equal weight."""
    if class_weight != "balanced_subsample":
        return rows.weights
    return (
        rows.weights * balanced_class_factors(np.bincount(rows.labels, rows.weights * counts, n_classes))[rows.labels]
    )


def pack_draws(draws: list[Counts], sample_weight: ArrayLike | None) -> NDArray[np.uint8]:
    """Pack the masks of drawn rows among the user's, one bit a row, ``(M, ceil(n / 8))`` as by `numpy.packbits`."""
    counted = nonzero_sample_weights(sample_weight, len(draws[0]))
    drawn = np.zeros((len(draws), len(counted)), dtype=bool)
    drawn[:, counted] = np.stack(draws) > 0
    return np.packbits(drawn, axis=1)


# --- out-of-bag votes -------------------------------------------------------------------------------------------------


def scatter_rows(values: F64, sample_weight: ArrayLike | None) -> F64:
    counted = nonzero_sample_weights(sample_weight, len(values))
    spread = np.full((len(counted), *values.shape[1:]), np.nan)
    spread[counted] = values
    return spread


def warn_without_vote(without_vote: Mask, ending: str) -> None:
    if without_vote.mean() > 0.01:
        warn_user(
            f"{without_vote.sum()} rows are in every draw and have no out-of-bag vote; "
            f"more estimators or a smaller max_samples would give them one{ending}.",
        )


def oob_votes(committee: Committee, rows: Rows, draws: list[Counts]) -> tuple[F64, F64]:
    """Sum ``(n, K)`` and number ``(n,)`` of the votes on each row by the voters t with ``draws[t]`` 0."""
    tally = np.zeros((len(rows.labels), committee.n_classes))
    voting = np.zeros(len(rows.labels))
    for t, counts in enumerate(draws):
        out = counts == 0
        tally[out] += committee.voters[t].tally(rows.dense[out])
        voting += out
    return tally, voting


def oob_attributes(tally: F64, voting: F64, rows: Rows, sample_weight: ArrayLike | None) -> dict[str, Any]:
    voted = voting > 0
    warn_without_vote(~voted, ", except a row that is alone in its class")
    share = np.divide(tally, voting[:, None], out=np.full_like(tally, np.nan), where=voted[:, None])
    rivals = share.copy()
    each = np.arange(len(share))
    rivals[each, rows.labels] = -np.inf
    margins = share[each, rows.labels] - rivals.max(axis=1)
    right = elected(share[voted]) == rows.labels[voted]
    return {
        "oob_score_": float(np.average(right, weights=rows.weights[voted])) if voted.any() else float("nan"),
        "oob_margins_": scatter_rows(margins, sample_weight),
        "oob_decision_function_": scatter_rows(share, sample_weight),
    }


# --- variance ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class VoteVariance:
    """Variance of the share of votes for each class, ``(n, K)``."""

    rows: F64
    """Over other training rows, for the vote of all subsamples: an unbiased estimate of its jackknife variance, which
    may be below 0."""
    draws: F64
    """Over other draws from the same rows: the voters' variance divided by their number; 0 if every subsample votes."""
    noise: F64
    """Approximate standard deviation of `rows` over other draws; if it is as large as `rows`, use more voters."""

    @property
    def standard_error(self) -> F64:
        """Square root of the sum of `draws` and `rows`, whose negative values count as 0."""
        error: F64 = np.sqrt(np.maximum(self.rows, 0.0) + self.draws)
        return error


def infinitesimal_jackknife(
    drawn: NDArray[np.bool_], votes: F64, *, n_samples: int | None = None, complete: bool = False
) -> VoteVariance:
    """Variance of the mean vote over subsamples of s of n training rows, drawn without replacement.

    With c_i the covariance over the M voters of "row i was drawn" and the vote, and v the votes' variance,

        n (n - 1) / (n - s)^2 (sum_i c_i^2 - s (n - s) / n * v / M);

    the second term is the expectation of the sum by chance alone. Over all subsamples (`complete`) it is left out,
    and what remains is the jackknife of their mean vote U, (n - 1) / n sum_i (U - U_{-i})^2. `drawn` ``(M, n)`` are the
    training rows of each voter, all of one size s < n; `votes` ``(M, n_rows, K)`` its shares of classes; `n_samples`
    the rows that could be drawn, if fewer than n. S. Wager, T. Hastie, B. Efron (2014), JMLR 15; I. Ghosal, G. Hooker
    (2021), JCGS 30.

    Equation: vote-variance (docs/theory.md).

    >>> import numpy as np
    >>> y = np.array([0.0, 1.0, 1.0, 0.0])
    >>> drawn = ~np.eye(4, dtype=bool)
    >>> votes = np.array([y[rows].mean() for rows in drawn])[:, None, None]
    >>> variance = infinitesimal_jackknife(drawn, votes, complete=True)
    >>> bool(np.isclose(variance.rows[0, 0], y.var(ddof=1) / 4))
    True
    """
    M, n = len(drawn), n_samples or drawn.shape[1]
    s = int(drawn[0].sum())
    if s == n:
        raise ValueError(
            f"every voter was trained on all {n} rows, so that their influence on votes is unknown; fit with a smaller "
            "max_samples."
        )
    if M < 2:
        raise ValueError("one voter has no variance; fit with n_estimators=2 at least, better hundreds.")
    deviation = votes - votes.mean(axis=0)
    v = (deviation**2).mean(axis=0)
    sums = np.tensordot(drawn.astype(np.float64), deviation, axes=(0, 0))
    factor = n * (n - 1) / (n - s) ** 2
    by_chance = np.zeros_like(v) if complete else s * (n - s) / n * v / M
    rows = factor * (((sums / M) ** 2).sum(axis=0) - by_chance)
    draws = np.zeros_like(v) if complete else v / (M - 1)
    return VoteVariance(rows, draws, factor * by_chance * np.sqrt(2.0 / (n - 1)))
