"""Where LPBoost's voters come from: for weighted rows, those with the largest edges."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from committee import _core
from committee.data.binning import Binned
from committee.data.rows import Rows
from committee.learners.base.estimator import seeded
from committee.voters.estimators import EstimatorVoters
from committee.voters.forest import Forest
from committee.voters.growing import GrowthLimits, forest_of, grower, signed_votes
from committee.voters.protocol import Voters
from committee.voters.signed import SignedVoters
from committee.voters.stump_dictionary import StumpDictionary, Stumps

F64 = NDArray[np.float64]
I8 = NDArray[np.int8]

_NO_VOTES: I8 = np.empty(0, dtype=np.int8)


@dataclass(frozen=True, eq=False)
class Found:
    """A voter.

    Attributes
    ----------
    key : hashable
        Which one; the same key is the same voter.
    voter : object
        What its source makes a voter of.
    votes : int8 array (m,)
        What it says of the training rows.
    """

    key: Hashable
    voter: Any
    votes: I8

    def without_votes(self) -> Found:
        """The voter alone, as it is kept."""
        return replace(self, votes=_NO_VOTES)


class EdgeSource(ABC):
    """Finds voters for weighted rows, and makes a committee's voters of them.

    Rows of one class that look the same are one row with the sum of their weights: no voter tells them apart. So the
    program is the same, to the bit, for a row of weight k and k rows, and in whatever order rows come.

    Parameters
    ----------
    seen : array (n, p)
        Rows as voters see them.
    rows : Rows
        Their labels and weights.

    Attributes
    ----------
    labels : uint16 array (m,)
        Class numbers of the different rows.
    weights : float64 array (m,)
        Their weights.
    complete : bool
        No voter has a larger edge than `strongest` says.
    """

    complete: ClassVar[bool] = True

    def __init__(self, seen: NDArray[Any], rows: Rows) -> None:
        bytes_of_row = np.hstack([_bytes(seen), _bytes(rows.labels[:, None])])
        alike = np.ascontiguousarray(bytes_of_row).view(np.dtype((np.void, bytes_of_row.shape[1])))[:, 0]
        _, self._first, self._place = np.unique(alike, return_index=True, return_inverse=True)
        self.labels = rows.labels[self._first]
        self.weights: F64 = np.bincount(self._place, rows.weights).astype(np.float64)
        self._share = rows.weights / self.weights[self._place]

    def _different(self, binned: Binned) -> Binned:
        """The different rows of a binned table."""
        codes: Any = np.ascontiguousarray(binned.codes[self._first])
        return Binned(binned.bins, codes)

    def of_rows(self, u: F64) -> F64:
        """Weights of the different rows shared out to all rows, ``(n,)``."""
        return np.asarray(u[self._place] * self._share)

    @abstractmethod
    def strongest(
        self, u: F64, y: I8, centre: F64, least: float, most: int, known: set[Hashable]
    ) -> tuple[float, list[Found]]:
        """The largest edge of all voters, and the voters with the largest edges.

        Parameters
        ----------
        u : float64 array (m,)
            Row weights.
        y : int8 array (m,)
            Their classes, -1 or +1.
        centre : float64 array (m,)
            The mean of the row weights so far.
        least : float
            Only voters with an edge ``sum_i u_i y_i h(x_i)`` above this.
        most : int
            At most this many.
        known : set
            Keys of voters that are not wanted again.
        """

    @abstractmethod
    def plant(self, found: list[Found], output: NDArray[np.intp] | None, n_classes: int) -> Voters:
        """Voters of a committee.

        Parameters
        ----------
        found : list of T
        output : intp array (T,) or None
            The class that each tells from the rest, by a score of +1 or -1. None: they vote for one of two classes.
        n_classes : int
        """


class StumpEdges(EdgeSource):
    """All stumps of a dictionary and their complements, from one pass over the table.

    Parameters
    ----------
    rows : Rows
        The training rows.
    binned : Binned
        The same in bins.
    dictionary : StumpDictionary
        The stumps.
    n_threads : int
        Ceiling on the number of threads.
    """

    def __init__(self, rows: Rows, binned: Binned, dictionary: StumpDictionary, n_threads: int) -> None:
        super().__init__(binned.codes, rows)
        self.codes = self._different(binned).codes
        self.bins, self.dictionary = binned.bins, dictionary
        self.cells = _core.Cells(self.codes, self.bins.n_bins, n_threads)

    def strongest(
        self, u: F64, y: I8, centre: F64, least: float, most: int, known: set[Hashable]
    ) -> tuple[float, list[Found]]:
        """As `EdgeSource.strongest`; no voter is missed."""
        sums = self.cells.sums(u * y)
        c = self.dictionary.correlations(sums)
        value, subsets = self.dictionary.best_subset(sums)
        edges = np.abs(np.concatenate([c, value]))
        found: list[Found] = []
        for j in np.argsort(-edges, kind="stable").tolist():
            if edges[j] <= least or len(found) == most:
                break
            listed = j < len(c)
            flip = bool(listed and c[j] < 0.0)  # the best subsets have their signs already
            column, by_bin = (0, _NO_VOTES) if listed else subsets[j - len(c)]
            key = (j, flip) if listed else (column, by_bin.tobytes())
            if key in known:
                continue
            if listed:
                stump = self.dictionary.some([j])
            else:
                left = (by_bin[:-1] < 0,)
                stump = Stumps(np.array([column], np.int32), np.array([-1], np.int32), by_bin[-1:], left)
            votes = stump.votes(self.codes, self.bins)[:, 0]
            found.append(Found(key, (stump, flip), -votes if flip else votes))
        return float(edges.max()), found

    def plant(self, found: list[Found], output: NDArray[np.intp] | None, n_classes: int) -> Forest:
        """As `EdgeSource.plant`."""
        joined = Stumps.joined([one.voter[0] for one in found])
        flip = np.array([one.voter[1] for one in found])
        return self.dictionary.to_forest(joined, n_classes=n_classes, output=output, flip=flip)


class TrainedEdges(EdgeSource):
    """Voters that are trained on the weighted rows: one at a time, with a large edge that need not be the largest.

    The row weights of a program of few voters are on few rows, often of one class, from which there is little to
    learn. So a voter is first trained half-way to the mean of all row weights so far, and if that one has no edge under
    the row weights, then on these themselves, and at last on the mean.
    """

    complete = False

    def __init__(self, seen: NDArray[Any], rows: Rows) -> None:
        super().__init__(seen, rows)
        self._n_trained = 0

    def strongest(
        self, u: F64, y: I8, centre: F64, least: float, most: int, known: set[Hashable]
    ) -> tuple[float, list[Found]]:
        """As `EdgeSource.strongest`, of one voter."""
        largest = -np.inf
        for weights in (0.5 * (u + centre), u, centre):
            if len(set(y[weights > 0.0].tolist())) < 2:
                continue  # all the weight is on one class: there is nothing to learn
            voter, votes = self._train(weights, y)
            self._n_trained += 1
            edge = float((u * y) @ votes)
            largest = max(largest, edge)
            if edge > least:
                return edge, [Found(self._n_trained, voter, votes)]
        return largest, []

    @abstractmethod
    def _train(self, weights: F64, y: I8) -> tuple[Any, I8]:
        """A voter, and its votes on the different rows."""


class TreeEdges(TrainedEdges):
    """A tree grown on the weighted rows.

    Parameters
    ----------
    rows, binned, n_threads
        As for `StumpEdges`.
    limits : GrowthLimits
        When trees stop growing.
    """

    def __init__(self, rows: Rows, binned: Binned, limits: GrowthLimits, n_threads: int) -> None:
        super().__init__(binned.codes, rows)
        self.bins = binned.bins
        self.grower = grower(self._different(binned), "gini", 2, limits, n_threads)

    def _train(self, weights: F64, y: I8) -> tuple[Any, I8]:
        tree = self.grower.grow_classes((y > 0).astype(np.uint16), weights, None, 0)
        label, votes = signed_votes(tree)
        return (tree, label), votes

    def plant(self, found: list[Found], output: NDArray[np.intp] | None, n_classes: int) -> Forest:
        """As `EdgeSource.plant`."""
        trees, labels = [one.voter[0] for one in found], [one.voter[1] for one in found]
        if output is None:
            return forest_of(trees, self.bins, 2, label=labels)
        classes = np.arange(n_classes)
        value = [
            np.where(label < 0, 0.0, 2.0 * label - 1.0)[:, None] * (classes == k)
            for label, k in zip(labels, output.tolist(), strict=True)
        ]
        return forest_of(trees, self.bins, n_classes, value=value)


class ClassifierEdges(TrainedEdges):
    """A user's classifier trained on the weighted rows.

    Parameters
    ----------
    voter : classifier
        To clone.
    rows : Rows
        The training rows.
    seed : int
        Seeds the members.
    """

    def __init__(self, voter: BaseEstimator, rows: Rows, seed: int) -> None:
        super().__init__(rows.X, rows)
        self.voter, self.X = voter, np.ascontiguousarray(rows.X[self._first])
        self.random = np.random.RandomState(seed)

    def _train(self, weights: F64, y: I8) -> tuple[Any, I8]:
        member: Any = seeded(clone(self.voter), int(self.random.randint(2**31 - 1)))
        # a mean weight of one, as classifiers that are held back by a penalty expect it
        member.fit(self.X, y, sample_weight=weights * len(y))
        return member, np.where(member.predict(self.X) > 0, 1, -1).astype(np.int8)

    def plant(self, found: list[Found], output: NDArray[np.intp] | None, n_classes: int) -> Voters:
        """As `EdgeSource.plant`."""
        voters = EstimatorVoters([one.voter for one in found], np.array([-1, 1]))
        return voters if output is None else SignedVoters(voters, output, n_classes)


def _bytes(array: NDArray[Any]) -> NDArray[np.uint8]:
    """The bytes of each row, with one zero and not two."""
    whole = array + 0.0 if array.dtype.kind == "f" else array
    return np.ascontiguousarray(whole).view(np.uint8).reshape(len(array), -1)
