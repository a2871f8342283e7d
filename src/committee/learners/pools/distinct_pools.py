"""Pools over the different rows of a training set, where rows of one class that look the same are one row."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from committee.data.binning import Binned
from committee.data.rows import Rows
from committee.learners.pools.classifier_pool import ClassifierPool
from committee.learners.pools.distinct_rows import DistinctRows
from committee.learners.pools.pool import Pool
from committee.learners.pools.stump_pool import StumpPool
from committee.learners.pools.tree_pool import TreePool
from committee.voters.growing import GrowthLimits
from committee.voters.stump_dictionary import StumpDictionary

F64 = NDArray[np.float64]
DistinctPool: TypeAlias = tuple[Pool, DistinctRows]


def stumps_on(rows: Rows, binned: Binned, dictionary: StumpDictionary, n_threads: int) -> DistinctPool:
    """Stumps of a dictionary; rows that are in the same bins are one row."""
    distinct, table = DistinctRows.in_bins(binned, rows)
    return StumpPool(table, dictionary, n_threads), distinct


def trees_on(rows: Rows, binned: Binned, limits: GrowthLimits, n_threads: int) -> DistinctPool:
    """Trees; rows that are in the same bins are one row."""
    distinct, table = DistinctRows.in_bins(binned, rows)
    return TreePool(table, limits, n_threads), distinct


def classifiers_on(rows: Rows, voter: BaseEstimator, seed: int) -> DistinctPool:
    """Clones of a user's classifier; rows of the same numbers are one row."""
    distinct = DistinctRows(rows.X, rows)
    X = np.ascontiguousarray(rows.X[distinct.first])
    return ClassifierPool(voter, X, seed, _mean_of_one, labels=np.int8), distinct  # files hold the labels' type


def _mean_of_one(weights: F64) -> F64:
    return weights * len(weights)
