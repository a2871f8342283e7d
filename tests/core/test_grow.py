"""Growth: every split of every tree is checked against all candidates of its node, one by one."""

from dataclasses import replace
from itertools import pairwise, product

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from committee import _core
from tests.core.cases import CLASS_CRITERIA, CRITERIA, cases, cases_with_limits, one_column, random_case
from tests.core.checked_tree import ARRAYS, CheckedTree, assert_same_splits, assert_same_tree
from tests.oracles import grow as oracle

NO_LIMITS = oracle.Limits()


@pytest.mark.parametrize("kind", CRITERIA)
@pytest.mark.parametrize("categorical", ["none", "mixed", "all"])
@given(data=st.data())
def test_every_split_is_the_best_of_its_node(kind, categorical, data):
    case, limits = data.draw(cases_with_limits(kinds=(kind,), categorical=categorical))
    CheckedTree(case.grow(limits), case.table, limits).assert_right()


@pytest.mark.parametrize("kind", CRITERIA)
@pytest.mark.parametrize("weights", ["equal", "integer"])
@given(data=st.data())
def test_ties_go_to_the_first_candidate(kind, weights, data):
    """Whole numbers tie often; the naive tree takes the lowest feature, the lowest bin, missing right."""
    case = data.draw(cases(kinds=(kind,), n_classes=2, weights=weights, categorical="none"))
    case = replace(case, targets=np.round(case.targets))
    limits = case.limits(max_depth=data.draw(st.integers(1, 3)))
    assert_same_splits(case.grow(limits), 0, oracle.grow(case.table, limits), 0, case.n_bins)


@pytest.mark.parametrize("kind", ["gini", "squared_error", "several_targets", "poisson"])
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 150),
    max_bins=st.sampled_from([7, 8, 9, 60, 254, 300]),
    n_classes=st.integers(2, 4),
    missing=st.sampled_from([0.0, 0.2, 0.8]),
    min_samples=st.sampled_from([1, 2, 9, 40]),
    min_weight=st.sampled_from([0.0, 0.0, 0.1234567]),
    min_gain=st.sampled_from([0.0, 0.0, 0.0123457, -1.0]),
)
def test_splits_of_many_bins_are_the_first_of_the_best(
    kind, seed, n, max_bins, n_classes, missing, min_samples, min_weight, min_gain
):
    """Gains of many bins are found eight at a time, and most before their peak are passed over."""
    options = {"weights": "integer", "categorical": "none", "missing": missing, "wide": max_bins > 255}
    case = random_case(np.random.default_rng(seed), kind, n, 2, n_classes, max_bins, **options)
    case = replace(case, targets=np.round(case.targets))
    limits = case.limits(
        max_depth=2,
        min_samples_leaf=min_samples,
        min_weight_leaf=min_weight,
        min_gain=min_gain if kind == "gini" else abs(min_gain) % 1.0,
    )
    assert_same_splits(case.grow(limits), 0, oracle.grow(case.table, limits), 0, case.n_bins)


@given(cases(kinds=("error",), weights="equal"))
def test_no_stump_has_less_error_than_that_of_criterion_error(case):
    """All ways to part the values of a column, thresholds or subsets, with the best vote on either side."""
    tree = case.grow(oracle.Limits(max_depth=1))
    right = case.table.statistics[case.table.rows].sum(0).max() + tree.gain[0]
    most = 0.0
    for j, categorical in enumerate(case.categorical):
        cells = oracle.cell_sums(case.table, case.table.rows, j)[0]
        n = len(cells) - 1
        for left in product([False, True], repeat=n + 1):
            if categorical or all(a >= b for a, b in pairwise(left[:n])):
                mask = np.array(left)
                most = max(most, cells[mask].sum(0).max() + cells[~mask].sum(0).max())
    assert right == pytest.approx(most, abs=1e-9 * case.table.scale)


@pytest.mark.parametrize("kind", ["gini", "entropy"])
@given(case=cases(kinds=("gini",), weights="equal", n_classes=2))
def test_below_zero_only_rows_that_are_alike_end_a_tree(kind, case):
    case, limits = replace(case, kind=kind), oracle.Limits(min_gain=-1.0)
    tree = case.grow(limits)
    for leaf in np.flatnonzero(tree.feature < 0):
        rows = case.table.rows[tree.leaf_of_row[case.table.rows] == leaf]
        assert len(np.unique(case.labels[rows])) == 1 or len(np.unique(case.codes[rows], axis=0)) == 1
    assert (tree.gain >= 0.0).all()
    assert_same_tree(case.grow_with(case.deep_grower(limits)), tree)


@pytest.mark.parametrize("kind", ["gini", "entropy", "confidence", "squared_error", "poisson"])
@given(data=st.data())
def test_categorical_split_is_the_best_of_all_subsets(kind, data):
    """Two classes: Breiman et al. 1984, section 4.2.2; squared error: Fisher 1958."""
    case = data.draw(cases(kinds=(kind,), n_classes=2, p=1, categorical="all"))
    tree = case.grow(case.limits(max_depth=1))
    table = case.table
    _, counts, weight = oracle.cell_sums(table, np.arange(len(case.codes)), 0)
    masks = np.array(list(oracle.subset_masks(counts, weight)), dtype=bool).reshape(-1, len(counts))
    gains = oracle.gains_of(table, table.rows, 0, masks, NO_LIMITS)
    best = max(gains.max(initial=0.0), 0.0)
    assert tree.gain[0] == pytest.approx(best, abs=1e-9 * table.scale)


def test_many_categories_use_several_words():
    rng = np.random.default_rng(0)
    codes: NDArray[np.uint8] = rng.integers(0, 200, (3000, 1)).astype(np.uint8)
    good = rng.random(200) < 0.5
    case = random_case(rng, "gini", 3000, 1)
    case = replace(
        case,
        codes=codes,
        n_bins=np.array([200], dtype=np.int32),
        categorical=np.array([1], dtype=np.uint8),
        labels=good[codes[:, 0]].astype(np.uint16),
    )
    tree = case.grow(NO_LIMITS)
    assert_array_equal(tree.feature, [0, -1, -1])
    assert_array_equal(tree.category_offset, [0, 7, 7, 7])
    assert_array_equal(oracle.goes_left(tree, 0, 200, categorical=True)[:200], good == good[codes[:, 0]].mean().round())
    assert tree.category_bits[6] < 2 ** (200 - 192)


@pytest.mark.parametrize("categorical", [False, True])
@pytest.mark.parametrize(
    ("codes", "labels", "like"),
    [
        ([0, 0, 1, 1, 2], [0, 0, 1, 1, 0], 0),  # the missing row (code 2) is of the class of the rows of code 0
        ([0, 0, 1, 1, 2], [0, 0, 1, 1, 1], 1),
        ([0, 0, 0, 1], [0, 0, 0, 1], 0),  # none missing: the child that weighs more
        ([0, 1, 1, 1], [0, 1, 1, 1], 1),
        ([0, 0, 1, 1], [0, 0, 1, 1], 1),  # equal children: right
        ([0, 1, 2, 2], [0, 1, 0, 1], 1),  # missing values that tell nothing: right
    ],
)
def test_missing_values_learn_their_side(codes, labels, like, categorical):
    tree = one_column(codes, labels, 2, categorical).grow(oracle.Limits(max_depth=1))
    left = oracle.goes_left(tree, 0, 2, categorical)
    assert left[2] == left[like] != left[1 - like]


def test_missing_against_present():
    tree = one_column([0, 1, 2, 3, 3], [0, 0, 0, 1, 1], 3).grow(NO_LIMITS)
    assert_array_equal(tree.feature, [0, -1, -1])
    assert tree.bin[0] == 2
    assert tree.missing_left[0] == 0


def test_categories_a_node_never_saw_follow_the_heavier_child():
    tree = one_column([0, 0, 3, 0], [0, 0, 1, 0], 5, categorical=True).grow(NO_LIMITS)
    assert_array_equal(oracle.goes_left(tree, 0, 5, categorical=True), [1, 1, 1, 0, 1, 1])
    tree = one_column([0, 3, 3, 3], [0, 1, 1, 1], 5, categorical=True).grow(NO_LIMITS)
    assert_array_equal(oracle.goes_left(tree, 0, 5, categorical=True), [0, 1, 1, 1, 1, 1])


# With more than two classes, cells of equal share in one class stand in an order that the last bit of a sum
# decides, and a stump that may abstain can gain the same from any split: whole weights would compare ties.
without_ties = cases(weights="integer", categorical="none") | cases(
    kinds=("gini", "entropy", "confidence", "squared_error"),
    n_classes=2,
    weights="integer",
    categorical="all",
)


@given(without_ties, st.integers(0, 3))
def test_integer_weights_are_repeated_rows(case, depth):
    times = (1 + case.weights if case.weights.ndim == 1 else 1 + case.weights[:, 0]).astype(int)
    case = replace(case, weights=np.broadcast_to(times.astype(float), case.weights.T.shape).T.copy())
    limits = case.limits(max_depth=depth)
    repeated = replace(
        case,
        codes=np.repeat(case.codes, times, axis=0),
        labels=np.repeat(case.labels, times),
        targets=np.repeat(case.targets, times, axis=0),
        weights=np.ones_like(np.repeat(case.weights, times, axis=0)),
    )
    ours, theirs = case.grow(limits), repeated.grow(limits)
    for name in ("feature", "bin", "missing_left", "category_bits"):
        assert_array_equal(getattr(ours, name), getattr(theirs, name))
    assert_array_equal(ours.leaf_of_row, theirs.leaf_of_row[np.cumsum(times) - times])
    assert_allclose(ours.gain, theirs.gain, atol=1e-9 * case.table.scale)
    assert_allclose(ours.sums, theirs.sums, atol=1e-12 * case.table.total)


def leaf_groups(tree: _core.GrownTree, rows: NDArray[np.integer]) -> set[tuple[int, ...]]:
    """Which rows end together, whatever their leaf is called."""
    leaf = tree.leaf_of_row[rows]
    return {tuple(np.flatnonzero(leaf == k).tolist()) for k in np.unique(leaf)}


@settings(max_examples=200)
@given(cases(weights="some_zero"), st.integers(0, 3))
def test_rows_of_no_weight_change_no_split(case, depth):
    """They may swap children: with bin 1 weightless, <= 1 and missing is the rest of <= 2 without."""
    limits = case.limits(max_depth=depth)
    heavy = np.flatnonzero(case.table.weights > 0).astype(np.int32)
    ours, theirs = case.grow(limits), replace(case, rows=heavy).grow(limits)
    assert leaf_groups(ours, heavy) == leaf_groups(theirs, heavy)
    assert_allclose(np.sort(ours.gain), np.sort(theirs.gain), atol=1e-12 * case.table.scale)


@pytest.mark.parametrize("kind", ["gini", "abstaining"])
def test_a_child_without_weight_is_no_child(kind):
    """A constant vote is the best stump here; rows of weight 0 must not stand in for its other side."""
    codes, labels = [0, 1, 1, 2, 2], [0, 0, 1, 0, 1]
    case = replace(one_column(codes, labels, 3), kind=kind, weights=np.array([0.0, 3.0, 1.0, 3.0, 1.0]))
    tree = case.grow(oracle.Limits(max_depth=1))
    if kind == "gini":
        assert_array_equal(tree.feature, [-1])
    else:
        assert_array_equal(tree.bin, [1, -1, -1])
    assert (tree.sums.sum(1) > 0).all()


@given(cases_with_limits(), st.integers(0, 2**32 - 1))
def test_some_rows_are_a_smaller_table(drawn, seed):
    case, limits = drawn
    keep = np.random.default_rng(seed).random(len(case.codes)) < 0.6
    keep[0] = True
    rows = np.flatnonzero(keep)
    ours = replace(case, rows=rows.astype(np.int32)).grow(limits)
    kept = {name: getattr(case, name)[keep] for name in ("codes", "labels", "targets", "weights")}
    smaller = replace(case, **kept).grow(limits)
    for name in ARRAYS[:-1]:
        assert_array_equal(getattr(ours, name), getattr(smaller, name), err_msg=name)
    assert_array_equal(ours.leaf_of_row[keep], smaller.leaf_of_row)
    assert (ours.leaf_of_row[~keep] == -1).all()


@given(cases_with_limits(), st.integers(0, 2**32 - 1))
def test_all_rows_are_no_rows_in_any_order(drawn, seed):
    case, limits = drawn
    n = len(case.codes)
    tree = case.grow(limits)
    assert_same_tree(tree, replace(case, rows=np.arange(n, dtype=np.int32)).grow(limits))
    shuffled = np.random.default_rng(seed).permutation(n).astype(np.int32)
    other = replace(case, rows=shuffled)
    CheckedTree(other.grow(limits), other.table, limits).assert_right()


@given(cases_with_limits(kinds=CLASS_CRITERIA, weights="equal"), st.integers(0, 2**32 - 1))
def test_order_of_rows_does_not_matter(drawn, seed):
    """To the bit where the total weight is exact in any order of summing."""
    case, limits = drawn
    shuffled = np.random.default_rng(seed).permutation(len(case.codes)).astype(np.int32)
    assert_same_tree(case.grow(limits), replace(case, rows=shuffled).grow(limits))


@given(cases_with_limits(max_rows=200))
def test_narrow_and_wide_codes_agree(drawn):
    case, limits = drawn
    other = replace(case, codes=case.codes.astype(np.uint16))
    assert_same_tree(replace(case, codes=case.codes.astype(np.uint8)).grow(limits), other.grow(limits))


@pytest.mark.parametrize("kind", CRITERIA)
@pytest.mark.parametrize("scale", [1e-140, 1e-20, 1e20, 1e140])
def test_the_unit_of_the_weights_does_not_matter(kind, scale):
    case = random_case(np.random.default_rng(5), kind, 50, 3, n_classes=3, weights="some_zero")
    limits = case.limits(max_depth=3, min_weight_leaf=0.0314159, min_gain=0.001)
    ours, scaled = case.grow(limits), replace(case, weights=scale * case.weights).grow(limits)
    assert_array_equal(ours.feature, scaled.feature)
    assert_array_equal(ours.leaf_of_row, scaled.leaf_of_row)
    assert_allclose(scaled.gain / scale, ours.gain, rtol=1e-9)


@pytest.mark.parametrize("mean", [0.0, 0.1, 1000.0])
def test_rounding_is_not_a_gain(mean):
    """Both values of the feature have targets of one mean, up to the rounding of their sums."""
    rng = np.random.default_rng(0)
    case = replace(one_column([0, 0, 0, 1, 1, 1], [0] * 6, 2), kind="squared_error", weights=np.full(6, 0.1))
    for _ in range(100):
        targets = rng.normal(size=6)
        targets[[2, 5]] = -targets[[0, 3]] - targets[[1, 4]]
        assert len(replace(case, targets=mean + targets).grow(NO_LIMITS).feature) == 1


@pytest.mark.parametrize("offset", [1e3, 1e6])
def test_targets_far_from_zero(offset):
    case = random_case(np.random.default_rng(3), "squared_error", 200, 3, max_bins=20)
    limits = oracle.Limits(max_depth=3)
    near, far = case.grow(limits), replace(case, targets=case.targets + offset).grow(limits)
    assert_array_equal(near.leaf_of_row, far.leaf_of_row)
