"""Committees inside other libraries' regressors predict what these do, on new rows with missing values."""

from __future__ import annotations

import warnings
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from numpy.testing import assert_allclose
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

from committee import Committee, GradientBoostingRegressor, MarginDistribution, RegressionCommittee, certify, prune
from committee.voters.rounds import LinearLeaves
from tests.cli.calls import succeed
from tests.vote.adapters.every_use import assert_saved_and_explained

XGB = ("reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror", "count:poisson", "reg:gamma", "reg:tweedie")
LGB = ("regression", "regression_l1", "huber", "fair", "quantile", "mape", "poisson", "gamma", "tweedie")


def rows(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 5)).round(2)
    y = np.exp(X[:, 0] + X[:, 1] * (X[:, 2] > 0)) + random.random(n) + 0.1
    X[random.random(X.shape) < 0.1] = np.nan
    return X, y


X, Y = rows(1000, 0)
NEW = rows(2000, 1)[0]
FLOAT32 = {"rtol": 2e-5, "atol": 4e-6}
SMALL = {"n_estimators": 12, "n_jobs": 1}


def models() -> list[Any]:
    xgboost = {f"xgb {name}": xgb.XGBRegressor(objective=name, **SMALL) for name in XGB}
    lightgbm = {f"lgb {name}": lgb.LGBMRegressor(objective=name, verbose=-1, **SMALL) for name in LGB}
    options = {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.6, "verbose": -1}
    others = {
        "xgb quantile": xgb.XGBRegressor(objective="reg:quantileerror", quantile_alpha=0.9, **SMALL),
        "xgb dart": xgb.XGBRegressor(booster="dart", rate_drop=0.3, base_score=2.5, **SMALL),
        "lgb rf": lgb.LGBMRegressor(**options, **SMALL),
        "forest": RandomForestRegressor(random_state=0, **SMALL),
        "forest of medians": RandomForestRegressor(criterion="absolute_error", max_depth=3, random_state=0, **SMALL),
        "extra trees": ExtraTreesRegressor(random_state=0, **SMALL),
    }
    return [pytest.param(model, id=name) for name, model in {**xgboost, **lightgbm, **others}.items()]


@pytest.mark.parametrize("model", models())
def test_predictions_are_the_originals(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of libraries, about their own options
        model.fit(X, Y)
        expected = model.predict(NEW)
    committee = RegressionCommittee.from_estimator(model)
    # XGBoost adds in float32, and takes the exponential in it
    single = isinstance(model, xgb.XGBRegressor)
    assert_allclose(committee.predict(NEW), expected, **FLOAT32 if single else {"rtol": 1e-10})
    assert committee.n_outputs == 1 and committee.n_voters == 12
    shares = committee.decision_function(NEW[:50])
    assert np.std(shares) > 0.0


def test_bare_boosters_names_and_early_stopping():
    frame = pd.DataFrame(X, columns=list("abcde"))
    booster = xgb.train({"objective": "count:poisson", "nthread": 1}, xgb.DMatrix(frame, Y), 8)
    committee = RegressionCommittee.from_estimator(booster)
    assert committee.table is not None and committee.table.names == tuple("abcde")
    assert_allclose(committee.predict(frame), booster.predict(xgb.DMatrix(frame)), rtol=2e-5)
    model = xgb.XGBRegressor(n_estimators=200, learning_rate=0.5, early_stopping_rounds=3, n_jobs=1)
    model.fit(X[::2], Y[::2], eval_set=[(X[1::2], Y[1::2])], verbose=False)
    committee = RegressionCommittee.from_estimator(model)
    assert committee.n_voters == model.best_iteration + 1 < 200
    assert_allclose(committee.predict(NEW), model.predict(NEW), rtol=2e-5, atol=1e-5)
    own = GradientBoostingRegressor(n_estimators=3).fit(X, Y)
    assert RegressionCommittee.from_estimator(own) is own.committee_


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda: Ridge().fit(np.nan_to_num(X), Y), TypeError, "for which there is no adapter"),
        (lambda: RandomForestRegressor, TypeError, "for which there is no adapter"),
        (lambda: RandomForestRegressor(), NotFittedError, "not fitted"),
        (lambda: GradientBoostingRegressor(), NotFittedError, "not fitted"),
        (lambda: xgb.XGBRegressor(), NotFittedError, "not fitted"),
        (lambda: RandomForestRegressor(2).fit(X, np.column_stack([Y, Y])), ValueError, "predicts 2 outputs"),
        (lambda: xgb.XGBRegressor(n_estimators=2).fit(X, np.column_stack([Y, Y])), ValueError, "predicts 2 outputs"),
        (
            lambda: xgb.XGBClassifier(n_estimators=2).fit(X, Y > 1),
            TypeError,
            "RegressionCommittee.from_estimator reads XGBRegressor",
        ),
        (
            lambda: xgb.train({"objective": "binary:logistic"}, xgb.DMatrix(X, Y > 1), 2),
            ValueError,
            "a classification objective",
        ),
        (lambda: lgb.LGBMRegressor(n_estimators=2, reg_sqrt=True, verbose=-1).fit(X, Y), ValueError, "reg_sqrt=True"),
        (
            lambda: xgb.XGBRegressor(n_estimators=2, objective="reg:quantileerror", quantile_alpha=[0.1, 0.9]).fit(
                X, Y
            ),
            ValueError,
            "outputs",
        ),
    ],
)
def test_what_is_refused(make, error, match):
    with pytest.raises(error, match=match):
        RegressionCommittee.from_estimator(make())


def rows_with_codes(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 4)).round(2)
    X[:, 3] = random.integers(0, 8, n)
    y = np.exp(0.5 * X[:, 0] * X[:, 1] + (X[:, 3] % 3 == 1) + 0.1 * random.normal(size=n))
    X[random.random(X.shape) < 0.1] = np.nan
    return X, y


LINEAR_X, LINEAR_Y = rows_with_codes(1500, 0)
LINEAR_NEW = rows_with_codes(10_000, 1)[0]
LINEAR_NEW[0, :3] = [50.0, -80.0, 1e4]  # lines go on beyond what training has seen
KINDS = {
    "numbers": {},
    "categories": {"cat": [3]},
    "nothing is missing": {"use_missing": False},
    "dart": {"boosting": "dart", "objective": "huber"},
    "forest": {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5},
    "poisson": {"objective": "poisson"},
    "two classes": {"objective": "binary", "sigmoid": 0.7},
    "three classes": {"objective": "multiclass", "num_class": 3},
}


def trained(options: dict) -> lgb.Booster:
    settings = {"objective": "regression", "linear_tree": True, "num_leaves": 9, "num_threads": 1, "verbose": -1}
    settings |= {name: value for name, value in options.items() if name != "cat"}
    parts = {"binary": [0.5], "multiclass": [0.3, 0.6]}.get(settings["objective"])
    y = LINEAR_Y if parts is None else np.digitize(LINEAR_Y, np.quantile(LINEAR_Y, parts))
    data = lgb.Dataset(LINEAR_X, y, categorical_feature=options.get("cat", []), params={"verbose": -1})
    return lgb.train(settings, data, 10)


@pytest.mark.parametrize("kind", KINDS)
def test_linear_trees_of_lightgbm_predict_the_same(kind, tmp_path):
    booster = trained(KINDS[kind])
    expected = booster.predict(LINEAR_NEW)
    of_classes = "classes" in kind
    committee = (Committee if of_classes else RegressionCommittee).from_estimator(booster)
    assert isinstance(committee.voters, LinearLeaves) and np.diff(committee.voters.lines.start).max() >= 2
    committee.voters.check()
    found = committee.predict_proba(LINEAR_NEW) if of_classes else committee.predict(LINEAR_NEW)
    found = found[:, 1] if of_classes and expected.ndim == 1 else found
    assert_allclose(found, expected, rtol=1e-11, atol=1e-12)
    assert_saved_and_explained(committee, LINEAR_NEW[1:40], tmp_path / "model")


def test_what_they_can_and_what_not(tmp_path):
    booster = trained({"objective": "binary"})
    committee, y = (Committee.from_estimator(booster), (np.median(LINEAR_Y) <= LINEAR_Y).astype(int))
    assert certify(committee, LINEAR_X, y).headline.value < 0.5
    assert np.isfinite(MarginDistribution.of(committee, LINEAR_X, y).margins).all()
    booster = trained({})
    with pytest.raises(TypeError, match="ensemble has LinearLeaves for voters"):
        prune(RegressionCommittee.from_estimator(booster), LINEAR_X, LINEAR_Y, on="validation")
    booster.save_model(tmp_path / "lines.txt")
    np.savetxt(tmp_path / "rows.csv", np.nan_to_num(LINEAR_NEW[:20]), delimiter=",", header="a,b,c,d", comments="")
    assert "10 voters" in succeed("convert", tmp_path / "lines.txt", "-o", tmp_path / "lines.st").stderr
    printed = succeed("predict", tmp_path / "lines.st", tmp_path / "rows.csv").stdout.splitlines()[1:]
    assert_allclose([float(line) for line in printed], booster.predict(np.nan_to_num(LINEAR_NEW[:20])), rtol=1e-4)
