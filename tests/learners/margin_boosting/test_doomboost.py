"""DOOM II: a cost that never rises on the way down, the steepest voter each round, and rows that are given up."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.naive_bayes import GaussianNB

from committee import AdaBoostClassifier, ArcGVClassifier, DOOMBoostClassifier
from tests.examples import examples
from tests.margin_cases import signed_votes, small, without_noise
from tests.oracles.margins import all_signed_stumps, least_on_a_line, mean_sigmoid_cost, sigmoid_slopes
from tests.subjects import numbers

seeds = st.integers(0, 2**32 - 1)


def votes_after(signed: Any, weights: Any, t: int) -> Any:
    """Margins after t rounds: the weights so far, of which later rounds left a common share."""
    return signed[:, :t] @ weights[:t] / weights[:t].sum()


@settings(max_examples=examples(8, 30))
@given(seeds, st.sampled_from([1.0, 5.0, 20.0]), st.sampled_from([0.1, 1.0]))
def test_every_step_takes_the_steepest_voter_to_the_lowest_cost(seed, steepness, rate):
    X, y = small(seed)
    stumps = all_signed_stumps(X, 2 * y - 1)
    w = np.random.default_rng(seed).integers(1, 4, len(y))
    share = w / w.sum()
    model = DOOMBoostClassifier(steepness, n_estimators=14, n_start=4, learning_rate=rate).fit(X, y, w)
    signed, weights = signed_votes(model, X, y), model.committee_.weights
    costs = model.costs_[0]
    if len(weights) < len(costs) or (signed[:, 0] > 0).all():
        return  # a step of length zero ended the run, or one of length 1 all that was before; or a perfect voter did
    assert_allclose(weights.sum(), 1.0)
    for t in range(len(weights)):
        after = votes_after(signed, weights, t + 1)
        assert_allclose(costs[t], mean_sigmoid_cost(share, after, steepness), atol=1e-9)
        if t < 4:
            continue
        before = votes_after(signed, weights, t)
        slopes = sigmoid_slopes(share, before, steepness)
        u = slopes / slopes.sum()
        assert u @ signed[:, t] >= (u @ stumps).max() - 1e-6
        assert costs[t] <= least_on_a_line(share, before, signed[:, t], steepness, rate) + 1e-6
        assert weights[t] <= rate * weights[: t + 1].sum() * (1 + 1e-9)
    assert (np.diff(costs[3:]) < 0).all()
    if len(costs) < 14:  # no way into the hull goes down
        slopes = sigmoid_slopes(share, after, steepness)
        assert (slopes @ stumps).max() <= slopes @ after + 1e-5


@given(st.sampled_from([1.0, 5.0, 20.0]), st.floats(-1.0, 1.0))
def test_the_oracles_slope_is_the_fall_of_the_cost(steepness, margin):
    one, eps = np.ones(1), 1e-6
    fall = mean_sigmoid_cost(one, one * (margin - eps), steepness) - mean_sigmoid_cost(
        one, one * (margin + eps), steepness
    )
    assert_allclose(fall / (2 * eps), sigmoid_slopes(one, one * margin, steepness)[0], rtol=1e-4, atol=1e-8)


@settings(max_examples=20)
@given(seeds)
def test_from_a_single_voter_there_is_no_way_down(seed):
    """All margins are -1 or +1, where the cost is equally steep: the first voter is the best again."""
    X, y = small(seed)
    model = DOOMBoostClassifier(3.0, n_start=1).fit(X, y)
    assert model.committee_.n_voters == 1 and model.costs_.shape == (1, 1)


def test_the_start_is_adaboost():
    X, y = numbers(2, 200)  # rows of both classes everywhere: arc-gv's margin stays below 0, and it is AdaBoost
    y = np.where(np.arange(200) % 5 == 0, 1 - y, y)
    arc = ArcGVClassifier(15).fit(X, y)
    assert arc.minimum_margins_.max() < 0
    start = DOOMBoostClassifier(n_estimators=15, n_start=15).fit(X, y)
    assert_allclose(start.decision_function(X), arc.decision_function(X), atol=1e-12)
    on = DOOMBoostClassifier(n_estimators=60, n_start=15).fit(X, y)
    assert_allclose(on.costs_[0, :15], start.costs_[0])
    assert on.costs_[0, -1] < start.costs_[0, -1]


def test_the_vote_goes_down_with_trees_and_with_a_users_classifier():
    X, y = numbers(2, 300)
    y = np.where(np.arange(300) % 7 == 0, 1 - y, y)
    for params in ({"max_depth": 2}, {"max_leaf_nodes": 4, "max_depth": None}, {"voter": GaussianNB()}):
        model = DOOMBoostClassifier(n_start=3, n_estimators=30, **params).fit(X, y)
        costs = model.costs_[0, 2:]
        assert len(costs) > 1 and (np.diff(costs) <= 0).all()


def test_probabilities_are_the_cost():
    X, y = without_noise(3)
    model = DOOMBoostClassifier(4.0, n_estimators=40, calibrate=None).fit(X, y)
    own = model.predict_proba(X)[np.arange(len(y)), y]
    assert_allclose(2 * (1 - own).mean(), model.costs_[0, -1])


def test_rows_of_wrong_labels_are_given_up():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 8))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    noisy = np.where(rng.random(800) < 0.2, 1 - y, y)
    given_up = DOOMBoostClassifier().fit(X[:400], noisy[:400])
    turned_to = AdaBoostClassifier(200).fit(X[:400], noisy[:400])
    assert given_up.score(X[400:], y[400:]) > turned_to.score(X[400:], y[400:]) + 0.02
    wrong = noisy[:400] != y[:400]
    assert given_up.committee_.margins(X[:400], noisy[:400])[wrong].mean() < 0


@pytest.mark.parametrize(
    ("name", "value"), [("steepness", 0.0), ("learning_rate", 0.0), ("learning_rate", 1.5), ("n_start", 0)]
)
def test_parameters_outside_their_range_are_refused(name: str, value: Any):
    with pytest.raises(ValueError, match=f"'{name}' parameter"):
        DOOMBoostClassifier().set_params(**{name: value}).fit(*without_noise(0))
