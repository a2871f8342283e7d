"""The different rows of a training set - rows of one class that look the same are one - and a pool over them."""

from __future__ import annotations

from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from committee.data.binning import Binned
from committee.data.number_types import F64
from committee.data.rows import Rows
from committee.learners.pools.classifier_pool import ClassifierPool
from committee.learners.pools.pool import Pool


class DistinctRows:
    """The different rows of a training set, each with the sum of the weights of those that look like it.

    No voter tells rows apart that look the same. So a program over these rows is the same, to the bit, for a row of
    weight k and k rows, and in whatever order rows come.

    Parameters
    ----------
    seen : array (n, p)
        Rows as voters see them: in bins, or as numbers.
    rows : Rows
        Their labels and weights.

    Attributes
    ----------
    first : intp array (m,)
        The first of the rows that are like each.
    labels : uint16 array (m,)
        Class numbers.
    weights : float64 array (m,)
        Row weights.
    """

    def __init__(self, seen: NDArray[Any], rows: Rows) -> None:
        if seen.dtype.kind == "f":
            seen = seen + 0.0  # one zero and not two
        labels = np.ascontiguousarray(rows.labels)[:, None]
        bytes_of_row = np.hstack([np.ascontiguousarray(seen).view(np.uint8), labels.view(np.uint8)])
        alike = np.ascontiguousarray(bytes_of_row).view(np.dtype((np.void, bytes_of_row.shape[1])))[:, 0]
        _, self.first, self._place = np.unique(alike, return_index=True, return_inverse=True)
        self.labels: NDArray[np.uint16] = rows.labels[self.first]
        self.weights: F64 = np.bincount(self._place, rows.weights).astype(np.float64)
        self._share = rows.weights / self.weights[self._place]

    @classmethod
    def in_bins(cls, binned: Binned, rows: Rows) -> tuple[Self, Binned]:
        """Return the different rows of a binned table, and the table of these."""
        made = cls(binned.dense, rows)
        codes: Any = np.ascontiguousarray(binned.dense[made.first])
        return made, Binned(binned.bins, codes)

    def shared_out(self, u: F64) -> F64:
        """Weights of the different rows shared out to all rows, ``(n,)``."""
        return np.asarray(u[self._place] * self._share)


DistinctPool: TypeAlias = tuple[Pool, DistinctRows]


def classifiers_on(rows: Rows, voter: BaseEstimator, seed: int) -> DistinctPool:
    """Clones of a user's classifier; rows of the same numbers are one row."""
    distinct = DistinctRows(rows.dense, rows)
    X = np.ascontiguousarray(rows.dense[distinct.first])
    return ClassifierPool(voter, X, seed, _mean_of_one, labels=np.int8), distinct  # files hold the labels' type


def _mean_of_one(weights: F64) -> F64:
    return weights * len(weights)
