"""The grower: its limits, its draws of features and its buffers."""

import gc
import os
from dataclasses import replace
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from scipy.stats import chisquare

from tests.core.cases import CRITERIA, Case, alternating_labels, cases, cases_with_limits, random_case
from tests.core.checked_tree import CheckedTree, assert_same_tree
from tests.oracles import grow as oracle

NO_LIMITS = oracle.Limits()


# --- limits -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("max_leaf_nodes", [1, 2, 3, 7, 20])
def test_as_many_leaves_as_asked_for(max_leaf_nodes: int) -> None:
    case = random_case(np.random.default_rng(0), "gini", 2000, 4, max_bins=50)
    tree = case.grow(oracle.Limits(max_leaf_nodes=max_leaf_nodes))
    assert (tree.feature < 0).sum() == max_leaf_nodes


@given(cases(weights="equal", n_classes=3), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_max_features(case: Case, max_features: int, seed: int) -> None:
    """A node looks at max_features features that vary in it, and takes the best split of those."""
    limits = case.limits(max_depth=3)
    checked = CheckedTree(case.grow(limits, max_features, seed=seed), case.table, limits)
    checked.assert_shape()
    checked.assert_sums()
    checked.assert_leaf_of_row()
    for i, rows in enumerate(checked.rows):
        if not checked.may_split(i) or oracle.pure(case.table, rows):
            continue
        varies = np.array([len(np.unique(column)) > 1 for column in case.codes[rows].T])
        looked_at = min(max_features, int(varies.sum()))
        gain = checked.tree.gain[i] if checked.tree.feature[i] >= 0 else checked.least
        offered = checked.gains(i)
        if checked.tree.feature[i] >= 0:
            checked.assert_split(i)
            assert offered[checked.tree.feature[i]] <= gain + checked.noise
        assert (offered[varies] <= gain + checked.noise).sum() >= looked_at


def test_every_feature_is_drawn_equally_often() -> None:
    rng = np.random.default_rng(0)
    case = random_case(rng, "gini", 400, 6, max_bins=2, missing=0.0, categorical="none")
    case = replace(case, n_bins=np.full(6, 2, np.int32), codes=rng.integers(0, 2, (400, 6)).astype(np.uint8))
    grower = case.grower(oracle.Limits(max_depth=2), max_features=1)
    trees = [case.grow_with(grower, seed) for seed in range(1200)]
    drawn = np.array([tree.feature[:3] for tree in trees if len(tree.feature) >= 3 and tree.feature[0] >= 0])
    at_root = np.bincount(drawn[:, 0], minlength=6)
    assert len(drawn) > 1100
    assert at_root.min() > 140
    assert at_root.max() < 260
    assert_same_tree(trees[7], case.grow_with(grower, 7))


@pytest.mark.parametrize("max_features", [3, 6])
def test_the_first_of_the_features_drawn_wins_a_tie(max_features: int) -> None:
    case = random_case(np.random.default_rng(0), "gini", 100, 6, missing=0.0, categorical="none")
    case = replace(case, codes=np.repeat(case.codes[:, :1], 6, axis=1), n_bins=np.repeat(case.n_bins[:1], 6))
    grower = case.grower(oracle.Limits(max_depth=1), max_features=max_features)
    root = [case.grow_with(grower, seed).feature[0] for seed in range(600)]
    assert chisquare(np.bincount(root, minlength=6)).pvalue > 0.001  # each as often as the others


def test_the_lowest_feature_wins_a_tie_where_none_is_drawn() -> None:
    case = random_case(np.random.default_rng(0), "gini", 100, 6, missing=0.0, categorical="none")
    case = replace(case, codes=np.repeat(case.codes[:, :1], 6, axis=1), n_bins=np.repeat(case.n_bins[:1], 6))
    grower = case.grower(oracle.Limits(), max_features=0)
    for seed in range(10):
        assert case.grow_with(grower, seed).feature.max() == 0


def test_neighbouring_seeds_draw_independently() -> None:
    """Trees are given seeds in a row; what one of them drew must not tell what the next one draws."""
    p, m = 8, 4
    # the lower its number, the better a feature tells the label: the root shows the lowest one drawn
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, 4000)
    codes = np.stack([np.where(rng.random(4000) < 0.5 + 0.05 * (p - j), labels, 1 - labels) for j in range(p)], axis=1)
    case = replace(
        random_case(rng, "gini", 4000, p),
        codes=codes.astype(np.uint8),
        labels=labels.astype(np.uint16),
        n_bins=np.full(p, 2, np.int32),
        categorical=np.zeros(p, np.uint8),
        weights=np.ones(4000),
    )
    grower = case.grower(oracle.Limits(max_depth=1), max_features=m)
    lowest = np.array([case.grow_with(grower, seed).feature[0] for seed in range(1500)])
    for lag in (1, 2, 3):
        assert abs(np.corrcoef(lowest[:-lag], lowest[lag:])[0, 1]) < 0.1


def test_alternating_labels_grow_a_leaf_for_every_row() -> None:
    n = 1000
    case = alternating_labels(n)
    tree = case.grow(NO_LIMITS)
    assert len(tree.feature) == 2 * n - 1
    np.testing.assert_array_equal(np.sort(tree.leaf_of_row), np.flatnonzero(tree.feature < 0))


@pytest.mark.parametrize("kind", CRITERIA)
def test_tables_with_nothing_to_split(kind: str) -> None:
    case = random_case(np.random.default_rng(0), kind, 5, 2)
    limits = case.limits()
    one_row = replace(case, rows=np.array([3], dtype=np.int32))
    constant = replace(case, codes=np.zeros_like(case.codes))
    pure = replace(case, labels=np.zeros_like(case.labels), targets=np.full(5, 0.1))
    for nothing in (one_row, constant, pure):
        tree = nothing.grow(limits)
        np.testing.assert_array_equal(tree.feature, [-1])
        np.testing.assert_array_equal(np.unique(tree.leaf_of_row[nothing.table.rows]), [0])
        np.testing.assert_allclose(tree.sums[0], nothing.table.statistics[nothing.table.rows].sum(0), atol=1e-14)


# --- a grower and its buffers -------------------------------------------------------------------------------


@given(cases_with_limits(), st.integers(0, 2**32 - 1))
def test_a_used_grower_grows_the_same_trees(drawn: tuple[Case, oracle.Limits], seed: int) -> None:
    case, limits = drawn
    rng = np.random.default_rng(seed)
    grower = case.grower(limits)
    for _ in range(4):
        rows = np.flatnonzero(rng.random(len(case.codes)) < 0.5).astype(np.int32)
        other = replace(case, rows=rows if len(rows) else None, weights=case.weights + rng.random())
        assert_same_tree(other.grow_with(grower, seed), other.grow(limits, seed=seed))
    assert_same_tree(case.grow_with(grower, seed), case.grow(limits, seed=seed))


def test_a_grower_keeps_its_table_and_a_tree_its_arrays() -> None:
    case = random_case(np.random.default_rng(0), "gini", 500, 5, max_bins=30)
    expected = case.grow(NO_LIMITS)
    grower = replace(case, codes=case.codes.copy(), n_bins=case.n_bins.copy()).grower(NO_LIMITS)
    gc.collect()
    noise = [np.full((500, 5), 255, dtype=np.uint8) for _ in range(50)]
    tree = case.grow_with(grower)
    assert_same_tree(tree, expected)
    feature, sums = tree.feature, tree.sums
    del tree, grower
    gc.collect()
    assert len(noise) == 50
    np.testing.assert_array_equal(feature, expected.feature)
    np.testing.assert_array_equal(sums, expected.sums)


def test_buffers_do_not_grow_from_tree_to_tree() -> None:
    statm = Path("/proc/self/statm")
    if not statm.exists():
        pytest.skip("needs /proc")
    if "COMMITTEE_CORE" in os.environ:
        pytest.skip("AddressSanitizer holds freed memory back")
    case = random_case(np.random.default_rng(0), "gini", 60, 64, n_classes=8)
    case = replace(case, n_bins=np.full(64, 255, dtype=np.int32))  # a histogram takes a megabyte
    grower = case.grower(oracle.Limits(max_depth=2))

    def pages_after(n_trees: int) -> int:
        for seed in range(n_trees):
            case.grow_with(grower, seed)
        return int(statm.read_text("utf-8").split()[1])

    before = pages_after(20)
    assert pages_after(150) - before < 30 * 2**20 // 4096


def test_weights_beyond_any_product_are_refused() -> None:
    case = random_case(np.random.default_rng(0), "gini", 20, 2)
    for factor in (1e-200, 1e200):
        with pytest.raises(ValueError, match="rescale"):
            replace(case, weights=case.weights * factor).grow(oracle.Limits())


def test_forgotten_rows_leave_the_tree() -> None:
    case = random_case(np.random.default_rng(0), "gini", 20, 2)
    tree = case.grow(oracle.Limits())
    tree.forget_rows()
    assert tree.leaf_of_row is None
    assert len(tree.feature) == len(tree.count)
