"""Contributions of trees against Shapley's definition, and what must hold for any trees."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from committee import _core
from committee.voters.forest import Forest
from tests.core.cases import chain, check_threads
from tests.oracles import traverse

F64 = NDArray[np.float64]


def contributions(
    forest: Forest, value: F64, rows: F64, weights: F64, n_outputs: int, n_threads: int = 1, /, **changes: Any
) -> F64:
    names = ("n_features", "offset", "feature", "threshold", "left", "missing_left", "category_offset", "category_bits")
    arguments: dict[str, Any] = {"X": rows, **{name: getattr(forest, name) for name in names}, "cover": forest.weight}
    arguments |= {"value": value, "weights": weights, "n_outputs": n_outputs, "n_threads": n_threads}
    return _core.tree_contributions(**(arguments | changes))


def added_up(forest: Forest, rng: np.random.Generator, zeros: float = 0.0) -> Forest:
    """The same trees with a training record that adds up: a node's weight is that of its leaves."""
    weight = np.where(rng.random(len(forest.feature)) < zeros, 0.0, rng.exponential(size=len(forest.feature)))
    for t in range(len(forest)):
        first = int(forest.offset[t])
        for i in reversed(range(first, int(forest.offset[t + 1]))):
            if forest.feature[i] >= 0:
                left = first + int(forest.left[i])
                weight[i] = weight[left] + weight[left + 1]
    return replace(forest, weight=weight)


def random_trees(draw: st.DrawFn) -> tuple[np.random.Generator, tuple[int, ...], int, int, Forest]:
    """Trees that split on few features again and again: generator, categories by column, outputs, rounds, forest."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    categories = tuple(draw(st.lists(st.sampled_from([0, 0, 5, 40]), min_size=1, max_size=5)))
    outputs, per_tree = draw(st.sampled_from([(1, 1), (3, 3), (3, 1)]))
    rounds = draw(st.integers(1, 3))
    forest = traverse.random_forest(
        rng,
        n_trees=rounds * (outputs // per_tree),
        n_splits=draw(st.integers(0, 9)),
        n_categories=categories,
        n_outputs=per_tree,
    )
    return rng, categories, outputs, rounds, forest


@st.composite
def cases(draw: st.DrawFn) -> tuple[Forest, F64, F64, F64, int]:
    """Trees that split on few features again and again, on categories and with gaps."""
    rng, categories, outputs, rounds, forest = random_trees(draw)
    forest = added_up(forest, rng, draw(st.sampled_from([0.0, 0.0, 0.3])))
    X = traverse.random_rows(rng, draw(st.sampled_from([0, 1, 3, 9])), categories)
    return forest, forest.value, X, rng.normal(size=rounds), outputs


@settings(max_examples=40)
@given(cases())
def test_they_are_what_shapley_says(case):
    assert_allclose(contributions(*case), traverse.contributions(*case), rtol=1e-11, atol=1e-12)


def random_chain(depth: int, p: int, rng: np.random.Generator) -> Forest:
    threshold = rng.normal(size=depth) - 1.0
    return added_up(chain(depth, threshold, p, value=rng.normal(size=(2 * depth + 1, 1))), rng)


@pytest.mark.parametrize(("depth", "p"), [(1, 1), (2, 2), (3, 3), (40, 40), (100, 7), (150, 100)])
def test_the_sum_holds_however_deep_the_tree(depth, p):
    rng = np.random.default_rng(depth)
    forest = random_chain(depth, p, rng)
    forest.check()
    X = rng.normal(size=(50, p))
    shares = contributions(forest, forest.value, X, np.ones(1), 1)
    assert_allclose(shares.sum(axis=1), forest.tally(X), rtol=1e-9, atol=1e-13)


def test_a_feature_that_no_tree_looks_at_gets_exactly_nothing():
    rng = np.random.default_rng(0)
    forest = random_chain(6, 3, rng)
    X = rng.normal(size=(20, 5))
    assert (contributions(replace(forest, n_features=5), forest.value, X, np.ones(1), 1)[:, 3:5] == 0).all()


@pytest.mark.parametrize("n", [1, 7, 500])
def test_same_bits_for_any_number_of_threads_and_any_company(n):
    rng = np.random.default_rng(0)
    forest = added_up(traverse.random_forest(rng, n_trees=12, n_splits=20, n_outputs=2), rng)
    X, weights = traverse.random_rows(rng, n), rng.normal(size=12)
    (one,) = check_threads(lambda t: [contributions(forest, forest.value, X, weights, 2, t)])
    alone = [contributions(forest, forest.value, X[i : i + 1], weights, 2) for i in range(min(n, 20))]
    assert_array_equal(np.concatenate(alone), one[:20])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X": np.zeros((2, 2))}, "X has another number of columns"),
        ({"cover": np.ones(3)}, "cover needs one number per node"),
        ({"cover": -np.ones(5)}, "cover must be finite and not negative"),
        ({"cover": np.full(5, np.nan)}, "cover must be finite"),
        ({"value": np.ones((4, 1))}, "value needs one row per node"),
        ({"value": np.ones((5, 2))}, "value needs one column, or one for every output"),
        ({"n_outputs": 0}, "value needs one column"),
        ({"n_outputs": 2}, "one tree per output and round"),
        ({"weights": np.ones(2)}, "weights needs one number per round"),
    ],
)
def test_what_does_not_fit_is_refused(changes, message):
    forest = random_chain(2, 3, np.random.default_rng(0))
    with pytest.raises(ValueError, match=message):
        contributions(forest, forest.value, np.zeros((2, 3)), np.ones(1), 1, **changes)


def test_many_deep_trees_are_taken_in_turn():
    rng = np.random.default_rng(1)
    forest, X = random_chain(150, 100, rng), rng.normal(size=(9, 100))
    one = contributions(forest, forest.value, X, np.ones(1), 1)
    many = Forest.concatenate([forest] * 80)
    assert many.value is not None
    assert_allclose(contributions(many, many.value, X, np.full(80, 1 / 80), 1), one, rtol=1e-10, atol=1e-14)


@settings(max_examples=40, deadline=None)
@given(cases())
def test_they_are_halves_of_the_interaction_index(case):
    forest, value, X, weights, outputs = case
    arguments = (X, *forest.walk_arrays, forest.weight, value, weights, outputs)
    above = _core.tree_interactions(*arguments, 1)
    expected = traverse.interactions(forest, value, X, weights, outputs)
    assert_allclose(above + above.swapaxes(1, 2), expected, rtol=1e-9, atol=1e-10)
    assert_array_equal(_core.tree_interactions(*arguments, 3), above)


NO_LINES = (np.empty(0, np.int64), np.empty(0, np.int32), np.empty((0, 1)), np.empty((0, 1)), np.empty(0), np.empty(0))


def background_contributions(
    forest: Forest,
    X: F64,
    Z: F64,
    weights: F64,
    n_outputs: int,
    lines: Any = NO_LINES,
    n_threads: int = 1,
) -> F64:
    return _core.interventional_contributions(
        X, Z, *forest.walk_arrays, forest.value, weights, n_outputs, *lines, n_threads
    )


def random_lines(rng: np.random.Generator, forest: Forest, numeric: NDArray[np.bool_]) -> tuple[Any, ...]:
    """Up to two lines in each leaf, along any numeric columns."""
    start, column = [0], []
    for i in range(forest.n_nodes.sum()):
        if forest.feature[i] < 0 and numeric.any():
            column += rng.permutation(np.flatnonzero(numeric))[: rng.integers(0, 3)].tolist()
        start.append(len(column))
    M, D = len(column), forest.value.shape[1]
    low = rng.integers(-4, 2, M) / 2
    arrays = (rng.normal(size=(M, D)), rng.normal(size=(M, D)), low, low + rng.integers(1, 6, M) / 2)
    return np.array(start, np.int64), np.array(column, np.int32), *arrays


def line_sum(lines: tuple[Any, ...]) -> Any:
    """What the lines of a leaf add to a row, by their definition."""
    start, column, slope, centre, low, high = lines

    def add(node: int, row: F64) -> F64:
        total = np.zeros(slope.shape[1])
        for m in range(start[node], start[node + 1]):
            if not np.isnan(row[column[m]]):
                total += slope[m] * (np.clip(row[column[m]], low[m], high[m]) - centre[m])
        return total

    return add


@st.composite
def interventional_cases(
    draw: st.DrawFn,
) -> tuple[Forest, F64, F64, F64, int, tuple[Any, ...]]:
    """Trees that split on few features again and again, on categories and with gaps; with lines and without."""
    rng, categories, outputs, rounds, forest = random_trees(draw)
    X = traverse.random_rows(rng, draw(st.sampled_from([0, 1, 3])), categories)
    Z = traverse.random_rows(rng, draw(st.sampled_from([1, 2, 5])), categories)
    numeric = np.array(categories) == 0
    lines = random_lines(rng, forest, numeric) if draw(st.booleans()) else NO_LINES
    return forest, X, Z, rng.normal(size=rounds), outputs, lines


@settings(max_examples=60, deadline=None)
@given(interventional_cases())
def test_they_are_shapleys_mean_over_all_sets(case):
    forest, X, Z, weights, outputs, lines = case
    found = background_contributions(forest, X, Z, weights, outputs, lines)
    line = line_sum(lines) if len(lines[0]) else None
    expected = traverse.interventional(forest, forest.value, X, Z, weights, outputs, line)
    assert_allclose(found, expected, rtol=1e-9, atol=1e-10)
    assert_array_equal(background_contributions(forest, X, Z, weights, outputs, lines, 3), found)


@settings(max_examples=60, deadline=None)
@given(interventional_cases())
def test_they_are_means_over_the_background_and_nothing_goes_to_features_that_are_equal(case):
    forest, X, Z, weights, outputs, lines = case
    found = background_contributions(forest, X, Z, weights, outputs, lines)
    each = np.stack([background_contributions(forest, X, Z[k : k + 1], weights, outputs, lines) for k in range(len(Z))])
    assert_allclose(found, each.mean(axis=0), rtol=1e-9, atol=1e-10)
    twice = background_contributions(forest, X, np.concatenate([Z, Z]), weights, outputs, lines)
    assert_allclose(found, twice, rtol=1e-9, atol=1e-10)
    same = background_contributions(forest, X, X[:1], weights, outputs, lines)[:1] if len(X) else np.zeros((0, 2, 1))
    assert_allclose(same[:, :-1], 0.0, atol=1e-12)
    unused = np.setdiff1d(np.arange(forest.n_features), np.append(forest.feature, lines[1]))
    assert not found[:, unused].any()


def test_a_chain_of_many_features_is_walked_without_recursion():
    """A row and a background row that part at each of 3,000 features: as deep as the tree, and exact."""
    p = 3000
    value = np.zeros((2 * p + 1, 1))
    value[-1] = 1.0
    found = background_contributions(chain(p, 0.0, p, value=value), np.ones((1, p)), -np.ones((1, p)), np.ones(1), 1)
    assert_allclose(found[0, :-1, 0], 1.0 / p, rtol=1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": np.zeros((1, 9))}, "X has another number"),
        ({"Z": np.zeros((1, 9))}, "Z has another number"),
        ({"Z": np.zeros((0, 4))}, "at least one row"),
        ({"lines": (np.zeros(2, np.int64), *NO_LINES[1:])}, "start must run"),
    ],
)
def test_background_that_does_not_fit_is_refused(change, message):
    rng = np.random.default_rng(0)
    forest = traverse.random_forest(rng, n_outputs=1, n_classes=1)
    given: dict[str, Any] = {"X": np.zeros((2, 4)), "Z": np.zeros((2, 4)), "lines": NO_LINES} | change
    with pytest.raises(ValueError, match=message):
        background_contributions(forest, given["X"], given["Z"], np.ones(4), 1, given["lines"])
