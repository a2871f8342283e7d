"""Draws of rows, and the vote of those who did not see a row."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.vote.scores import elected

if TYPE_CHECKING:
    from committee.data.rows import Rows


def draw(
    labels: NDArray[np.uint16],
    n_classes: int,
    max_samples: float | int,
    bootstrap: bool,
    random: np.random.RandomState,
) -> NDArray[np.int64]:
    """How often each row is drawn, ``(n,)``; every class at least once.

    Parameters
    ----------
    labels : uint16 array (n,)
        Class numbers.
    n_classes : int
        Number of classes, all of which `labels` holds.
    max_samples : float or int
        Size of the draw: a share of the rows, or their number.
    bootstrap : bool
        With replacement.
    random : RandomState
        Draws.

    Raises
    ------
    ValueError
        If `max_samples` is a number larger than the rows there are, or smaller than the number of classes.
    """
    n = len(labels)
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
    size = max(size, n_classes)
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


def packed_draws(draws: list[NDArray[np.int64]], sample_weight: ArrayLike | None) -> NDArray[np.uint8]:
    """Which rows were drawn, one bit a row, ``(M, ceil(n / 8))`` as `numpy.packbits` lays them.

    A fitted model keeps its draws for good, and a byte a row would outweigh many a model. Rows are numbered as
    the user gave them: those of zero weight have a bit, which is never set.
    """
    weights = np.ones(()) if sample_weight is None else np.asarray(sample_weight)
    if weights.all():
        return np.stack([np.packbits(counts > 0) for counts in draws])
    drawn = np.zeros((len(draws), len(weights)), dtype=bool)
    drawn[:, weights > 0] = np.stack(draws) > 0
    return np.packbits(drawn, axis=1)


def judge_out_of_bag(model: Any, rows: Rows, draws: list[NDArray[np.int64]], sample_weight: ArrayLike | None) -> None:
    """Set ``oob_score_``, ``oob_margins_``, ``oob_decision_function_``: rows judged by voters that did not see them.

    Parameters
    ----------
    model : classifier
        Fitted; voter t of its committee was trained on ``draws[t]``.
    rows : Rows
        The training rows.
    draws : list of int64 arrays (n,)
        How often each row was drawn.
    sample_weight : array-like or None
        As the user gave it: rows of zero weight get NaN.
    """
    tally = np.zeros((len(rows.labels), len(model.classes_)))
    asked = np.zeros(len(rows.labels))
    for t, counts in enumerate(draws):
        out = counts == 0
        tally[out] += model.committee_.voters[t].tally(rows.X[out])
        asked += out
    seen_by_all = asked == 0
    if seen_by_all.mean() > 0.01:
        warnings.warn(
            f"{seen_by_all.sum()} rows were left out of no draw and have no out-of-bag vote; "
            "more estimators or a smaller max_samples would give them one.",
            stacklevel=3,
        )
    share = np.divide(tally, asked[:, None], out=np.full_like(tally, np.nan), where=~seen_by_all[:, None])
    rivals = share.copy()
    each = np.arange(len(share))
    rivals[each, rows.labels] = -np.inf
    margins = share[each, rows.labels] - rivals.max(axis=1)
    judged = ~seen_by_all
    right = elected(share[judged]) == rows.labels[judged]
    model.oob_score_ = float(np.average(right, weights=rows.weights[judged])) if judged.any() else float("nan")
    model.oob_margins_ = among_all(margins, sample_weight)
    model.oob_decision_function_ = among_all(share, sample_weight)


def among_all(values: NDArray[np.float64], sample_weight: ArrayLike | None) -> NDArray[np.float64]:
    """Values of the rows that count, put back among all rows; NaN for rows of zero weight."""
    if sample_weight is None or np.all(np.asarray(sample_weight)):
        return values
    spread = np.full((len(np.asarray(sample_weight)), *values.shape[1:]), np.nan)
    spread[np.asarray(sample_weight) > 0] = values
    return spread
