"""Columns that scikit-learn's decision trees cannot take: of categories, and of numbers beyond single precision."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import RandomForestClassifier

import committee

CLOSE = 1e-12


def with_idle_categories() -> tuple[Any, Any]:
    """A table whose categories say nothing, and classes."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    return pd.DataFrame({"x": x, "g": pd.Categorical(rng.choice(["b", "a", "c"], 400))}), x > 0


@pytest.mark.parametrize("classes", [2, 3])
def test_categories_that_no_split_asks_for(classes: int) -> None:
    table, y = with_idle_categories()
    label = y.astype(int) if classes == 2 else np.digitize(table["x"], [-0.5, 0.5])
    for calibrate in (None, "auto") if classes == 3 else (None,):
        model = committee.RandomForestClassifier(
            5, max_depth=classes - 1, max_features=None, calibrate=calibrate, random_state=0
        ).fit(table, label)
        forest: Any = model.committee_.voters
        assert set(forest.feature[forest.feature >= 0].tolist()) == {0}
        theirs = committee.as_sklearn(model)
        new = table.assign(g="unseen")
        for rows in (table, new):
            assert_array_equal(theirs.predict(rows), model.predict(rows))
            assert_allclose(theirs.predict_proba(rows), model.predict_proba(rows), rtol=0.0, atol=CLOSE)
        with pytest.raises(ValueError, match=r"column 'g' has categories.* leave keep at \"probabilities\""):
            committee.as_sklearn(model, keep="classes")


def test_categories_that_no_split_of_numbers_asks_for() -> None:
    table, _ = with_idle_categories()
    model = committee.RandomForestRegressor(5, max_depth=1, max_features=None, random_state=0).fit(table, table["x"])
    assert_allclose(committee.as_sklearn(model).predict(table), model.predict(table), rtol=CLOSE, atol=CLOSE)


def test_errors_lead_to_a_way() -> None:
    table, y = with_idle_categories()
    model: Any = committee.RandomForestClassifier(5, random_state=0).fit(table, y ^ (table["g"] == "a"))
    with pytest.raises(ValueError, match=r"Train with calibrate=None, or leave it to committee.to_onnx\.$"):
        committee.as_sklearn(model)
    with pytest.raises(ValueError, match=r"column 'g' has categories, .* cannot take; committee.to_onnx takes"):
        committee.as_sklearn(model, keep="classes")
    again: Any = committee.RandomForestClassifier(5, calibrate=None, random_state=0).fit(table, y)
    assert_array_equal(committee.as_sklearn(again).predict(table), again.predict(table))


def test_numbers_that_stand_for_many_categories_are_refused() -> None:
    names = np.array([f"c{k}" for k in range(20)])
    code = np.random.default_rng(0).integers(0, 20, 2000)
    model = committee.GradientBoostingClassifier(n_estimators=3, random_state=0).fit(
        pd.DataFrame({"g": names[code]}), code % 2
    )
    with pytest.raises(ValueError, match="numbers stand for the 20 categories of column 'g'"):
        committee.as_sklearn(model)


def test_large_whole_numbers_are_compared_as_doubles() -> None:
    X = 1e8 + np.random.default_rng(0).integers(0, 50, size=(500, 1)).astype(float)
    for y in (X[:, 0] % 2, X[:, 0] % 3):
        model = committee.RandomForestClassifier(10, calibrate=None, random_state=0).fit(X, y)
        theirs = committee.as_sklearn(model)
        assert type(theirs.estimator.estimator).__name__ == "HistGradientBoostingClassifier"
        assert_array_equal(theirs.predict(X), model.predict(X))
        assert_allclose(theirs.predict_proba(X), model.predict_proba(X), rtol=0.0, atol=CLOSE)
    numbers = committee.RandomForestRegressor(10, random_state=0).fit(X, X[:, 0] % 2)
    assert_allclose(committee.as_sklearn(numbers).predict(X), numbers.predict(X), atol=CLOSE)
    with pytest.raises(ValueError, match="column 'x0' has splits that single precision does not keep apart"):
        committee.as_sklearn(model, keep="classes")


def test_thresholds_that_fall_together_are_compared_as_doubles() -> None:
    X = 1e6 + np.arange(400.0)[:, None] / 1000
    model = committee.TreeVoter().fit(X, (np.arange(400) // 3) % 2)
    theirs = committee.as_sklearn(model)
    assert type(theirs).__name__ == "CalibratedClassifierCV"
    assert_array_equal(theirs.predict(X), model.predict(X))


def test_splits_of_single_precision_stay_forests() -> None:
    X = 1e8 + np.random.default_rng(0).integers(0, 50, size=(500, 1)).astype(float) * 8
    theirs = RandomForestClassifier(5, random_state=0).fit(X, X[:, 0] % 3)
    again = committee.as_sklearn(theirs)
    assert type(again) is RandomForestClassifier
    assert_array_equal(again.predict_proba(X), theirs.predict_proba(X))


def test_rounds_are_counted_once() -> None:
    X = np.random.default_rng(0).normal(size=(200, 2))
    model = committee.GradientBoostingClassifier(n_estimators=7, early_stopping=False).fit(
        X, np.digitize(X[:, 0], [-0.5, 0.5])
    )
    theirs = committee.as_sklearn(model)
    assert theirs.max_iter == theirs.n_iter_ == len(model.committee_.voters)


def test_one_class_is_refused_everywhere() -> None:
    with pytest.warns(UserWarning, match="one class only"):
        model = committee.TreeVoter().fit(np.zeros((5, 1)), np.zeros(5))
    for keep in ("probabilities", "classes"):
        with pytest.raises(ValueError, match="one class only"):
            committee.as_sklearn(model, keep=keep)
    for output in ("predictions", "votes"):
        with pytest.raises(ValueError, match="one class only"):
            committee.to_treelite(model, output=output)
