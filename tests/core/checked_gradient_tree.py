"""Gradient trees, and what is true of each: every split is the best there is, sums are exact, limits hold."""

from typing import Any

import hypothesis.strategies as st
import numpy as np
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from committee import _core
from committee.learners.gradient.leaf import LeafPenalty
from tests.oracles import grow as tree_growth
from tests.oracles.gradient_grow import GradientGrower as NaiveGrower
from tests.oracles.gradient_grow import Node
from tests.oracles.vote_graph import MASK, STRIDE, scramble

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


def goes_left(tree: Any, node: int, data: Any, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    j = int(tree.feature[node])
    code = data[0][rows, j].astype(np.int64)
    words = tree.category_bits[tree.category_offset[node] : tree.category_offset[node + 1]]
    missing = code == data[1][j]
    if len(words):
        safe = np.where(missing, 0, code)
        left = (words[safe // 32] >> (safe % 32).astype(np.uint32)) & 1 == 1
    else:
        left = code <= tree.bin[node]
    return np.where(missing, bool(tree.missing_left[node]), left)


def rows_of_nodes(tree: Any, data: Any, used: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    rows: list[Any] = [None] * len(tree.feature)
    rows[0] = used
    for node in range(len(tree.feature)):
        if tree.left[node] >= 0:
            left = goes_left(tree, node, data, rows[node])
            rows[tree.left[node]], rows[tree.left[node] + 1] = rows[node][left], rows[node][~left]
    return rows


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
    node_rows = rows_of_nodes(tree, data, np.arange(n) if rows is None else rows.astype(np.int64))
    penalty = LeafPenalty(settings["leaf_l0"], settings["leaf_l1"], settings["leaf_l2"], settings["l0_per_leaf"])

    def sums(some: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[Any]]:
        return naive._g[:, some].sum(axis=1), naive._h[:, some].sum(axis=1)

    depth = np.zeros(len(tree.feature), dtype=int)
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
        depth[left] = depth[right] = depth[i] + 1
        used[left] = used[right] = used[i] | {int(tree.feature[i])}
        path[left], path[right] = (scramble((path[i] + STRIDE * side) & MASK) for side in (1, 2))
        assert min(tree.count[left], tree.count[right]) >= settings["min_samples_leaf"]
        j, categorical = int(tree.feature[i]), bool(data[2][tree.feature[i]])
        mask, code = tree_growth.goes_left(tree, i, int(data[1][j]), categorical), data[0][some, j]
        unseen = np.bincount(code, minlength=len(mask)) == 0
        unseen[:-1] &= categorical
        assert (
            mask[unseen] == tree_growth.outweighs(mask & ~unseen, np.bincount(code, naive._w[some], len(mask)))
        ).all()
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
