"""Draws of rows, and the out-of-bag vote: of the voters that did not see a row."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.data.class_weights import balancing_factors
from committee.data.number_types import F64
from committee.data.rows import Rows, have_weight
from committee.learners.bagging.complete_draws import complete_draws
from committee.vote.scores import elected

if TYPE_CHECKING:
    from committee.vote.committee import Committee


def draws_of(
    labels: NDArray[np.uint16],
    n_classes: int,
    n_draws: int | Literal["all"],
    max_samples: float | int,
    bootstrap: bool,
    random: np.random.RandomState,
) -> list[NDArray[np.int64]]:
    """Draw rows so many times, or in all ways there are; see `draw` and `complete_draws`."""
    if n_draws == "all":
        return complete_draws(labels, n_classes, size_of_draw(len(labels), n_classes, max_samples, False), random)
    return [draw(labels, n_classes, max_samples, bootstrap, random) for _ in range(n_draws)]


def draw(
    labels: NDArray[np.uint16], n_classes: int, max_samples: float | int, bootstrap: bool, random: np.random.RandomState
) -> NDArray[np.int64]:
    """Count how often each row is drawn, ``(n,)``; every class of the n labels at least once.

    `max_samples` is the size of the draw: a share of the rows, or their number.

    Raises
    ------
    ValueError
        If `max_samples` is a number larger than the rows there are, or smaller than the number of classes.
    """
    n = len(labels)
    size = size_of_draw(n, n_classes, max_samples, bootstrap)
    drawn = random.randint(n, size=size) if bootstrap else random.permutation(n)[:size]
    counts = np.bincount(drawn, minlength=n)
    held = np.bincount(labels, weights=counts, minlength=n_classes)
    for lost in np.flatnonzero(held == 0):
        # one row of the lost class for one of a class that can spare it: the size stays
        counts[random.choice(np.flatnonzero(labels == lost))] += 1
        given_up = random.choice(np.flatnonzero((counts > 0) & (held[labels] > 1)))
        counts[given_up] -= 1
        held[labels[given_up]] -= 1
        held[lost] = 1
    return counts


def size_of_draw(n: int, n_classes: int, max_samples: float | int, bootstrap: bool) -> int:
    """Return how many of n rows a draw has; see `draw`."""
    size = int(max_samples) if isinstance(max_samples, Integral) else int(max_samples * n)
    if size > n and not bootstrap:
        raise ValueError(
            f"max_samples={max_samples} asks for {size} rows without replacement, but only {n} have weight; lower it."
        )
    if size < n_classes and isinstance(max_samples, Integral):
        raise ValueError(
            f"max_samples={max_samples} is fewer than the {n_classes} classes, and every draw needs a row "
            "of each; raise it."
        )
    return max(size, n_classes)


def balanced_draw(labels: NDArray[np.uint16], n_classes: int, weights: F64, counts: NDArray[np.int64]) -> F64:
    """Row weights ``(n,)`` under which the classes of one draw, with row i drawn ``counts[i]`` times, weigh alike.

    Examples
    --------
    >>> labels, counts = np.array([0, 1, 1], dtype=np.uint16), np.array([1, 2, 1])
    >>> balanced_draw(labels, 2, np.ones(3), counts).round(3).tolist()
    [2.0, 0.667, 0.667]
    """
    return weights * balancing_factors(np.bincount(labels, weights * counts, n_classes))[labels]


def packed_draws(draws: list[NDArray[np.int64]], sample_weight: ArrayLike | None) -> NDArray[np.uint8]:
    """Pack which rows were drawn, one bit a row, ``(M, ceil(n / 8))`` as `numpy.packbits` lays them.

    A fitted model keeps its draws for good, and a byte a row would outweigh many a model. Rows are numbered as
    the user gave them: those of zero weight have a bit, which is never set.
    """
    counted = have_weight(sample_weight, len(draws[0]))
    drawn = np.zeros((len(draws), len(counted)), dtype=bool)
    drawn[:, counted] = np.stack(draws) > 0
    return np.packbits(drawn, axis=1)


@dataclass(frozen=True, eq=False)
class OutOfBagVotes:
    """Votes on the training rows by the voters that did not see them."""

    tally: F64
    """``(n, K)``: their sum."""
    voting: F64
    """``(n,)``: how many there are."""

    @classmethod
    def of(cls, committee: Committee, rows: Rows, draws: list[NDArray[np.int64]]) -> OutOfBagVotes:
        """Let voter t, which was trained on rows drawn ``draws[t]`` times each, vote on the others."""
        tally = np.zeros((len(rows.labels), committee.n_classes))
        voting = np.zeros(len(rows.labels))
        for t, counts in enumerate(draws):
            out = counts == 0
            tally[out] += committee.voters[t].tally(rows.dense[out])
            voting += out
        return cls(tally, voting)


def out_of_bag(votes: OutOfBagVotes, rows: Rows, sample_weight: ArrayLike | None) -> dict[str, Any]:
    """Judge rows by the votes out of bag; the results by attribute, NaN for rows of zero `sample_weight`."""
    tally, voting = votes.tally, votes.voting
    judged = voting > 0
    if (~judged).mean() > 0.01:
        warnings.warn(
            f"{(~judged).sum()} rows were left out of no draw and have no out-of-bag vote; "
            "more estimators or a smaller max_samples would give them one, "
            "but to a row that is alone in its class, which is in every draw.",
            stacklevel=5,
        )
    share = np.divide(tally, voting[:, None], out=np.full_like(tally, np.nan), where=judged[:, None])
    rivals = share.copy()
    each = np.arange(len(share))
    rivals[each, rows.labels] = -np.inf
    margins = share[each, rows.labels] - rivals.max(axis=1)
    right = elected(share[judged]) == rows.labels[judged]
    return {
        "oob_score_": float(np.average(right, weights=rows.weights[judged])) if judged.any() else float("nan"),
        "oob_margins_": among_all(margins, sample_weight),
        "oob_decision_function_": among_all(share, sample_weight),
    }


def among_all(values: NDArray[np.float64], sample_weight: ArrayLike | None) -> NDArray[np.float64]:
    """Put values of the rows that count back among all rows; NaN for rows of zero weight."""
    counted = have_weight(sample_weight, len(values))
    spread = np.full((len(counted), *values.shape[1:]), np.nan)
    spread[counted] = values
    return spread
