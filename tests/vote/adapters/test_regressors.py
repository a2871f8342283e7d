"""Committees inside other libraries' regressors predict what these do, on new rows with missing values."""

import warnings
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

from committee import GradientBoostingRegressor, RegressionCommittee

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
    np.testing.assert_allclose(committee.predict(NEW), expected, **FLOAT32 if single else {"rtol": 1e-10})
    assert committee.n_outputs == 1 and committee.n_voters == 12
    shares = committee.decision_function(NEW[:50])
    assert np.std(shares) > 0.0


def test_bare_boosters_names_and_early_stopping():
    frame = pd.DataFrame(X, columns=list("abcde"))
    booster = xgb.train({"objective": "count:poisson", "nthread": 1}, xgb.DMatrix(frame, Y), 8)
    committee = RegressionCommittee.from_estimator(booster)
    assert committee.table is not None and committee.table.names == tuple("abcde")
    np.testing.assert_allclose(committee.predict(frame), booster.predict(xgb.DMatrix(frame)), rtol=2e-5)
    model = xgb.XGBRegressor(n_estimators=200, learning_rate=0.5, early_stopping_rounds=3, n_jobs=1)
    model.fit(X[::2], Y[::2], eval_set=[(X[1::2], Y[1::2])], verbose=False)
    committee = RegressionCommittee.from_estimator(model)
    assert committee.n_voters == model.best_iteration + 1 < 200
    np.testing.assert_allclose(committee.predict(NEW), model.predict(NEW), rtol=2e-5, atol=1e-5)
    own = GradientBoostingRegressor(n_estimators=3).fit(X, Y)
    assert RegressionCommittee.from_estimator(own) is own.committee_


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda: Ridge().fit(np.nan_to_num(X), Y), TypeError, "for which there is no adapter"),
        (lambda: RandomForestRegressor, TypeError, "for which there is no adapter"),
        (lambda: RandomForestRegressor(), NotFittedError, "not fitted"),
        (lambda: xgb.XGBRegressor(), NotFittedError, "not fitted"),
        (lambda: RandomForestRegressor(2).fit(X, np.column_stack([Y, Y])), ValueError, "predicts 2 outputs"),
        (lambda: xgb.XGBRegressor(n_estimators=2).fit(X, np.column_stack([Y, Y])), ValueError, "predicts 2 outputs"),
        (lambda: xgb.XGBClassifier(n_estimators=2).fit(X, Y > 1), TypeError, "XGBRegressor and Booster are read"),
        (
            lambda: xgb.train({"objective": "binary:logistic"}, xgb.DMatrix(X, Y > 1), 2),
            ValueError,
            "an objective of classes",
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
