"""Dictionaries of voters by the names that users give, and the bins that stumps and trees need."""

from __future__ import annotations

from typing import Literal

import numpy as np

from committee.data.binning import Binned, Bins
from committee.data.frames import TableSchema
from committee.data.rows import Rows, TargetRows
from committee.voters.stump_dictionary import StumpDictionary


def stumps_binned(
    rows: Rows | TargetRows,
    table: TableSchema,
    dictionary: Literal["stumps", "all_stumps"],
    n_thresholds: int,
    thresholds: Literal["quantile", "even"],
    max_bins: int,
    n_threads: int,
) -> tuple[Binned, StumpDictionary]:
    """Return the training rows in bins, and the stumps between these.

    "stumps": at most `n_thresholds` a column, and as many categories against all others. "all_stumps": a threshold
    between any two bins, of which a column has at most `max_bins`, and any subset of categories.

    Raises
    ------
    ValueError
        If no stump parts the rows.
    """
    if dictionary == "all_stumps":
        binned = rows.binned(table, max_bins, n_threads)
        found = StumpDictionary.of(binned, rows.weights, subsets=True, n_threads=n_threads)
    else:
        weights = None if rows.uniform else rows.weights
        if thresholds == "even":
            bins = Bins.even(rows.X, table.n_categories, n_thresholds)
        else:
            bins = Bins.learn(rows.X, weights, table.n_categories, n_thresholds + 1, n_threads)
        binned = Binned(bins, bins.encode(rows.X, n_threads))
        found = StumpDictionary.of(binned, rows.weights, most_categories=n_thresholds, n_threads=n_threads)
    splits_categories = found.subsets and any(
        np.count_nonzero(found.cell_count[found.offset[j] : found.offset[j + 1]]) > 1
        for j in np.flatnonzero(binned.bins.categorical).tolist()
    )
    if not len(found) and not splits_categories:
        raise _empty(dictionary)
    return binned, found


def trees_binned(rows: Rows | TargetRows, table: TableSchema, max_bins: int, n_threads: int) -> Binned:
    """Return the training rows in the bins that trees are grown on.

    Raises
    ------
    ValueError
        If no split parts the rows.
    """
    binned = rows.binned(table, max_bins, n_threads)
    if np.array_equal(binned.codes.min(axis=0), binned.codes.max(axis=0)):
        raise _empty("trees")
    return binned


def _empty(dictionary: str) -> ValueError:
    return ValueError(
        f"dictionary={dictionary!r} is empty: every column of X is constant, so nothing parts the rows. Give columns "
        "that vary."
    )
