"""Dictionaries of voters (stumps, trees) that learners choose by name, and the pool of stumps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import HasMethods, StrOptions

from committee import _core
from committee.data.bins import Binned, Bins, Codes, column_codes
from committee.data.matrices import Matrix
from committee.data.number_types import F64, I8
from committee.data.rows import Rows, TargetRows
from committee.data.table_schema import TableSchema
from committee.learners.base.fit_record import Codec, FitRecord, Parts
from committee.learners.base.parameters import parameter
from committee.learners.boosting.pool import Candidate, ClassifierPool, Pool, TreePool
from committee.objectives.programs.penalised_least_squares import TIE, Penalty, first_largest
from committee.voters.forest import Forest
from committee.voters.growing import GrowthLimits
from committee.voters.stump_dictionary import StumpDictionary, Stumps

Found: TypeAlias = tuple[float, list[Candidate]]


class StumpPool(Pool):
    """Stumps of a dictionary, searched by the sums of signed row weights in each cell."""

    exhaustive = True

    def __init__(self, binned: Binned, dictionary: StumpDictionary, n_threads: int, *, centred: bool = False) -> None:
        self.codes: Codes = binned.codes
        self.bins: Bins = binned.bins
        self.dictionary: StumpDictionary = dictionary
        self.centred: bool = centred
        self.cells = _core.Cells(binned.codes, binned.bins.n_bins, n_threads)
        self.mean: F64 = dictionary.mean if centred else np.zeros(len(dictionary))
        self.eta: F64 = dictionary.mean_square - self.mean**2
        self._votes: dict[Hashable, I8] = {}
        self._record: FitRecord | None = None

    def keep(self, record: FitRecord) -> None:
        self._record = record

    def _recorded(self, given: tuple[Any, ...], compute: Callable[[], Found], *, signed: bool) -> Found:
        if self._record is None:
            return compute()
        form = Codec(_parts, lambda *parts: self._restored(*parts, signed=signed))
        return self._record.result("stumps", given, compute, form)

    # --- searches ---------------------------------------------------------------------------------------------------

    def best(self, s: F64, penalty: Penalty, alpha: Mapping[Hashable, float]) -> Candidate | None:
        def compute() -> Found:
            found = self._best(s, penalty, alpha)
            return 0.0, [] if found is None else [found]

        given = (s, sorted(map(repr, alpha.items()))) if self._record else ()
        _, candidates = self._recorded(given, compute, signed=False)
        return candidates[0] if candidates else None

    def _best(self, s: F64, penalty: Penalty, alpha: Mapping[Hashable, float]) -> Candidate | None:
        sums = self.cells.sums(s)
        # 0 but for rounding, as the residual of an intercept is centred
        total = float(s.sum()) if self.centred else 0.0
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
        return max(listed, subset, key=lambda one: _decrease(one, penalty, alpha))  # of equal ones the listed stump

    def _best_subset(self, sums: F64, penalty: Penalty, alpha: Mapping[Hashable, float]) -> Candidate | None:
        c, subsets = self.dictionary.best_subset(sums)
        total = float(sums[: self.dictionary.offset[1]].sum())
        candidates = []
        for value, (column, by_bin) in zip(c.tolist(), subsets, strict=True):
            mean = 0.0
            if self.centred:
                cells = slice(int(self.dictionary.offset[column]), int(self.dictionary.offset[column + 1]))
                mean = float(by_bin @ self.dictionary.cell_weight[cells]) / self.dictionary.total
            candidates.append(self._subset(column, by_bin, value - mean * total, mean))
        at = first_largest(np.array([_decrease(one, penalty, alpha) for one in candidates]))
        return None if at < 0 else candidates[at]

    def largest(self, s: F64, centre: F64, least: float, most: int, known: set[Hashable]) -> Found:
        given = (s, least, most, sorted(map(repr, known))) if self._record else ()
        return self._recorded(given, lambda: self._largest(s, least, most, known), signed=True)

    def _largest(self, s: F64, least: float, most: int, known: set[Hashable]) -> Found:
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

    # --- candidates -------------------------------------------------------------------------------------------------

    def listed(self, j: int, c: float = 0.0) -> Candidate:
        return Candidate(j, self._alone(j), c, float(self.eta[j]), float(self.mean[j]))

    def _alone(self, j: int) -> Stumps:
        every, one = self.dictionary.stumps, slice(j, j + 1)  # a view: a committee may take thousands of them
        return Stumps(every.feature[one], every.bin[one], every.missing[one])

    def _subset(self, column: int, by_bin: I8, c: float, mean: float = 0.0) -> Candidate:
        left = (by_bin[:-1] < 0,)
        stump = Stumps(np.array([column], np.int32), np.array([-1], np.int32), by_bin[-1:], left)
        return Candidate((column, by_bin.tobytes()), stump, c, 1.0 - mean * mean, mean)

    def stand_in(self, row_weights: F64) -> Candidate:
        if len(self.dictionary):
            return self.listed(0)
        column, by_bin = self.dictionary.best_subset(np.arange(float(self.dictionary.offset[-1])) % 2 - 0.5)[1][0]
        return self._subset(column, by_bin, 0.0)

    def _restored(
        self, value: Any, number: Any, sign: Any, sizes: Any, extent: Any, by_bin: Any, *, signed: bool
    ) -> Found:
        candidates, first = [], 0
        for j, side, (c, mean), length in zip(
            number.tolist(), sign.tolist(), sizes.tolist(), extent.tolist(), strict=True
        ):
            if not -len(self.bins.n_bins) <= j < len(self.dictionary) or abs(side) != 1:
                raise ValueError("a stump is not in the dictionary")
            if j < 0:
                if length != self.bins.n_bins[-1 - j] + 1:
                    raise ValueError("a subset must have one vote for each bin and one for missing values")
                candidates.append(self._subset(-1 - j, by_bin[first : first + length], c, mean))
            elif signed:
                candidates.append(Candidate((j, side), self._alone(j), c, sign=side))
            else:
                candidates.append(self.listed(j, c))
            first += length
        return float(value), candidates

    # --- votes ------------------------------------------------------------------------------------------------------

    def votes(self, candidate: Candidate) -> I8:
        if candidate.key not in self._votes:
            self._votes[candidate.key] = self.votes_on(self.codes, candidate)
        return self._votes[candidate.key]

    def forget(self, candidate: Candidate) -> None:
        self._votes.pop(candidate.key, None)

    def read(self, X: Matrix) -> Codes:
        return self.bins.encode(X)

    def votes_on(self, rows: Any, candidate: Candidate) -> I8:
        column, by_bin = self._by_bin(candidate)
        votes: I8 = by_bin[column_codes(rows, column)]
        return votes

    def _by_bin(self, candidate: Candidate) -> tuple[int, I8]:
        stump: Stumps = candidate.voter
        by_bin = next(stump.bin_votes(self.bins))
        return int(stump.feature[0]), by_bin if candidate.sign > 0 else -by_bin

    def subtract(self, residual: F64, candidate: Candidate, step: float) -> None:
        column, by_bin = self._by_bin(candidate)  # all rows of a cell have the same change
        self.cells.shift(residual, column, -step * (by_bin.astype(np.float64) - candidate.mean))

    def voters(self, candidates: Sequence[Candidate], output: NDArray[np.intp] | None, n_classes: int) -> Forest:
        stumps = Stumps.concatenate([one.voter for one in candidates])
        flip = np.array([one.sign < 0 for one in candidates])
        return self.dictionary.to_forest(stumps, n_classes=n_classes, output=output, flip=flip)


def _decrease(one: Candidate, penalty: Penalty, alpha: Mapping[Hashable, float]) -> float:
    now = alpha.get(one.key, 0.0)
    return float(penalty.decrease(np.array([one.c]), np.array([one.eta]), np.array([now]))[0][0])


def _parts(found: Found) -> Parts:
    # numbers (-1 - column of a subset), signs, correlations and means, votes by bin of the candidates
    value, candidates = found
    number, by_bin = [], [np.empty(0, np.int8)]
    for one in candidates:
        first = one.key if isinstance(one.key, int) else one.key[0]  # type: ignore[index]
        subset = isinstance(one.key, tuple) and isinstance(one.key[1], bytes)
        number.append(-1 - first if subset else first)
        by_bin.append(np.frombuffer(one.key[1], np.int8) if subset else by_bin[0])  # type: ignore[index]
    return [
        np.array(value),
        np.array(number, dtype=np.int64),
        np.array([one.sign for one in candidates], dtype=np.int64),
        np.array([(one.c, one.mean) for one in candidates]).reshape(-1, 2),
        np.array([len(votes) for votes in by_bin[1:]], dtype=np.int64),
        np.concatenate(by_bin),
    ]


class Dictionary(ABC):
    """Voters of one kind, within the limits of the learner's parameters."""

    binned: Binned  # training rows in the bins that the voters need

    @abstractmethod
    def __init__(self, rows: Rows | TargetRows, table: TableSchema, learner: Any, n_threads: int) -> None: ...

    @abstractmethod
    def pool(self, binned: Binned, row_weights: F64 | None = None) -> Pool:
        """Return a pool over rows in these bins; given `row_weights`, votes are centred."""


class ListedStumps(Dictionary):
    def __init__(self, rows: Rows | TargetRows, table: TableSchema, learner: Any, n_threads: int) -> None:
        self.n_threads = n_threads
        self.binned, self.stumps = listed_stumps(rows, table, learner.n_thresholds, learner.thresholds, n_threads)

    def pool(self, binned: Binned, row_weights: F64 | None = None) -> StumpPool:
        return StumpPool(binned, self.stumps, self.n_threads, centred=row_weights is not None)


class AllStumps(ListedStumps):
    def __init__(self, rows: Rows | TargetRows, table: TableSchema, learner: Any, n_threads: int) -> None:
        self.n_threads = n_threads
        self.binned = rows.binned(table, learner.max_bins, n_threads)
        self.stumps = found = StumpDictionary.of(self.binned, rows.weights, subsets=True, n_threads=n_threads)
        splits_categories = any(
            np.count_nonzero(found.cell_count[found.offset[j] : found.offset[j + 1]]) > 1
            for j in np.flatnonzero(self.binned.bins.categorical).tolist()
        )
        if not len(found) and not splits_categories:
            raise _empty("all_stumps")


class GrownTrees(Dictionary):
    def __init__(self, rows: Rows | TargetRows, table: TableSchema, learner: Any, n_threads: int) -> None:
        self.n_threads: int = n_threads
        self.limits: GrowthLimits = GrowthLimits.of(learner)
        self.binned = rows.binned(table, learner.max_bins, n_threads)
        if np.array_equal(self.binned.dense.min(axis=0), self.binned.dense.max(axis=0)):
            raise _empty("trees")

    def pool(self, binned: Binned, row_weights: F64 | None = None) -> TreePool:
        return TreePool(binned, self.limits, self.n_threads, row_weights)


DICTIONARIES: dict[str, type[Dictionary]] = {"stumps": ListedStumps, "all_stumps": AllStumps, "trees": GrownTrees}


def dictionary_parameter(text: str, estimators: str = "classifier") -> Any:
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
        "No stump or tree parts the rows: every column of X is constant, or in one bin. Give columns that vary, or "
        f"raise {'n_thresholds' if name == 'stumps' else 'max_bins'}."
    )


class DistinctRows:
    """Distinct rows by cells and class, with summed weights: voters vote alike on equal rows."""

    def __init__(self, cells: NDArray[Any], rows: Rows) -> None:
        if cells.dtype.kind == "f":
            cells = cells + 0.0  # -0.0 becomes 0.0
        labels = np.ascontiguousarray(rows.labels)[:, None]
        bytes_of_row = np.hstack([np.ascontiguousarray(cells).view(np.uint8), labels.view(np.uint8)])
        keys = np.ascontiguousarray(bytes_of_row).view(np.dtype((np.void, bytes_of_row.shape[1])))[:, 0]
        # first copy (m,) of each distinct row, and distinct row of each row
        _, self.first, self._group = np.unique(keys, return_index=True, return_inverse=True)
        self.labels: NDArray[np.uint16] = rows.labels[self.first]
        self.weights: F64 = np.bincount(self._group, rows.weights).astype(np.float64)
        self._share = rows.weights / self.weights[self._group]

    @classmethod
    def in_bins(cls, binned: Binned, rows: Rows) -> tuple[Self, Binned]:
        distinct = cls(binned.dense, rows)
        codes: Any = np.ascontiguousarray(binned.dense[distinct.first])
        return distinct, Binned(binned.bins, codes)

    def shared_out(self, u: F64) -> F64:
        """Divide weights ``(m,)`` of the distinct rows among their copies, ``(n,)``."""
        return np.asarray(u[self._group] * self._share)


DistinctPool: TypeAlias = tuple[Pool, DistinctRows]


def classifiers_on(rows: Rows, voter: Any, seed: int) -> DistinctPool:
    distinct = DistinctRows(rows.dense, rows)
    X = np.ascontiguousarray(rows.dense[distinct.first])
    # model files store the type of the labels
    return ClassifierPool(voter, X, seed, lambda weights: weights * len(weights), labels=np.int8), distinct
