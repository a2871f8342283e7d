"""Dictionaries of voters by the names that users give: the bins that they need, and pools of their voters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Literal

import numpy as np
from sklearn.utils._param_validation import HasMethods, StrOptions

from committee.data.binning import Binned, Bins
from committee.data.frames import TableSchema
from committee.data.number_types import F64
from committee.data.rows import Rows, TargetRows
from committee.learners.base.parameters import parameter
from committee.learners.pools.pool import Pool
from committee.learners.pools.stump_pool import StumpPool
from committee.learners.pools.tree_pool import TreePool
from committee.voters.growing import GrowthLimits
from committee.voters.stump_dictionary import StumpDictionary


class Dictionary(ABC):
    """Voters of one kind for the rows of a fit.

    Parameters
    ----------
    rows : Rows or TargetRows
        The training rows.
    table : TableSchema
        Their columns.
    learner : estimator
        Its parameters say which voters of the kind there are.
    n_threads : int
        Ceiling on the number of threads.

    Attributes
    ----------
    binned : Binned
        The training rows in the bins that the voters need.

    Raises
    ------
    ValueError
        If no voter parts the rows.
    """

    binned: Binned

    @abstractmethod
    def __init__(self, rows: Rows | TargetRows, table: TableSchema, learner: Any, n_threads: int) -> None: ...

    @abstractmethod
    def pool(self, binned: Binned, row_weights: F64 | None = None) -> Pool:
        """Return a pool over rows in these bins; with `row_weights` votes are centred by their means under these."""


class ListedStumps(Dictionary):
    """Stumps: at most `n_thresholds` a column, and as many categories against all others."""

    def __init__(self, rows: Rows | TargetRows, table: TableSchema, learner: Any, n_threads: int) -> None:
        self.n_threads = n_threads
        self.binned, self.stumps = listed_stumps(rows, table, learner.n_thresholds, learner.thresholds, n_threads)

    def pool(self, binned: Binned, row_weights: F64 | None = None) -> StumpPool:
        """As `Dictionary.pool`, by the training rows' own weights."""
        return StumpPool(binned, self.stumps, self.n_threads, centred=row_weights is not None)


class AllStumps(ListedStumps):
    """Stumps between any two bins, of which a column has at most `max_bins`, and any subset of categories."""

    def __init__(self, rows: Rows | TargetRows, table: TableSchema, learner: Any, n_threads: int) -> None:
        self.n_threads: int = n_threads
        self.binned = rows.binned(table, learner.max_bins, n_threads)
        found = StumpDictionary.of(self.binned, rows.weights, subsets=True, n_threads=n_threads)
        splits_categories = any(
            np.count_nonzero(found.cell_count[found.offset[j] : found.offset[j + 1]]) > 1
            for j in np.flatnonzero(self.binned.bins.categorical).tolist()
        )
        if not len(found) and not splits_categories:
            raise _empty("all_stumps")
        self.stumps = found


class GrownTrees(Dictionary):
    """Trees within the limits of the learner, grown for each round's row weights."""

    def __init__(self, rows: Rows | TargetRows, table: TableSchema, learner: Any, n_threads: int) -> None:
        self.n_threads: int = n_threads
        self.limits: GrowthLimits = GrowthLimits.of(learner)
        self.binned = rows.binned(table, learner.max_bins, n_threads)
        if np.array_equal(self.binned.dense.min(axis=0), self.binned.dense.max(axis=0)):
            raise _empty("trees")

    def pool(self, binned: Binned, row_weights: F64 | None = None) -> TreePool:
        """As `Dictionary.pool`."""
        return TreePool(binned, self.limits, self.n_threads, row_weights)


DICTIONARIES: dict[str, type[Dictionary]] = {"stumps": ListedStumps, "all_stumps": AllStumps, "trees": GrownTrees}
"""Every dictionary under its name; a further one is one more class, in a file of its own, and one more entry."""


def dictionary_parameter(text: str, estimators: str = "classifier") -> Any:
    """Declare the parameter of a learner that chooses its voters; `estimators` says which it takes."""
    return parameter(
        "stumps",
        text,
        StrOptions(DICTIONARIES.keys()),
        HasMethods(["fit", "predict"]),
        type_words=f'{{"stumps", "all_stumps", "trees"}} or {estimators}',
    )


def listed_stumps(
    rows: Rows | TargetRows,
    table: TableSchema,
    n_thresholds: int,
    thresholds: Literal["quantile", "even"],
    n_threads: int,
) -> tuple[Binned, StumpDictionary]:
    """Return the training rows in bins, and the stumps of `ListedStumps` between these."""
    if thresholds == "even":
        bins = Bins.even(rows.cells, table.n_categories, n_thresholds)
    else:
        weights = None if rows.uniform else rows.weights
        bins = Bins.learn(rows.X, weights, table.n_categories, n_thresholds + 1, n_threads)
    binned = Binned(bins, bins.encode(rows.X, n_threads))
    found = StumpDictionary.of(binned, rows.weights, most_categories=n_thresholds, n_threads=n_threads)
    if not len(found):
        raise _empty("stumps")
    return binned, found


def _empty(name: str) -> ValueError:
    return ValueError(
        f"dictionary={name!r} is empty: every column of X is constant, so nothing parts the rows. Give columns that "
        "vary."
    )
