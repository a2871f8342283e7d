"""Contributions beside background rows against Shapley's definition, and what must hold for any trees."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from committee import _core
from committee.voters.forest import Forest
from tests.oracles import traverse, tree_shap

F64 = NDArray[np.float64]
NO_LINES = (np.empty(0, np.int64), np.empty(0, np.int32), np.empty((0, 1)), np.empty((0, 1)), np.empty(0), np.empty(0))


def contributions(
    forest: Forest, X: F64, Z: F64, weights: F64, n_outputs: int, lines: Any = NO_LINES, n_threads: int = 1
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
def cases(draw: st.DrawFn) -> tuple[Forest, F64, F64, F64, int, tuple[Any, ...]]:
    """Trees that split on few features again and again, on categories and with gaps; with lines and without."""
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
    X = traverse.random_rows(rng, draw(st.sampled_from([0, 1, 3])), categories)
    Z = traverse.random_rows(rng, draw(st.sampled_from([1, 2, 5])), categories)
    numeric = np.array(categories) == 0
    lines = random_lines(rng, forest, numeric) if draw(st.booleans()) else NO_LINES
    return forest, X, Z, rng.normal(size=rounds), outputs, lines


@settings(max_examples=60, deadline=None)
@given(cases())
def test_they_are_shapleys_mean_over_all_sets(case: Any) -> None:
    forest, X, Z, weights, outputs, lines = case
    found = contributions(forest, X, Z, weights, outputs, lines)
    line = line_sum(lines) if len(lines[0]) else None
    expected = tree_shap.interventional(forest, forest.value, X, Z, weights, outputs, line)
    assert_allclose(found, expected, rtol=1e-9, atol=1e-10)
    assert_array_equal(contributions(forest, X, Z, weights, outputs, lines, 3), found)


@settings(max_examples=60, deadline=None)
@given(cases())
def test_they_are_means_over_the_background_and_nothing_goes_to_features_that_are_equal(case: Any) -> None:
    forest, X, Z, weights, outputs, lines = case
    found = contributions(forest, X, Z, weights, outputs, lines)
    each = np.stack([contributions(forest, X, Z[k : k + 1], weights, outputs, lines) for k in range(len(Z))])
    assert_allclose(found, each.mean(axis=0), rtol=1e-9, atol=1e-10)
    twice = contributions(forest, X, np.concatenate([Z, Z]), weights, outputs, lines)
    assert_allclose(found, twice, rtol=1e-9, atol=1e-10)
    same = contributions(forest, X, X[:1], weights, outputs, lines)[:1] if len(X) else np.zeros((0, 2, 1))
    assert_allclose(same[:, :-1], 0.0, atol=1e-12)
    unused = np.setdiff1d(np.arange(forest.n_features), np.append(forest.feature, lines[1]))
    assert not found[:, unused].any()


def test_a_chain_of_many_features_is_walked_without_recursion() -> None:
    """A row and a background row that part at each of 3,000 features: as deep as the tree, and exact."""
    p = 3000
    feature = np.full(2 * p + 1, -1, np.int32)
    left = np.zeros(2 * p + 1, np.int32)
    feature[0 : 2 * p : 2], left[0 : 2 * p : 2] = np.arange(p), np.arange(1, 2 * p, 2)
    value = np.zeros((2 * p + 1, 1))
    value[-1] = 1.0
    nodes = (np.zeros(2 * p + 1), left, np.zeros(2 * p + 1, np.uint8))
    words = (np.zeros(2 * p + 2, np.int64), np.empty(0, np.uint32))
    walk = (p, np.array([0, 2 * p + 1]), feature, *nodes, *words)
    found = _core.interventional_contributions(
        np.ones((1, p)), -np.ones((1, p)), *walk, value, np.ones(1), 1, *NO_LINES, 1
    )
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
def test_what_does_not_fit_is_refused(change: dict[str, Any], message: str) -> None:
    rng = np.random.default_rng(0)
    forest = traverse.random_forest(rng, n_outputs=1, n_classes=1)
    given: dict[str, Any] = {"X": np.zeros((2, 4)), "Z": np.zeros((2, 4)), "lines": NO_LINES} | change
    with pytest.raises(ValueError, match=message):
        contributions(forest, given["X"], given["Z"], np.ones(4), 1, given["lines"])
