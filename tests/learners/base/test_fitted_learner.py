"""Fitted learners: leaves, paths and importances of their trees, and tables with columns that the fit took by name."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import committee
from committee import (
    Committee,
    ConformalClassifier,
    ConformalRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    MarginReweighter,
    RandomForestClassifier,
    TreeVoter,
)
from committee.voters.forest import Forest
from committee.voters.tree_voters import MemberTrees
from tests.gradient_cases import SMALL
from tests.model_files import table as mixed_table
from tests.oracles import traverse
from tests.subjects import noisy_scores, numbers

BOOSTED: dict[str, Any] = SMALL | {"n_estimators": 4, "random_state": 0}
TREES: dict[str, tuple[Any, tuple[int, ...]]] = {
    "tree": (committee.TreeVoter(max_depth=3), (1,)),
    "numbers": (committee.TreeRegressor(max_depth=3), (1,)),
    "forest": (committee.RandomForestClassifier(5, calibrate=None, random_state=0), (5,)),
    "forest of numbers": (committee.RandomForestRegressor(5, random_state=0), (5,)),
    "subagging": (committee.SubaggingClassifier(n_estimators=3, calibrate=None, random_state=0), (3,)),
    "adaboost": (committee.AdaBoostClassifier(6, max_depth=2, calibrate=None, random_state=0), (6,)),
    "a tree per class": (committee.GradientBoostingClassifier(**BOOSTED), (4, 3)),
    "shared": (committee.GradientBoostingClassifier(**BOOSTED, tree="shared"), (4,)),
    "boosted numbers": (committee.GradientBoostingRegressor(**BOOSTED), (4,)),
    "model tree": (committee.ProbitModelTreeClassifier(max_depth=2), (1,)),
    "bagged model trees": (
        committee.SBPMTClassifier(3, 1, 2, min_samples_leaf=8, calibrate=None, random_state=0),
        (3,),
    ),
    "model trees": (committee.ProbitModelTreeClassifier(max_depth=2, tree="per_class"), (1, 3)),
}


def fitted(name: str) -> tuple[Any, Any]:
    model = TREES[name][0]
    X, y = noisy_scores() if is_regressor(model) else numbers()
    return clone(model).fit(X, y), X


def trees_of(model: Any) -> MemberTrees:
    return MemberTrees.of(model.committee_.voters, model.committee_.weights, "this test")


@pytest.mark.parametrize("name", TREES)
def test_leaves_are_those_of_a_walk_node_by_node(name):
    model, X = fitted(name)
    leaves = model.apply(X)
    assert leaves.shape == (len(X), *TREES[name][1]) and leaves.dtype == np.int32
    assert_array_equal(leaves.reshape(len(X), -1), traverse.apply(trees_of(model).forest, X))
    assert_array_equal(model.committee_.apply(X, n_threads=3), leaves)


def test_leaves_of_frames_with_gaps_and_categories():
    X, y = mixed_table()
    model = committee.RandomForestClassifier(4, calibrate=None, random_state=0).fit(X, y)
    assert_array_equal(model.apply(X), traverse.apply(model.committee_.voters, model.table_.encode(X)))


def test_the_trees_of_sbpmt_stand_one_committee_after_the_other():
    X, y = numbers(2, n=200)
    model = committee.SBPMTClassifier(3, calibrate=None, random_state=0).fit(X, y)
    voters = model.committee_.voters
    leaves = model.apply(X)
    assert leaves.shape == (200, len(voters.members.forest))
    second = slice(int(voters.start[1]), int(voters.start[2]))
    assert_array_equal(model.committee_.select([1]).apply(X), leaves[:, second])
    # as the table of leaf models numbers them
    named = set(model.leaf_models_[["tree", "leaf"]].filter(model.leaf_models_["committee"] == 0).rows())
    assert {(t, int(leaf)) for t in range(int(voters.start[1])) for leaf in leaves[:, t]} <= named


def test_leaves_of_sparse_rows_and_of_files(tmp_path):
    X, y = numbers()
    X[np.abs(X) < 0.5] = 0.0
    model = committee.GradientBoostingClassifier(**BOOSTED).fit(sparse.csr_array(X), y)
    assert_array_equal(model.apply(sparse.csr_array(X)), model.apply(X))
    model.save(tmp_path / "model")
    again = committee.load(tmp_path / "model")
    assert_array_equal(again.apply(sparse.csr_array(X)), model.apply(X))
    for kind in ("gain", "count", "cover"):
        assert_array_equal(again.feature_importances(kind), model.feature_importances(kind))


@pytest.mark.parametrize(
    "model",
    [
        committee.AdaBoostClassifier(3, voter=GaussianNB(), calibrate=None),
        committee.ProbabilisticAdaBoostClassifier(3, random_state=0, calibrate=None),
        committee.ProbitBoostClassifier(3),
    ],
)
def test_what_is_no_tree_has_no_leaves(model):
    X, y = numbers(2)
    for call in (clone(model).apply, lambda _: clone(model).feature_importances("count")):
        with pytest.raises(NotFittedError):
            call(X)
    model.fit(X, y)
    with pytest.raises(TypeError, match="apply needs voters that are native trees; these are"):
        model.apply(X)
    with pytest.raises(TypeError, match="feature_importances\\('count'\\) needs voters that are native trees"):
        model.feature_importances("count")


# --- single trees and paths ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TREES)
def test_each_voter_is_a_committee_of_its_own(name):
    with pytest.raises(NotFittedError):
        len(TREES[name][0])
    model, X = fitted(name)
    assert len(model) == len(model.estimators_) == model.committee_.n_voters
    leaves = model.apply(X)
    for t, one in enumerate(model.estimators_):
        assert_array_equal(one.apply(X).reshape(len(X), -1), leaves.reshape(len(X), len(model), -1)[:, t])
        assert_allclose(one.decision_function(X), model.committee_[t].decision_function(X))
    if name == "forest of numbers":
        assert_allclose(np.mean([one.predict(X) for one in model.estimators_], axis=0), model.predict(X))


@pytest.mark.parametrize("name", TREES)
def test_paths_lead_from_the_root_to_the_leaf(name):
    model, X = fitted(name)
    path, leaf = model.decision_path(X), model.apply(X).reshape(len(X), -1)
    indicator, first = path if isinstance(path, tuple) else (path, [0, path.shape[1]])
    assert indicator.shape == (len(X), first[-1]) and len(first) == leaf.shape[1] + 1
    passed = indicator.toarray()
    assert set(np.unique(passed)) == {0, 1}
    for t in range(leaf.shape[1]):
        own = passed[:, first[t] : first[t + 1]]
        assert own[:, 0].all() and own[np.arange(len(X)), leaf[:, t]].all()
        assert_array_equal(own.shape[1] - 1 - own[:, ::-1].argmax(axis=1), leaf[:, t])  # parents come first


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (committee.TreeRegressor(max_depth=4), DecisionTreeRegressor(max_depth=4)),
        (
            committee.TreeVoter(max_depth=2, min_samples_leaf=5, calibrate=None),
            DecisionTreeClassifier(max_depth=2, min_samples_leaf=5),
        ),
    ],
)
def test_paths_are_those_of_scikit_learn(ours, theirs):
    X, y = noisy_scores() if is_regressor(ours) else numbers(2)
    passed, expected = (model.fit(X, y).decision_path(X) for model in (ours, theirs))
    assert passed.shape == (len(X), theirs.tree_.node_count)
    # nodes that two rows have in common
    assert_array_equal((passed @ passed.T).toarray(), (expected @ expected.T).toarray())


def test_a_committee_of_ensembles_names_its_members():
    X, y = numbers()
    model = committee.CommitteeClassifier("fast", cv=2, random_state=0).fit(X, y)
    assert len(model) == model.member_sizes_.sum()
    with pytest.raises(TypeError, match=r"such as model\.member\(model\.member_names_\[0\]\)"):
        model.decision_path(X)


# --- importances -----------------------------------------------------------------------------------------------------


def walked_importances(trees: MemberTrees, kind: str) -> np.ndarray:
    """By the definition, split after split."""
    forest, earned = trees.forest, np.zeros(trees.forest.n_features)
    for t in range(len(forest)):
        for node in range(int(forest.offset[t]), int(forest.offset[t + 1])):
            if forest.feature[node] >= 0:
                counted = {"gain": forest.gain[node], "count": 1.0, "cover": forest.weight[node]}[kind]
                earned[forest.feature[node]] += abs(trees.weights[t]) * counted
    return earned / earned.sum()


@pytest.mark.parametrize("kind", ["gain", "count", "cover"])
@pytest.mark.parametrize("name", TREES)
def test_importances_are_those_of_a_walk(name, kind):
    model, _ = fitted(name)
    importances = model.feature_importances(kind)
    if kind == "gain":
        assert_array_equal(importances, model.feature_importances_)
    if kind != "gain" or "model" not in name:  # lines in leaves gain too
        assert_allclose(importances, walked_importances(trees_of(model), kind), rtol=1e-12)
    assert importances.shape == (5,) and np.isclose(importances.sum(), 1.0)


def test_weights_count_trees_and_a_tree_without_a_split_has_no_important_column():
    committee_, stump = fitted("forest")[0].committee_, committee.TreeVoter().fit(np.zeros((10, 3)), np.arange(10) % 2)
    for kind in ("count", "cover"):
        weighted, twice = committee_.select([0, 1], [1.0, 2.0]), committee_.select([0, 1, 1])
        assert_allclose(weighted.feature_importances(kind), twice.feature_importances(kind), rtol=1e-12)
    for kind in ("gain", "count", "cover"):
        assert_array_equal(stump.feature_importances(kind), np.zeros(3))


def test_importances_that_cannot_be():
    model, _ = fitted("forest")
    with pytest.raises(ValueError, match="kind='split' is unknown; choose 'gain', 'count'"):
        model.feature_importances("split")
    forest: Forest = model.committee_.voters
    without = replace(model.committee_, voters=replace(forest, weight=np.zeros_like(forest.weight)))
    assert without.feature_importances("count").any()
    with pytest.raises(ValueError, match="have no weights of their training rows, which kind='cover' sums"):
        without.feature_importances("cover")


def test_importances_of_lightgbm_and_of_its_committee():
    lgb = pytest.importorskip("lightgbm", reason="a peer that is asked for in pyproject's test extra (2026-11-21)")
    X, y = numbers(n=300)
    theirs = lgb.LGBMClassifier(n_estimators=10, num_leaves=6, verbose=-1).fit(X, y)
    ours = Committee.from_estimator(theirs)
    for kind, name in (("gain", "gain"), ("count", "split")):
        expected = theirs.booster_.feature_importance(name).astype(float)
        assert_allclose(ours.feature_importances(kind), expected / expected.sum(), rtol=1e-5)


def test_importances_of_xgboost_and_of_its_committee():
    xgb = pytest.importorskip("xgboost", reason="no wheel without a graphics card's libraries here (2026-11-21)")
    X, y = numbers(2, n=300)
    theirs = xgb.XGBClassifier(n_estimators=10, max_depth=3).fit(X, y)
    ours = Committee.from_estimator(theirs)
    for kind, name in (("gain", "total_gain"), ("count", "weight"), ("cover", "total_cover")):
        score = theirs.get_booster().get_score(importance_type=name)
        expected = np.array([score.get(f"f{j}", 0.0) for j in range(5)])
        assert_allclose(ours.feature_importances(kind), expected / expected.sum(), rtol=1e-4)


# --- columns that a fit took by name ----------------------------------------------------------------------------------


def table(n=80):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), "w": rng.exponential(size=n)})
    return frame.assign(base=0.5 * rng.normal(size=n), y=(frame.a + 0.5 * rng.normal(size=n) > 0).astype(int))


@pytest.mark.parametrize("kind", [lambda frame: frame, pl.from_pandas], ids=["pandas", "polars"])
def test_a_table_with_the_columns_of_the_fit_is_predicted(kind, tmp_path):
    frame = table()
    whole, X = kind(frame), kind(frame[["a", "b"]])
    model = RandomForestClassifier(3, random_state=0).fit(kind(frame[["a", "b", "w", "y"]]), "y", "w")
    assert model.named_columns_ == {"y": "y", "sample_weight": "w"}
    model.save(tmp_path / "model")
    for one in (model, committee.load(tmp_path / "model")):
        assert_array_equal(one.predict_proba(kind(frame[["a", "b", "w", "y"]])), model.predict_proba(X))
        assert one.score(kind(frame[["a", "b", "w", "y"]])) == one.score(X, frame["y"])
        assert_array_equal(one.contributions(kind(frame[["w", "a", "b"]])), model.contributions(X))
    with pytest.raises(ValueError, match=r"unseen at fit time:\n- base"):
        model.predict(whole)
    again = model.fit(X, frame["y"])
    assert not hasattr(again, "named_columns_")
    with pytest.raises(ValueError, match=r"unseen at fit time:\n- w"):
        again.predict(kind(frame[["a", "b", "w"]]))


def test_an_offset_may_be_a_column_of_every_table():
    frame = table()
    X, settings = frame[["a", "b"]], {"random_state": 0, "learning_rate": 0.3}
    given = {"X_val": X, "y_val": frame.y, "offset": frame.base, "offset_val": frame.base}
    plain = GradientBoostingClassifier(3, **settings).fit(X, frame.y, **given)
    named = {"X_val": frame.drop(columns="w"), "y_val": "y", "offset": "base", "offset_val": "base"}
    model = GradientBoostingClassifier(3, **settings).fit(frame.drop(columns="w"), "y", **named)
    assert_array_equal(model.validation_losses_, plain.validation_losses_)
    rows = frame.drop(columns="w")
    assert_array_equal(model.predict_proba(rows, offset="base"), plain.predict_proba(X, offset=frame.base))
    assert_array_equal(model.predict_proba(rows), plain.predict_proba(X))
    assert model.score(rows, offset="base") == plain.score(X, frame.y, offset=frame.base)
    for one, other in zip(
        model.staged_predict(rows, offset="base"), plain.staged_predict(X, offset=frame.base), strict=True
    ):
        assert_array_equal(one, other)
    rates = GradientBoostingRegressor(3, **settings).fit(frame[["a", "base", "b"]], frame.w, offset="base")
    other = GradientBoostingRegressor(3, **settings).fit(X, frame.w, offset=frame.base)
    assert rates.score(frame[["a", "b", "base"]], frame.w, offset="base") == other.score(X, frame.w, offset=frame.base)
    with pytest.raises(ValueError, match="offset names 'bas', which is not there; did you mean 'base'"):
        model.predict(rows, offset="bas")


def test_a_reweighted_ensemble_passes_over_its_target():
    frame = table()[["a", "b", "y"]]
    forest = RandomForestClassifier(5, random_state=0).fit(frame, "y")
    small = MarginReweighter(forest, "variance").fit(frame, "y")
    assert_array_equal(small.predict(frame), small.predict(frame[["a", "b"]]))


@pytest.mark.parametrize("method", ["base", "plus"])
def test_a_conformal_learner_takes_columns_and_offsets_by_name(method, tmp_path):
    frame = table().assign(group=list("pq") * 40, count=np.arange(80) % 5)
    X, settings = frame[["a", "b"]], {"cv": 2, "method": method, "random_state": 0}
    booster = GradientBoostingRegressor(2, loss="poisson", learning_rate=0.3, random_state=0)
    columns = ["a", "b", "w", "base", "group", "count"]
    given = {"groups": frame.group, "offset": frame.base}
    plain = ConformalRegressor(booster, 0.4, **settings).fit(X, frame["count"], frame.w, **given)
    named = {"groups": "group", "offset": "base"}
    model = ConformalRegressor(booster, 0.4, **settings).fit(frame[columns], "count", "w", **named)
    model.save(tmp_path / "model")
    for one in (model, committee.load(tmp_path / "model")):
        rows = frame[columns[::-1]][columns]
        assert_array_equal(one.predict(rows, offset="base"), plain.predict(X, offset=frame.base))
        assert_array_equal(one.predict_interval(rows, offset="base"), plain.predict_interval(X, **given))
        assert one.score(rows, offset="base") == plain.score(X, frame["count"], offset=frame.base)
    # scores are errors beyond the offset, of fits that had it
    direct = clone(booster).fit(X, frame["count"], frame.w, offset=frame.base)
    assert_array_equal(plain.predict(X, offset=frame.base), direct.predict(X, offset=frame.base))


def test_conformal_sets_of_classes_move_with_the_offset():
    frame = table()
    X, rows = frame[["a", "b"]], frame[["a", "b", "base", "y"]]
    booster = GradientBoostingClassifier(2, learning_rate=0.3, random_state=0)
    model = ConformalClassifier(booster, 0.3, cv=2, random_state=0).fit(rows, "y", offset="base")
    far = np.full(80, 9.0)
    assert_array_equal(model.predict_set(X, offset=far), np.tile([False, True], (80, 1)))
    assert_array_equal(model.p_values(rows, offset="base"), model.p_values(X, offset=frame.base))
    assert model.score(rows, offset=-far) == (frame.y == 0).mean()
    with pytest.raises(ValueError, match=r"estimator \(TreeVoter\) takes none; use a GradientBoostingRegressor"):
        ConformalClassifier(TreeVoter()).fit(rows, "y", offset="base")
