"""Learners judged by folds of their training rows."""

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict

from committee import GradientBoostingRegressor, TreeVoter
from committee.report.out_of_fold import out_of_fold


def test_each_row_is_judged_by_the_fit_that_has_not_seen_it():
    X, y = load_iris(return_X_y=True)
    model = TreeVoter(max_depth=3, min_samples_leaf=1)
    found = out_of_fold(model, X, y, folds=4, seed=3)
    splitter = StratifiedKFold(4, shuffle=True, random_state=3)
    assert found["accuracy"] == (cross_val_predict(model, X, y, cv=splitter) == y).mean()
    p = cross_val_predict(model, X, y, cv=splitter, method="predict_proba")
    expected = -np.log(np.clip(p[np.arange(150), y], np.finfo(float).eps, 1.0)).mean()
    assert found["log_loss"] == pytest.approx(expected)
    assert not hasattr(model, "committee_")
    assert found.brief() == f"accuracy {found['accuracy']:.4f} (0.3333 by the most frequent class alone), " + (
        f"log loss {found['log_loss']:.4f}"
    )


def test_numbers_and_quantiles():
    X, y = load_diabetes(return_X_y=True)
    model = GradientBoostingRegressor(n_estimators=10, random_state=0)
    expected = cross_val_predict(model, X, y, cv=KFold(5, shuffle=True, random_state=0))
    assert out_of_fold(model, X, y)["rmse"] == pytest.approx(np.sqrt(((expected - y) ** 2).mean()))
    quantiles = out_of_fold(GradientBoostingRegressor("quantiles", 10), pl.DataFrame(X), y)
    assert quantiles.brief().startswith("pinball loss ") and "; coverage 0." in quantiles.brief()
    assert 0.0 < quantiles["coverage_0.1"] < quantiles["coverage_0.9"] < 1.0


def test_a_class_of_one_row_and_too_few_rows():
    X, y = load_iris(return_X_y=True)
    odd = np.where(np.arange(150) == 0, 9, y)  # no training row has it when it is asked for
    found = out_of_fold(TreeVoter(max_depth=3), X, odd)
    assert found.confusion.classes.tolist() == [0, 1, 2, 9] and np.isfinite(found["log_loss"])
    assert out_of_fold(TreeVoter(), X[:8], y[:8]) is None
    assert out_of_fold(TreeVoter(), X[:50], y[:50]) is None  # one class
