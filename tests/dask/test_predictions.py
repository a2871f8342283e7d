"""Lazy predictions: the answers of the estimator itself, type and width known before."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.svm import LinearSVC

from committee import AdaBoostClassifier, RandomForestClassifier, RandomForestRegressor
from committee.dask import decision_function, predict, predict_proba, score

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(120, 3))
LABELS = np.array(["low", "middle", "high"])[np.digitize(X[:, 0] + 0.3 * RANDOM.normal(size=120), [-0.5, 0.5])]
FRAME = pd.DataFrame(X, columns=["a", "b", "c"]).assign(
    d=pd.Categorical(np.where(X[:, 1] > 0, "red", "green")), e=np.where(X[:, 2] > 0, "here", "there")
)


def check(lazy, expected):
    assert isinstance(lazy, da.Array)
    computed = lazy.compute(scheduler="sync")
    assert lazy.dtype == computed.dtype == expected.dtype
    assert lazy.ndim == expected.ndim and lazy.shape[1:] == expected.shape[1:]
    assert np.array_equal(computed, expected)


def check_answers(model, rows, here):
    for answer in (predict, predict_proba, decision_function):
        check(answer(model, rows), getattr(model, answer.__name__)(here))


@pytest.mark.parametrize("labels", [LABELS, LABELS == "high", (LABELS == "high").astype(np.int8)])
@pytest.mark.parametrize("n_partitions", [1, 4])
def test_of_a_dataframe(labels, n_partitions):
    model = RandomForestClassifier(5, random_state=0).fit(FRAME, labels)
    check_answers(model, dd.from_pandas(FRAME, npartitions=n_partitions), FRAME)


def test_of_partitions_without_rows():
    model = RandomForestClassifier(5, random_state=0).fit(FRAME, LABELS)
    rows = dd.from_pandas(FRAME.sort_values("a", ignore_index=True), npartitions=4)
    kept = rows[rows["a"] > 0]
    check(predict_proba(model, kept), model.predict_proba(kept.compute(scheduler="sync")))


def test_of_an_array():
    model = AdaBoostClassifier(n_estimators=5).fit(X, LABELS)
    rows = da.from_array(X, chunks=(50, 2))
    assert predict(model, rows).chunks == ((50, 50, 20),)
    assert predict_proba(model, rows).chunks == ((50, 50, 20), (3,))
    check(predict(model, rows), model.predict(X))
    check(predict(model, rows[rows[:, 0] > 0]), model.predict(X[X[:, 0] > 0]))


@pytest.mark.parametrize("n_targets", [1, 2])
def test_numbers(n_targets):
    y = X[:, 0] if n_targets == 1 else X[:, :2]
    model = RandomForestRegressor(5, random_state=0).fit(X, y)
    rows = da.from_array(X, chunks=50)
    check(predict(model, rows), model.predict(X))
    with dask.config.set(scheduler="sync"):
        assert score(model, rows, y) == model.score(X, y)


def test_one_class():
    with pytest.warns(UserWarning, match="one class"):
        model = RandomForestClassifier(5).fit(X, ["only"] * 120)
    check_answers(model, da.from_array(X, chunks=50), X)


def test_score_with_weights():
    model = RandomForestClassifier(2, max_depth=1, random_state=0).fit(FRAME, LABELS)
    weights = RANDOM.random(120)
    rows, labels = dd.from_pandas(FRAME, npartitions=3), dd.from_pandas(pd.Series(LABELS), npartitions=3)
    with dask.config.set(scheduler="sync"):
        assert score(model, rows, labels, da.from_array(weights, chunks=50)) == model.score(FRAME, LABELS, weights)


def test_score_by_names_of_columns():
    table = FRAME.assign(label=LABELS, weight=RANDOM.random(120))
    model = RandomForestClassifier(2, max_depth=1, random_state=0).fit(FRAME, LABELS)
    with dask.config.set(scheduler="sync"):
        found = score(model, dd.from_pandas(table, npartitions=3), "label", "weight")
    assert found == model.score(FRAME, LABELS, table["weight"])
    with pytest.raises(ValueError, match="y='label' is the name of a column, and X is an array"):
        score(model, da.from_array(X, chunks=50), "label")


def test_columns_that_are_missing_are_named_at_once():
    model = RandomForestClassifier(2, random_state=0).fit(FRAME, LABELS)
    with pytest.raises(ValueError, match=r"(?s)missing.*- b"):
        predict(model, dd.from_pandas(FRAME.drop(columns="b"), npartitions=2))


def test_other_estimators():
    rows = da.from_array(X, chunks=50)
    check(predict(LinearRegression().fit(X, X[:, 0]), rows), LinearRegression().fit(X, X[:, 0]).predict(X))
    with pytest.raises(AttributeError, match="LinearSVC has no predict_proba"):
        predict_proba(LinearSVC().fit(X, LABELS), rows)


def test_tables_of_this_process_are_answered_at_once():
    model = RandomForestClassifier(5, random_state=0).fit(FRAME, LABELS)
    assert np.array_equal(predict(model, FRAME), model.predict(FRAME))
    assert score(model, FRAME, LABELS) == model.score(FRAME, LABELS)


def test_needs_a_fitted_model():
    with pytest.raises(NotFittedError):
        predict_proba(RandomForestClassifier(), da.from_array(X))
