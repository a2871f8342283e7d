"""Contributions and expectations of committees of trees: sums, definitions, and equality with other libraries."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier as Peer
from sklearn.naive_bayes import GaussianNB

import committee
from committee import (
    AdaBoostClassifier,
    CommitteeClassifier,
    ConformalClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    ProbitModelTreeClassifier,
    QuadBoostClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    SBPMTClassifier,
    SubaggingClassifier,
)
from committee.vote.committee import Committee, RegressionCommittee
from committee.vote.explain.contributions import probability_contributions
from committee.vote.explain.tree_contributions import (
    interventional_contributions,
    tree_contributions,
    tree_interactions,
)
from committee.vote.explain.tree_expectations import split_thresholds, tree_expectations
from committee.vote.links.mean import Identity
from committee.vote.links.probability import Logistic, Share, Softmax
from committee.voters.forest import Forest
from committee.voters.rounds import Rounds
from tests.cast_votes import stump_by_hand
from tests.oracles import traverse
from tests.subjects import noisy_scores, numbers
from tests.vote.explain.mixed_table import mixed_table

X2, Y2 = load_breast_cancer(return_X_y=True)
X3, Y3 = load_iris(return_X_y=True)


def assert_adds_up(shares, F):
    scale = np.maximum(np.abs(F), np.abs(shares).max(axis=1))
    assert (np.abs(shares.sum(axis=1) - F) <= 1e-9 * scale + 1e-12).all()


@pytest.mark.parametrize("vote", ["discrete", "confidence"])
@pytest.mark.parametrize(("X", "y"), [(X2, Y2), (X3, Y3), mixed_table()])
def test_they_add_up_to_the_score_of_a_boosted_committee(vote, X, y):
    model = AdaBoostClassifier(n_estimators=15, max_depth=3, vote=vote).fit(X, y)
    shares = tree_contributions(model, X)
    F, K = model.decision_function(X), len(model.classes_)
    assert shares.shape == (len(F), model.n_features_in_ + 1, *([K] if K > 2 else []))
    assert_adds_up(shares, F)
    assert_array_equal(tree_contributions(model.committee_, X, n_threads=3), shares)


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_rounds_with_an_intercept(n_outputs):
    rng = np.random.default_rng(n_outputs)
    voters = Rounds(traverse.random_forest(rng, n_trees=4 * n_outputs, n_outputs=1, n_classes=1), n_outputs)
    X, weights = traverse.random_rows(rng, 40), rng.normal(size=4)
    committee = RegressionCommittee(voters, weights, Identity(), intercept=rng.normal(size=n_outputs))
    shares = tree_contributions(committee, X)
    expected = traverse.contributions(voters.forest, voters.forest.value, X, weights, n_outputs)
    expected[:, -1] += committee.intercept
    assert_allclose(shares, expected[:, :, 0] if n_outputs == 1 else expected, rtol=1e-10, atol=1e-12)
    assert_adds_up(shares, committee.decision_function(X))
    if n_outputs == 3:
        of_classes = Committee(voters, weights, ["a", "b", "c"], Softmax(), intercept=committee.intercept)
        assert_array_equal(tree_contributions(of_classes, X), shares)


@pytest.mark.parametrize("outputs", [1, 2])
def test_two_classes_have_one_score_with_its_intercept(outputs):
    rng = np.random.default_rng(0)
    forest = traverse.random_forest(rng, n_trees=5, n_outputs=outputs, n_classes=2)
    X = traverse.random_rows(rng, 30)
    committee = Committee(forest, np.ones(5), [0, 1], Logistic(), intercept=np.arange(1.0, 1.0 + outputs))
    shares = tree_contributions(committee, X)
    assert shares.shape == (30, 5)
    assert_adds_up(shares, committee.decision_function(X))


def test_over_the_training_rows_the_mean_is_the_expected_score():
    """One tree: each later one is grown in weights of its own."""
    model = AdaBoostClassifier(n_estimators=1, max_depth=4, vote="confidence").fit(X2, Y2)
    shares = tree_contributions(model, X2)
    assert_allclose(shares[0, -1], model.decision_function(X2).mean(), rtol=1e-9)


def forest_of(n_classes, calibrate=None, **params):
    X, y = numbers(n_classes)
    return RandomForestClassifier(7, calibrate=calibrate, random_state=0, **params).fit(X[:, :4], y), X[:, :4]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_those_of_a_forest_in_probabilities_add_up_to_its_probabilities(n_classes):
    forest, X = forest_of(n_classes)
    shares = forest.contributions(X, output="probability")
    assert shares.shape == (len(X), 5, n_classes)
    assert_allclose(shares.sum(axis=1), forest.predict_proba(X), rtol=0, atol=1e-13)
    assert_allclose(shares[:, -1].sum(axis=1), 1.0, atol=1e-13)  # what is expected is a distribution
    assert_allclose(shares[:, :-1].sum(axis=2), 0.0, atol=1e-13)  # what one class gains the others lose
    assert_array_equal(shares, forest.contributions(X))
    scores = forest.contributions(X, output="score") / 7.0
    assert_allclose(shares if n_classes > 2 else shares[:, :, 1] - shares[:, :, 0], scores, rtol=0, atol=1e-13)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_are_shared_out_as_shapley_has_it(n_classes):
    forest, X = forest_of(n_classes, max_depth=4)
    voters = forest.committee_.voters
    expected = traverse.contributions(voters, voters.value, X[:10], np.full(7, 1.0 / 7.0), n_classes)
    assert_allclose(forest.contributions(X[:10], output="probability"), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_temperature_comes_after_the_mean_that_is_shared_out(n_classes):
    plain, X = forest_of(n_classes)
    forest, _ = forest_of(n_classes, "auto")
    shares = forest.contributions(X, output="probability")
    assert_array_equal(shares, plain.contributions(X, output="probability"))
    averaged = forest.committee_.select(slice(None), link=Share())
    assert_allclose(shares.sum(axis=1), averaged.predict_proba(X), rtol=0, atol=1e-13)
    assert not np.allclose(shares.sum(axis=1), forest.predict_proba(X), atol=1e-3)
    assert_array_equal(averaged.predict(X), forest.predict(X))


def test_scikit_learns_forests_and_hard_votes_have_them_too():
    peer = Peer(n_estimators=10, random_state=0).fit(X2, Y2)
    shares = tree_contributions(Committee.from_estimator(peer), X2, output="probability")
    assert_allclose(shares.sum(axis=1), peer.predict_proba(X2), rtol=0, atol=1e-12)
    hard = SubaggingClassifier(n_estimators=5, calibrate=None, random_state=0).fit(X3, Y3)
    shares = tree_contributions(hard, X3, output="probability")
    assert_allclose(shares.sum(axis=1), hard.predict_proba(X3), rtol=0, atol=1e-12)
    signed = Committee(
        Forest.concatenate([one_number(0.5), one_number(-1.0)]), np.array([1.0, 3.0]), np.array([0, 1]), Share()
    )
    shares = tree_contributions(signed, np.array([[0.0], [1.0]]), output="probability")
    assert_allclose(shares.sum(axis=1), signed.predict_proba(np.array([[0.0], [1.0]])), atol=1e-15)


def one_number(value):
    """A tree of one split whose leaves say `value` and 0."""
    return stump_by_hand(
        threshold=np.array([0.5, 0.0, 0.0]),
        value=np.array([[0.0], [value], [0.0]]),
        weight=np.array([3.0, 2.0, 1.0]),
        count=np.array([3, 2, 1]),
    )


def test_those_of_predictions_add_up_to_predictions():
    X, y = noisy_scores()
    forest = RandomForestRegressor(7, random_state=0).fit(X, y)
    shares = forest.contributions(X, output="prediction")
    assert_allclose(shares.sum(axis=1), forest.predict(X), rtol=1e-13)
    assert_array_equal(shares, forest.contributions(X))
    assert_allclose(shares, forest.contributions(X, output="score") / 7.0, rtol=1e-12, atol=1e-13)
    boosted = GradientBoostingRegressor(n_estimators=5, random_state=0).fit(X, y)
    assert_array_equal(tree_contributions(boosted, X, output="prediction"), boosted.contributions(X))


def test_what_is_no_sum_over_trees_is_refused():
    X, y = noisy_scores()
    positive = GradientBoostingRegressor(n_estimators=3, loss="poisson", random_state=0).fit(X, y)
    abstaining = replace(one_number(0.0), value=None, label=np.array([-1, 1, -1], np.int32))
    for model, output, data in [
        (positive, "prediction", X),
        (AdaBoostClassifier(5).fit(X2, Y2), "probability", X2),
        (Committee(abstaining, np.ones(1), np.array([0, 1]), Share()), "probability", np.array([[0.0], [1.0]])),
    ]:
        with pytest.raises(ValueError, match=f"output='{output}' of .* is no sum over its trees"):
            tree_contributions(model, data, output=output)


def test_an_output_of_the_other_kind_of_learner_is_refused():
    X, y = noisy_scores()
    forest, rows = forest_of(3)
    of_numbers = RandomForestRegressor(2).fit(X, y)
    boosted = GradientBoostingClassifier(n_estimators=3, random_state=0).fit(X3, Y3)
    positive = GradientBoostingRegressor(n_estimators=3, loss="poisson", random_state=0).fit(X, y)
    for model, output, data, remedy in [
        (of_numbers, "probability", X, "'probability' is not what a regressor has; take 'score' or 'prediction'"),
        (forest, "prediction", rows, "'prediction' is not what a classifier has; take 'score' or 'probability'"),
        (boosted, "prediction", X3, "'prediction' is not what a classifier has; take 'score'$"),
        (positive, "probability", X, "'probability' is not what a regressor has; take 'score'$"),
        (forest, "proba", rows, "'proba' is unknown; it must be 'score', of classifiers 'probability', or of regre"),
    ]:
        with pytest.raises(ValueError, match=f"output={remedy}"):
            model.contributions(data, output=output)


@pytest.mark.parametrize("model", [SBPMTClassifier(2, random_state=0), ProbitModelTreeClassifier(max_depth=1)])
def test_model_trees_share_out_scores_alone(model):
    model = clone(model).fit(X3, Y3)
    assert_array_equal(model.contributions(X3, output="score"), model.contributions(X3))
    with pytest.raises(ValueError, match=r"output='probability' is not available.* model trees .*Take 'score'"):
        model.contributions(X3, output="probability")


@pytest.mark.parametrize("tree", ["shared", "per_target"])
@pytest.mark.parametrize("n_targets", [1, 2])
def test_a_line_adds_to_its_column_and_the_leaf_weights_are_shared_out_as_shapley_has_it(tree, n_targets):
    X, y = noisy_scores()
    X = np.where(np.random.default_rng(0).random((len(X), 4)) < 0.1, np.nan, X[:, :4])
    Y = np.column_stack([y, y**2])[:, :n_targets].squeeze()
    model = GradientBoostingRegressor(n_estimators=4, max_leaf_nodes=5, tree=tree, random_state=0).fit(X, Y)
    votes, rows = model.committee_, X[:12]
    voters = votes.voters
    expected = traverse.contributions(voters.forest, voters.forest.value, rows, votes.weights, n_targets)
    expected[:, -1] += votes.intercept
    assert len(voters.lines.column)
    K = voters.trees_per_voter
    for i, leaves in enumerate(voters.forest.apply(rows)):
        for t, node in enumerate(leaves + voters.forest.offset[:-1]):
            outputs = slice(None) if K == 1 else slice(t % K, t % K + 1)
            for m in range(voters.lines.start[node], voters.lines.start[node + 1]):
                x = rows[i, j := voters.lines.column[m]]
                held = np.clip(x, voters.lines.low[m], voters.lines.high[m])
                line = 0.0 if np.isnan(x) else voters.lines.slope[m] * (held - voters.lines.centre[m])
                expected[i, j, outputs] += votes.weights[t // K] * line
    shares = model.contributions(X)
    assert_allclose(shares[:12], expected.squeeze(), rtol=1e-10, atol=1e-10)
    assert_allclose(shares.sum(axis=1), model.predict(X), rtol=1e-10, atol=1e-10)
    assert_array_equal(model.contributions(X, output="prediction"), shares)


XN, YN = load_diabetes(return_X_y=True)


def test_interventional_ones_are_shaps_on_its_own_forest():
    shap = pytest.importorskip("shap", reason="needs committee[shap] (2026-11-24)")
    forest = Peer(20, max_depth=6, random_state=0).fit(X2, Y2)
    theirs = shap.TreeExplainer(forest, X2[:50], feature_perturbation="interventional").shap_values(X2[50:80])
    ours = interventional_contributions(Committee.from_estimator(forest), X2[50:80], X2[:50], output="probability")
    assert_allclose(ours[:, :-1], theirs, atol=1e-6)


def test_values_and_interactions_are_those_of_xgboost():
    xgboost = pytest.importorskip("xgboost", reason="needs committee[test] (2026-11-24)")
    model = xgboost.XGBRegressor(n_estimators=30, max_depth=4, n_jobs=1).fit(XN, YN)
    rows, margin = xgboost.DMatrix(XN), np.abs(YN).max()
    ours = RegressionCommittee.from_estimator(model)
    theirs = model.get_booster().predict(rows, pred_contribs=True)
    assert_allclose(tree_contributions(ours, XN), theirs, atol=1e-6 * margin)
    pairs = model.get_booster().predict(rows, pred_interactions=True)[:, :-1, :-1]
    assert_allclose(tree_interactions(ours, XN), pairs, atol=2e-6 * margin)


def test_values_are_those_of_lightgbm_with_gaps_and_several_classes():
    lightgbm = pytest.importorskip("lightgbm", reason="needs committee[test] (2026-11-24)")
    X = np.where(np.random.default_rng(0).random(X3.shape) < 0.1, np.nan, X3)
    model = lightgbm.LGBMClassifier(n_estimators=20, n_jobs=1, verbose=-1).fit(X, Y3)
    theirs = model.booster_.predict(X, pred_contrib=True).reshape(len(X), 3, 5).swapaxes(1, 2)
    assert_allclose(tree_contributions(Committee.from_estimator(model), X), theirs, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("linear", [False, True])
def test_they_add_up_beside_a_background(linear):
    model = GradientBoostingRegressor(n_estimators=30, leaf="linear" if linear else "constant", random_state=0)
    model.fit(XN, YN)
    shares = model.interventional_contributions(XN[:40], XN[100:130])
    assert_allclose(shares.sum(axis=1), model.predict(XN[:40]), rtol=1e-10)
    assert_allclose(shares[:, -1], model.predict(XN[100:130]).mean(), rtol=1e-10)
    twice = model.set_params(n_jobs=2).interventional_contributions(XN[:40], XN[100:130])
    assert_array_equal(twice, shares)


def test_a_column_that_no_split_is_on_gets_nothing_however_it_goes_along():
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    X = np.column_stack([x, x + 0.01 * rng.normal(size=400)])
    model = GradientBoostingRegressor(n_estimators=10, max_features=1.0).fit(X[:, :1], x)
    assert model.interventional_contributions(X[:9, :1], X[50:99, :1]).shape == (9, 2)
    both = GradientBoostingRegressor(n_estimators=10).fit(np.column_stack([x, np.zeros(400)]), x)
    rows = np.column_stack([x, x])
    assert not both.interventional_contributions(rows, rows[:20])[:, 1].any()


def test_categories_and_gaps():
    frame, y = mixed_table()
    model = GradientBoostingClassifier(n_estimators=20, random_state=0).fit(frame, y)
    shares = model.interventional_contributions(frame[:30], frame[100:])
    assert_allclose(shares.sum(axis=1), model.decision_function(frame[:30]), atol=1e-10)
    pairs = model.interactions(frame[:30])
    assert_allclose(pairs.sum(axis=2), model.contributions(frame[:30])[:, :-1], atol=1e-10)
    assert_array_equal(pairs, pairs.swapaxes(1, 2))


@pytest.mark.parametrize("leaf", ["constant", "linear"])
def test_rows_of_interactions_are_the_contributions(leaf):
    model = GradientBoostingRegressor(n_estimators=20, leaf=leaf, random_state=0).fit(XN, YN)
    pairs = model.interactions(XN[:50])
    assert_allclose(pairs.sum(axis=2), model.contributions(XN[:50])[:, :-1], rtol=1e-9, atol=1e-9)


def test_interactions_of_several_classes_and_of_shares():
    model = GradientBoostingClassifier(n_estimators=5).fit(X3, Y3)
    pairs = model.interactions(X3)
    assert pairs.shape == (150, 4, 4, 3)
    assert_allclose(pairs.sum(axis=2), model.contributions(X3)[:, :-1], atol=1e-10)
    forest = RandomForestClassifier(20, max_leaf_nodes=20, random_state=0).fit(X3, Y3)
    shares = forest.contributions(X3, output="probability")
    assert_allclose(forest.interactions(X3, output="probability").sum(axis=2), shares[:, :-1], atol=1e-10)


def test_what_is_refused_is_said():
    boosted = GradientBoostingClassifier(n_estimators=5).fit(X2, Y2)
    with pytest.raises(ValueError, match="background has 0 rows; give one or more"):
        boosted.interventional_contributions(X2, X2[:0])
    with pytest.raises(ValueError, match="29 features, but"):
        boosted.interventional_contributions(X2, X2[:5, 1:])
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(900, 3)), rng.integers(0, 2, 900)
    deep = RandomForestClassifier(3, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"tree \d has \d+ leaves, and interactions are of trees of at most 64"):
        deep.interactions(X)
    assert deep.interventional_contributions(X[:5], X[:20]).shape == (5, 4, 2)
    empty = traverse.random_forest(rng, n_outputs=1, n_classes=2)
    empty = replace(empty, weight=np.zeros(len(empty.weight)))
    with pytest.raises(ValueError, match="hold no record of their training rows"):
        tree_contributions(Committee(empty, np.ones(4), [0, 1], Logistic()), traverse.random_rows(rng, 3))
    with pytest.raises(ValueError, match="29 features"):
        tree_contributions(boosted, X2[:, 1:])
    others = SubaggingClassifier(GaussianNB(), n_estimators=3, random_state=0).fit(X3, Y3)
    with pytest.raises(TypeError, match="native trees; these are EstimatorVoters"):
        tree_contributions(others, X3)
    lines = QuadBoostClassifier(n_estimators=5).fit(X2, Y2)
    blend = CommitteeClassifier("fast", cv=2, random_state=0).fit(X3, Y3)
    for call in (blend.interactions, lambda X: blend.interventional_contributions(X, X)):
        with pytest.raises(TypeError, match="native trees; these are MemberCommittees"):
            call(X3)
    assert lines.interventional_contributions(X2[:5], X2[5:9]).shape[0] == 5


def test_an_explanation_has_names_rows_and_values():
    pytest.importorskip("shap", reason="needs committee[shap] (2026-11-24)")
    frame, y = mixed_table()
    model = GradientBoostingClassifier(n_estimators=20, random_state=0).fit(frame, y)
    found = model.explanation(frame[:40])
    shares = model.contributions(frame[:40])
    assert_array_equal(found.values, shares[:, :-1])
    assert_array_equal(found.base_values, shares[:, -1])
    assert found.feature_names == frame.columns
    shown = pl.DataFrame(found.display_data.tolist(), schema=frame.columns, orient="row")
    assert shown["colour"].to_list() == frame["colour"][:40].to_list()
    against = model.explanation(frame[:40], background=frame[50:60])
    assert_array_equal(against.values, model.interventional_contributions(frame[:40], frame[50:60])[:, :-1])
    several = GradientBoostingClassifier(n_estimators=5).fit(X3, np.array(["a", "b", "c"])[Y3]).explanation(X3)
    assert several.values.shape == (150, 4, 3) and several.output_names == ["a", "b", "c"]
    assert several.feature_names == ["x0", "x1", "x2", "x3"]


@pytest.mark.parametrize("picture", ["waterfall", "beeswarm", "bar", "scatter"])
def test_shap_draws_it(picture):
    shap = pytest.importorskip("shap", reason="needs committee[shap] (2026-11-24)")
    plt = pytest.importorskip("matplotlib.pyplot", reason="needs committee[plots] (2026-11-24)")
    frame, y = mixed_table()
    found = RandomForestClassifier(20, random_state=0).fit(frame, y).explanation(frame)
    rows = {"waterfall": found[0], "scatter": found[:, "age"]}.get(picture, found)
    getattr(shap.plots, picture)(rows, show=False)
    assert plt.gcf().axes
    plt.close("all")


def test_all_that_have_contributions_have_explanations_of_one_shape():
    pytest.importorskip("shap", reason="needs committee[shap] (2026-11-24)")
    for model in (
        RandomForestClassifier(5, random_state=0),
        committee.TreeVoter(max_depth=2),
        committee.AdaBoostClassifier(5),
        GradientBoostingClassifier(n_estimators=2),
        committee.SBPMTClassifier(n_estimators=2, random_state=0),
        committee.ProbitModelTreeClassifier(),
        CommitteeClassifier("fast", cv=2, random_state=0),
        ConformalClassifier(RandomForestClassifier(20, oob_score=True, random_state=0)),
    ):
        found = model.fit(X3, Y3).explanation(X3[:5])
        assert found.values.shape == (5, 4, 3) and len(found.feature_names) == 4
        assert found.base_values.shape == (5, 3) and found.output_names == ["0", "1", "2"]
        two = model.fit(X3, Y3 == 1).explanation(X3[:5])
        assert two.values.shape == (5, 4) and two.base_values.shape == (5,)
        total = model.contributions(X3[:5])
        assert_allclose(two.values, total[:, :-1, -1] if total.ndim == 3 else total[:, :-1])


X, Y = load_wine(return_X_y=True)


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(10, random_state=0),
        RandomForestRegressor(10, random_state=0),
        GradientBoostingClassifier(n_estimators=10, random_state=0),
        GradientBoostingRegressor(n_estimators=10, leaf="constant", random_state=0),
        AdaBoostClassifier(10),
        SBPMTClassifier(2, voting="soft", random_state=0),
        CommitteeClassifier("fast", random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_of_one_column_expectations_are_predictions(model):
    """With a single column all is known, missing values and categories among it."""
    text = np.array(["low", "middle", "high"])[(X[:, 0] > 12.5).astype(int) + (X[:, 0] > 13.5)]
    numbers = np.where(np.arange(len(X)) % 9 == 0, np.nan, X[:, 6])
    for column in (text, numbers):
        frame = pl.DataFrame({"only": column})
        model.fit(frame, Y)
        encoded = model.table_.encode(frame)[:, 0]
        told = model.predict_proba(frame) if hasattr(model, "classes_") else model.predict(frame)[:, None]
        assert_allclose(tree_expectations(model.committee_, 0, encoded), told, atol=1e-9)


def test_expectations_share_rows_as_shapley_values_do():
    """Of two columns phi_1 + phi_2 = v(1, 2) - v(none), and phi_1 = [v(1) - v(none) + v(1, 2) - v(2)] / 2."""
    two = X[:, [6, 9]]
    model = RandomForestClassifier(5, calibrate=None, random_state=0).fit(two, Y)
    shares = probability_contributions(model.committee_, two)
    first, second = (tree_expectations(model.committee_, j, two[:, j]) for j in (0, 1))
    none = shares[:, 2]
    assert_allclose(shares[:, 0], (first - none + model.predict_proba(two) - second) / 2.0, atol=1e-12)


def test_trees_are_walked_some_at_a_time_with_the_same_result(monkeypatch):
    model = GradientBoostingClassifier(n_estimators=7, random_state=0).fit(X, Y)
    places = split_thresholds(model.committee_, 6)
    whole = tree_expectations(model.committee_, 6, places)
    monkeypatch.setattr("committee.vote.explain.tree_expectations._CELLS", 1)
    assert_allclose(tree_expectations(model.committee_, 6, places), whole, rtol=1e-12)
    assert (np.diff(places) >= 0.0).all() and len(places)


def test_voters_that_remember_nothing_are_refused():
    tree = ProbitModelTreeClassifier().fit(*load_breast_cancer(return_X_y=True))
    with pytest.raises(TypeError, match="need voters that are native trees, lines or soft model trees"):
        tree_expectations(tree.committee_, 0, np.zeros(1))
    theirs = Committee.from_estimator(Peer(2, random_state=0).fit(X, Y))
    assert len(split_thresholds(theirs, 6)) and tree_expectations(theirs, 6, np.zeros(1)).shape == (1, 3)
