"""The grower of deep trees: the other grower's trees, bit for bit, from any number of threads at once."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_array_equal
from numpy.typing import NDArray

from committee import _core
from tests.core.cases import Case, cases, limits_for, random_case
from tests.core.checked_tree import CheckedTree, assert_same_splits, assert_same_tree
from tests.oracles import grow as oracle

KINDS = ("gini", "entropy", "squared_error", "several_targets", "poisson")
DEEP_KINDS = (*KINDS, "absolute_error")
seeds = st.integers(0, 2**32 - 1)


@st.composite
def drawn(draw: st.DrawFn, **fixed: Any) -> tuple[Case, oracle.Limits]:
    case = draw(cases(**{"kinds": KINDS} | fixed))
    if draw(st.booleans()):
        rows = draw(st.permutations(range(len(case.codes))))
        rows = rows[: draw(st.integers(1, len(rows)))]
        if case.weights[rows].sum() > 0:
            case = replace(case, rows=np.array(rows, dtype=np.int32))
    return case, replace(limits_for(case, draw), max_leaf_nodes=0)


@given(drawn(), st.integers(0, 4), seeds)
def test_small_tables_grow_the_other_growers_trees(table, max_features, seed):
    case, limits = table
    tree = case.grow_with(case.deep_grower(limits, max_features), seed)
    assert_same_tree(tree, case.grow(limits, max_features, seed=seed))


@given(
    st.sampled_from(KINDS),
    st.sampled_from([2, 3, 5, 9, 60]),
    st.sampled_from([2, 30, 255, 700]),
    st.sampled_from(["equal", "integer", "some_zero", "heavy"]),
    st.sampled_from([0.0, 0.1]),
    st.integers(0, 12),
    seeds,
)
def test_larger_tables_do_too(kind, n_classes, max_bins, weights, missing, max_features, seed):
    options = {"max_bins": max_bins, "weights": weights, "missing": missing, "wide": max_bins > 255}
    case = random_case(np.random.default_rng(seed), kind, 700, 12, n_classes=n_classes, **options)
    for limits in (oracle.Limits(), oracle.Limits(max_depth=5, min_samples_leaf=3, min_gain=0.0012345)):
        tree = case.grow_with(case.deep_grower(limits, max_features), seed)
        assert_same_tree(tree, case.grow(limits, max_features, seed=seed))


@pytest.mark.parametrize("n_classes", [2, 3, 7, 8, 128, 137, 400])
def test_leaf_sums_are_those_of_the_classes_present(n_classes):
    case = random_case(np.random.default_rng(0), "gini", 300, 3, n_classes=n_classes, weights="heavy")
    tree = case.grow_with(case.deep_grower(oracle.Limits()))
    if n_classes == 2:
        assert tree.leaf_sums() is None
        return
    offset, label, weight, total = tree.leaf_sums()
    of_leaves = np.zeros((len(tree.feature), n_classes))
    of_leaves[np.repeat(np.arange(len(of_leaves)), np.diff(offset)), label] = weight
    assert tree.n_classes == n_classes
    assert_array_equal(np.where(tree.feature[:, None] < 0, tree.sums, 0.0), of_leaves)
    assert total.tobytes() == tree.sums.sum(axis=1).tobytes()
    assert (np.diff(offset) <= tree.count).all()


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("max_features", [1, 5, 0])
def test_nodes_beyond_one_block_of_codes(kind, max_features):
    """A root whose codes are read from columns, and nodes whose codes are copied together."""
    case = random_case(np.random.default_rng(0), kind, 30_000, 28, n_classes=3, max_bins=255, missing=0.02)
    case = replace(case, rows=np.flatnonzero(np.random.default_rng(1).random(30_000) < 0.6).astype(np.int32))
    limits = oracle.Limits(min_samples_leaf=4)
    assert_same_tree(case.grow_with(case.deep_grower(limits, max_features), 3), case.grow(limits, max_features, seed=3))


@pytest.mark.parametrize("max_features", [2, 40])
def test_wide_tables(max_features):
    case = random_case(np.random.default_rng(0), "gini", 400, 300, max_bins=40)
    tree = case.grow_with(case.deep_grower(oracle.Limits(), max_features), 1)
    assert_same_tree(tree, case.grow(oracle.Limits(), max_features, seed=1))


@given(drawn(kinds=DEEP_KINDS, max_rows=40))
def test_every_split_is_the_best_one(table):
    case, limits = table
    CheckedTree(case.grow_with(case.deep_grower(limits)), case.table, limits).assert_right()


@given(cases(kinds=("absolute_error",), weights="integer", categorical="none"), st.integers(1, 3))
def test_ties_of_medians_go_to_the_first_candidate(case, depth):
    case, limits = replace(case, targets=np.round(case.targets)), oracle.Limits(max_depth=depth)
    assert_same_splits(case.grow_with(case.deep_grower(limits)), 0, oracle.grow(case.table, limits), 0, case.n_bins)


@given(cases(kinds=("absolute_error",), categorical="all"), st.randoms(use_true_random=False))
def test_the_order_of_categories_changes_no_tree_of_medians(case, random):
    """Unless categories are alike in weight, median and sum."""
    other, limits = case.codes.copy(), oracle.Limits(max_depth=3)
    for j, n in enumerate(case.n_bins):
        order = list(range(n))
        random.shuffle(order)
        other[:, j] = np.array([*order, n])[case.codes[:, j]]
    one, two = (each.grow_with(each.deep_grower(limits)) for each in (case, replace(case, codes=other)))
    assert_array_equal(one.leaf_of_row, two.leaf_of_row)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", DEEP_KINDS)
def test_trees_grown_at_the_same_time(kind):
    case = random_case(np.random.default_rng(0), kind, 3000, 6, n_classes=3, max_bins=60)
    grower = case.deep_grower(oracle.Limits(), 2, n_threads=2)
    alone = [case.grow_with(case.deep_grower(oracle.Limits(), 2), seed) for seed in range(40)]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda seed: case.grow_with(grower, seed), range(40)))
    for ours, theirs in zip(together, alone, strict=True):
        assert_same_tree(ours, theirs)


@given(drawn(kinds=DEEP_KINDS), seeds)
def test_a_used_grower_grows_the_same_trees(table, seed):
    case, limits = table
    rng = np.random.default_rng(seed)
    grower = case.deep_grower(limits, 2)
    for _ in range(3):
        rows = np.flatnonzero(rng.random(len(case.codes)) < 0.5).astype(np.int32)
        other = replace(case, rows=rows if len(rows) else None, weights=case.weights + rng.random())
        assert_same_tree(other.grow_with(grower, seed), other.grow_with(other.deep_grower(limits, 2), seed))
    assert_same_tree(case.grow_with(grower, seed), case.grow_with(case.deep_grower(limits, 2), seed))


@given(drawn(), seeds)
def test_rows_are_walked_as_the_naive_walk_does(table, seed):
    case, limits = table
    tree = case.grow_with(case.deep_grower(limits, 2), seed)
    rows = np.random.default_rng(seed).integers(0, len(case.codes), 50).astype(np.int32)
    leaves = _core.walk_codes(case.codes, case.n_bins, tree, rows)
    reached, _ = oracle.walk(tree, case.codes, case.n_bins, case.categorical, rows)
    for i in np.flatnonzero(tree.feature < 0):
        assert_array_equal(rows[leaves == i], reached[i])
    used = np.arange(len(case.codes), dtype=np.int32) if case.rows is None else case.rows
    assert_array_equal(_core.walk_codes(case.codes, case.n_bins, tree, used), tree.leaf_of_row[used])


def test_rows_outside_the_table_and_trees_of_more_columns_are_not_walked():
    case = random_case(np.random.default_rng(0), "gini", 20, 2)
    tree = case.grow_with(case.deep_grower(oracle.Limits()))
    assert len(_core.walk_codes(case.codes, case.n_bins, tree, np.zeros(0, np.int32))) == 0
    for row in (-1, 20):
        with pytest.raises(ValueError, match="outside the table"):
            _core.walk_codes(case.codes, case.n_bins, tree, np.array([row], np.int32))
    assert tree.feature.max() > 0
    with pytest.raises(ValueError, match="columns"):
        _core.walk_codes(np.ascontiguousarray(case.codes[:, :1]), case.n_bins[:1], tree, np.zeros(1, np.int32))


def stumps(codes: NDArray[Any], n_bins: list[int], kind: str, answers: NDArray[Any], weights: NDArray[Any]) -> Any:
    """Of `Grower` and of `DeepGrower`."""
    case = Case(
        kind=kind,
        codes=np.ascontiguousarray(codes.astype(np.uint8)),
        n_bins=np.array(n_bins, np.int32),
        categorical=np.zeros(len(n_bins), np.uint8),
        labels=(answers > 0).astype(np.uint16),
        n_classes=2,
        targets=answers.astype(np.float64),
        weights=weights,
    )
    limits = oracle.Limits(max_depth=1)
    return [case.grow_with(grower) for grower in (case.grower(limits), case.deep_grower(limits))]


def split(tree: Any) -> tuple[int, int, int]:
    return int(tree.feature[0]), int(tree.bin[0]), int(tree.missing_left[0])


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("criterion", ["gini", "squared_error"])
def test_the_unit_of_weight_changes_no_split(criterion, seed):
    """Sums of weights that add up to just under a power of two, a side that weighs some 1e-16 of them."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([256, 300, 512, 777, 1024]))
    margin = rng.random(n) * 37.0
    weights = np.exp(-margin)
    weights /= weights.sum()
    column = margin + 0.2 * rng.normal(size=n)  # light rows are at one end
    codes = (np.argsort(np.argsort(column)) * 200 // n)[:, None]
    answers = np.where(rng.random(n) < 0.5, -1.0, 1.0) if criterion == "squared_error" else rng.integers(0, 2, n)
    shallow, deep = stumps(codes, [200], criterion, answers, weights)
    others = stumps(codes, [200], criterion, answers, 0.75 * weights)
    assert {split(tree) for tree in (shallow, deep, *others)} == {split(shallow)}
    assert shallow.feature[0] == 0


@pytest.mark.parametrize(("size", "weight"), [(1.0, 1.0), (1e-150, 1.0), (1e-158, 1.0), (1e100, 1e100), (1e150, 1e3)])
def test_gains_near_the_ends_of_numbers(size, weight):
    codes, answers = np.array([[0], [0], [1], [1]]), size * np.array([-1.0, -1.0, 1.0, 1.0])
    for tree in stumps(codes, [2], "squared_error", answers, np.full(4, weight)):
        assert split(tree) == (0, 0, 0)


@pytest.mark.parametrize("light", [1e-17, 1e-12, 1e-8])
def test_a_light_row_far_out(light):
    codes, answers = np.array([[0, 0], [1, 0], [1, 1]]), np.array([-1.0, 1.0, light**-0.5 * 3.0])
    shallow, deep = stumps(codes, [2, 2], "squared_error", answers, np.array([1.0, 1.0, light]))
    assert split(shallow) == split(deep) == (1, 0, 1)  # what is missing follows the heavier side


@pytest.mark.parametrize("seed", range(60))
def test_few_rows_of_weights_far_apart(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 9))
    weights = np.exp(14.0 * rng.normal(size=n))
    answers = rng.normal(size=n) * weights**-0.5
    shallow, deep = stumps(rng.integers(0, 5, (n, 4)), [5] * 4, "squared_error", answers, weights)
    assert split(shallow) == split(deep)


@pytest.mark.parametrize("n_between", [8, 12, 25, 40])
@pytest.mark.parametrize("light", [0.3e-10, 0.45e-10, 0.9e-10])
def test_a_bin_without_rows_changes_no_chain_of_ties(n_between, light):
    """Gains rise by less than a tie from bin to bin; missing values alone are on the left of an unused bin in front."""
    weights = np.r_[1.0, np.full(n_between, light), 1.0]
    labels = np.r_[0, np.zeros(n_between), 1]
    codes = np.arange(n_between + 2)[:, None]  # the last is missing
    shallow, deep = stumps(codes, [n_between + 1], "gini", labels, weights)
    expected = split(shallow)
    assert expected == split(deep)
    for tree in stumps(codes + 1, [n_between + 2], "gini", labels, weights):
        assert split(tree) == (expected[0], expected[1] + 1, expected[2])
