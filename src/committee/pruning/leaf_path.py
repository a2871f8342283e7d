"""From many nodes to few: cuts of one forest, and how each does on rows that had no part in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from committee.links import Logistic
from committee.pruning.leaf_cut import LeafCut, Rows
from committee.voters.forest import Forest

if TYPE_CHECKING:
    import polars as pl

F64 = NDArray[np.float64]
Index = NDArray[np.intp]
Mask = NDArray[np.bool_]

CHOOSING = 1e-3
"""Tolerance of the votes that only choose; ten times less moves them by a thousandth."""

LINK = Logistic(scale=1.0)
"""Refitted scores are log-odds."""


@dataclass(frozen=True, eq=False)
class LeafStep:
    """A cut on the path, and what it does.

    Parameters
    ----------
    cut : LeafCut
        Which trees, and which of their nodes.
    growth : float
        How many times too large the trees were before.
    C : float
        Of the leaves' new votes.
    log_loss, accuracy : float
        Of rows of other folds, each judged by the trees that have not seen it; those that the smallest cut with the
        same limit cannot judge are left out.
    """

    cut: LeafCut
    growth: float
    C: float
    log_loss: float
    accuracy: float


@dataclass(frozen=True, eq=False)
class LeafPath:
    """Cuts of falling size.

    Parameters
    ----------
    steps : tuple of LeafStep
        The best at each limit of nodes, the largest limit first.
    """

    steps: tuple[LeafStep, ...]

    def chosen(self, min_gain: float | None) -> int:
        """The smallest that is less than `min_gain` of accuracy below the best; None: the first."""
        if min_gain is None:
            return 0
        best = max(step.accuracy for step in self.steps)
        return max(i for i, step in enumerate(self.steps) if best - step.accuracy < min_gain or i == 0)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.table()})"

    def table(self) -> pl.DataFrame:
        """The path as a table, a row for each limit of nodes."""
        import polars as pl

        columns: dict[str, Any] = {
            "n_nodes": [step.cut.n_nodes for step in self.steps],
            "n_trees": [step.cut.n_trees for step in self.steps],
        }
        for name in ("growth", "C", "log_loss", "accuracy"):
            columns[name] = [getattr(step, name) for step in self.steps]
        return pl.DataFrame(columns)


def leaf_path(
    forest: Forest,
    weights: F64,
    rows: Rows,
    limits: tuple[int, ...],
    growth: tuple[float, ...],
    C: tuple[float, ...],
    folds: Sequence[tuple[Index, Index]],
    n_threads: int = 1,
) -> LeafPath:
    """For each limit of nodes the cut whose refitted votes have the least log loss on other folds.

    Cuts are up to the forest alone, so that only votes are fitted in each fold. On rows that a tree has not seen, held
    out of the refit too, the loss flatters neither. Along C the loss falls and rises again: from the middle C on, its
    neighbours are tried for as long as they are better.

    Parameters
    ----------
    forest : Forest
        T trees, in the order in which they are taken.
    weights : float64 array (T,)
        Their weights.
    rows : Rows
        The rows that choose and refit.
    limits : tuple of int
        Nodes that may stay.
    growth, C : tuples of float
        What to try, C rising; see `LeafCut.of` and `refit_leaves`.
    folds : sequence of (train, test)
        Numbers of rows; those that no fold tests judge nothing, and those that several test count once for each.
    n_threads : int, default=1
        Folds that are fitted at a time; the result does not depend on it.
    """
    tested = np.concatenate([test for _, test in folds])
    weight = np.ones(len(tested)) if rows.weight is None else rows.weight[tested]
    steps = []
    with ThreadPoolExecutor(n_threads) as pool:

        def judged(cut: LeafCut, each: float, c: float) -> LeafStep:
            probability = np.concatenate(list(pool.map(lambda fold: _held_out(cut, rows, fold, c), folds)))
            share = probability[np.arange(len(tested)), rows.y[tested]]
            loss = -np.log(np.maximum(share, np.finfo(float).tiny))
            right = probability.argmax(axis=1) == rows.y[tested]
            return LeafStep(cut, each, c, _mean(loss[judging], weight[judging]), _mean(right[judging], weight[judging]))

        for limit in limits:
            cuts = {(cut := LeafCut.of(forest, weights, limit, each)).n_trees: (cut, each) for each in reversed(growth)}
            judging = _judging(rows, min(cuts))[tested]
            tried = [_walk([partial(judged, *cut, c) for c in C]) for _, cut in sorted(cuts.items())]
            steps.append(min(tried, key=lambda step: step.log_loss))
    return LeafPath(tuple(steps))


def _judging(rows: Rows, n_trees: int) -> Mask:
    """Rows that at least one of the first trees may be asked about; of others a small committee knows nothing."""
    if rows.asked is None:
        return np.ones(len(rows), dtype=bool)
    some: Mask = np.asarray(rows.asked[:, :n_trees].any(axis=1))
    return some if some.any() else ~some


def _mean(values: NDArray[Any], weight: F64) -> float:
    return float(np.average(values, weights=weight))


def _walk(ways: list[Callable[[], LeafStep]]) -> LeafStep:
    """The lowest loss that steps from the middle lead to."""
    at = len(ways) // 2
    best = ways[at]()
    for direction in (1, -1):
        start = at
        while 0 <= at + direction < len(ways):
            step = ways[at + direction]()
            if step.log_loss >= best.log_loss:
                break
            at, best = at + direction, step
        if at != start:
            break
    return best


def _held_out(cut: LeafCut, rows: Rows, fold: tuple[Index, Index], C: float) -> F64:
    """Class probabilities of a fold's rows, by the votes that the others give."""
    train, test = fold
    value = cut.refit(rows.select(train), C, CHOOSING)
    return LINK.probability(cut.design(rows.select(test)).score(value))
