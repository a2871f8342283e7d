"""TreeRegressor against scikit-learn's tree, and what that tree cannot do; the door for targets."""

from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from sklearn.exceptions import DataConversionWarning
from sklearn.tree import DecisionTreeRegressor

from committee import GradientBoostingRegressor, RandomForestRegressor, TreeRegressor
from committee.data.rows import MAX_TARGET, target_vector


def coarse(seed: int = 0, n: int = 400) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Few distinct values, as bins keep them all, and noise, so that no two splits are equally good."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-6, 7, size=(n, 5)) / 2.0
    return X, X[:, 0] + X[:, 1] * (X[:, 2] > 0) + rng.normal(size=n)


def random_weights(n: int = 400) -> NDArray[np.float64]:
    return np.random.default_rng(1).exponential(size=n)


LIMITS: list[dict[str, Any]] = [
    {"max_depth": 1},
    {"max_depth": 5},
    {"max_leaf_nodes": 9},
    {"max_leaf_nodes": 20, "max_depth": 4},
    {"min_samples_leaf": 25},
    {"min_impurity_decrease": 0.03},
    {"min_weight_leaf": 0.04},
    {"min_samples_leaf": 5, "min_weight_leaf": 0.02, "max_leaf_nodes": 12, "min_impurity_decrease": 0.005},
]


@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_same_tree_as_scikit_learn(limits):
    X, y = coarse()
    w = random_weights()
    theirs = {{"min_weight_leaf": "min_weight_fraction_leaf"}.get(name, name): v for name, v in limits.items()}
    peer = DecisionTreeRegressor(**theirs, random_state=0).fit(X, y, w)
    tree = TreeRegressor(**limits).fit(X, y, w)
    assert tree.committee_.n_nodes == peer.tree_.node_count
    assert_allclose(tree.predict(X), peer.predict(X), rtol=1e-9)
    forest = tree.committee_.voters
    assert_allclose(np.sort(forest.weight), np.sort(peer.tree_.weighted_n_node_samples), rtol=1e-9)
    assert_array_equal(np.sort(forest.count), np.sort(peer.tree_.n_node_samples))
    assert_allclose(tree.feature_importances_, peer.feature_importances_, rtol=1e-9, atol=1e-12)


def test_leaves_are_weighted_means():
    X, y = coarse()
    w = random_weights()
    tree = TreeRegressor(max_leaf_nodes=7).fit(X, y, w)
    leaf = tree.committee_.voters.apply(X)[:, 0]
    for number in np.unique(leaf):
        inside = leaf == number
        assert_allclose(tree.predict(X[inside]), np.average(y[inside], weights=w[inside]), rtol=1e-12)


def test_the_best_two_sets_of_categories():
    rng = np.random.default_rng(2)
    colour = rng.integers(0, 5, 200)
    y = rng.normal(size=5)[colour] + rng.normal(size=200)
    frame = pl.DataFrame({"colour": [f"c{c}" for c in colour]})
    tree = TreeRegressor(max_depth=1).fit(frame, y)

    def error(left: NDArray[np.bool_]) -> float:
        return float(sum(((y[side] - y[side].mean()) ** 2).sum() for side in (left, ~left)))

    sets = [set(some) for size in (1, 2) for some in combinations(range(5), size)]
    best = min(error(np.isin(colour, list(some))) for some in sets)
    assert_allclose(((y - tree.predict(frame)) ** 2).sum(), best, rtol=1e-12)


def test_missing_values_learn_their_side():
    X = np.array([[0.0], [0.1], [1.0], [1.1], [np.nan], [np.nan]])
    for y in ([0.0, 0.0, 5.0, 5.0, 5.0, 5.0], [0.0, 0.0, 5.0, 5.0, 0.0, 0.0]):
        assert TreeRegressor().fit(X, y).predict(X).tolist() == y


@pytest.mark.parametrize("y", [[3.5] * 4, [0.0] * 4, [1e-300] * 4, [-1e150] * 4])
def test_a_constant_is_predicted_exactly(y):
    tree = TreeRegressor().fit([[0.0], [1.0], [2.0], [3.0]], y)
    assert tree.committee_.n_nodes == 1
    assert tree.predict([[9.0]]).tolist() == y[:1]


def test_large_offsets_cost_no_split():
    X, y = coarse()
    plain, far = TreeRegressor(max_leaf_nodes=8).fit(X, y), TreeRegressor(max_leaf_nodes=8).fit(X, y + 1e9)
    assert_allclose(far.predict(X) - 1e9, plain.predict(X), atol=1e-5)


def test_the_score_is_not_offered_as_a_decision():
    assert not hasattr(TreeRegressor().fit(*coarse()), "decision_function")


# -- targets ------------------------------------------------------------------------------------------------


def test_targets_come_in_many_ways():
    for y in ([1, 2], (1.0, 2.0), np.array([1, 2], dtype=np.uint8), pl.Series([1.0, 2.0]), np.array([1, 2.0], object)):
        target = target_vector(y)
        assert target.dtype == np.float64 and target.tolist() == [1.0, 2.0]
    assert target_vector([True, False]).tolist() == [1.0, 0.0]
    with pytest.warns(DataConversionWarning, match="column-vector"):
        assert target_vector([[1.0], [2.0]]).tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed, but the target y is None"),
        ([1.0, np.nan, 2.0], "Input y contains NaN: row 1 has no number"),
        (np.array([1.0, 2.0, None], dtype=object), "Input y contains NaN: row 2"),
        ([1.0, -np.inf], r"y\[1\] is -inf; targets must be finite"),
        ([1.0, 1e200], r"y\[1\] is 1e\+200.*within -1e\+150 and 1e\+150.*rescale"),
        (["a", "b"], r"y holds text, 'a' in row 0; a regressor predicts numbers. Take a classifier for classes"),
        (["1.5", "2"], r"y holds text, '1.5' in row 0; .* for numbers that were read as text, y.astype\(float\)"),
        (np.array([1.0, "b"], dtype=object), "y holds text, 'b' in row 1"),
        (pl.Series(["x"]), "y holds text, 'x' in row 0"),
        ([1 + 2j, 3.0], "Complex data not supported"),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), "y holds datetime64.* values, such as 2020-01-01"),
        ([[1.0, 2.0], [3.0, 4.0]], "y has 2 columns, and this learner predicts one number a row"),
    ],
)
def test_targets_that_are_none(y, message):
    with pytest.raises(ValueError, match=message):
        target_vector(y)


def test_the_largest_targets_are_kept():
    X = np.arange(6.0)[:, None]
    y = [-MAX_TARGET, MAX_TARGET] * 3
    assert TreeRegressor().fit(X, y).predict(X).tolist() == y


@pytest.mark.parametrize("learner", [TreeRegressor(), RandomForestRegressor(2), GradientBoostingRegressor()], ids=str)
def test_targets_whose_weighted_squares_are_no_number_are_refused(learner):
    X, y = np.arange(40.0)[:, None], np.where(np.arange(40) % 3, 1e150, 0.0)
    with pytest.raises(ValueError, match=r"y holds numbers up to 1e\+150, and the rows weigh 4e\+09 .* Rescale y or"):
        learner.fit(X, y, np.full(40, 1e8))
    assert np.isfinite(learner.fit(X, y / 1e10, np.full(40, 1e3)).feature_importances_).all()
