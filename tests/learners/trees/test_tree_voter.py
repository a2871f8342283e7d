"""TreeVoter against scikit-learn's tree, and what that tree cannot do: categories and missing values."""

from itertools import combinations, pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from committee import TreeVoter

seeds = st.integers(0, 2**32 - 1)


def coarse(seed: int = 0, n: int = 400, n_classes: int = 3) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Few distinct values, as bins keep them all, and noise, so that leaves stay impure."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-6, 7, size=(n, 5)) / 2.0
    score = X[:, 0] + X[:, 1] * (X[:, 2] > 0) + rng.normal(size=n)
    return X, np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)


def random_weights(n: int = 400) -> NDArray[np.float64]:
    return np.random.default_rng(1).exponential(size=n)


def leaves(tree: TreeVoter, X: Any) -> NDArray[np.int32]:
    return tree.committee_.voters.apply(tree.table_.encode(X))[:, 0]


def assert_same_partition(ours: NDArray[Any], theirs: NDArray[Any]) -> None:
    """Each leaf of one is a leaf of the other, whatever its number."""
    pairs = np.unique(np.column_stack([ours, theirs]), axis=0)
    assert len(pairs) == len(np.unique(ours)) == len(np.unique(theirs))


LIMITS: list[dict[str, Any]] = [
    {"max_depth": 1},
    {"max_depth": 3},
    {"max_depth": 6, "min_samples_leaf": 7},
    {"max_leaf_nodes": 2},
    {"max_leaf_nodes": 9},
    {"max_leaf_nodes": 20, "max_depth": 4},
    {"min_samples_leaf": 25},
    {"min_impurity_decrease": 0.012},
    {"min_weight_leaf": 0.04},
    {"min_samples_leaf": 5, "min_weight_leaf": 0.02, "max_leaf_nodes": 12, "min_impurity_decrease": 0.002},
]


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_same_partition_as_scikit_learn(limits, criterion, n_classes):
    """Random weights leave no two splits equally good, and leaves of a few rows stay impure."""
    X, y = coarse(n_classes=n_classes)
    w = random_weights()
    limits = {"min_samples_leaf": 5} | limits
    ours = TreeVoter(criterion=criterion, **limits).fit(X, y, w)
    theirs_of = {"min_weight_leaf": "min_weight_fraction_leaf"}
    named = {theirs_of.get(name, name): value for name, value in limits.items()}
    if criterion == "entropy" and "min_impurity_decrease" in named:
        named["min_impurity_decrease"] /= np.log(2)  # bits there, nats here
    theirs = DecisionTreeClassifier(criterion=criterion, random_state=0, **named).fit(X, y, w)
    assert theirs.get_n_leaves() > 1
    assert ours.committee_.n_nodes == theirs.tree_.node_count
    assert_same_partition(leaves(ours, X), theirs.apply(X))
    # new rows may differ: between values that a node lacks, our threshold is half-way in the table, theirs in the node
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-9, atol=1e-12)
    assert_array_equal(ours.predict(X), theirs.predict(X))


@given(seeds, st.sampled_from([2, 3, 4]), st.sampled_from(["gini", "entropy"]), st.integers(1, 3))
def test_small_trees_of_scikit_learn(seed, n_classes, criterion, max_depth):
    X, y = coarse(seed, 150, n_classes)
    w = np.random.default_rng(seed).exponential(size=150)
    limits = {"criterion": criterion, "max_depth": max_depth, "min_samples_leaf": 6}
    theirs = DecisionTreeClassifier(**limits).fit(X, y, w)
    ours = TreeVoter(**limits).fit(X, y, w)
    # by what the leaves say: rounding may have theirs split a pure one
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-7, atol=1e-12)
    assert_allclose(ours.feature_importances_, theirs.feature_importances_, rtol=1e-7, atol=1e-12)


def test_grown_without_limits_it_knows_every_row():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 4)), rng.integers(0, 5, 500)
    tree = TreeVoter(max_bins=1000).fit(X, y)
    assert tree.score(X, y) == 1.0
    assert_array_equal(np.unique(tree.predict_proba(X)), [0.0, 1.0])
    halved = TreeVoter(max_bins=2).fit(X, y)  # four columns of two bins part the rows into 16 cells at most
    assert halved.committee_.n_nodes <= 2 * 2**4 - 1


def test_probabilities_are_the_shares_of_weight_in_the_leaf():
    X, y = coarse()
    w = random_weights()
    tree = TreeVoter(max_depth=3).fit(X, y, w)
    leaf, p = leaves(tree, X), tree.predict_proba(X)
    for number in np.unique(leaf):
        inside = leaf == number
        shares = np.array([w[inside & (y == k)].sum() for k in range(3)]) / w[inside].sum()
        assert_allclose(p[inside], np.tile(shares, (inside.sum(), 1)), rtol=1e-9, atol=1e-12)


def test_best_leaves_come_first():
    """With a number of leaves, the tree of k leaves is that of k + 1 before its last split."""
    X, y = coarse()
    trees = [TreeVoter(max_leaf_nodes=k, min_samples_leaf=5).fit(X, y, random_weights()) for k in range(2, 12)]
    gains = [np.sort(tree.committee_.voters.gain)[::-1] for tree in trees]
    for fewer, more in pairwise(trees):
        pairs = np.unique(np.column_stack([leaves(fewer, X), leaves(more, X)]), axis=0)
        assert len(pairs) == len(np.unique(leaves(more, X))) == len(np.unique(leaves(fewer, X))) + 1
    assert_allclose(gains[0].sum() / gains[-1].sum(), gains[-1][0] / gains[-1].sum(), rtol=1e-9)


# --- categories ---------------------------------------------------------------------------------------------


def of_categories(rng: np.random.Generator, n: int = 200, k: int = 7) -> tuple[pl.DataFrame, NDArray[np.int64]]:
    letters = rng.choice(list("abcdefghijklmnop")[:k], n)
    share = {letter: rng.random() for letter in np.unique(letters)}
    y = (rng.random(n) < np.array([share[letter] for letter in letters])).astype(int)
    y[:2] = 0, 1
    return pl.DataFrame({"letter": letters}), y


def split_loss(y: NDArray[np.int64], left: NDArray[np.bool_], criterion: str) -> float:
    loss = 0.0
    for side in (left, ~left):
        p = np.bincount(y[side], minlength=2) / max(side.sum(), 1)
        p = p[p > 0]
        loss += side.sum() * (1 - (p**2).sum() if criterion == "gini" else -(p * np.log(p)).sum())
    return float(loss)


@given(seeds, st.integers(2, 7), st.sampled_from(["gini", "entropy"]))
def test_two_classes_find_the_best_of_all_subsets(seed, k, criterion):
    frame, y = of_categories(np.random.default_rng(seed), 80, k)
    letters = frame["letter"].to_numpy()
    present = np.unique(letters)
    subsets = [s for size in range(1, len(present)) for s in combinations(present, size)]
    best = min((split_loss(y, np.isin(letters, s), criterion) for s in subsets), default=np.inf)
    tree = TreeVoter(max_depth=1, criterion=criterion).fit(frame, y)
    leaf = leaves(tree, frame)
    ours = split_loss(y, leaf == leaf[0], criterion)
    assert ours == pytest.approx(min(best, split_loss(y, np.ones(80, bool), criterion)), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_categories_beat_one_hot_columns(n_classes):
    rng = np.random.default_rng(0)
    letters, size = rng.choice(list("abcdefghijkl"), 600), rng.normal(size=600)
    group = np.array([(ord(letter) * 7) % n_classes for letter in letters])
    y = np.where(rng.random(600) < 0.1, rng.integers(0, n_classes, 600), group)
    frame = pl.DataFrame({"letter": letters, "size": size})
    one_hot = np.column_stack([OneHotEncoder(sparse_output=False).fit_transform(letters[:, None]), size])
    depth = n_classes - 1
    ours = TreeVoter(max_depth=depth).fit(frame, y).score(frame, y)
    theirs = DecisionTreeClassifier(max_depth=depth).fit(one_hot, y).score(one_hot, y)
    assert ours > 0.85 > theirs + 0.1


def test_more_categories_than_fit_a_word():
    rng = np.random.default_rng(0)
    code = rng.integers(0, 300, 3000)
    good = rng.random(300) < 0.5
    frame = pl.DataFrame({"code": [f"c{c}" for c in code]})
    tree = TreeVoter(max_depth=1, max_bins=1000).fit(frame, good[code])
    assert tree.score(frame, good[code]) == 1.0
    numbers = TreeVoter(max_depth=1, max_bins=1000, categorical_features=[0]).fit(code[:, None] / 2, good[code])
    assert numbers.score(code[:, None] / 2, good[code]) == 1.0
    assert (
        TreeVoter(max_depth=1, max_bins=1000).fit(code[:, None] / 2, good[code]).score(code[:, None] / 2, good[code])
        < 0.7
    )


# --- missing values -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("like", ["low", "high"])
def test_the_side_of_missing_values_is_learnt(like):
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    y = (x > 0).astype(int)
    gone = rng.random(400) < 0.3
    y[gone] = like == "high"
    x[gone] = np.nan
    tree = TreeVoter(max_depth=1).fit(x[:, None], y)
    assert tree.score(x[:, None], y) == 1.0
    assert tree.predict([[np.nan]]) == [int(like == "high")]


def test_being_missing_can_be_all_there_is_to_know():
    gone = np.random.default_rng(0).random(100) < 0.4
    X = np.where(gone, np.nan, 3.5)[:, None]
    tree = TreeVoter().fit(X, gone)
    assert tree.score(X, gone) == 1.0
    assert tree.predict([[-1e9], [1e9], [np.nan]]).tolist() == [False, False, True]
    frame = pl.DataFrame({"c": [None if g else "x" for g in gone]})
    assert TreeVoter().fit(frame, gone).score(frame, gone) == 1.0


def test_missing_categories_join_a_side():
    rng = np.random.default_rng(0)
    letters = rng.choice(list("abcd"), 400)
    y = np.isin(letters, ["a", "c"])
    values = [None if letter == "c" else letter for letter in letters.tolist()]
    frame = pl.DataFrame({"letter": values})
    tree = TreeVoter(max_depth=1).fit(frame, y)
    assert tree.score(frame, y) == 1.0
    assert tree.predict(pl.DataFrame({"letter": ["never seen"]})).tolist() == [True]


def test_missing_values_against_a_value_below_all_or_above_all():
    """A side that is learnt lowers the impurity at least as much as either of these fillings."""
    X, y = coarse(3)
    w = random_weights()
    X[np.random.default_rng(4).random(X.shape) < 0.2] = np.nan
    root = TreeVoter(max_depth=1).fit(X, y, w).committee_.voters.gain[0] / w.sum()
    for value in (-1e6, 1e6):
        tree = DecisionTreeClassifier(max_depth=1).fit(np.nan_to_num(X, nan=value), y, w).tree_
        share = tree.weighted_n_node_samples / tree.weighted_n_node_samples[0]
        assert root >= tree.impurity[0] - (share * tree.impurity)[1:].sum() - 1e-9


def test_below_zero_a_split_that_gains_nothing_is_the_first_step_of_xor():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]] * 5)
    y = X[:, 0] != X[:, 1]
    assert TreeVoter(max_depth=2).fit(X, y).score(X, y) == 0.5
    assert TreeVoter(max_depth=2, min_impurity_decrease=-np.inf).fit(X, y).score(X, y) == 1.0
