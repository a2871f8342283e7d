"""A grown tree held against everything its nodes could have done."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from committee import _core
from committee.learners.gradient.leaf_values import LeafPenalty
from tests.oracles import grow as oracle
from tests.oracles.gradient_grow import GradientGrower as NaiveGrower
from tests.oracles.gradient_grow import Node
from tests.oracles.vote_graph import MASK, STRIDE, scramble

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
        assert_array_equal(getattr(ours, name), getattr(theirs, name), err_msg=name)


def assert_same_splits(tree: _core.GrownTree, i: int, nodes: list[oracle.Node], k: int, n_bins: Any) -> None:
    node = nodes[k]
    assert tree.feature[i] == node.feature
    if node.goes_left is None:
        return
    assert_array_equal(oracle.goes_left(tree, i, int(n_bins[node.feature]), categorical=False), node.goes_left)
    assert_same_splits(tree, int(tree.left[i]), nodes, node.left, n_bins)
    assert_same_splits(tree, int(tree.left[i]) + 1, nodes, node.left + 1, n_bins)


class CheckedTree:
    """A grown tree beside the naive account of its nodes."""

    def __init__(self, tree: _core.GrownTree, table: oracle.Table, limits: oracle.Limits) -> None:
        self.tree, self.table, self.limits = tree, table, limits
        self.rows, self.depth = oracle.walk(tree, table.codes, table.n_bins, table.categorical, table.rows)
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
        assert_array_equal(np.sort(both), np.arange(1, n))
        for name in ("feature", "bin", "left"):
            assert (getattr(self.tree, name)[leaves] == -1).all()
        assert (self.tree.gain[leaves] == 0).all()
        words = np.zeros(n, dtype=np.int64)
        categorical = inner[self.table.categorical[self.tree.feature[inner]] != 0]
        words[categorical] = (self.table.n_bins[self.tree.feature[categorical]] + 31) // 32
        assert_array_equal(np.diff(self.tree.category_offset), words)
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
        assert_array_equal(self.tree.count[left] + self.tree.count[left + 1], self.tree.count[inner])
        apart = self.tree.sums[left] + self.tree.sums[left + 1] - self.tree.sums[inner]
        assert (np.abs(apart) <= precision).all()

    @property
    def classes(self) -> bool:
        return self.table.criterion not in oracle.OF_TARGETS

    def assert_leaf_of_row(self) -> None:
        expected = np.full(len(self.table.codes), -1)
        for i in np.flatnonzero(self.tree.feature < 0):
            expected[self.rows[i]] = i
        assert_array_equal(self.tree.leaf_of_row, expected)

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
        assert not self.table.categorical[j] or not oracle.outweighs(~mask & ~unseen, weight)
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


DEFAULTS: dict[str, Any] = {
    "n_outputs": 1,
    "max_depth": 0,
    "max_leaf_nodes": 0,
    "min_samples_leaf": 1,
    "min_hessian_leaf": 0.0,
    "leaf_l0": 0.0,
    "leaf_l1": 0.0,
    "leaf_l2": 0.0,
    "l0_per_leaf": False,
    "min_gain": 0.0,
    "max_features": 0,
    "growth": "leaf",
    "monotone": None,
    "max_interaction": 0,
    "interaction_groups": [],
    "draw_thresholds": False,
    "n_threads": 1,
}
SEED = 7
CLOSE = 1e-3
"""By how much a gain may fall short: gradients are rounded to some 12 bits of the largest."""


def table(n: int, n_bins: list[int], categorical: list[int], seed: int, missing: float = 0.1) -> Any:
    rng = np.random.default_rng(seed)
    wide = max(n_bins) > 255
    columns = [np.where(rng.random(n) < missing, b, rng.integers(0, b, n)) for b in n_bins]
    codes = np.ascontiguousarray(np.column_stack(columns).astype(np.uint16 if wide else np.uint8))
    return codes, np.array(n_bins, np.int32), np.array(categorical, np.uint8)


def gradients(n: int, n_outputs: int, seed: int, heavy: bool = False) -> tuple[NDArray[Any], NDArray[Any]]:
    rng = np.random.default_rng(seed)
    shape = (n,) if n_outputs == 1 else (n_outputs, n)
    g = rng.standard_t(1, shape) ** 3 if heavy else rng.normal(size=shape)
    return g, rng.uniform(0.1, 1.0, shape)


def grown(
    data: Any,
    g: NDArray[Any],
    h: NDArray[Any],
    rows: Any = None,
    features: Any = None,
    weights: NDArray[Any] | None = None,
    **limits: Any,
) -> Any:
    grower = _core.GradientGrower(*data, **(DEFAULTS | limits))
    tree = grower.grow(g, h, rows, features, SEED, weights=weights)
    return tree, grower.leaf_of_row.copy()


def check_tree(
    tree: Any,
    data: Any,
    g: NDArray[Any],
    h: NDArray[Any],
    limits: dict[str, Any],
    rows: Any = None,
    weights: NDArray[Any] | None = None,
) -> None:
    """Every split is as good as the best that the naive search finds; leaves could not be split, or might not be.

    What a node has not seen follows the child that weighs more.
    """
    settings = DEFAULTS | limits
    naive = NaiveGrower(*data, **settings)
    n, D = len(data[0]), settings["n_outputs"]
    naive._g, naive._h, naive._features = g.reshape(D, n), h.reshape(D, n), np.arange(data[0].shape[1])
    naive._seed = SEED
    naive._w = np.ones(n) if weights is None else weights
    node_rows, depth = oracle.walk(tree, *data, np.arange(n) if rows is None else rows)
    penalty = LeafPenalty(settings["leaf_l0"], settings["leaf_l1"], settings["leaf_l2"], settings["l0_per_leaf"])

    def sums(some: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[Any]]:
        return naive._g[:, some].sum(axis=1), naive._h[:, some].sum(axis=1)

    used: list[frozenset[int]] = [frozenset()] * len(tree.feature)
    path = [0] * len(tree.feature)
    scale = max(1e-9, float(np.max(tree.gain, initial=0.0)))
    could_gain = np.zeros(len(tree.feature))
    for i, some in enumerate(node_rows):
        assert tree.count[i] == len(some)
        G, H = sums(some)
        assert_allclose(tree.sums[i], np.concatenate([G, H]), rtol=1e-9, atol=1e-9 * (1 + np.abs(g).max()))
        lower, upper = tree.bounds[i]
        expected = penalty.weight(*np.split(tree.sums[i], 2), lower, upper)
        assert_allclose(tree.value[i], expected, rtol=1e-9, atol=1e-12)
        best = Node(some, int(depth[i]), lower, upper, used=used[i], path=path[i])
        if not settings["max_depth"] or depth[i] < settings["max_depth"]:
            naive._find_split(best)
        could_gain[i] = max(best.gain, 0.0)
        if tree.left[i] < 0:
            continue
        left, right = int(tree.left[i]), int(tree.left[i]) + 1
        used[left] = used[right] = used[i] | {int(tree.feature[i])}
        path[left], path[right] = (scramble((path[i] + STRIDE * side) & MASK) for side in (1, 2))
        assert min(tree.count[left], tree.count[right]) >= settings["min_samples_leaf"]
        j, categorical = int(tree.feature[i]), bool(data[2][tree.feature[i]])
        mask, code = oracle.goes_left(tree, i, int(data[1][j]), categorical), data[0][some, j]
        unseen = np.bincount(code, minlength=len(mask)) == 0
        unseen[:-1] &= categorical
        assert (mask[unseen] == oracle.outweighs(mask & ~unseen, np.bincount(code, naive._w[some], len(mask)))).all()
        worth = [float(penalty.worth(*sums(node_rows[k]), lower, upper)) for k in (left, right, i)]
        gain = worth[0] + worth[1] - worth[2]
        assert gain >= could_gain[i] - CLOSE * (abs(worth[2]) + scale)
        assert_allclose(tree.gain[i], gain, rtol=CLOSE, atol=CLOSE * (abs(worth[2]) + scale))
    room = settings["max_leaf_nodes"] == 0 or (tree.left < 0).sum() < settings["max_leaf_nodes"]
    for i in np.flatnonzero(tree.left < 0):
        if room:
            assert could_gain[i] <= settings["min_gain"] + CLOSE * (1 + abs(scale))
        elif settings["growth"] == "leaf":
            later = (tree.left > i) & (tree.left >= 0)  # made when leaf i was already open
            assert (tree.gain[later] >= could_gain[i] - CLOSE * (1 + scale)).all()


limits_of_trees = st.fixed_dictionaries(
    {
        "max_leaf_nodes": st.sampled_from([0, 2, 5, 12]),
        "max_depth": st.sampled_from([0, 1, 3]),
        "min_samples_leaf": st.sampled_from([1, 4]),
        "min_hessian_leaf": st.sampled_from([0.0, 2.5]),
        "leaf_l0": st.sampled_from([0.0, 0.4]),
        "leaf_l1": st.sampled_from([0.0, 0.7]),
        "leaf_l2": st.sampled_from([0.0, 1.0]),
        "l0_per_leaf": st.booleans(),
        "growth": st.sampled_from(["leaf", "depth"]),
    }
)
