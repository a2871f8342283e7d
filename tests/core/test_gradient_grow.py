"""Gradient trees: every split is the best there is, sums are exact, limits hold, and threads change no bit."""

from __future__ import annotations

import math
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from numpy.testing import assert_allclose, assert_array_equal

from committee import _core
from tests.core.cases import check_vectors, each, refusals
from tests.core.checked_tree import DEFAULTS, SEED, check_tree, gradients, grown, limits_of_trees, table
from tests.oracles import grow as oracle


@given(
    n=st.integers(1, 120),
    n_bins=st.lists(st.sampled_from([1, 2, 3, 9, 30]), min_size=1, max_size=4),
    categories=st.booleans(),
    seed=st.integers(0, 10_000),
    n_outputs=st.sampled_from([1, 1, 3]),
    limits=limits_of_trees,
)
def test_every_split_is_the_best(n, n_bins, categories, seed, n_outputs, limits):
    data = table(n, n_bins, [int(categories and j % 2 == 1) for j in range(len(n_bins))], seed)
    g, h = gradients(n, n_outputs, seed)
    limits |= {"n_outputs": n_outputs}
    check_tree(grown(data, g, h, **limits)[0], data, g, h, limits)


@given(
    n=st.integers(2, 120),
    seed=st.integers(0, 10_000),
    n_outputs=st.sampled_from([1, 3]),
    drawn=st.booleans(),
    limits=limits_of_trees,
)
def test_the_order_of_categories_changes_no_tree(n, seed, n_outputs, drawn, limits):
    codes, n_bins, categorical = table(n, [2, 9, 2, 5], [1, 0, 1, 1], seed)
    g, h = gradients(n, n_outputs, seed)
    limits |= {"n_outputs": n_outputs, "max_features": 2, "draw_thresholds": drawn}
    other = codes.copy()
    for j, order in ((0, [1, 0, 2]), (2, [1, 0, 2]), (3, [2, 4, 1, 0, 3, 5])):
        other[:, j] = np.array(order)[codes[:, j]]
    one, its_leaves = grown((codes, n_bins, categorical), g, h, **limits)
    two, leaves = grown((other, n_bins, categorical), g, h, **limits)
    assert_array_equal(its_leaves, leaves)
    assert_array_equal(one.value, two.value)


@given(
    n=st.integers(2, 120),
    seed=st.integers(0, 10_000),
    n_outputs=st.sampled_from([1, 3]),
    drawn=st.booleans(),
    limits=limits_of_trees,
)
def test_what_a_node_has_not_seen_follows_the_heavier_child(n, seed, n_outputs, drawn, limits):
    data = table(n, [9, 6, 30], [0, 1, 1], seed, missing=0.0)
    g, h = gradients(n, n_outputs, seed)
    w = np.random.default_rng(seed).exponential(size=n) ** 2
    limits |= {"n_outputs": n_outputs}
    rows = np.flatnonzero(np.arange(n) % 4 != 1).astype(np.int32) if drawn else None
    tree, _ = grown(data, g * w, h * w, rows, weights=w, **limits)
    check_tree(tree, data, g * w, h * w, limits, rows, w)


@given(n=st.integers(2, 100), seed=st.integers(0, 10_000), limits=limits_of_trees, signs=st.integers(0, 8))
def test_every_monotone_split_is_the_best(n, seed, limits, signs):
    data = table(n, [9, 6], [0, 0], seed)
    g, h = gradients(n, 1, seed)
    limits |= {"monotone": np.array([[signs % 3 - 1, signs // 3 - 1]], np.int8), "l0_per_leaf": False}
    tree, _ = grown(data, g, h, **limits)
    check_tree(tree, data, g, h, limits)
    for i in np.flatnonzero(tree.left >= 0):
        below = [tree.value[nodes_below(tree, int(tree.left[i]) + side), 0] for side in (0, 1)]
        sign = limits["monotone"][0, tree.feature[i]]
        if sign:
            assert (sign * (below[1].min() if sign > 0 else below[1].max())) >= sign * (
                below[0].max() if sign > 0 else below[0].min()
            ) - 1e-12


@given(
    n=st.integers(2, 120),
    seed=st.integers(0, 10_000),
    n_outputs=st.sampled_from([1, 2]),
    most=st.integers(0, 2),
    groups=st.lists(st.sets(st.integers(0, 4), min_size=1), max_size=3),
    limits=limits_of_trees,
)
def test_every_split_of_columns_that_may_meet_is_the_best(n, seed, n_outputs, most, groups, limits):
    data = table(n, [9, 6, 3, 4, 30], [0, 1, 0, 0, 0], seed)
    g, h = gradients(n, n_outputs, seed)
    sets = [np.array(sorted(group), np.int32) for group in groups]
    limits |= {"n_outputs": n_outputs, "max_interaction": most, "interaction_groups": sets}
    tree, _ = grown(data, g, h, **limits)
    check_tree(tree, data, g, h, limits)
    for path in columns_of_paths(tree):
        assert not groups or any(path <= group for group in groups)
        assert not most or len(path) <= most


@pytest.mark.parametrize("drawn", [False, True])
@given(
    n=st.integers(2, 120),
    seed=st.integers(0, 10_000),
    n_outputs=st.sampled_from([1, 2]),
    most=st.sampled_from([0.01, 0.3, 2.0]),
    signs=st.sampled_from([None, [1, 0, 0], [-1, 0, 1]]),
    limits=limits_of_trees,
)
def test_every_split_of_bounded_weights_or_drawn_thresholds_is_the_best(drawn, n, seed, n_outputs, most, signs, limits):
    """Drawn, a feature of a node is tried at one threshold, by the seed, the feature and the way to the node."""
    data = table(n, [9, 6, 30], [0, 1, 0], seed)
    monotone = None if signs is None else np.array([signs], np.int8)
    n_outputs = 1 if signs else n_outputs
    g, h = gradients(n, n_outputs, seed)
    own = {"draw_thresholds": True, "l0_per_leaf": False} if drawn else {"max_weight": most}
    limits |= {"n_outputs": n_outputs, "monotone": monotone, **own}
    tree, _ = grown(data, g, h, **limits)
    check_tree(tree, data, g, h, limits)
    if drawn:
        return
    assert np.abs(tree.value).max() <= most
    assert tree.bounds[0].tolist() == [-most, most]


@pytest.mark.parametrize("max_features_tree", [None, np.array([1, 2], np.int32)])
def test_each_score_has_directions_of_its_own(max_features_tree):
    data = table(400, [30, 9, 20], [0, 0, 0], 3)
    g, h = gradients(400, 1, 4)
    signs = np.array([[1, -1, 0], [0, 0, 0], [0, 1, 1]], np.int8)
    limits = DEFAULTS | {"max_leaf_nodes": 12}
    several = _core.GradientGrower(*data, **limits | {"monotone": signs})
    for score, own in enumerate(signs):
        alone = _core.GradientGrower(*data, **limits | {"monotone": own[None] if own.any() else None})
        tree, same = (grower.grow(g, h, None, max_features_tree, 0, k) for grower, k in ((several, score), (alone, 5)))
        assert_array_equal(tree.feature, same.feature)
        assert_array_equal(tree.value, same.value)
        assert_array_equal(tree.bounds, same.bounds)
    with pytest.raises(ValueError, match="score is none of those"):
        several.grow(g, h, None, None, 0, 3)


def test_a_share_of_the_trees_draws_thresholds():
    data = table(200, [30, 9, 20], [0, 0, 0], 3)
    g, h = gradients(200, 1, 4)
    growers = [
        _core.GradientGrower(*data, **(DEFAULTS | {"max_leaf_nodes": 8, "draw_thresholds": share}))
        for share in (0, 0.7, 1)
    ]
    exact, mixed, drawn = ([grower.grow(g, h, None, None, seed).value for seed in range(200)] for grower in growers)
    draws = [not np.array_equal(one, other) for one, other in zip(mixed, exact, strict=True)]
    assert all(np.array_equal(one, other) for one, other, differs in zip(mixed, drawn, draws, strict=True) if differs)
    assert 120 <= sum(draws) <= 160  # 140 +- 6.5


@pytest.mark.parametrize("n_bins", [[9, 9, 9, 9], [300, 9, 20, 9]])
@pytest.mark.parametrize("limits", [{"interaction_groups": [[0, 1], [1, 3], [2]]}, {"max_interaction": 2}])
def test_drawn_columns_are_among_those_that_may_meet(n_bins, limits):
    data = table(3_000, n_bins, [0, 0, 0, 1], 3)
    g, h = gradients(3_000, 1, 4)
    sets = [np.array(group, np.int32) for group in limits.get("interaction_groups", [])]
    limits = limits | {"interaction_groups": sets, "max_features": 2, "max_leaf_nodes": 40}
    for features in (None, np.array([0, 1, 3], np.int32), np.array([1, 3], np.int32)):
        grower = _core.GradientGrower(*data, **(DEFAULTS | limits))
        trees = [grower.grow(g, h, None, features, seed) for seed in range(8)]
        paths = {path for tree in trees for path in columns_of_paths(tree)}
        assert all(not sets or any(path <= set(group.tolist()) for group in sets) for path in paths)
        assert max(map(len, paths)) == 2
        # drawn are as many as there may be: of two columns both
        assert (len({tuple(tree.feature.tolist()) for tree in trees}) > 1) == (features is None or len(features) > 2)


def columns_of_paths(tree: Any, node: int = 0, above: frozenset[int] = frozenset()) -> list[frozenset[int]]:
    """The columns on the way to each leaf."""
    if tree.left[node] < 0:
        return [above]
    above |= {int(tree.feature[node])}
    return [path for side in (0, 1) for path in columns_of_paths(tree, int(tree.left[node]) + side, above)]


def nodes_below(tree: Any, node: int) -> list[int]:
    """The leaves of a subtree."""
    if tree.left[node] < 0:
        return [node]
    return nodes_below(tree, int(tree.left[node])) + nodes_below(tree, int(tree.left[node]) + 1)


@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("heavy", [False, True])
@pytest.mark.parametrize("n_bins", [[40, 255, 12], [300, 20, 9]])
def test_large_nodes_in_words_and_in_wide_sums(n_bins, heavy, n_outputs):
    """Beyond 8,191 rows words are emptied into wide planes; heavy tails go there at once."""
    data = table(30_000, n_bins, [0, 0, 1], 3)
    g, h = gradients(30_000, n_outputs, 4, heavy)
    limits = {"max_leaf_nodes": 8, "min_samples_leaf": 20, "leaf_l2": 1.0, "n_outputs": n_outputs}
    check_tree(grown(data, g, h, **limits)[0], data, g, h, limits)


@pytest.mark.parametrize(("n_outputs", "heavy"), [(1, False), (2, True)])
@pytest.mark.parametrize(
    "limits",
    [
        {},
        {"max_leaf_nodes": 3, "leaf_l1": 0.1, "max_weight": 0.5},
        {"max_features": 3, "growth": "depth"},
        {"draw_thresholds": 1.0},
    ],
    ids=str,
)
def test_nodes_of_wide_tables_need_no_histogram(limits, n_outputs, heavy):
    """A table of 2^16 cells gives the tree of one of few, which has a column of one bin for that of 65,535."""
    codes, n_bins, categorical = table(9_000, [40, 9, 30, 255, 12, 1], [0, 1, 0, 0, 0, 0], 3)
    codes[:, 5] = 0
    wide = codes.astype(np.uint16), np.array([*n_bins[:5], 65_535], np.int32), categorical
    g, h = gradients(9_000, n_outputs, 4, heavy)
    limits = {"max_leaf_nodes": 6, "min_samples_leaf": 20, "leaf_l2": 1.0, "n_outputs": n_outputs, **limits}
    weights = np.random.default_rng(5).integers(1, 3, 9_000).astype(float)
    for rows, w in ((None, None), (np.arange(0, 9_000, 30, dtype=np.int32), None), (None, weights)):
        few, leaf = grown((codes, n_bins, categorical), g, h, rows, None, w, **limits)
        tree, its_leaf = grown(wide, g, h, rows, None, w, n_threads=2, **limits)
        assert_array_equal(its_leaf, leaf)
        for name in ("feature", "bin", "left", "missing_left", "category_bits", "gain", "count", "sums", "value"):
            assert_array_equal(getattr(tree, name), getattr(few, name), err_msg=name)


def test_dense_nodes_by_column_and_thin_ones_by_row():
    """Four columns together and one that is left over; nodes of many rows of the table and of a hundredth of them."""
    data = table(6_000, [60, 255, 12, 9, 30, 2, 100, 4, 7], [0, 0, 1, 0, 0, 0, 0, 0, 1], 8)
    g, h = gradients(6_000, 1, 9)
    limits = {"max_leaf_nodes": 80, "min_samples_leaf": 10}
    tree = grown(data, g, h, **limits)[0]
    assert tree.count.min() * 16 < 6_000 < tree.count[1:3].min() * 16
    check_tree(tree, data, g, h, limits)


def test_heavy_tails_keep_the_others():
    """One gradient a million times the rest must not round them away: the other rows' split is found below it."""
    data = table(4_000, [2, 2], [0, 0], 5, missing=0.0)
    g, h = np.where(data[0][:, 0] == 1, 1.0, -1.0), np.ones(4_000)
    g[0] = 1e6
    tree, _ = grown(data, g, h, max_leaf_nodes=8)
    assert_allclose(tree.sums[0], [g.sum(), 4_000.0], rtol=1e-12)
    assert set(tree.feature[tree.feature >= 0].tolist()) == {0, 1}
    assert tree.count[tree.left < 0].sum() == 4_000
    plain = [i for i in np.flatnonzero(tree.left < 0) if abs(tree.sums[i, 0]) == tree.sums[i, 1]]
    assert len(plain) >= 2  # pure leaves of -1 and +1


@given(
    n=st.integers(5, 200),
    share=st.floats(0.1, 0.9),
    seed=st.integers(0, 1_000),
    n_features=st.integers(1, 3),
)
def test_rows_and_features_of_a_tree(n, share, seed, n_features):
    data = table(n, [9, 4, 30], [0, 1, 0], seed)
    g, h = gradients(n, 1, seed)
    rng = np.random.default_rng(seed)
    rows = np.flatnonzero((rng.random(n) < share) | (np.arange(n) == 0)).astype(np.int32)
    features = np.sort(rng.permutation(3)[:n_features]).astype(np.int32)
    tree, leaf = grown(data, g, h, rows, features, max_leaf_nodes=6)
    assert set(tree.feature.tolist()) <= {-1, *features.tolist()}
    reached, _ = oracle.walk(tree, *data, np.arange(n))
    for i in np.flatnonzero(tree.left < 0):
        assert_array_equal(np.flatnonzero(leaf == i), np.sort(reached[i]))
    of_rows, _ = oracle.walk(tree, *data, rows)
    assert_array_equal(tree.count, [len(some) for some in of_rows])
    if n_features == 3:
        check_tree(tree, data, g, h, {"max_leaf_nodes": 6}, rows)


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize(
    "limits",
    [
        {"max_leaf_nodes": 31},
        {"max_depth": 5, "growth": "depth", "max_weight": 0.01},
        {"max_features": 2, "feature_weights": np.array([2, 1, 0, 3], np.uint32)},
        {"max_leaf_nodes": 31, "draw_thresholds": True, "interaction_groups": [np.array([0, 2, 3], np.int32)]},
    ],
    ids=str,
)
def test_threads_change_no_bit(limits, n_outputs):
    data = table(60_000, [255, 31, 9, 100], [0, 0, 1, 0], 6)
    g, h = gradients(60_000, n_outputs, 7)
    rows = np.arange(0, 60_000, 2, dtype=np.int32)
    limits = {"min_samples_leaf": 500, "n_outputs": n_outputs, **limits}
    for some in (None, rows):
        one, leaf = grown(data, g, h, some, n_threads=1, **limits)
        for n_threads in (2, 5):
            other, other_leaf = grown(data, g, h, some, n_threads=n_threads, **limits)
            assert_array_equal(leaf, other_leaf)
            for name in ("feature", "bin", "left", "missing_left", "category_bits", "gain", "sums", "value", "bounds"):
                assert_array_equal(getattr(one, name), getattr(other, name))


@given(seed=st.integers(0, 1_000), n=st.integers(2, 60))
def test_a_weight_of_k_is_k_rows(seed, n):
    """Sums of whole gradients are exact, so repeating a row and multiplying its gradient and hessian are one thing."""
    data = table(n, [9, 4], [0, 1], seed)
    rng = np.random.default_rng(seed)
    k = rng.integers(1, 4, n)
    g, h = rng.integers(-8, 9, n) / 8.0, rng.integers(1, 5, n) / 4.0
    weighted, leaf = grown(data, g * k, h * k, leaf_l2=1.0, max_leaf_nodes=8)
    repeated = np.repeat(np.arange(n), k)
    other, other_leaf = grown((data[0][repeated], *data[1:]), g[repeated], h[repeated], leaf_l2=1.0, max_leaf_nodes=8)
    assert_array_equal(weighted.feature, other.feature)
    assert_array_equal(weighted.value, other.value)
    assert_array_equal(leaf[repeated], other_leaf)


@given(
    seed=st.integers(0, 1_000),
    n=st.sampled_from([3, 60, 700, 9_000]),
    most=st.sampled_from([2, 12, 40]),
    n_outputs=st.sampled_from([1, 3]),
    heavy=st.booleans(),
    drawn=st.booleans(),
)
@examples(max_examples=60)
def test_a_whole_weight_counts_as_rows_to_the_bit(seed, n, most, n_outputs, heavy, drawn):
    """Rounded is the gradient of a unit of weight, so that a near tie of two splits cannot depend on how rows come."""
    data = table(n, [40, 9], [0, 1], seed)
    k = np.random.default_rng(seed).integers(1, most, n)
    k[0] = 20_000 // n  # beyond what a block of words holds
    repeated = np.repeat(np.arange(n), k)
    g, h = gradients(n, n_outputs, seed, heavy)
    rows = np.flatnonzero(np.arange(n) % 3 != 1).astype(np.int32) if drawn else None
    of_repeated = None if rows is None else np.flatnonzero(np.isin(repeated, rows)).astype(np.int32)
    limits = DEFAULTS | {"n_outputs": n_outputs, "leaf_l2": 1.0, "max_leaf_nodes": 20}
    weighted = _core.GradientGrower(*data, **limits)
    tree = weighted.grow(g * k, h * k, rows, None, SEED, weights=k.astype(np.float64))
    other = _core.GradientGrower(data[0][repeated], *data[1:], **limits)
    same = other.grow(g[..., repeated].copy(), h[..., repeated].copy(), of_repeated, None, SEED)
    assert_array_equal(np.sort(tree.gain), np.sort(same.gain))
    used = slice(None) if of_repeated is None else of_repeated
    both = np.stack([weighted.leaf_of_row[repeated], other.leaf_of_row])[:, used]
    assert len(np.unique(both, axis=1).T) == len(np.unique(both[0])) == len(np.unique(both[1]))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], 0.0),
        ([0.0, -0.0], 0.0),
        ([[1.0], [-3.0]], 3.0),
        ([1.0, -np.inf, 2.0], np.inf),
        ([np.nan, np.inf], np.nan),
        ([np.inf, np.nan, 1.0], np.nan),
    ],
)
def test_the_largest_size(values, expected):
    assert_array_equal(_core.largest_size(np.array(values, dtype=np.float64)), expected)


@pytest.mark.parametrize("weights", [np.array([1.0, 2.0, 2.5]), np.array([2.0**33, 1.0, 1.0])])
def test_weights_that_are_no_count_of_rows_change_nothing(weights):
    data = table(3, [3], [0], 1, missing=0.0)
    g, h = np.array([1.0, -2.0, 0.5]), np.ones(3)
    without = _core.GradientGrower(*data, **DEFAULTS).grow(g, h, None, None, SEED)
    given_weights = _core.GradientGrower(*data, **DEFAULTS).grow(g, h, None, None, SEED, weights=weights)
    assert_array_equal(without.gain, given_weights.gain)


def test_nothing_to_gain_is_one_leaf():
    data = table(100, [9], [0], 8)
    for g, h in ((np.zeros(100), np.ones(100)), (np.full(100, 0.3), np.ones(100)), (np.zeros(100), np.zeros(100))):
        tree, leaf = grown(data, g, h, max_leaf_nodes=8)
        assert len(tree.feature) == 1
        assert not leaf.any()
        assert_allclose(tree.value, [[-g[0] if h[0] else 0.0]], rtol=1e-12)
    tree, _ = grown(table(1, [9], [0], 8), np.ones(1), np.ones(1))
    assert tree.value.tolist() == [[-1.0]]


def test_features_are_drawn_for_each_node():
    data = table(2_000, [50] * 12, [0] * 12, 9)
    g, h = gradients(2_000, 1, 10)
    grower = _core.GradientGrower(*data, **(DEFAULTS | {"max_leaf_nodes": 30, "max_features": 1}))
    trees = [grower.grow(g, h, None, None, seed) for seed in range(3)]
    used = [tree.feature[tree.feature >= 0].tolist() for tree in trees]
    assert len(set(used[0])) > 6
    assert used[0] != used[1]
    assert_array_equal(trees[0].feature, grower.grow(g, h, None, None, 0).feature)


def test_values_are_added_in_place():
    scores, leaf = np.zeros(4), np.array([1, -1, 0, 1], np.int32)
    _core.add_leaf_values(scores, leaf, np.array([0.5, 2.0]), 2)
    assert scores.tolist() == [2.0, 0.0, 0.5, 2.0]
    with pytest.raises(ValueError, match="without a value"):
        _core.add_leaf_values(scores, np.array([0, 2, 0, 0], np.int32), np.array([0.5, 2.0]), 1)
    with pytest.raises(ValueError, match="one leaf per score"):
        _core.add_leaf_values(scores, leaf[:2], np.array([0.5]), 1)


@pytest.mark.parametrize(
    ("changed", "message"),
    refusals(
        {
            "gradients must be finite": each(g=[np.full(50, np.nan)]),
            "larger than 1e150": each(g=[np.full(50, 1e200)]),
            "not negative": each(h=[-np.ones(50)]),
            "finite": each(h=[np.full(50, np.inf)]),
            "must be": each(g=[np.zeros((2, 50)), np.zeros(49)]),
            "rows must rise": each(rows=[np.array(rows, np.int32) for rows in ([3, 3], [-1], [50])]),
            "at least one row": each(rows=[np.zeros(0, np.int32)]),
            "outside the table": each(features=[np.array([2], np.int32)]),
            "features must rise": each(features=[np.array([1, 0], np.int32)]),
            "at least one column": each(features=[np.zeros(0, np.int32)]),
        }
    ),
)
def test_bad_rounds_are_refused(changed, message):
    arguments = {"g": np.zeros(50), "h": np.ones(50), "rows": None, "features": None} | changed
    with pytest.raises(ValueError, match=message):
        grown(table(50, [9, 4], [0, 1], 11), **arguments)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"growth": "width"}, "growth must be"),
        ({"leaf_l2": -1.0}, "penalties"),
        ({"min_samples_leaf": 0}, "min_samples_leaf"),
        ({"max_depth": -1}, "limits"),
        ({"n_outputs": 0}, "n_outputs"),
        ({"min_gain": -1.0}, "min_gain"),
        ({"max_weight": 0.0}, "max_weight must be above 0"),
        ({"feature_weights": np.ones(1, np.uint32)}, "feature_weights needs one number per column"),
        ({"max_interaction": -1}, "max_interaction"),
        ({"interaction_groups": [np.array([0, 2], np.int32)]}, "interaction_groups must rise and stay"),
        ({"interaction_groups": [np.array([1, 0], np.int32)]}, "interaction_groups must rise and stay"),
        ({"monotone": np.array([[1]], np.int8)}, "one sign per column"),
        ({"monotone": np.array([[0, 1]], np.int8)}, "categorical column"),
        ({"monotone": np.array([[2, 0]], np.int8)}, "signs"),
        ({"monotone": np.array([[1, 0]], np.int8), "n_outputs": 2}, "one output"),
    ],
)
def test_bad_growers_are_refused(changed, message):
    with pytest.raises(ValueError, match=message):
        _core.GradientGrower(*table(50, [9, 4], [0, 1], 11), **(DEFAULTS | changed))


def test_codes_beyond_their_bins_are_refused():
    codes, n_bins, categorical = table(50, [9, 4], [0, 1], 11)
    with pytest.raises(ValueError, match="exceed its number of bins"):
        _core.GradientGrower(codes, n_bins - 5 * np.array([1, 0], np.int32), categorical, **DEFAULTS)


@examples(max_examples=60, deadline=None)
@given(st.integers(0, 2**31 - 1), st.booleans(), st.sampled_from([1, 3]), st.integers(2, 20_000))
def test_the_order_of_rows_changes_no_bit(seed, heavy, n_outputs, n):
    data = table(n, [7, 40, 5], [0, 0, 1], seed)
    g, h = gradients(n, n_outputs, seed, heavy)
    order = np.random.default_rng(seed).permutation(n)
    limits = {"n_outputs": n_outputs, "max_leaf_nodes": 15, "leaf_l2": 1.0}
    tree, leaf = grown(data, g, h, **limits)
    moved = (np.ascontiguousarray(data[0][order]), *data[1:])
    other, other_leaf = grown(moved, np.ascontiguousarray(g[..., order]), np.ascontiguousarray(h[..., order]), **limits)
    assert_array_equal(tree.feature, other.feature)
    assert_array_equal(tree.value, other.value)
    assert_array_equal(leaf[order], other_leaf)


def test_leaves_of_heavy_tails_are_summed_in_full_precision():
    data = table(5_000, [2], [0], 0)
    g, h = gradients(5_000, 1, 0, heavy=True)
    g *= 1e100
    tree, leaf = grown(data, g, h, leaf_l2=1.0)
    for node in np.unique(leaf):
        of_leaf = leaf == node
        G, H = math.fsum(g[of_leaf].tolist()), math.fsum(h[of_leaf].tolist())
        assert_allclose(tree.value[node, 0], -G / (H + 1.0), rtol=1e-15)


@pytest.mark.parametrize("share", [1.0, 0.7])
def test_leaves_of_many_rows_are_summed_once_each(share):
    """Beyond 2^17 rows halves of sums are emptied; large rows out of a sample and other threads change nothing."""
    n, rng = 140_000, np.random.default_rng(6)
    data = table(n, [40, 9], [0, 0], 5)
    g, h = gradients(n, 2, 6)
    weights = rng.integers(1, 4, n).astype(np.float64)
    rows = None if share == 1.0 else np.sort(rng.choice(n, int(share * n), replace=False)).astype(np.int32)
    if rows is not None:
        unseen = np.setdiff1d(np.arange(n), rows)[:1000]
        g[:, unseen] = -1e9
    limits = {"max_leaf_nodes": 6, "min_samples_leaf": 100, "n_outputs": 2}
    trees = [grown(data, g, h, rows, weights=weights, n_threads=k, **limits) for k in (1, 3)]
    (tree, leaf), (other, other_leaf) = trees
    used = np.arange(n) if rows is None else rows
    for node in np.flatnonzero(tree.left < 0):
        own = used[leaf[used] == node]
        expected = [math.fsum(x[own]) for x in (*g, *h)]
        assert_allclose(tree.sums[node], expected, rtol=1e-13)
        assert tree.weight[node] == weights[own].sum()
    assert_array_equal(tree.sums, other.sums)
    assert_array_equal(leaf, other_leaf)


@given(
    n=st.integers(2, 200),
    n_bins=st.lists(st.sampled_from([7, 8, 9, 63, 64, 65, 255, 256, 257, 511, 513, 700]), min_size=1, max_size=2),
    seed=st.integers(0, 10_000),
    missing=st.sampled_from([0.0, 0.1, 0.9]),
    heavy=st.booleans(),
    limits=st.fixed_dictionaries(
        {
            "n_outputs": st.sampled_from([1, 1, 2]),
            "max_leaf_nodes": st.just(4),
            "min_samples_leaf": st.sampled_from([1, 2, 7, 20, 60]),
            "min_hessian_leaf": st.sampled_from([0.0, 1.0, 12.0]),
        }
    ),
)
def test_thresholds_with_too_little_on_a_side_are_passed_over(n, n_bins, seed, missing, heavy, limits):
    """Where those with enough begin and end, among cells that are looked at by eights and by 256."""
    data = table(n, n_bins, [0] * len(n_bins), seed, missing)
    g, h = gradients(n, limits["n_outputs"], seed, heavy)
    tree, leaf = grown(data, g, h, **limits)
    if not heavy:  # gains of heavy tails are compared elsewhere
        check_tree(tree, data, g, h, limits)
    assert (np.bincount(leaf)[np.unique(leaf)] >= min(limits["min_samples_leaf"], n)).all()
    check_vectors(lambda: flattened(grown(data, g, h, **limits)))


def flattened(found: Any) -> list[Any]:
    tree, leaf = found
    return [*tree.nodes(), leaf]
