"""Regression forests of several targets."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor as Peer
from sklearn.metrics import r2_score
from sklearn.multioutput import MultiOutputRegressor
from sklearn.tree import DecisionTreeRegressor

from committee import TreeRegressor
from committee.data.rows import TargetRows
from committee.learners.bagging.random_forest import RandomForestRegressor

seeds = st.integers(0, 2**32 - 1)


def targets(n: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Four targets on several scales, that have columns in common."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    Y = np.column_stack([X[:, 0] + X[:, 1] * X[:, 2], np.sin(2.0 * X[:, 0]) + X[:, 3], X[:, 0] - X[:, 4], X[:, 5] ** 2])
    return X, (Y + 0.3 * rng.normal(size=(n, 4))) * np.array([1.0, 2.0, 0.5, 1.0])


@given(seeds, st.integers(1, 6))
@settings(max_examples=25)
def test_trees_are_those_of_scikit_learn_on_standardised_targets(seed, depth):
    X, Y = targets(120, seed)
    w, units = np.random.default_rng(seed).exponential(size=len(X)), np.array([1.0, 2.0**30, 1.0, 2.0**-30])
    ours = TreeRegressor(max_depth=depth).fit(X, units * Y, w).predict(X) / units
    scale = TargetRows(X, Y, w, uniform=False).scale
    assert_allclose(
        scale, np.sqrt(np.average((Y - np.average(Y, axis=0, weights=w)) ** 2, axis=0, weights=w)), rtol=0.03
    )
    peer = DecisionTreeRegressor(max_depth=depth).fit(X, Y / scale, w)
    assert_allclose(ours, scale * peer.predict(X), atol=1e-9)


@pytest.mark.parametrize("limits", [{}, {"max_leaf_nodes": 20}])
@given(seed=seeds)
@settings(max_examples=10)
def test_a_target_twice_is_that_target_and_a_constant_stays(limits, seed):
    X, Y = targets(150, seed)
    forest = RandomForestRegressor(5, random_state=0, **limits)
    one = forest.fit(X, Y[:, 0]).predict(X)
    assert_allclose(forest.fit(X, Y[:, [0, 0]]).predict(X), np.column_stack([one, one]), atol=1e-9)
    with_constant = forest.fit(X, np.column_stack([Y[:, 0], np.full(150, 7.1)])).predict(X)
    assert_allclose(with_constant[:, 0], one, atol=1e-9)
    assert_array_equal(with_constant[:, 1], 7.1)


def test_forests_are_as_good_as_scikit_learns():
    X, Y = targets(1500)
    kind = {"n_estimators": 60, "random_state": 0}
    ours = RandomForestRegressor(oob_score=True, **kind).fit(X[:1000], Y[:1000])
    peer = Peer(oob_score=True, **kind).fit(X[:1000], Y[:1000])
    assert ours.score(X[1000:], Y[1000:]) > peer.score(X[1000:], Y[1000:]) - 0.01
    assert ours.oob_score_ > peer.oob_score_ - 0.01
    apart = MultiOutputRegressor(RandomForestRegressor(**kind)).fit(X[:1000], Y[:1000])
    assert ours.committee_.n_nodes < sum(each.committee_.n_nodes for each in apart.estimators_) / 3


def test_out_of_bag_votes_and_scores():
    X, Y = targets()
    w = np.random.default_rng(0).exponential(size=len(X)) * (np.arange(len(X)) % 10 > 0)
    forest = RandomForestRegressor(40, oob_score=True, random_state=0).fit(X, Y, w)
    counted = w > 0
    assert forest.oob_prediction_.shape == Y.shape
    assert_array_equal(np.isnan(forest.oob_prediction_).all(axis=1), ~counted)
    judged = forest.oob_prediction_[counted]
    assert forest.oob_score_ == pytest.approx(r2_score(Y[counted], judged, sample_weight=w[counted]))
    rows = TargetRows(X[counted], Y[counted], w[counted], uniform=False)
    errors = (((Y[counted] - judged) / rows.scale) ** 2).sum(axis=1)
    assert forest.oob_curve_[-1] == pytest.approx(np.average(errors, weights=w[counted]))


def test_as_many_trees_as_the_curve_asks_for():
    X, Y = targets()
    forest = RandomForestRegressor("oob", max_estimators=300, random_state=0).fit(X, Y)
    assert 25 < forest.committee_.n_voters < 300
    assert forest.oob_score_ > 0.4


def test_what_trees_say_of_rows_adds_up():
    X, Y = targets()
    forest = RandomForestRegressor(10, random_state=0).fit(X, Y)
    contributions = forest.contributions(X)
    assert contributions.shape == (len(X), X.shape[1] + 1, 4)
    assert_allclose(contributions.sum(axis=1), forest.predict(X), atol=1e-9)
    votes = forest.committee_.votes(X)
    assert votes.shape == (len(X), 10, 4)
    assert_allclose(votes.mean(axis=1), forest.predict(X))


def test_categories_missing_values_and_levels_of_many():
    rng = np.random.default_rng(0)
    town, colour, x = rng.integers(60, size=900), rng.integers(5, size=900), rng.normal(size=900)
    of_town, of_colour = np.outer(rng.normal(size=60), [2.0, -1.0]), rng.normal(size=(5, 2))
    Y = of_town[town] + of_colour[colour] + x[:, None] + 0.5 * rng.normal(size=(900, 2))
    X = pd.DataFrame({"town": [f"t{k}" for k in town], "colour": [f"c{k}" for k in colour], "x": x})
    X.loc[::11, "x"] = np.nan
    X.loc[::7, "colour"] = None
    forest = RandomForestRegressor(60, min_samples_leaf=3, random_state=0).fit(X[:700], Y[:700])
    apart = MultiOutputRegressor(RandomForestRegressor(60, min_samples_leaf=3, random_state=0)).fit(X[:700], Y[:700])
    assert forest.score(X[700:], Y[700:]) > apart.score(X[700:], Y[700:]) - 0.03
    assert forest.table_.values[0].of == "target score"


def test_warm_starts_and_checkpoints(tmp_path):
    X, Y = targets()
    forest = RandomForestRegressor(20, oob_score=True, random_state=0)
    whole, part = clone(forest).fit(X, Y), RandomForestRegressor(15, warm_start=True, random_state=0).fit(X, Y)
    part.set_params(n_estimators=20, oob_score=True).fit(X, Y)
    for model in (part, *(clone(forest).fit(X, Y, checkpoint=tmp_path / "fit") for _ in range(2))):
        assert_array_equal(model.predict(X), whole.predict(X))
        assert_array_equal(model.oob_prediction_, whole.oob_prediction_)
    with pytest.raises(ValueError, match="other number of targets: 4 then, 2 now"):
        part.set_params(n_estimators=30).fit(X, Y[:, :2])
