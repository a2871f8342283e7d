"""Contributions beside background rows, interactions, and explanations for shap: beside shap, XGBoost and LightGBM."""

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier as Peer

import committee
from committee import (
    CommitteeClassifier,
    ConformalClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    QuadBoostClassifier,
    RandomForestClassifier,
)
from committee.vote.committee import Committee
from committee.vote.explain.interventional_contributions import interventional_contributions
from committee.vote.explain.tree_contributions import tree_contributions
from committee.vote.explain.tree_interactions import tree_interactions
from committee.vote.regression import RegressionCommittee
from tests.vote.explain.test_tree_contributions import mixed_table

X2, Y2 = load_breast_cancer(return_X_y=True)
X3, Y3 = load_iris(return_X_y=True)
XN, YN = load_diabetes(return_X_y=True)

# --- beside others -------------------------------------------------------------------------------------------------


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


# --- what must hold ------------------------------------------------------------------------------------------------


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


# --- what is refused -----------------------------------------------------------------------------------------------


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
    assert deep.interventional_contributions(X[:5], X[:20]).shape == (5, 4)
    lines = QuadBoostClassifier(n_estimators=5).fit(X2, Y2)
    blend = CommitteeClassifier("fast", cv=2, random_state=0).fit(X3, Y3)
    for call in (blend.interactions, lambda X: blend.interventional_contributions(X, X)):
        with pytest.raises(TypeError, match="native trees; these are MemberCommittees"):
            call(X3)
    assert lines.interventional_contributions(X2[:5], X2[5:9]).shape[0] == 5


# --- explanations for shap -----------------------------------------------------------------------------------------


def test_an_explanation_has_names_rows_and_values():
    pytest.importorskip("shap", reason="needs committee[shap] (2026-11-24)")
    frame, y = mixed_table()
    model = GradientBoostingClassifier(n_estimators=20, random_state=0).fit(frame, y)
    found = model.explanation(frame[:40])
    shares = model.contributions(frame[:40])
    assert_array_equal(found.values, shares[:, :-1])
    assert_array_equal(found.base_values, shares[:, -1])
    assert found.feature_names == ["age", "colour"]
    shown = pl.DataFrame(found.display_data.tolist(), schema=["age", "colour"], orient="row")
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
    found = RandomForestClassifier(20, random_state=0).fit(frame, y).explanation(frame, output="probability")[..., 1]
    rows = {"waterfall": found[0], "scatter": found[:, "age"]}.get(picture, found)
    getattr(shap.plots, picture)(rows, show=False)
    assert plt.gcf().axes
    plt.close("all")


def test_all_that_have_contributions_have_explanations():
    pytest.importorskip("shap", reason="needs committee[shap] (2026-11-24)")
    for model in (
        committee.SBPMTClassifier(n_estimators=2, random_state=0),
        committee.ProbitModelTreeClassifier(),
        CommitteeClassifier("fast", cv=2, random_state=0),
        ConformalClassifier(RandomForestClassifier(20, oob_score=True, random_state=0)),
    ):
        found = model.fit(X3, Y3).explanation(X3[:5])
        assert found.values.shape[:2] == (5, 4) and len(found.feature_names) == 4
