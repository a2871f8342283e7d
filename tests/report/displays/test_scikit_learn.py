"""Displays of scikit-learn that take every learner, so that this library has none of its own for them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from matplotlib import pyplot as plt
from sklearn.calibration import CalibrationDisplay
from sklearn.metrics import ConfusionMatrixDisplay, PrecisionRecallDisplay, PredictionErrorDisplay, RocCurveDisplay

from committee import (
    AdaBoostClassifier,
    CommitteeClassifier,
    CommitteeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from tests.report.displays.test_partial_dependence import FRAMES, table
from tests.small_portfolio import use_small_members


@pytest.fixture(autouse=True)
def no_figures_left():
    yield
    plt.close("all")


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("model", [CommitteeClassifier("fast"), GradientBoostingClassifier(n_estimators=2)])
def test_classifiers_on_frames_of_categories_and_missing_values(kind, model, monkeypatch):
    use_small_members(monkeypatch)
    X, y = table()
    X = FRAMES[kind](X)
    fitted = model.fit(X, y)
    display = ConfusionMatrixDisplay.from_estimator(fitted, X, y)
    assert np.trace(display.confusion_matrix) == (fitted.predict(X) == y).sum()
    for each in (CalibrationDisplay, RocCurveDisplay, PrecisionRecallDisplay):
        each.from_estimator(fitted, X, y, pos_label="yes")


@pytest.mark.parametrize("model", [AdaBoostClassifier(2), RandomForestClassifier(2)])
def test_confusion_of_several_classes(model):
    X, y = table()
    y = np.where(X["rooms"] > 3, "many", y)
    display = ConfusionMatrixDisplay.from_estimator(model.fit(X, y), X, y)
    assert display.display_labels.tolist() == ["many", "no", "yes"]


@pytest.mark.parametrize(
    "model", [CommitteeRegressor("fast"), GradientBoostingRegressor(n_estimators=2), RandomForestRegressor(2)]
)
def test_residuals_of_regressors(model, monkeypatch):
    use_small_members(monkeypatch)
    X, y = table()
    X, y = pl.from_pandas(X), X["rooms"].to_numpy() + (y == "yes")
    display = PredictionErrorDisplay.from_estimator(model.fit(X, y), X, y, subsample=None)
    np.testing.assert_array_equal(display.y_pred, model.predict(X))
