"""Weights of columns in draws: frequencies, columns that are never drawn, names, errors."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from committee import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    ProbitModelTreeClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    SBPMTClassifier,
    TreeRegressor,
    TreeVoter,
    load,
)
from committee.learners.gradient.rounds import Draws
from tests.gradient_cases import PLAIN, numbers

STUMPS = PLAIN | {"max_leaf_nodes": 2, "min_samples_leaf": 1, "n_estimators": 2000, "random_state": 0}
WEIGHTS = [4.0, 3.0, 0.0, 1.0]


def rows():
    """Columns of falling use: the first parts the target exactly, the others less and less."""
    z = np.arange(64) // 32
    X = np.stack([z, z ^ (np.arange(64) % 16 == 0), z ^ (np.arange(64) % 8 == 0), z ^ (np.arange(64) % 4 == 0)], axis=1)
    return X.astype(float), z.astype(float)


def shares(model):
    forest = getattr(model.committee_.voters, "forest", model.committee_.voters)
    roots = forest.feature[forest.offset[:-1]]
    return np.bincount(roots, minlength=4) / len(roots)


def test_one_column_is_drawn_by_its_weight():
    X, y = numbers(40)
    model = GradientBoostingRegressor(**STUMPS | {"max_features": 1}, feature_weights=WEIGHTS).fit(X, y)
    assert_allclose(shares(model), np.array(WEIGHTS) / 8.0, atol=0.035)  # three standard errors


def test_the_best_of_two_columns_is_that_of_draws_one_after_the_other():
    X, y = rows()
    settings = STUMPS | {"max_features": 2, "learning_rate": 1e-6, "leaf_l2": 0.0}
    found = shares(GradientBoostingRegressor(**settings, feature_weights=WEIGHTS).fit(X, y))
    without_first = 3 / 8 * 1 / 5 + 1 / 8 * 3 / 7  # the second and the fourth, in both orders
    assert_allclose(found, [1.0 - without_first, without_first, 0.0, 0.0], atol=0.03)


def test_the_columns_of_a_round():
    weights = np.array([4, 3, 0, 1], dtype=np.uint32)
    draws = Draws(0, 4, 1.0, 2, False, None, feature_weights=weights)
    pairs = [tuple(draws.features_of_round(t).tolist()) for t in range(2000)]
    for pair, share in {(0, 1): 4 / 8 * 3 / 4 + 3 / 8 * 4 / 5, (1, 3): 3 / 8 * 1 / 5 + 1 / 8 * 3 / 7}.items():
        assert abs(pairs.count(pair) / 2000 - share) < 0.035
    few = Draws(0, 4, 1.0, 3, False, None, feature_weights=np.array([1, 1, 0, 0], dtype=np.uint32))
    assert few.features_of_round(0).tolist() == [0, 1]


@pytest.mark.parametrize(
    "settings",
    [{"max_features": 0.5}, {"max_features_tree": 0.5}, {"max_features_tree": 2, "max_features": 1}],
    ids=str,
)
@pytest.mark.parametrize(
    "kind", [GradientBoostingClassifier, GradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor]
)
def test_a_column_of_weight_0_is_in_no_split(kind, settings, tmp_path):
    X, z = numbers(80)
    frame, y = pd.DataFrame(X, columns=list("abcd")), z > 0.0
    model = kind(n_estimators=5, random_state=0, feature_weights={"c": 0, "a": 0.5}, **settings).fit(frame, y * 1)
    used = model.feature_importances("count")
    assert used[2] == 0.0 and (used[[0, 1, 3]] > 0.0).all()
    same = kind(n_estimators=5, random_state=0, feature_weights=[0.5, 1, 0, 1], **settings).fit(frame, y * 1)
    assert_array_equal(same.predict(frame), model.predict(frame))
    scaled = kind(n_estimators=5, random_state=0, feature_weights=np.array([2.0, 4, 0, 4]), **settings)
    assert_array_equal(scaled.fit(frame, y * 1).predict(frame), model.predict(frame))
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").feature_weights == {"c": 0, "a": 0.5}


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 2.0], "feature_weights has 2 weights; it needs one for each of the 4 columns"),
        ([1.0, -1.0, 1.0, 1.0], r"feature_weights has -1.0 for column 'b'; weights are finite numbers from 0 on"),
        ([1.0, 10**400, 1.0, 1.0], r"feature_weights has 1000+ for column 'b'; weights are finite numbers"),
        ({"a": np.nan}, "feature_weights has nan for column 'a'"),
        ({"e": 1.0}, "feature_weights names 'e', which is not a column of X"),
        ([0, 0, 0, 0], "feature_weights is 0 for every column"),
    ],
)
def test_wrong_weights(weights, message):
    X, y = numbers(30)
    frame = pd.DataFrame(X, columns=list("abcd"))
    for kind in (GradientBoostingRegressor, RandomForestRegressor):
        with pytest.raises(ValueError, match=message):
            kind(n_estimators=1, max_features=0.5, feature_weights=weights).fit(frame, y)


@pytest.mark.parametrize("kind", [TreeVoter, TreeRegressor, AdaBoostClassifier])
def test_trees_and_adaboost(kind):
    X, z = numbers(80)
    model = kind(max_depth=3, max_features=1, random_state=0, feature_weights=[0, 1, 0, 1]).fit(X, z > 0.0)
    used = model.committee_.feature_importances("count")
    assert (used[[0, 2]] == 0.0).all() and used[[1, 3]].any()


def test_model_trees_split_by_drawn_columns_and_have_lines_of_all(tmp_path):
    X, z = numbers(80)
    settings = {"max_features": 1, "min_samples_leaf": 5, "random_state": 0, "feature_weights": [0, 1, 0, 1]}
    tree = ProbitModelTreeClassifier(2, min_impurity_decrease=0, **settings).fit(X, z > 0.0)
    forests = [tree.committee_.voters.forest]
    model = SBPMTClassifier(2, 2, 2, **settings).fit(X, z > 0.0)
    forests += [member.forest for member in model.committee_.voters.members]
    split = np.unique(np.concatenate([forest.feature for forest in forests]))
    assert_array_equal(split, [-1, 1, 3])
    assert tree.feature_importances_[[0, 2]].any()  # of lines in leaves
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").feature_weights == [0, 1, 0, 1]


def test_weights_where_nothing_is_drawn():
    X, y = numbers(30)
    for kind in (GradientBoostingRegressor, TreeRegressor):
        with pytest.raises(ValueError, match="every node has all columns; set max_features, or max_features_tree"):
            kind(feature_weights=[1, 2, 3, 4]).fit(X, y)
    odd = pd.DataFrame(X, columns=[3, 2, 1, 0])
    with pytest.raises(ValueError, match="a number may mean a position or a name"):
        GradientBoostingRegressor(n_estimators=1, max_features=2, feature_weights={1: 0}).fit(odd, y)
    with pytest.raises(ValueError, match="a number may mean a position or a name"):
        TreeVoter(max_features=2, feature_weights={1: 0}).fit(odd, y > 0.0)
