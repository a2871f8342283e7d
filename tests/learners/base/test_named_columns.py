"""Columns that a fit takes by name: predictions pass over them, and a score without a target takes its own."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

import committee
from committee import (
    ConformalClassifier,
    ConformalRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    MarginReweighter,
    RandomForestClassifier,
    TreeVoter,
)


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
