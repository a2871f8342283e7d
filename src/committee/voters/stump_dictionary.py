"""Dictionary of all stumps on the columns of a binned table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.bins import Binned, Bins, Codes, column_codes
from committee.data.categories import pack_category_bits
from committee.data.number_types import F64
from committee.voters.flat_trees import extents
from committee.voters.forest import Forest

MAX_MEAN_STUMPS = 16
"""Mean number of stumps per column up to which counting rows is faster than pairs of cells."""

Index: TypeAlias = NDArray[np.integer] | Sequence[int]


@dataclass(frozen=True, eq=False)
class Stumps:
    """T stumps on one column each, which vote -1 on the left side and +1 on the right."""

    feature: NDArray[np.int32]  # (T,)
    bin: NDArray[np.int32]  # (T,): last bin on the left; for categories without `left`, the one category there
    missing: NDArray[np.int8]  # (T,): vote on missing values: -1, +1, or 0 (abstain)
    left: tuple[NDArray[np.bool_] | None, ...] | None = None  # categories on the left, for stumps on any subset

    def __len__(self) -> int:
        return len(self.feature)

    @classmethod
    def concatenate(cls, parts: Sequence[Stumps]) -> Stumps:
        left: list[NDArray[np.bool_] | None] = []
        for part in parts:
            left += [None] * len(part) if part.left is None else list(part.left)
        return cls(
            np.concatenate([part.feature for part in parts]),
            np.concatenate([part.bin for part in parts]),
            np.concatenate([part.missing for part in parts]),
            tuple(left),
        )

    def bin_votes(self, bins: Bins) -> Iterator[NDArray[np.int8]]:
        """Votes of each stump on the bins of its column, the missing bin last, ``(n_bins + 1,)`` each."""
        n_bins, categorical = bins.n_bins, bins.categorical
        for t, f in enumerate(self.feature.tolist()):
            is_left = None if self.left is None else self.left[t]
            if is_left is None:
                number = np.arange(n_bins[f])
                is_left = number == self.bin[t] if categorical[f] else number <= self.bin[t]
            yield np.append(np.where(is_left, -1, 1), self.missing[t]).astype(np.int8)

    def votes(self, codes: Codes, bins: Bins) -> NDArray[np.int8]:
        H = np.empty((len(codes), len(self)), dtype=np.int8, order="F")
        for t, (f, by_bin) in enumerate(zip(self.feature.tolist(), self.bin_votes(bins), strict=True)):
            H[:, t] = by_bin[column_codes(codes, f)]
        return H


class StumpDictionary:
    """N stumps on the columns of a binned table; sums over cells replace their vote matrix ``(n, N)``.

    Column j has the cells ``offset[j]:offset[j + 1]``, one per bin, the last one for missing values.
    """

    def __init__(
        self,
        bins: Bins,
        cell_weight: F64,
        cell_count: F64,
        *,
        most_categories: int | None = None,
        subsets: bool = False,
    ) -> None:
        self.bins: Bins = bins
        self.cell_weight: F64 = cell_weight
        self.cell_count: F64 = cell_count
        self.subsets: bool = subsets
        self.offset: NDArray[np.int64] = extents(bins.n_bins.astype(np.int64) + 1)
        complete = (bins.n_categories == 0) & (cell_count[self.offset[1:] - 1] == 0)
        parts = [
            self._of_complete_columns(np.flatnonzero(complete & (bins.n_bins == n)))
            for n in np.unique(bins.n_bins[complete]).tolist()
        ]
        parts += [self._of_column(j, most_categories) for j in np.flatnonzero(~complete).tolist()]
        feature, bin, missing = (np.concatenate(each) for each in zip(*parts, strict=True))
        by_column = np.argsort(feature, kind="stable")
        self.stumps: Stumps = Stumps(
            feature[by_column].astype(np.int32), bin[by_column].astype(np.int32), missing[by_column].astype(np.int8)
        )

    @classmethod
    def of(
        cls,
        binned: Binned,
        weights: F64,
        *,
        most_categories: int | None = None,
        subsets: bool = False,
        n_threads: int = 1,
    ) -> StumpDictionary:
        cells = _core.Cells(binned.codes, binned.bins.n_bins, n_threads)
        weight = cells.sums(weights)
        count = weight if (weights == 1.0).all() else cells.sums(np.ones(len(weights)))
        return cls(binned.bins, weight, count, most_categories=most_categories, subsets=subsets)

    def __len__(self) -> int:
        return len(self.stumps)

    def _of_complete_columns(self, columns: NDArray[np.intp]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        n_bins = int(self.bins.n_bins[columns[0]])
        cells = self.offset[columns, None] + np.arange(n_bins)
        weight = self.cell_weight[cells]
        seen = self.cell_count[cells] > 0
        which, cut = np.nonzero(seen & (np.cumsum(seen, axis=1) < np.count_nonzero(seen, axis=1)[:, None]))
        heavier_left = 2.0 * np.cumsum(weight, axis=1) > weight.sum(axis=1)[:, None]
        return columns[which], cut, np.where(heavier_left[which, cut], -1, 1)

    def _of_column(self, j: int, most_categories: int | None) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        first, n_bins = int(self.offset[j]), int(self.bins.n_bins[j])
        count = self.cell_count[first : first + n_bins]
        weight = self.cell_weight[first : first + n_bins]
        seen = np.flatnonzero(count > 0)
        has_missing = self.cell_count[first + n_bins] > 0
        categorical = bool(self.bins.categorical[j])
        if categorical and self.subsets:
            return (np.empty(0, dtype=np.intp),) * 3
        if categorical:
            # of two categories, each gives the complement of the other's stump
            cut = seen[: 1 if len(seen) == 2 else len(seen) if len(seen) > 2 else 0]
            heaviest = np.argsort(-weight[cut], kind="stable")[:most_categories]
            cut = np.sort(cut[heaviest])
        else:
            cut = seen[:-1]
        if has_missing:
            bin, missing = np.repeat(cut, 3), np.tile([0, -1, 1], len(cut))
            if len(seen):  # missing or not
                bin = np.append(bin, n_bins if categorical else n_bins - 1)
                missing = np.append(missing, -1 if categorical else 1)
        else:  # of categories; missing values follow the heavier side
            bin, missing = cut, np.where(2.0 * weight[cut] > weight.sum(), -1, 1)
        return np.full(len(bin), j), bin, missing

    @cached_property
    def _ends(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        stumps = self.stumps
        first = self.offset[:-1][stumps.feature]
        missing = self.offset[1:][stumps.feature] - 1
        single = self.bins.categorical[stumps.feature].astype(bool)
        low = np.where(single, first + stumps.bin, first)
        high = np.minimum(first + stumps.bin + 1, missing)
        return first, missing, np.minimum(low, missing), high

    @property
    def groups(self) -> NDArray[np.int64]:
        """Extents ``(p + 1,)``: column j has the stumps ``groups[j]:groups[j + 1]``."""
        return np.searchsorted(self.stumps.feature, np.arange(len(self.offset))).astype(np.int64)

    def correlations(self, sums: F64) -> F64:
        """sum_i v_i h_j(x_i) of all stumps, ``(..., N)``, from the sums of v over cells, ``(..., C)``."""
        first, missing, low, high = self._ends
        # sums over the cells of a side are differences of running sums
        running = np.zeros((*sums.shape[:-1], sums.shape[-1] + 1))
        np.cumsum(sums, axis=-1, out=running[..., 1:])
        left = running[..., high] - running[..., low]
        present = running[..., missing] - running[..., first]
        return np.ascontiguousarray(present - 2.0 * left + self.stumps.missing * sums[..., missing])

    @cached_property
    def mean(self) -> F64:
        return self.correlations(self.cell_weight) / self.total

    @cached_property
    def mean_square(self) -> F64:
        """Weighted mean of the squared votes, eta_j, ``(N,)``."""
        refused = np.where(self.stumps.missing == 0, self.cell_weight[self._ends[1]], 0.0)
        return np.asarray(1.0 - refused / self.total)

    @cached_property
    def total(self) -> float:
        return float(self.cell_weight[: self.offset[1]].sum())

    def gram(self, pairs: F64, mean: F64 | None = None, n_threads: int = 1) -> F64:
        """Products sum_i w_i h_j(x_i) h_k(x_i), ``(N, N)``, from weights of pairs of cells, centred by `mean`."""
        first, missing, low, high = self._ends
        return _core.stump_gram(pairs, first, missing, low, high, self.stumps.missing, mean, n_threads)

    def disagreements(self, cells: _core.Cells) -> NDArray[np.uint16] | NDArray[np.uint32] | None:
        """Number of rows on which two stumps differ, ``(N, N)``; None if pairs of cells serve instead."""
        many = len(self) > MAX_MEAN_STUMPS * len(self.bins.n_bins)
        if many or not self.stumps.missing.all() or cells.is_sparse:
            return None
        return cells.votes_apart(*self._ends, self.stumps.missing)

    def best_listed(
        self,
        sums: F64,
        total: float,
        mean: F64 | None,
        eta: F64,
        alpha: F64 | None,
        penalty: tuple[_core.Penalty, float],
        tie: float,
    ) -> tuple[int, float]:
        """Index (-1: none) and correlation of the stump with the largest decrease of a penalised risk."""
        ends, vote = self._ends, self.stumps.missing
        return _core.best_stump(sums, total, *ends, vote, mean, eta, alpha, *penalty, tie)

    def best_subset(self, sums: F64) -> tuple[F64, list[tuple[int, NDArray[np.int8]]]]:
        """Best subset of each categorical column, where each category votes with the sign of its sum.

        Return the correlations ``(S,)``, and each column with its votes by bin ``(n_bins + 1,)``.
        """
        found: list[tuple[int, NDArray[np.int8]]] = []
        value: list[float] = []
        for j in np.flatnonzero(self.bins.categorical).tolist() if self.subsets else ():
            cells = slice(int(self.offset[j]), int(self.offset[j + 1]))
            count, s = self.cell_count[cells], sums[cells]
            seen = np.flatnonzero(count > 0)
            if len(seen) < 2:
                continue
            votes = np.where(s > 0.0, 1, -1).astype(np.int8)
            if (votes[seen] == votes[seen[0]]).all():  # equal votes on all rows: reverse the category of least |sum|
                votes[seen[np.argmin(np.abs(s[seen]))]] *= -1
            if count[-1] == 0:  # no missing values: they go with the heavier side
                weight = self.cell_weight[cells]
                votes[-1] = 1 if 2.0 * weight[votes > 0].sum() > weight.sum() else -1
            found.append((j, votes))
            value.append(float(votes[seen] @ s[seen]))
        return np.array(value), found

    def max_correlation(self, sums: F64) -> float:
        listed = np.abs(self.correlations(sums)).max(initial=0.0)
        return float(max(listed, self.best_subset(sums)[0].max(initial=0.0)))

    def cell_scores(self, alpha: F64) -> F64:
        """Score sum_j alpha_j h_j of each cell by the stumps on its column, ``(C,)`` or ``(C, K)``."""
        first, missing, low, high = self._ends
        adds = np.zeros((int(self.offset[-1]) + 1, *alpha.shape[1:]))
        # each stump adds alpha to its present cells and takes 2 alpha from its left ones: written as steps, then summed
        for at, step in ((first, alpha), (missing, -alpha), (low, -2.0 * alpha), (high, 2.0 * alpha)):
            np.add.at(adds, at, step)
        adds = np.cumsum(adds, axis=0)[:-1]
        votes = self.stumps.missing.reshape(-1, *[1] * (alpha.ndim - 1)) * alpha
        adds[self.offset[1:] - 1] = 0.0
        np.add.at(adds, missing, votes)
        return adds

    def take(self, index: Index) -> Stumps:
        chosen = np.asarray(index, dtype=np.intp)
        stumps = self.stumps
        return Stumps(stumps.feature[chosen], stumps.bin[chosen], stumps.missing[chosen])

    def votes(self, codes: Codes, index: Index) -> NDArray[np.int8]:
        return self.take(index).votes(codes, self.bins)

    def weighted_forest(self, alpha: F64, *, labels: bool) -> tuple[Forest, F64]:
        """Stumps of weights `alpha` ``(K, N)``, heaviest first, as trees, and their absolute weights ``(T,)``."""
        output, voter = np.nonzero(alpha)
        if not len(voter):  # one voter of weight 0
            output, voter = np.zeros(1, dtype=np.intp), np.zeros(1, dtype=np.intp)
        weight = alpha[output, voter]
        order = np.argsort(-np.abs(weight), kind="stable")
        output, voter, weight = output[order], voter[order], weight[order]
        forest = self.to_forest(
            self.take(voter),
            n_classes=2 if labels else len(alpha),
            output=None if labels else output,
            flip=weight < 0.0,
        )
        return forest, np.abs(weight)

    def to_forest(
        self, stumps: Stumps, *, n_classes: int = 2, output: NDArray[np.intp] | None = None, flip: NDArray[np.bool_]
    ) -> Forest:
        """Convert stumps to trees of labels, or of scores in the columns `output` ``(T,)``; `flip` reverses votes."""
        bins, refuses = self.bins, stumps.missing == 0
        size = np.where(refuses, 5, 3)
        offset = extents(size)
        root, n_nodes = offset[:-1], int(offset[-1])
        # the split is the root, or its left child where the root sets missing values apart
        split, left, apart = root + refuses, root + np.where(refuses, 3, 1), root[refuses]
        feature, bin, child = np.full((3, n_nodes), -1, dtype=np.int32)
        feature[split], bin[split], child[split] = stumps.feature, stumps.bin, left - root
        feature[apart], bin[apart], child[apart] = stumps.feature[refuses], bins.n_bins[stumps.feature[refuses]] - 1, 1
        bin[(feature >= 0) & (bins.categorical[feature] > 0)] = -1
        missing_left, gain = np.zeros(n_nodes, dtype=np.uint8), np.zeros(n_nodes)
        missing_left[split] = stumps.missing == -1
        gain[split] = 1.0  # the root that sets missing values apart counts nothing: a voter's importance is its weight
        vote = np.zeros(n_nodes, dtype=np.int8)
        vote[left], vote[left + 1] = np.where(flip, 1, -1), np.where(flip, -1, 1)
        label = value = None
        if output is None:
            label = np.where(vote < 0, 0, np.where(vote > 0, 1, -1)).astype(np.int32)
        else:
            value = np.zeros((n_nodes, n_classes))
            value[np.arange(n_nodes), np.repeat(output, size)] = vote
        weight, count = np.zeros((2, n_nodes))
        words = [np.empty(0, dtype=np.uint32)] * n_nodes
        for t, by_bin in enumerate(stumps.bin_votes(bins)):
            f, at = int(stumps.feature[t]), int(split[t])
            cells = slice(int(self.offset[f]), int(self.offset[f + 1]))
            for record, of_cell in ((weight, self.cell_weight[cells]), (count, self.cell_count[cells])):
                record[left[t]], record[left[t] + 1] = of_cell[by_bin < 0].sum(), of_cell[by_bin > 0].sum()
                record[at] = record[left[t]] + record[left[t] + 1]
                if refuses[t]:
                    record[root[t]], record[root[t] + 2] = of_cell.sum(), of_cell[-1]
            if bins.categorical[f]:
                words[root[t]] = pack_category_bits(np.ones(len(by_bin) - 1, dtype=bool))  # all that is not missing
                words[at] = pack_category_bits(by_bin[:-1] < 0)
        return Forest(
            n_features=len(bins.n_categories),
            n_classes=n_classes,
            offset=offset,
            feature=feature,
            threshold=bins.threshold(feature, bin),
            left=child,
            missing_left=missing_left,
            category_offset=extents([len(w) for w in words]),
            category_bits=np.concatenate(words),
            label=label,
            value=value,
            gain=gain,
            weight=weight,
            count=np.rint(count).astype(np.int64),
        )
