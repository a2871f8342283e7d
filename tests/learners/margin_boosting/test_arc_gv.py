"""Arc-gv: every round by its equation, and the least margin on its way to the largest there is."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import committee
from committee import AdaBoostClassifier, ArcGVClassifier, DOOMBoostClassifier, LPBoostClassifier, MDBoostClassifier
from tests.examples import examples
from tests.margin_cases import Diary, signed_votes, small, without_noise
from tests.oracles.margins import all_signed_stumps, arc_gv_round, arc_gv_step, largest_minimum_margin
from tests.subjects import assert_same_bits, everything, numbers, weights

seeds = st.integers(0, 2**32 - 1)
ALL = [ArcGVClassifier, MDBoostClassifier, DOOMBoostClassifier]


def follow(model: ArcGVClassifier, X: Any, y: Any, share: Any, stumps: Any) -> None:
    """Each round of a fitted model against its equations."""
    signed, alphas = signed_votes(model, X, y), model.estimator_weights_[0]
    assert_allclose(model.committee_.weights, alphas / alphas.sum())
    for t, alpha in enumerate(alphas):
        u, reached = arc_gv_round(share, list(signed[:, :t].T), alphas[:t].tolist())
        edge = float(u @ signed[:, t])
        assert_allclose(model.edges_[0, t], edge, atol=1e-9)
        assert alpha == pytest.approx(arc_gv_step(edge, reached), abs=1e-8) and alpha > 0
        if stumps is not None:
            assert edge >= float((u @ stumps).max()) - 1e-9
        margins = signed[:, : t + 1] @ alphas[: t + 1] / alphas[: t + 1].sum()
        assert_allclose(model.minimum_margins_[0, t], margins.min(), atol=1e-9)


@settings(max_examples=examples(15, 50))
@given(seeds, st.booleans())
def test_every_round_is_the_equation(seed, noise):
    X, y = small(seed) if noise else without_noise(seed)
    stumps = all_signed_stumps(X, 2 * y - 1)
    w = np.random.default_rng(seed).integers(1, 4, len(y))
    model = ArcGVClassifier(30).fit(X, y, w)
    if np.isinf(model.estimator_weights_).any():
        assert (stumps > 0).all(axis=0).any()
        return
    follow(model, X, y, w / w.sum(), stumps)


def test_so_it_is_on_trees_and_on_a_users_classifier():
    X, y = numbers(2, 200)
    share = np.full(200, 1 / 200)
    follow(ArcGVClassifier(15, max_depth=2, min_samples_leaf=5).fit(X, y), X, y, share, None)
    follow(ArcGVClassifier(6, voter=GaussianNB()).fit(X, y), X, y, share, None)
    follow(ArcGVClassifier(15, min_samples_leaf=9).fit(X, y), X, y, share, None)


@settings(max_examples=examples(3, 25), deadline=None)
@given(seeds)
def test_the_least_margin_tends_to_the_largest_that_a_vote_of_stumps_has(seed):
    X, y = without_noise(seed)
    best = largest_minimum_margin(all_signed_stumps(X, 2 * y - 1))
    model = ArcGVClassifier(2000).fit(X, y)
    # at all times what is reached and what the edges allow have the optimum between them
    assert model.minimum_margins_.max() <= best + 1e-9
    assert np.nanmin(model.edges_) >= best - 1e-9
    assert model.duality_gap_[0] >= best - model.minimum_margins_[0, -1] - 1e-9
    if best > 0.01:  # below, it is hardly ever more than AdaBoost
        assert model.minimum_margins_[0, -1] >= best - 0.03


@pytest.mark.slow
def test_it_closes_the_gap_that_adaboost_leaves():
    X, y = load_breast_cancer(return_X_y=True)
    best = LPBoostClassifier(1 / len(y), dictionary="all_stumps", n_estimators=5000).fit(X, y).soft_margin_[0]
    arc = ArcGVClassifier(3000).fit(X, y)
    ada = AdaBoostClassifier(3000).fit(X, y).committee_.margins(X, y).min()
    assert ada < arc.minimum_margins_[0, -1] <= best + 1e-6
    assert arc.minimum_margins_[0, -1] > 0.85 * best
    assert_allclose(arc.committee_.margins(X, y).min(), arc.minimum_margins_[0, -1])


def test_a_class_whose_weight_rounds_to_nothing_is_absent():
    X, y = np.array([[0.0], [1.0], [2.0]]), [0, 1, 1]
    for params in ({}, {"voter": DecisionTreeClassifier()}):
        with pytest.warns(UserWarning, match="one class"):
            model = ArcGVClassifier(**params).fit(X, y, [5e-324, 1e150, 1.0])
        assert model.classes_.tolist() == [1]


def test_a_perfect_voter_is_the_whole_vote():
    X = np.arange(10.0)[:, None]
    y = (X[:, 0] > 4).astype(int)
    for params in ({}, {"max_depth": 3}, {"voter": DecisionTreeClassifier()}):
        model = ArcGVClassifier(**params).fit(X, y)
        assert model.committee_.n_voters == 1 and model.score(X, y) == 1.0
        assert model.estimator_weights_.tolist() == [[np.inf]]
        assert model.edges_[0, 0] == pytest.approx(1.0) and model.minimum_margins_.tolist() == [[1.0]]


@pytest.mark.parametrize("seed", range(5))
def test_with_more_classes_each_is_told_from_the_rest(seed):
    X, y = numbers(3, 80, seed)
    w = weights(80, seed)  # no two stumps are equally good
    model = ArcGVClassifier(12).fit(X, y, w)
    F = model.decision_function(X)
    for k in range(3):
        alone = ArcGVClassifier(12).fit(X, y == k, w)
        assert_allclose(F[:, k], alone.decision_function(X), atol=1e-12)
        rounds = alone.edges_.shape[1]
        assert_allclose(model.edges_[k, :rounds], alone.edges_[0])
        assert np.isnan(model.edges_[k, rounds:]).all() and not model.estimator_weights_[k, rounds:].any()
        assert_allclose(model.duality_gap_[k], alone.duality_gap_[0])


# --- what all three have in common ----------------------------------------------------------------------------


@pytest.mark.parametrize("learner", ALL)
def test_no_voter_better_than_chance_is_told(learner):
    X, y = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), [0, 1, 1, 0]
    with pytest.warns(UserWarning, match="No voter beats chance"):
        model = learner().fit(X, y)
    assert (model.committee_.n_voters == 1) == (learner is not MDBoostClassifier)  # a mean of 0 may vary less


@pytest.mark.parametrize("learner", ALL)
@pytest.mark.parametrize("params", [{}, {"max_depth": 2}, {"max_leaf_nodes": 4, "max_depth": None}])
def test_gaps_and_categories_are_learned_from(learner, params, tmp_path):
    table, y = everything(missing=True, n=300)
    frame = pd.DataFrame(table)
    model = learner(n_estimators=30, max_bins=16, **params)
    if learner is MDBoostClassifier:
        model.set_params(n_estimators=500)
    model.fit(frame, y)
    assert model.score(frame, y) > 0.7
    model.save(tmp_path / "model.committee")
    back = committee.load(tmp_path / "model.committee")
    assert_same_bits(back, model, frame)
    for name in model.stored_attributes:
        assert_array_equal(getattr(back, name), getattr(model, name))


@pytest.mark.parametrize("learner", ALL)
def test_categories_alone_are_enough(learner):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"letter": rng.choice(list("abc"), 90)})
    y = (np.arange(90) % 9 == 0).astype(int)  # fewer than half of each letter
    y[frame["letter"] == "c"] = 0
    model = learner(n_estimators=5).fit(frame, y)
    assert model.predict(frame).shape == (90,)


@pytest.mark.parametrize("learner", ALL)
def test_early_stopping_keeps_the_voters_up_to_the_best_round(learner):
    X, y = numbers(3, 600)
    for y_ in (y, y > 0):
        model = learner(early_stopping=True, n_iter_no_change=5, random_state=0, max_depth=2)
        model.fit(X[:400], y_[:400], X_val=X[400:], y_val=y_[400:])
        errors = model.validation_errors_
        assert errors[-1] == errors.min() and (errors[:-1] > errors[-1]).all()
        assert_allclose(1 - model.score(X[400:], y_[400:]), errors[-1])
    drawn = learner(n_estimators=40, early_stopping=True, random_state=0).fit(X, y)
    assert drawn.validation_errors_.min() < 0.5
    whole = learner(max_leaf_nodes=3).fit(X, y)
    assert whole.validation_errors_ is None


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (ArcGVClassifier(12), "minimum_margins_"),
        (ArcGVClassifier(12, voter=GaussianNB()), "minimum_margins_"),
        (DOOMBoostClassifier(n_estimators=12, n_start=5), "costs_"),
        (MDBoostClassifier(), "objective_"),
    ],
    ids=str,
)
def test_callbacks_see_every_round_and_may_stop_the_run(model, name):
    X, y = numbers(2, 300)
    diary = Diary(name)
    model.set_params(calibrate=None)  # which is the last step of a fit
    whole = model.set_callbacks(diary).fit(X, y)
    assert len(diary.rounds) >= 3
    assert_array_equal(diary.rounds[-1][0], getattr(whole, name))
    assert_array_equal(diary.rounds[-1][1], whole.predict_proba(X))
    early = model.set_callbacks(Diary(name, stop_after=2)).fit(X, y)
    assert_array_equal(getattr(early, name), diary.rounds[1][0])
    assert_array_equal(early.predict_proba(X), diary.rounds[1][1])


@pytest.mark.parametrize("learner", ALL)
def test_bad_input_is_refused(learner):
    X, y = numbers(2)
    with pytest.raises(ValueError, match="Every column of X is constant"):
        learner().fit(np.ones((10, 3)), np.arange(10) % 2)
    with pytest.raises(ValueError, match=r"voter=KNeighborsClassifier\(\).*takes no sample_weight"):
        learner(voter=KNeighborsClassifier()).fit(X, y)
    with pytest.raises(ValueError, match=r"voter=LinearRegression\(\) is no classifier"):
        learner(voter=LinearRegression()).fit(X, y)
    for params in ({"n_estimators": 0}, {"max_depth": 0}, {"voter": "bushes"}, {"n_iter_no_change": 0}):
        with pytest.raises(ValueError, match=f"'{next(iter(params))}' parameter"):
            learner(**params).fit(X, y)


@pytest.mark.parametrize("learner", ALL)
def test_they_are_good_classifiers(learner):
    X, y = load_breast_cancer(return_X_y=True)
    model = learner().fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.9
    assert_allclose(model.committee_.weights.sum(), 1.0)
