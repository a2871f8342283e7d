"""Growers: limits, feature draws, reused buffers, refused arguments, and the same trees again."""

from __future__ import annotations

import gc
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chisquare

from committee import _core
from tests.core.cases import (
    CRITERIA,
    Case,
    alternating_labels,
    bad_weights,
    cases,
    cases_with_limits,
    each,
    random_case,
)
from tests.core.checked_tree import CheckedTree, assert_same_tree
from tests.oracles import grow as oracle

NO_LIMITS = oracle.Limits()


@given(cases(weights="equal", n_classes=3), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_max_features(case, max_features, seed):
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


def test_every_feature_is_drawn_equally_often():
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


def test_equal_features_win_ties_as_they_are_drawn():
    """The first of those drawn, which is any of them as often; the lowest where none is drawn."""
    case = random_case(np.random.default_rng(0), "gini", 100, 6, missing=0.0, categorical="none")
    case = replace(case, codes=np.repeat(case.codes[:, :1], 6, axis=1), n_bins=np.repeat(case.n_bins[:1], 6))
    for max_features in (3, 6):
        grower = case.grower(oracle.Limits(max_depth=1), max_features=max_features)
        root = [case.grow_with(grower, seed).feature[0] for seed in range(600)]
        assert chisquare(np.bincount(root, minlength=6)).pvalue > 0.001
    grower = case.grower(oracle.Limits(), max_features=0)
    assert max(case.grow_with(grower, seed).feature.max() for seed in range(10)) == 0


def test_neighbouring_seeds_draw_independently():
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


@pytest.mark.parametrize("make", [Case.grower, Case.deep_grower])
def test_alternating_labels_grow_a_leaf_for_every_row(make):
    n = 1000
    case = alternating_labels(n)
    tree = case.grow_with(make(case, NO_LIMITS))
    assert len(tree.feature) == 2 * n - 1
    assert_array_equal(np.sort(tree.leaf_of_row), np.flatnonzero(tree.feature < 0))


@pytest.mark.parametrize("kind", CRITERIA)
def test_tables_with_nothing_to_split(kind):
    case = random_case(np.random.default_rng(0), kind, 5, 2)
    limits = case.limits()
    one_row = replace(case, rows=np.array([3], dtype=np.int32))
    constant = replace(case, codes=np.zeros_like(case.codes))
    pure = replace(case, labels=np.zeros_like(case.labels), targets=np.full(5, 0.1))
    for nothing in (one_row, constant, pure):
        tree = nothing.grow(limits)
        assert_array_equal(tree.feature, [-1])
        assert_array_equal(np.unique(tree.leaf_of_row[nothing.table.rows]), [0])
        assert_allclose(tree.sums[0], nothing.table.statistics[nothing.table.rows].sum(0), atol=1e-14)


@given(cases_with_limits(), st.integers(0, 2**32 - 1))
def test_a_used_grower_grows_the_same_trees(drawn, seed):
    case, limits = drawn
    rng = np.random.default_rng(seed)
    grower = case.grower(limits)
    for _ in range(4):
        rows = np.flatnonzero(rng.random(len(case.codes)) < 0.5).astype(np.int32)
        other = replace(case, rows=rows if len(rows) else None, weights=case.weights + rng.random())
        assert_same_tree(other.grow_with(grower, seed), other.grow(limits, seed=seed))
    assert_same_tree(case.grow_with(grower, seed), case.grow(limits, seed=seed))


def test_a_grower_keeps_its_table_and_a_tree_its_arrays():
    case = random_case(np.random.default_rng(0), "gini", 500, 5, max_bins=30)
    expected = case.grow(NO_LIMITS)
    grower = replace(case, codes=case.codes.copy(), n_bins=case.n_bins.copy()).grower(NO_LIMITS)
    gc.collect()
    noise = [np.full((500, 5), 255, dtype=np.uint8) for _ in range(50)]
    tree = case.grow_with(grower)
    assert_same_tree(tree, expected)
    feature, sums = tree.feature, tree.sums
    with pytest.raises(ValueError, match="read-only"):
        feature[0] = 7
    del tree, grower
    gc.collect()
    assert len(noise) == 50
    assert_array_equal(feature, expected.feature)
    assert_array_equal(sums, expected.sums)


def test_buffers_do_not_grow_from_tree_to_tree():
    statm = Path("/proc/self/statm")
    if not statm.exists():
        pytest.skip("needs /proc")
    if "COMMITTEE_CORE" in os.environ:
        pytest.skip("AddressSanitizer holds freed memory back")
    case = random_case(np.random.default_rng(0), "gini", 60, 64, n_classes=8)
    case = replace(case, n_bins=np.full(64, 255, dtype=np.int32))  # a histogram takes a megabyte
    grower = case.grower(oracle.Limits(max_depth=2))

    def pages_after(n_trees):
        for seed in range(n_trees):
            case.grow_with(grower, seed)
        return int(statm.read_text("utf-8").split()[1])

    before = pages_after(20)
    assert pages_after(150) - before < 30 * 2**20 // 4096


def test_weights_beyond_any_product_are_refused():
    case = random_case(np.random.default_rng(0), "gini", 20, 2)
    for factor in (1e-200, 1e200):
        with pytest.raises(ValueError, match="rescale"):
            replace(case, weights=case.weights * factor).grow(oracle.Limits())


SETTINGS: dict[str, Any] = {
    "codes": np.array([[0, 1], [3, 0], [1, 2], [2, 2]], dtype=np.uint8),
    "n_bins": np.array([3, 2], dtype=np.int32),
    "categorical": np.array([0, 1], dtype=np.uint8),
    "criterion": "gini",
    "n_classes": 2,
    "max_depth": 2,
    "min_samples_leaf": 1,
    "min_weight_leaf": 0.0,
    "min_gain": 0.0,
    "max_features": 0,
    "n_threads": 1,
}
LABELS: dict[str, Any] = {
    "labels": np.array([0, 1, 1, 0], dtype=np.uint16),
    "weights": np.ones(4),
    "rows": np.array([2, 0, 1], dtype=np.int32),
    "seed": 0,
}
TARGETS: dict[str, Any] = {"targets": np.arange(1.0, 5.0), "weights": np.ones(4), "rows": None, "seed": 0}


def grower(**changes: Any) -> _core.Grower:
    return _core.Grower(**{**SETTINGS, "max_leaf_nodes": 0, **changes})


def deep_grower(**changes: Any) -> _core.DeepGrower:
    return _core.DeepGrower(**SETTINGS | changes)


both_growers = pytest.mark.parametrize("make", [grower, deep_grower])


def assert_refused(make: Any, wrong: dict[str, Any]) -> None:
    make()
    with pytest.raises(ValueError):
        make(**wrong)


def assert_not_grown(grow: Any, given: dict[str, Any], wrong: dict[str, Any], error: type = ValueError) -> None:
    before = grow(**given)
    with pytest.raises(error):
        grow(**given | wrong)
    assert_same_tree(grow(**given), before)


@both_growers
@pytest.mark.parametrize(
    "wrong",
    [
        *each(
            codes=[
                np.array([[0, 3], [3, 0], [1, 2], [2, 2]], dtype=np.uint8),
                np.array([[4, 0], [3, 0], [1, 2], [2, 2]], dtype=np.uint16),
                np.empty((0, 2), dtype=np.uint8),
                np.empty((4, 0), dtype=np.uint8),
            ],
            n_bins=[np.array(bins, dtype=np.int32) for bins in ([3], [3, 2, 1], [3, 0], [3, -2])],
            categorical=[np.array(flags, dtype=np.uint8) for flags in ([1], [1, 0, 0])],
            criterion=["gamma", "", "abstaining"],
            n_classes=[0, -1, 65_537],
            max_depth=[-1],
            min_samples_leaf=[0, -1],
            min_weight_leaf=[-0.1, np.nan],
            min_gain=[np.nan],
            max_features=[-1],
        ),
        {"codes": np.empty((4, 0), np.uint8), "n_bins": np.empty(0, np.int32), "categorical": np.empty(0, np.uint8)},
        {"criterion": "abstaining", "max_depth": 0},
        *({"min_gain": -0.1, "criterion": criterion} for criterion in ("squared_error", "poisson", "absolute_error")),
    ],
    ids="-".join,
)
def test_tables_and_settings(make, wrong):
    assert_refused(make, wrong)


def test_settings_of_one_grower():
    assert_refused(grower, {"max_leaf_nodes": -1})
    assert_refused(grower, {"criterion": "absolute_error"})
    assert_refused(deep_grower, {"criterion": "confidence"})


@both_growers
@pytest.mark.parametrize(
    "wrong",
    each(
        labels=[np.array(labels, dtype=np.uint16) for labels in ([0, 2, 1, 0], [0, 65_535, 1, 0], [0, 1, 1])],
        weights=[*bad_weights(4), np.array([0.0, 0.0, 0.0, 1.0]), np.full(4, 1e308), np.full(4, 5e-324)],
        rows=[np.array(rows, dtype=np.int32) for rows in ([0, 4], [0, -1], [0, 1, 0], [0, 1, 2, 3, 0], [])],
    ),
    ids="-".join,
)
def test_labels_weights_and_rows(make, wrong):
    assert_not_grown(make().grow_classes, LABELS, wrong)


@pytest.mark.parametrize("shape", [(4, 2), (4, 1, 1)])
def test_weights_of_classes_are_not_for_gini(shape):
    assert_not_grown(grower().grow_classes, LABELS, {"weights": np.ones(shape)})


@both_growers
@pytest.mark.parametrize(
    "wrong",
    [
        *each(
            targets=map(np.ones, (3, (3, 2), (4, 0), (4, 1, 1))),
            weights=bad_weights(4),
            rows=[np.array([0, 4], dtype=np.int32), np.array([1, 1], dtype=np.int32)],
        ),
        *each(targets=map(np.array, ([[1.0, 2.0], [1, 2], [np.nan, 2], [1, 2]], [1, np.nan, 1, 1], [1, np.inf, 1, 1]))),
        {"targets": np.array([1e300, 1.0, 1.0, 1.0]), "weights": np.full(4, 1e300)},
    ],
    ids="-".join,
)
def test_targets(make, wrong):
    assert_not_grown(make(criterion="squared_error").grow_targets, TARGETS, wrong)


@both_growers
@pytest.mark.parametrize(
    "wrong",
    [
        {"labels": LABELS["labels"].astype(np.int64)},
        {"weights": np.ones(4, dtype=np.float32)},
        {"rows": np.array([0, 1], dtype=np.int64)},
        {"seed": -1},
    ],
    ids="-".join,
)
def test_other_types(make, wrong):
    assert_not_grown(make().grow_classes, LABELS, wrong, TypeError)


@both_growers
def test_the_criterion_decides_what_can_be_grown(make):
    with pytest.raises(ValueError):
        make(criterion="squared_error").grow_classes(**LABELS)
    with pytest.raises(ValueError):
        make().grow_targets(np.ones(4), np.ones(4), None, 0)
    with pytest.raises(ValueError, match="negative"):
        make(criterion="poisson").grow_targets(np.array([0.0, 1.0, -1.0, 2.0]), np.ones(4), None, 0)
    with pytest.raises(ValueError, match="one target"):
        deep_grower(criterion="absolute_error").grow_targets(np.ones((4, 2)), np.ones(4), None, 0)
    three = grower(criterion="confidence", n_classes=3)
    for weights in (np.ones(4), np.ones((4, 2))):
        with pytest.raises(ValueError):
            three.grow_classes(**LABELS | {"weights": weights})
    three.grow_classes(**LABELS | {"weights": np.ones((4, 3))})


seeds = st.integers(0, 2**32 - 1)


def grown(seed: int) -> tuple[_core.GrownTree, np.ndarray, np.ndarray]:
    case = random_case(np.random.default_rng(seed), "gini", 200, 3, missing=0.1)
    return case.grow_with(case.deep_grower(oracle.Limits())), case.codes, case.n_bins


@given(seeds)
def test_a_tree_is_the_same_again(seed):
    tree, codes, n_bins = grown(seed)
    rows = np.arange(len(codes), dtype=np.int32)
    again = _core.GrownTree(tuple(array.copy() for array in tree.nodes()), tree.leaf_of_row)
    for before, after in zip(tree.nodes(), again.nodes(), strict=True):
        assert_array_equal(before, after)
    assert_array_equal(_core.walk_codes(codes, n_bins, again, rows), tree.leaf_of_row)
    assert_array_equal(again.leaf_of_row, tree.leaf_of_row)
    again.forget_rows()
    assert again.leaf_of_row is None and _core.GrownTree(tree.nodes(), None).leaf_of_row is None


@given(st.lists(seeds, min_size=1, max_size=4))
def test_trees_are_joined_node_by_node(several):
    trees = [grown(seed)[0] for seed in several]
    n_nodes, *joined = _core.joined_nodes(trees)
    assert n_nodes.tolist() == [len(tree.feature) for tree in trees]
    offset = joined.pop(4)
    for name, array in zip([name for name in NAMES if name not in ("category_offset", "sums")], joined, strict=True):
        assert_array_equal(array, np.concatenate([getattr(tree, name) for tree in trees]))
    words = np.concatenate([np.diff(tree.category_offset) for tree in trees])
    assert_array_equal(offset, np.concatenate([[0], np.cumsum(words)]))


def test_what_joins_no_trees_is_refused():
    for other in (None, 3, np.zeros(3)):
        with pytest.raises(TypeError, match="takes grown trees"):
            _core.joined_nodes([grown(3)[0], other])


def test_trees_that_are_made_when_they_are_asked_for_are_joined():
    class Made:
        def __len__(self):
            return 3

        def __getitem__(self, number):
            if number >= 3:
                raise IndexError
            return grown(number)[0]

    for made, kept in zip(_core.joined_nodes(Made()), _core.joined_nodes([grown(k)[0] for k in range(3)]), strict=True):
        assert_array_equal(made, kept)


NAMES = ("feature", "bin", "left", "missing_left", "category_offset", "category_bits", "gain", "count", "sums")


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        *[
            (name, lambda a: a[:-1], "not of one length|words of categories")
            for name in NAMES
            if name != "category_bits"
        ],
        *[(name, lambda a: a.astype(np.float32), "another type or shape") for name in NAMES],
        *[(name, lambda a: a[None], "another type or shape") for name in NAMES],
        *[(name, lambda a: None, "another type or shape") for name in NAMES],
        ("left", lambda a: np.where(a < 0, a, 0).astype(np.int32), "does not follow its parent"),
        ("left", lambda a: np.where(a < 0, a, len(a) - 1).astype(np.int32), "does not follow its parent"),
        ("left", lambda a: np.where(a < 0, a, 2**31 - 1).astype(np.int32), "does not follow its parent"),
        ("feature", lambda a: np.abs(a), "does not follow its parent"),
        ("category_offset", lambda a: a + 1, "words of categories"),
        ("category_offset", lambda a: a[::-1].copy(), "words of categories"),
        ("category_bits", lambda a: np.append(a, np.uint32(1)), "words of categories"),
    ],
)
def test_arrays_that_are_no_trees_are_refused(name, change, message):
    tree, _, _ = grown(3)
    assert len(tree.category_bits) and len(tree.feature) > 9
    nodes = list(tree.nodes())
    nodes[NAMES.index(name)] = change(nodes[NAMES.index(name)])
    with pytest.raises(ValueError, match=message):
        _core.TreeNodes(tuple(nodes))


def test_other_numbers_of_arrays_are_refused():
    tree, _, _ = grown(3)
    with pytest.raises(ValueError, match="a tree is of 9 arrays"):
        _core.TreeNodes(tree.nodes()[:-1])
    with pytest.raises(ValueError, match="another type or shape"):
        _core.GrownTree(tree.nodes(), np.zeros(3))
    n = len(tree.feature)
    for value, bounds in ((np.zeros((n, 0)), np.zeros((n, 2))), (np.zeros((n, 1)), np.zeros((n, 1)))):
        with pytest.raises(ValueError, match="not of one length"):
            _core.GradientTree(tree.nodes(), value, bounds)


def test_a_tree_of_fewer_categories_is_not_walked():
    tree, codes, n_bins = grown(3)
    nodes = list(tree.nodes())
    nodes[4], nodes[5] = np.zeros_like(nodes[4]), nodes[5][:0]  # numeric splits are walked by any code
    rows = np.arange(len(codes), dtype=np.int32)
    _core.walk_codes(codes, n_bins, _core.TreeNodes(tuple(nodes)), rows)
    more = n_bins + 40 * np.isin(np.arange(len(n_bins)), tree.feature[np.diff(tree.category_offset) > 0])
    with pytest.raises(ValueError, match="grown on fewer categories"):
        _core.walk_codes(codes, more.astype(np.int32), tree, rows)
