"""Stumps as a pool: all of a dictionary, and all subsets of categories, from one pass over the table."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.binning import Binned, Codes, column_codes
from committee.data.number_types import F64, I8
from committee.data.sparse import Matrix
from committee.learners.pools.pool import Candidate, Pool
from committee.objectives.programs.coordinate_steps import TIE, first_largest
from committee.objectives.programs.penalty import Penalty
from committee.voters.forest import Forest
from committee.voters.stump_dictionary import StumpDictionary, Stumps


class StumpPool(Pool):
    """All stumps of a dictionary and their complements, from sums of the signed row weights per cell.

    A listed stump goes by its number, with its sign where complements are candidates of their own; a subset of
    categories, which no list holds, by its column and votes. Votes that are `centred` are so by their weighted means,
    as the dictionary has them.
    """

    exhaustive = True

    def __init__(self, binned: Binned, dictionary: StumpDictionary, n_threads: int, *, centred: bool = False) -> None:
        self.codes: Codes = binned.codes
        self.bins = binned.bins
        self.dictionary: StumpDictionary = dictionary
        self.centred: bool = centred
        self.cells = _core.Cells(binned.codes, binned.bins.n_bins, n_threads)
        self.mean: F64 | F64 = dictionary.mean if centred else np.zeros(len(dictionary))
        self.eta: F64 = dictionary.mean_square - self.mean**2
        self._votes: dict[Hashable, I8] = {}

    # --- candidates --------------------------------------------------------------------------------------------

    def listed(self, j: int, c: float = 0.0) -> Candidate:
        """Stump j of the dictionary."""
        return Candidate(j, self._alone(j), c, float(self.eta[j]), float(self.mean[j]))

    def _alone(self, j: int) -> Stumps:
        every, one = self.dictionary.stumps, slice(j, j + 1)  # a view: a committee may take thousands of them
        return Stumps(every.feature[one], every.bin[one], every.missing[one])

    def best(self, s: F64, penalty: Penalty, alpha: Mapping[Hashable, float]) -> Candidate | None:
        """As `Pool.best`; no stump is missed."""
        sums = self.cells.sums(s)
        total = (
            float(s.sum()) if self.centred else 0.0
        )  # 0 but for rounding, as the residual of an intercept is centred
        now = np.zeros(len(self.dictionary))
        for key, weight in alpha.items():
            if isinstance(key, int):
                now[key] = weight
        if penalty.kernel is not None:
            mean, kernel = self.mean if self.centred else None, (penalty.kernel, penalty.strength)
            j, largest = self.dictionary.best_listed(sums, total, mean, self.eta, now, kernel, TIE)
        else:
            c = self.dictionary.correlations(sums) - self.mean * total
            j = first_largest(penalty.decrease(c, self.eta, now)[0])
            largest = float(c[j]) if j >= 0 else 0.0
        listed = None if j < 0 else self.listed(j, largest)
        subset = self._best_subset(sums, penalty, alpha) if self.dictionary.subsets else None
        if subset is None or listed is None:
            return subset or listed
        return max(listed, subset, key=lambda one: _decrease(one, penalty, alpha))  # listed ones are met first

    def _best_subset(self, sums: F64, penalty: Penalty, alpha: Mapping[Hashable, float]) -> Candidate | None:
        """Return the best subset of categories that is not listed."""
        c, subsets = self.dictionary.best_subset(sums)
        total = float(sums[: self.dictionary.offset[1]].sum())
        candidates = []
        for value, (column, by_bin) in zip(c.tolist(), subsets, strict=True):
            mean = self._mean(column, by_bin) if self.centred else 0.0
            candidates.append(self._subset(column, by_bin, value - mean * total, mean))
        at = first_largest(np.array([_decrease(one, penalty, alpha) for one in candidates]))
        return None if at < 0 else candidates[at]

    def _mean(self, column: int, by_bin: I8) -> float:
        cells = slice(int(self.dictionary.offset[column]), int(self.dictionary.offset[column + 1]))
        return float(by_bin @ self.dictionary.cell_weight[cells]) / self.dictionary.total

    def _subset(self, column: int, by_bin: I8, c: float, mean: float = 0.0) -> Candidate:
        left = (by_bin[:-1] < 0,)
        stump = Stumps(np.array([column], np.int32), np.array([-1], np.int32), by_bin[-1:], left)
        return Candidate((column, by_bin.tobytes()), stump, c, 1.0 - mean * mean, mean)

    def largest(
        self, s: F64, centre: F64, least: float, most: int, known: set[Hashable]
    ) -> tuple[float, list[Candidate]]:
        """As `Pool.largest`; no stump and no complement is missed."""
        sums = self.cells.sums(s)
        c = self.dictionary.correlations(sums)
        value, subsets = self.dictionary.best_subset(sums)
        sizes = np.abs(np.concatenate([c, value]))
        candidates: list[Candidate] = []
        for j in np.argsort(-sizes, kind="stable").tolist():
            if sizes[j] <= least or len(candidates) == most:
                break
            if j >= len(c):  # the best subsets have their signs already
                column, by_bin = subsets[j - len(c)]
                one = self._subset(column, by_bin, float(sizes[j]))
            else:
                sign = -1 if c[j] < 0.0 else 1
                one = Candidate((j, sign), self._alone(j), float(sizes[j]), sign=sign)
            if one.key not in known:
                candidates.append(one)
        return float(sizes.max()), candidates

    def stand_in(self, row_weights: F64) -> Candidate:
        """As `Pool.stand_in`: the first that is listed, or else any subset."""
        if len(self.dictionary):
            return self.listed(0)
        column, by_bin = self.dictionary.best_subset(np.arange(float(self.dictionary.offset[-1])) % 2 - 0.5)[1][0]
        return self._subset(column, by_bin, 0.0)

    # --- votes -------------------------------------------------------------------------------------------------

    def votes(self, candidate: Candidate) -> I8:
        """As `Pool.votes`."""
        if candidate.key not in self._votes:
            self._votes[candidate.key] = self.votes_on(self.codes, candidate)
        return self._votes[candidate.key]

    def forget(self, candidate: Candidate) -> None:
        """As `Pool.forget`; stumps can be asked again."""
        self._votes.pop(candidate.key, None)

    def read(self, X: Matrix) -> Codes:
        """As `Pool.read`: in bins."""
        return self.bins.encode(X)

    def votes_on(self, rows: Any, candidate: Candidate) -> I8:
        """As `Pool.votes_on`."""
        column, by_bin = self._by_bin(candidate)
        votes: I8 = by_bin[column_codes(rows, column)]
        return votes

    def _by_bin(self, candidate: Candidate) -> tuple[int, I8]:
        """Column of a voter, and its votes by bin."""
        stump: Stumps = candidate.voter
        column = int(stump.feature[0])
        by_bin = next(stump.by_bin(self.bins))
        return column, by_bin if candidate.sign > 0 else -by_bin

    def subtract(self, residual: F64, candidate: Candidate, step: float) -> None:
        """As `Pool.subtract`, without a vote for each row: what a cell gets is the same for all its rows."""
        column, by_bin = self._by_bin(candidate)
        self.cells.shift(residual, column, -step * (by_bin.astype(np.float64) - candidate.mean))

    def voters(self, candidates: Sequence[Candidate], output: NDArray[np.intp] | None, n_classes: int) -> Forest:
        """As `Pool.voters`."""
        stumps = Stumps.joined([one.voter for one in candidates])
        flip = np.array([one.sign < 0 for one in candidates])
        return self.dictionary.to_forest(stumps, n_classes=n_classes, output=output, flip=flip)


def _decrease(one: Candidate, penalty: Penalty, alpha: Mapping[Hashable, float]) -> float:
    now = alpha.get(one.key, 0.0)
    return float(penalty.decrease(np.array([one.c]), np.array([one.eta]), np.array([now]))[0][0])
