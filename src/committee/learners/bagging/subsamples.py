"""Draws of rows, or of groups of rows, for the voters of a committee; out-of-bag votes and variance of the vote."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import combinations
from math import comb, inf, lgamma, log
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context

from committee.data.number_types import F64, Index, Mask
from committee.data.parallel import n_threads
from committee.data.rows import Rows, TargetRows, balanced_class_factors, nonzero_sample_weights
from committee.data.text import warn_user
from committee.files.journal import Checkpoint
from committee.learners.base.estimator import CommitteeEstimator
from committee.learners.base.fit_tasks import FitTasks
from committee.learners.base.parameters import fitted, with_parameters
from committee.learners.base.row_sampling import copied_rows, warn_of_copies
from committee.learners.base.shared_parameters import with_fit_parameters
from committee.vote.weighted_votes import elected


@with_parameters
class GroupedRows(CommitteeEstimator):
    n_groups_: int = fitted(
        """Number of groups that were drawn in place of rows: those of `groups`, or different rows if others are copies
        of them; absent if rows were drawn.""",
        "int",
    )

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    @with_fit_parameters(
        "X",
        "y",
        "sample_weight",
        "groups",
        "checkpoint",
        groups="""Groups of rows, such as places or patients, or the name of their column. Voters draw whole groups, of
        which `max_samples` is a number or share, so that out-of-bag predictions and temperatures are those of new
        groups. None: voters draw rows; if many are copies of others, as after resampling, equal rows are a group.""",
        warns=", or many rows are copies of others",
    )
    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | str | None = None,
        *,
        groups: ArrayLike | str | None = None,
        checkpoint: Checkpoint | str | os.PathLike[str] | None = None,
    ) -> Self:
        """Train on rows. A fit that fails leaves the estimator unchanged."""
        with self._one_fit(X, y, sample_weight, checkpoint, groups=groups) as (tasks, rows):
            tasks.begin()
            tasks.end(self._constant(rows) or self._train(rows, tasks))
        return self

    def _drawn_groups(self, rows: Rows | TargetRows, tasks: FitTasks) -> Index | None:
        if (group := tasks.group_of(rows)) is not None:
            return group
        group = copied_rows(rows.with_codes, n_threads(self.n_jobs))
        if group is not None:
            warn_of_copies(group)
        return group

    def _from_file(self) -> None:
        super()._from_file()
        number = getattr(self, "n_groups_", 2)
        if type(number) is not int or number < 2:
            raise ValueError(f"n_groups_ is {number!r}; it must be a whole number above 1")


MOST_DRAWS = 10_000  # most subsamples of complete subagging
MOST_COUNTS = 10**7  # most subsamples times rows: each has a count of 8 bytes

I32 = NDArray[np.int32]
Counts = NDArray[np.int64]
"""How often each row is drawn, ``(n,)``."""


def draw_counts(n: int, size: int, bootstrap: bool, random: np.random.RandomState) -> Counts:
    drawn = random.randint(n, size=size) if bootstrap else random.permutation(n)[:size]
    return np.bincount(drawn, minlength=n)


def rows_where(mask: NDArray[np.bool_]) -> I32:
    return np.flatnonzero(mask).astype(np.int32)


@dataclass(frozen=True)
class RowDraw:
    """Draw of `size` of `n` rows, or of `n` groups, whose indices `group` ``(n_rows,)`` has."""

    n: int
    size: int
    bootstrap: bool
    group: Index | None = None

    @classmethod
    def of(cls, n: int, max_samples: float | int | None, bootstrap: bool, group: Index | None = None) -> RowDraw:
        if group is not None:
            n = int(group.max()) + 1
        if max_samples is None:
            return cls(n, n, bootstrap, group)
        drawn = "rows" if group is None else "groups"
        return cls(n, subsample_size(n, 1, max_samples, bootstrap, drawn), bootstrap, group)

    @property
    def leaves_out(self) -> bool:
        return self.bootstrap or self.size < self.n

    def times(self, seed: int) -> NDArray[np.int64]:
        if not self.leaves_out:
            return np.ones(self.n if self.group is None else len(self.group), dtype=np.int64)
        times = draw_counts(self.n, self.size, self.bootstrap, np.random.RandomState(seed))
        return times if self.group is None else times[self.group]

    def left_out(self, seed: int) -> I32:
        return rows_where(self.times(seed) == 0)


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
    counts = draw_counts(n, subsample_size(n, n_classes, max_samples, bootstrap), bootstrap, random)
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
    """Draw groups with rows of each class, and return how often each row is drawn, ``(n_rows,)``."""
    n = int(group.max()) + 1
    holds = np.zeros((n, n_classes), dtype=bool)
    holds[group, labels] = True
    times = draw_counts(n, subsample_size(n, 1, max_samples, bootstrap, "groups"), bootstrap, random)
    held = times @ holds
    for lost in range(n_classes):  # a group with it replaces one that no class depends on
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
    logarithm = lgamma(n + 1) - lgamma(size + 1) - lgamma(n - size + 1)
    count = comb(n, size) if logarithm < log(1e12) else inf  # exact counts of more take long
    if count > most:
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


def draw_weights(rows: Rows, n_classes: int, class_weight: Any, counts: Counts) -> F64:
    if class_weight != "balanced_subsample":
        return rows.weights
    return (
        rows.weights * balanced_class_factors(np.bincount(rows.labels, rows.weights * counts, n_classes))[rows.labels]
    )


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


def oob_attributes(tally: F64, voting: F64, rows: Rows, sample_weight: ArrayLike | None) -> dict[str, Any]:
    voted = voting > 0
    warn_without_vote(~voted, ", except where one row or group has all of a class")
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
    """Over other training rows, by the infinitesimal jackknife; may be < 0."""
    draws: F64
    """Over other draws from the same rows."""
    noise: F64
    """Approximate standard deviation of `rows` over other draws."""

    @property
    def standard_error(self) -> F64:
        error: F64 = np.sqrt(np.maximum(self.rows, 0.0) + self.draws)
        return error


def infinitesimal_jackknife(
    drawn: NDArray[np.bool_], votes: F64, *, n_samples: int | None = None, complete: bool = False
) -> VoteVariance:
    """Variance of the mean vote over subsamples of s of n training rows, drawn without replacement.

    With c_i the covariance over the M voters of "row i was drawn" and the vote, and v the votes' variance,

        n (n - 1) / (n - s)^2 (sum_i c_i^2 - s (n - s) / n * v / M);

    the second term is the expectation of the sum by chance alone, left out over all subsamples (`complete`). `drawn`
    ``(M, n)`` are the training rows of each voter; `votes` ``(M, n_rows, K)`` their class shares; `n_samples` the rows
    that could be drawn. S. Wager, T. Hastie, B. Efron (2014), JMLR 15; I. Ghosal, G. Hooker (2021), JCGS 30.

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
