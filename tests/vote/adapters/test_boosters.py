"""Committees of XGBoost's and LightGBM's trees: the scores that the original gives, whatever its settings."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

import committee
from committee import MarginReweighter
from committee.objectives.margins.named_objectives import OBJECTIVES
from committee.objectives.programs.margin_matrix import MarginMatrix
from committee.vote.adapters.lightgbm_model import lightgbm_model
from committee.vote.adapters.xgboost_model import xgboost_model
from committee.vote.committee import Committee
from committee.vote.links.probability import Logistic, Softmax
from committee.vote.signed_votes import SignedVotes
from committee.voters.forest import Forest
from committee.voters.rounds import Rounds
from tests.onnx.parity import asked

lgb = pytest.importorskip("lightgbm", reason="a peer that is asked for in pyproject's test extra (2026-11-21)")
xgb = pytest.importorskip("xgboost", reason="no wheel without a graphics card's libraries on this system (2026-11-21)")

Table = tuple[np.ndarray, np.ndarray]
FLOAT32 = {"rtol": 2e-6, "atol": 5e-6}
"""XGBoost adds leaves in float32."""
FLOAT64 = {"rtol": 1e-12, "atol": 1e-12}


def coarse(n: int, n_classes: int, seed: int = 0) -> Table:
    """Values that often meet thresholds, zeros of both kinds, gaps, and a column of codes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)).round(1)
    X[:, 3], X[:, 4] = rng.integers(0, 40, n), rng.integers(-2, 3, n)
    X[rng.random(n) < 0.1, 0] = -0.0
    score = X[:, 0] * X[:, 1] + (X[:, 3] % 3 == 1) + 0.3 * X[:, 4] + 0.5 * rng.normal(size=n)
    X[rng.random(X.shape) < 0.15] = np.nan
    return X, np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))


def frame(n: int, n_classes: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """The same with categories of text and of numbers, declared as such."""
    X, y = coarse(n, n_classes, seed)
    X[:, 4] *= 10
    names = np.array([f"kind {c}" for c in range(40)])
    codes = np.nan_to_num(X[:, 3], nan=0).astype(int)
    text = pd.Series(names[codes], dtype=object).where(~np.isnan(X[:, 3]))
    table = pd.DataFrame(X[:, :3], columns=["size", "height", "depth"])
    table["kind"] = pd.Categorical(text, categories=sorted(set(names)))
    table["step"] = pd.Categorical(pd.array(X[:, 4]).astype("Int64"), categories=[-20, -10, 0, 10, 20])
    return table, y


def boosted(library: str, n_classes: int = 2, table: Any = None, **options: Any) -> Any:
    X, y = coarse(600, n_classes) if table is None else table
    if library == "lightgbm":
        small = {
            "num_leaves": 9,
            "min_child_samples": 5,
            "min_data_per_group": 5,
            "cat_smooth": 1,
            "max_cat_to_onehot": 2,
        }
        return lgb.LGBMClassifier(**{"n_estimators": 12, "verbose": -1, "n_jobs": 1, **small, **options}).fit(X, y)
    return xgb.XGBClassifier(**{"n_estimators": 12, "max_depth": 4, "n_jobs": 1, **options}).fit(X, y)


def raw_scores(model: Any, X: Any) -> np.ndarray:
    if hasattr(model, "booster_"):
        return model.predict(X, raw_score=True)
    return model.predict(X, output_margin=True)


def assert_votes_as(model: Any, X: Any, *, times: float = 1.0) -> Committee:
    """The committee of a booster, whose scores are the booster's own, times a number."""
    committee = Committee.from_estimator(model)
    getattr(committee.voters, "forest", committee.voters).check()
    near = FLOAT64 if hasattr(model, "booster_") else FLOAT32
    assert_allclose(committee.decision_function(X), raw_scores(model, X) * times, **near)
    assert_array_equal(committee.predict(X), model.predict(X))
    assert_array_equal(committee.classes, model.classes_)
    return committee


XGBOOST = {
    "plain": {},
    "exact": {"tree_method": "exact"},
    "approx": {"tree_method": "approx"},
    "dart": {"booster": "dart", "rate_drop": 0.4, "one_drop": True},
    "forests": {"num_parallel_tree": 3, "subsample": 0.5, "colsample_bynode": 0.5},
    "leaf-wise": {"grow_policy": "lossguide", "max_leaves": 9, "max_depth": 0},
    "base score": {"base_score": 0.3},
    "codes": {"enable_categorical": True, "feature_types": ["q", "q", "q", "c", "q"]},
    "one-hot codes": {"enable_categorical": True, "feature_types": ["q", "q", "q", "c", "q"], "max_cat_to_onehot": 99},
    "one tree": {"n_estimators": 1},
    "bare leaves": {"gamma": 1e9},
}
LIGHTGBM = {
    "plain": {},
    "dart": {"boosting_type": "dart", "drop_rate": 0.5},
    "goss": {"data_sample_strategy": "goss"},
    "codes": {"cat_feature": "3"},
    "no missing": {"use_missing": False},
    "no missing, codes": {"use_missing": False, "cat_feature": "3"},
    "zero is missing": {"zero_as_missing": True},
    "zero is missing, codes": {"zero_as_missing": True, "cat_feature": "3"},
    "sigmoid": {"sigmoid": 0.7},
    "no start": {"boost_from_average": False, "learning_rate": 1.0},
    "unbalanced": {"is_unbalance": True},
    "bare leaves": {"min_child_samples": 10_000},
}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    ("library", "name"), [*(("xgboost", name) for name in XGBOOST), *(("lightgbm", name) for name in LIGHTGBM)]
)
def test_scores_and_probabilities_are_the_boosters_own(library, name, n_classes):
    if name == "base score" and n_classes > 2:
        pytest.skip("one base score is of two classes (2026-11-21)")
    options = {"xgboost": XGBOOST, "lightgbm": LIGHTGBM}[library][name]
    model = boosted(library, n_classes, **options)
    X, y = coarse(800, n_classes, seed=1)
    X[:5, 0] = [1e-36, -1e-36, 2e-35, -2e-35, np.float32(1e-35)]  # on both sides of what LightGBM calls zero
    committee = assert_votes_as(model, X)
    near = FLOAT32 if library == "xgboost" else FLOAT64
    assert_allclose(committee.predict_proba(X), model.predict_proba(X), **near)
    assert committee.link == Softmax(options.get("sigmoid", 1.0) if n_classes == 2 else 1.0)
    assert isinstance(committee.voters, Forest if n_classes == 2 else Rounds)
    assert (np.abs(committee.margins(X, y)) <= 1.0).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_random_forests_of_lightgbm_are_means(n_classes):
    model = boosted("lightgbm", n_classes, boosting_type="rf", bagging_freq=1, bagging_fraction=0.6)
    X, _ = coarse(500, n_classes, seed=1)
    committee = assert_votes_as(model, X, times=1.0 / 12)  # raw scores are their sum
    assert_allclose(committee.predict_proba(X), model.predict_proba(X), **FLOAT64)


def test_one_class_against_the_rest_has_the_same_scores_and_probabilities_that_sum_to_one():
    model = boosted("lightgbm", 3, objective="multiclassova", sigmoid=0.8)
    X, _ = coarse(500, 3, seed=1)
    committee = assert_votes_as(model, X)
    assert committee.link == Logistic(scale=0.8)
    each = model.predict_proba(X)
    assert_allclose(committee.predict_proba(X), each / each.sum(axis=1, keepdims=True), **FLOAT64)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_frames_with_declared_categories(library, n_classes):
    options = {"enable_categorical": True, "max_cat_to_onehot": 3} if library == "xgboost" else {}
    model = boosted(library, n_classes, frame(600, n_classes), **options)
    X, _ = frame(700, n_classes, seed=1)
    committee = assert_votes_as(model, X)
    assert committee.table is not None and committee.table.n_categories.tolist() == [0, 0, 0, 40, 5]
    assert committee.table.names == tuple(X.columns)
    # the same rows where categories are plain text
    plain = X.assign(kind=X["kind"].astype(object), step=X["step"].astype("Float64"))
    assert_array_equal(committee.decision_function(plain), committee.decision_function(X))


def test_a_category_that_training_did_not_see_is_a_missing_value():
    model = boosted("lightgbm", table=frame(600, 2))
    X, _ = frame(50, 2, seed=1)
    other = X.assign(kind=pd.Categorical(["new"] * 50))
    committee = Committee.from_estimator(model)
    assert_allclose(committee.decision_function(other), raw_scores(model, other), **FLOAT64)


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_codes_with_fractions_are_those_of_the_library(library, tmp_path):
    X, y = coarse(600, 2)
    X, y = X[~np.isnan(X[:, 3])], y[~np.isnan(X[:, 3])]
    options: dict[str, Any] = {"max_cat_to_onehot": 1}
    if library == "xgboost":
        model = boosted(library, 2, (X, y), enable_categorical=True, feature_types=["q", "q", "q", "c", "q"], **options)
    else:
        model = lgb.LGBMClassifier(
            n_estimators=12, min_child_samples=5, min_data_per_group=5, verbose=-1, n_jobs=1, **options
        )
        model.fit(X, y, categorical_feature=[3])
    codes = np.array([2.5, 2.999, -0.5, -0.999, -1.0, 30.7, 39.5, 40.5, np.nan, *np.arange(0.25, 39.0)])
    rows = np.repeat(X[:4], len(codes), axis=0)
    rows[:, 3] = np.tile(codes, 4)
    voting = assert_votes_as(model, rows)
    before = make_pipeline(ColumnTransformer([("all", "passthrough", [0, 1, 2, 3, 4])]), model)
    before[0].fit(X)
    assert_array_equal(Committee.from_estimator(before).decision_function(rows), voting.decision_function(rows))
    assert voting.table is not None and voting.table.rounding == {"xgboost": "floor", "lightgbm": "trunc"}[library]
    assert_array_equal(voting.decision_function(pd.DataFrame(rows)), voting.decision_function(rows))
    voting.save(tmp_path / "model")
    assert committee.load(tmp_path / "model").table == voting.table
    assert_allclose(asked(committee.to_onnx(voting), rows)["probabilities"], voting.predict_proba(rows), atol=1e-12)


def test_names_that_lightgbm_may_have_changed_are_not_asked_for():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)  # "mean radius"
    model = boosted("lightgbm", table=(X, y))
    assert model.feature_name_[0] == "mean_radius"
    committee = assert_votes_as(model, X)
    assert committee.table is not None and committee.table.names is None


@pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")
@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_early_stopping_leaves_the_rounds_up_to_the_best(library):
    X, y = load_breast_cancer(return_X_y=True)
    watched = [(X[1::2], y[1::2])]
    if library == "xgboost":
        model = xgb.XGBClassifier(n_estimators=200, learning_rate=0.5, early_stopping_rounds=5, n_jobs=1)
        model.fit(X[::2], y[::2], eval_set=watched, verbose=False)
        best = model.best_iteration + 1
        assert best < model.get_booster().num_boosted_rounds()
    else:
        model = lgb.LGBMClassifier(n_estimators=200, learning_rate=0.5, verbose=-1, n_jobs=1)
        model.fit(X[::2], y[::2], eval_set=watched, callbacks=[lgb.early_stopping(5, verbose=False)])
        best = model.best_iteration_
    assert best < 200
    assert assert_votes_as(model, X).n_voters == best


def test_bare_boosters_have_numbered_classes():
    X, y = coarse(500, 3)
    booster = xgb.train({"objective": "multi:softmax", "num_class": 3, "nthread": 1}, xgb.DMatrix(X, y), 5)
    committee = Committee.from_estimator(booster)
    assert_array_equal(committee.predict(X), booster.predict(xgb.DMatrix(X)))
    booster = lgb.train({"objective": "binary", "verbose": -1, "num_threads": 1}, lgb.Dataset(X, y > 0), 5)
    committee = Committee.from_estimator(booster)
    assert_allclose(committee.predict_proba(X)[:, 1], booster.predict(X), **FLOAT64)
    assert committee.classes.tolist() == [0, 1]
    assert MarginReweighter(booster, "mincq").fit(X, (y > 0).astype(int)).score(X, (y > 0).astype(int)) > 0.6


def test_labels_are_the_classifiers_own():
    X, y = load_digits(return_X_y=True)
    names = np.array([f"digit {d}" for d in range(10)])
    model = boosted("lightgbm", table=(X[::2], names[y[::2]]))
    committee = assert_votes_as(model, X)
    assert committee.classes.tolist() == names.tolist() and len(committee.voters) == 12
    model = boosted("xgboost", table=(X[::2], y[::2]))
    assert assert_votes_as(model, X).n_classes == 10


@given(st.integers(0, 10**6), st.sampled_from([1.0, 1e-3, 1e30, 1e-38]), st.integers(1, 6))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_rows_next_to_a_threshold_go_as_their_float32_roundings_do(seed, size, depth):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(60, 2)) * size).astype(np.float32).astype(np.float64)
    y = np.arange(60) % 2
    model = xgb.XGBClassifier(n_estimators=3, max_depth=depth, tree_method="exact", n_jobs=1).fit(X, y)
    committee = Committee.from_estimator(model)
    assert isinstance(committee.voters, Forest)
    limits = committee.voters.threshold[committee.voters.feature >= 0]
    near = np.concatenate([limits, np.nextafter(limits, np.inf), np.nextafter(limits, -np.inf), -limits, [0.0, -0.0]])
    rows = np.column_stack([near, rng.permutation(near)])
    assert_allclose(committee.decision_function(rows), raw_scores(model, rows), **FLOAT32)


@given(st.integers(0, 10**6), st.integers(2, 25), st.booleans())
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_zeros_that_are_missing(seed, leaves, codes):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(200, 3)) * rng.choice([1.0, 0.1, 1e-35], size=(200, 3))
    X[rng.random(X.shape) < 0.2] = np.nan
    X[:, 2] = rng.integers(0, 5, 200)
    y = (np.nan_to_num(X[:, 0], nan=1.0) * X[:, 2] + rng.normal(size=200) > 0.3).astype(int)
    options = {"cat_feature": "2"} if codes else {}
    model = boosted("lightgbm", table=(X, y), zero_as_missing=True, num_leaves=leaves, n_estimators=4, **options)
    rows = rng.choice([-3.0, -0.1, -1e-34, -1e-35, -0.0, 0.0, 1e-36, 1.1e-35, 0.2, 1.0, 4.0, np.nan], size=(300, 3))
    rows[:, 2] = rng.integers(0, 6, 300)
    assert_votes_as(model, rows)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_the_start_is_the_intercept_and_no_tree_has_it(library, n_classes):
    X, y = coarse(600, n_classes)
    y = np.where(np.arange(600) < 300, 0, y)
    committee = Committee.from_estimator(boosted(library, n_classes, (X, y)))
    assert committee.intercept is not None
    share = np.bincount(y) / len(y)
    start = np.log(share[1:] / share[0]) if n_classes == 2 else np.log(share)
    found = committee.intercept if n_classes == 2 else committee.intercept - committee.intercept.mean() + start.mean()
    # XGBoost's start is a step towards it
    assert_allclose(found, start, atol=0.35 if library == "xgboost" and n_classes > 2 else 0.05)
    assert committee.voters.spread.max() < 1.5


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
@pytest.mark.parametrize("objective", ["soft_margin", "mincq", "free variance", "doom"])
def test_new_weights_count_beside_the_intercept(library, n_classes, objective):
    X, y = coarse(500, n_classes, seed=2)
    y[:200] = 0
    model = boosted(library, n_classes, (X, y))
    original = Committee.from_estimator(model)
    S = SignedVotes.of(original, X, y)
    assert_allclose(S.margins(S.weights), original.margins(X, y), atol=1e-12)
    options = {"form": "free"} if "free" in objective else {}
    found = MarginReweighter(model, objective.split()[-1], on="validation", **options).fit(X, y)
    ahead = MarginMatrix.of(S).margins(found.weights_)  # their signs are the ensemble's own, which has none
    own = found.margins(X, y)
    if "free" in objective:  # they are over the sum of absolute weights, and lines over their sum
        ahead = ahead * (own @ own) / (own @ ahead)
    assert_allclose(own, ahead, atol=1e-9)
    smaller = found.prune(max_voters=4)
    assert smaller.committee_.n_voters == 4
    assert_array_equal(Committee.from_estimator(model).decision_function(X), original.decision_function(X))


def test_every_objective_takes_leaf_scores():
    X, y = coarse(400, 2, seed=3)
    model = boosted("xgboost", table=(X, y), max_depth=2)
    assert len(OBJECTIVES) >= 9
    for name in OBJECTIVES:
        options = {"slack": 0.05} if name in ("uniform", "rank", "percentile") else {}
        options = {"xi": 0.001} if name == "range" else options
        if name == "tandem":  # a bound on the errors of voters, which leaf scores have none of
            continue
        found = MarginReweighter(model, name, on="validation", **options).fit(X, y)
        assert found.score(X, y) > 0.6


def refusals() -> list[Any]:
    X, y = coarse(200, 3)
    two, clean = (y > 0).astype(int), np.nan_to_num(X)
    few = {"n_estimators": 2, "n_jobs": 1}
    accents = pd.DataFrame({"size": X[:, 0], "kind": pd.Categorical(np.where(two, "é", "e"))})
    ordered = pd.DataFrame({"size": X[:, 0], "step": pd.Categorical(X[:, 4], ordered=True)})

    steps = pd.DataFrame({"size": pd.Categorical(np.where(two, "é", "e")), "step": np.arange(len(X)) % 5})

    def named() -> Any:
        return lgb.LGBMClassifier(**few, verbose=-1).fit(steps, two, categorical_feature=["step"])

    def lightgbm(table: Any = X, labels: Any = two, **options: Any) -> Any:
        return lambda: lgb.LGBMClassifier(**few, verbose=-1, **options).fit(table, labels)

    def xgboost(table: Any = X, labels: Any = two, **options: Any) -> Any:
        return lambda: xgb.XGBClassifier(**few, **options).fit(table, labels)

    def trained(objective: str, labels: Any = two) -> Any:
        return lambda: xgb.train({"objective": objective, "nthread": 1}, xgb.DMatrix(X, labels), 2)

    def of_light(objective: str) -> Any:
        return lambda: lgb.train({"objective": objective, "verbose": -1, "num_threads": 1}, lgb.Dataset(X, two), 2)

    return [
        pytest.param(make, error, match, id=match)
        for make, error, match in [
            (
                xgboost(clean, booster="gblinear", base_score=0.5),
                ValueError,
                "booster='gblinear', which grows no trees",
            ),
            (xgboost(labels=y, multi_strategy="multi_output_tree"), ValueError, "multi_strategy='multi_output_tree'"),
            (xgboost(labels=np.column_stack([two, two])), ValueError, "predicts 2 outputs"),
            (xgboost(missing=-999.0), ValueError, r"missing=-999\.0"),
            (xgboost(objective="binary:hinge"), ValueError, "objective='binary:hinge'"),
            (xgboost(accents, enable_categorical=True), ValueError, "column 'kind' with categories that are not plain"),
            (trained("reg:squarederror"), ValueError, "a regression objective"),
            (trained("reg:logistic"), ValueError, "objective='reg:logistic'"),
            (trained("rank:pairwise"), ValueError, "objective='rank:pairwise'"),
            (xgboost(labels=np.zeros(200, int)), ValueError, "has 1 classes, and its trees are for 2"),
            (lightgbm(objective=lambda y, p: (p - y, np.ones(len(y)))), ValueError, "a user-defined objective"),
            (of_light("regression"), ValueError, "give it to RegressionCommittee.from_estimator"),
            (of_light("cross_entropy"), ValueError, "objective='cross_entropy'"),
            (lightgbm(ordered), ValueError, "give ordered categories as numbers"),
            (named, ValueError, "column 'step' among categorical_feature, and other columns as the frame's own"),
            (
                lambda: lgb.LGBMRegressor(**few, verbose=-1).fit(X, two),
                TypeError,
                "Committee.from_estimator reads LGBMClassifier",
            ),
            (
                lambda: xgb.XGBRegressor(**few).fit(X, two),
                TypeError,
                "is a XGBRegressor; Committee.from_estimator reads XGBClassifier",
            ),
            (lambda: xgb.DMatrix(X, two), TypeError, "is a DMatrix"),
            (lambda: xgb.XGBClassifier(), NotFittedError, "not fitted"),
            (lambda: lgb.LGBMClassifier(), NotFittedError, "not fitted"),
            (lambda: xgb.XGBClassifier, TypeError, "must be a fitted classifier"),
        ]
    ]


def test_a_model_file_without_trees_is_refused():
    text = boosted("lightgbm", 2).booster_.model_to_string()
    with pytest.raises(ValueError, match="estimator has no trees; train it for at least one round"):
        lightgbm_model(text.partition("\nTree=")[0] + "\nend of trees\n")


@pytest.mark.filterwarnings("ignore:Found whitespace", "ignore:.*gblinear")
@pytest.mark.parametrize(("make", "error", "match"), refusals())
def test_what_has_no_committee_is_refused_by_the_setting(make, error, match):
    with pytest.raises(error, match=match):
        Committee.from_estimator(make())


def test_old_models_of_declared_categories_are_refused():
    X, y = frame(200, 2)
    model = boosted("xgboost", table=(X, y), enable_categorical=True, n_estimators=2)
    stored = json.loads(model.get_booster().save_raw("json"))
    stored["version"] = [3, 0, 2]
    del stored["learner"]["gradient_booster"]["model"]["cats"]
    with pytest.raises(ValueError, match=r"XGBoost 3\.0\.2, which does not record the categories of column 'kind'"):
        xgboost_model(json.dumps(stored))
    stored["learner"]["learner_model_param"]["base_score"] = "5E-1"  # and its base score has no brackets
    stored["learner"]["feature_types"] = ["float"] * 5
    stored["learner"]["gradient_booster"]["model"]["trees"] = []
    with pytest.raises(ValueError, match="has no trees"):
        xgboost_model(json.dumps(stored))


def test_trees_that_zeros_make_too_large_are_refused(monkeypatch):
    monkeypatch.setattr("committee.vote.adapters.lightgbm_model.MAX_GROWTH", 1)
    model = boosted("lightgbm", zero_as_missing=True, num_leaves=31)
    with pytest.raises(ValueError, match=r"zero_as_missing=True; .* would have more than 1 times"):
        Committee.from_estimator(model)


def test_neither_library_is_imported_for_other_ensembles():
    code = (
        "import sys; from sklearn.ensemble import RandomForestClassifier as F; from committee import Committee;"
        "Committee.from_estimator(F(2).fit([[0.0], [1.0]], [0, 1]));"
        "assert not {'xgboost', 'lightgbm'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_boosters_keep_no_rows_out_of_the_bag(library):
    X, y = coarse(300, 2)
    with pytest.raises(ValueError, match=r"Classifier has none[.] Use held-out rows instead"):
        MarginReweighter(boosted(library, table=(X, y)), on="oob").fit(X, y)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize(("kind", "other"), [(list("abc"), "z"), ([1, 2, 5], 7)])
def test_categories_that_xgboost_refuses_are_refused_by_name(make, kind, other, tmp_path):
    rng = np.random.default_rng(0)
    place = rng.integers(0, 3, 200)
    frame = pd.DataFrame({"kind": pd.Categorical(np.array(kind)[place]), "x": rng.normal(size=200)})
    model = xgb.XGBClassifier(n_estimators=3, enable_categorical=True).fit(frame, place == 1)
    ours = Committee.from_estimator(model)
    with pytest.raises(xgb.core.XGBoostError, match="not in the training set"):
        model.predict(pd.DataFrame({"kind": pd.Categorical([kind[0], other]), "x": [0.0, 0.0]}))
    ours.save(tmp_path / "model")
    for each in (ours, committee.load(tmp_path / "model")):
        with pytest.raises(
            ValueError, match=rf"column 'kind' holds the category '?{other}'? at row 1, which did not occur in training"
        ):
            each.predict(make({"kind": [kind[0], other], "x": [0.0, 0.0]}))
        missing = make({"kind": [kind[0], None], "x": [0.0, 0.0]})
        theirs = pd.DataFrame({"kind": pd.Categorical([kind[0], None], categories=kind), "x": [0.0, 0.0]})
        assert_allclose(each.predict_proba(missing), model.predict_proba(theirs), rtol=1e-5)
