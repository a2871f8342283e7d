"""A grown tree held against everything its nodes could have done."""

import numpy as np
import pytest
from numpy.typing import NDArray

from committee import _core
from tests.oracles import grow as oracle

ARRAYS = (
    "feature",
    "bin",
    "left",
    "missing_left",
    "category_offset",
    "category_bits",
    "gain",
    "count",
    "sums",
    "leaf_of_row",
)


def assert_same_tree(ours: _core.GrownTree, theirs: _core.GrownTree) -> None:
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name), err_msg=name)


class CheckedTree:
    """A grown tree beside the naive account of its nodes."""

    def __init__(self, tree: _core.GrownTree, table: oracle.Table, limits: oracle.Limits) -> None:
        self.tree, self.table, self.limits = tree, table, limits
        self.rows, self.depth = oracle.walk(tree, table)
        self.noise = 1e-9 * table.scale
        self.least = oracle.least_gain(table, limits)

    def may_split(self, i: int) -> bool:
        return not self.limits.max_depth or bool(self.depth[i] < self.limits.max_depth)

    def gains(self, i: int, any_tie: bool = False) -> NDArray[np.float64]:
        """The best gain each feature offers to node i."""
        p = self.table.codes.shape[1]
        return np.array([oracle.best_gain(self.table, self.rows[i], self.limits, j, any_tie) for j in range(p)])

    def assert_shape(self) -> None:
        """Dtypes, sizes, and that children are a pair after their parent."""
        n = len(self.tree.feature)
        for name in ("bin", "left", "missing_left", "gain", "count", "sums"):
            assert len(getattr(self.tree, name)) == n
        inner = np.flatnonzero(self.tree.feature >= 0)
        leaves = np.flatnonzero(self.tree.feature < 0)
        assert n == 2 * len(inner) + 1
        assert (self.tree.left[inner] > inner).all()
        both = np.concatenate([self.tree.left[inner], self.tree.left[inner] + 1])
        np.testing.assert_array_equal(np.sort(both), np.arange(1, n))
        for name in ("feature", "bin", "left"):
            assert (getattr(self.tree, name)[leaves] == -1).all()
        assert (self.tree.gain[leaves] == 0).all()
        words = np.zeros(n, dtype=np.int64)
        categorical = inner[self.table.categorical[self.tree.feature[inner]] != 0]
        words[categorical] = (self.table.n_bins[self.tree.feature[categorical]] + 31) // 32
        np.testing.assert_array_equal(np.diff(self.tree.category_offset), words)
        assert self.tree.category_offset[-1] == len(self.tree.category_bits)

    def assert_sums(self) -> None:
        everything = np.abs(self.table.statistics[self.table.rows]).sum(0)
        # a class that never occurs must sum to exactly nothing; several targets are in the units of the largest
        largest = (
            everything.max()
            if self.classes
            else np.r_[everything[0], np.full(len(everything) - 1, everything[1:].max())]
        )
        precision = 1e-13 * np.where(everything > 0, largest, 0)
        for i, rows in enumerate(self.rows):
            assert self.tree.count[i] == len(rows)
            assert (np.abs(self.tree.sums[i] - self.table.statistics[rows].sum(0)) <= precision).all()
        inner = np.flatnonzero(self.tree.feature >= 0)
        left = self.tree.left[inner]
        np.testing.assert_array_equal(self.tree.count[left] + self.tree.count[left + 1], self.tree.count[inner])
        apart = self.tree.sums[left] + self.tree.sums[left + 1] - self.tree.sums[inner]
        assert (np.abs(apart) <= precision).all()

    @property
    def classes(self) -> bool:
        return self.table.criterion != "squared_error"

    def assert_leaf_of_row(self) -> None:
        expected = np.full(len(self.table.codes), -1)
        for i in np.flatnonzero(self.tree.feature < 0):
            expected[self.rows[i]] = i
        np.testing.assert_array_equal(self.tree.leaf_of_row, expected)

    def gain_of_split(self, i: int) -> float:
        j = int(self.tree.feature[i])
        mask = oracle.goes_left(self.tree, i, int(self.table.n_bins[j]), bool(self.table.categorical[j]))
        return float(oracle.gains_of(self.table, self.rows[i], j, mask[None, :], self.limits)[0])

    def assert_split(self, i: int) -> None:
        """Admissible, of the gain it says, and better than nothing."""
        gain = self.gain_of_split(i)
        assert self.may_split(i)
        assert self.tree.gain[i] == pytest.approx(gain, abs=self.noise)
        assert gain > self.least - self.noise
        j, rows = int(self.tree.feature[i]), self.rows[i]
        counts = np.bincount(self.table.codes[rows, j], minlength=int(self.table.n_bins[j]) + 1)
        mask = oracle.goes_left(self.tree, i, int(self.table.n_bins[j]), bool(self.table.categorical[j]))
        if not self.table.categorical[j]:
            assert 0 <= self.tree.bin[i] < self.table.n_bins[j]
            seen = np.flatnonzero(counts[:-1])
            below, above = seen[seen <= self.tree.bin[i]], seen[seen > self.tree.bin[i]]
            # in the middle of the node's own empty gap; where all values are on the left there is none
            assert self.tree.bin[i] == (below[-1] + (above[0] - below[-1] - 1) // 2 if len(above) else below[-1])
            unseen = np.arange(len(counts)) == len(counts) - 1
        else:
            assert self.tree.bin[i] == -1
            unseen = np.ones(len(counts), dtype=bool)
        # cells the node never saw follow the child that weighs more
        unseen &= counts == 0
        weight = oracle.cell_sums(self.table, rows, j)[2]
        assert (mask[unseen] == oracle.outweighs(mask & ~unseen, weight)).all()

    def assert_best(self) -> None:
        """No candidate of a node beats its split, no leaf could have been split, leaves are not too many."""
        limited = self.limits.max_leaf_nodes > 0
        leaves = int((self.tree.feature < 0).sum())
        assert not limited or leaves <= self.limits.max_leaf_nodes
        offered = {}
        for i in range(len(self.rows)):
            low, high = self.gains(i).max(), self.gains(i, any_tie=True).max()
            if self.tree.feature[i] >= 0:
                self.assert_split(i)
                assert low - self.noise <= self.tree.gain[i] <= high + self.noise
                offered[i] = float(self.tree.gain[i])
                continue
            offered[i] = low if self.may_split(i) else -np.inf
            if not limited or leaves < self.limits.max_leaf_nodes:
                assert offered[i] <= self.least + self.noise
        if limited:
            self.assert_best_first(offered)

    def assert_best_first(self, offered: dict[int, float]) -> None:
        open_nodes = [0]
        while any(self.tree.feature[i] >= 0 for i in open_nodes):
            expanded = [i for i in open_nodes if self.tree.feature[i] >= 0]
            i = max(expanded, key=offered.__getitem__)
            assert offered[i] >= max(offered[k] for k in open_nodes) - self.noise
            open_nodes.remove(i)
            open_nodes += [int(self.tree.left[i]), int(self.tree.left[i]) + 1]

    def assert_right(self) -> None:
        self.assert_shape()
        self.assert_sums()
        self.assert_leaf_of_row()
        self.assert_best()
