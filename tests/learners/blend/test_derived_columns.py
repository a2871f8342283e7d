"""Committees of ensembles learn from the months, weekdays and hours of dates."""

from __future__ import annotations

import datetime as dt
import pickle
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from committee import CommitteeClassifier, CommitteeRegressor, RandomForestClassifier, load, scan, to_onnx
from committee.report.column_effects import stored_effects
from committee.report.displays.mean_contributions import MeanContributionDisplay
from committee.report.explanation import Explanation
from committee.report.inspection import inspection
from committee.report.row_explanation import RowExplanation
from tests.cli.calls import succeed
from tests.small_portfolio import BOTH, FAST, answers

pytestmark = pytest.mark.usefixtures("small_members")


def sales(n: int = 240, seed: int = 0) -> pl.DataFrame:
    """More is sold at weekends, and in the afternoon."""
    rng = np.random.default_rng(seed)
    moments = [dt.datetime(2023, 1, 1) + dt.timedelta(hours=int(h)) for h in rng.integers(0, 9000, n)]
    return pl.DataFrame({"sold": moments, "x": rng.normal(size=n), "city": rng.choice(["a", "b"], n)})


def target(kind: Any, X: pl.DataFrame) -> Any:
    y = 3.0 * (X["sold"].dt.weekday() > 5).to_numpy() + 2.0 * (X["sold"].dt.hour() > 12).to_numpy() + X["x"].to_numpy()
    return (y > 2.0).astype(int) if kind is CommitteeClassifier else y


def fitted(kind: Any, **settings: Any) -> Any:
    X = sales()
    return kind(**FAST, **settings).fit(X, target(kind, X))


@BOTH
def test_they_predict_better_than_from_seconds_alone(kind):
    X = sales(200, seed=1)
    y = target(kind, X)
    assert fitted(kind).score(X, y) > fitted(kind, derived_columns=None).score(X, y) + 0.1


@BOTH
def test_what_is_told_of_a_column_includes_its_parts(kind):
    model, X = fitted(kind), sales(20, seed=1)
    assert model.n_features_in_ == 3
    assert model.feature_names_in_.tolist() == ["sold", "x", "city"]
    shares = model.contributions(X)
    assert shares.shape[:2] == (20, 4)
    assert_allclose(shares.sum(axis=1), answers(model, X), atol=1e-9)
    by_part = model.contributions(X, parts=True)
    assert model.contribution_names().tolist() == ["sold", "x", "city"]
    assert model.contribution_names(parts=True).tolist()[3:] == ["sold (month)", "sold (weekday)", "sold (hour)"]
    assert_allclose(by_part[:, 0] + by_part[:, 3:6].sum(axis=1), shares[:, 0], atol=1e-12)
    assert_array_equal(by_part[:, [1, 2, 6]], shares[:, 1:])
    assert model.feature_importances_.shape == (3,)
    assert model.feature_importances_.sum() == pytest.approx(1.0)


@BOTH
def test_files_and_pickles_hold_the_parts(kind, tmp_path):
    model, X = fitted(kind), sales(20, seed=1)
    model.save(tmp_path / "model.safetensors")
    model.committee_.save(tmp_path / "vote.safetensors")
    for read in (
        load(tmp_path / "model.safetensors"),
        pickle.loads(pickle.dumps(model)),
        load(tmp_path / "vote.safetensors"),
    ):
        assert_array_equal(answers(read, X), answers(model, X))
        assert_array_equal(answers(read, X.to_pandas()), answers(model, X))
    assert load(tmp_path / "model.safetensors").table_ == model.table_


def test_reports_name_the_parts():
    model, X = fitted(CommitteeRegressor), sales(40, seed=1)
    row = RowExplanation.of(model, X, 3)
    assert row.labels[4:] == ("sold (weekday) = Fri", "sold (hour) = 22") or row.labels[3].startswith("sold (month) = ")
    assert row.contributions.sum() == pytest.approx(model.predict(X[3:4])[0])
    assert len(row.labels) == len(row.contributions) - 1 == 6
    assert {"sold (weekday)", "sold (hour)"} <= {bar.name for bar in MeanContributionDisplay.of(model, X).bars()}
    assert {effect.column for effect in Explanation.of(model, X).effects} <= {"sold", "x", "city"}
    assert ("columns", "2 numeric, 1 categorical, 9 derived") in inspection(model)[0].rows


def test_a_distilled_model_has_the_parts_and_their_effects(tmp_path):
    student = fitted(CommitteeRegressor).distil(sales(), max_nodes=0.3).model
    student.save(tmp_path / "student.safetensors")
    X = sales(9, seed=1)
    for model in (student, load(tmp_path / "student.safetensors")):
        assert model.n_features_in_ == 3
        assert model.table_.explained[3:] == ("sold (month)", "sold (weekday)", "sold (hour)")
        shares = model.contributions(X, output="prediction")
        assert shares.shape == (9, 4)
        assert_allclose(shares.sum(axis=1), model.predict(X))
        assert model.interactions(X[:2], output="prediction").shape == (2, 3, 3)
        assert model.feature_importances_.shape == (3,)
        found = {effect.column for effect in stored_effects(model, np.arange(3))}
        assert found >= {"sold (weekday)", "sold (hour)", "x"}


def test_numbers_of_seconds_and_missing_dates_have_parts_too():
    X = sales()
    X = X.with_columns(pl.when(pl.col("x") > 1.0).then(None).otherwise(pl.col("sold")).alias("sold"))
    y = target(CommitteeRegressor, X.with_columns(sold=sales()["sold"]))
    model = CommitteeRegressor(**FAST).fit(X, y)
    assert np.isfinite(model.predict(X)).all()


def test_rows_without_weight_are_absent():
    X = sales()
    y = target(CommitteeRegressor, X)
    more = pl.concat([X, sales(30, seed=2)])
    weights = np.append(np.ones(len(X)), np.zeros(30))
    once = CommitteeRegressor(**FAST).fit(X, y)
    twice = CommitteeRegressor(**FAST).fit(more, np.append(y, np.zeros(30)), weights)
    assert_array_equal(once.predict(X), twice.predict(X))


def test_tables_in_chunks_have_no_parts(tmp_path):
    X = sales()
    X.with_columns(y=target(CommitteeRegressor, X)).write_parquet(tmp_path / "t.parquet")
    model = CommitteeRegressor(**FAST).fit(scan(tmp_path / "t.parquet"), "y")
    assert model.table_.source is model.table_
    with pytest.raises(ValueError, match=r"derived_columns='dates' needs a data frame, .*each piece by a DateEnc"):
        CommitteeRegressor(**FAST, derived_columns="dates").fit(scan(tmp_path / "t.parquet"), "y")
    result = succeed("fit", tmp_path / "t.parquet", "-t", "y", "--effort", "fast", "--memory-limit", "1 GB")
    assert "note: month, weekday and hour of 'sold' are not added, as the table is read in chunks" in result.stderr


# --- text ------------------------------------------------------------------------------------------------------------

WORDS = ("late", "broken", "lovely", "parcel", "box", "blue", "colour", "sturdy", "for", "the", "house", "kitchen")


def reviews(n: int = 240, seed: int = 0) -> pl.DataFrame:
    """What is broken or late is returned."""
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(WORDS, 5)) for _ in range(n)]
    return pl.DataFrame({"review": texts, "x": rng.normal(size=n)})


def returns(kind: Any, X: pl.DataFrame) -> Any:
    y = X["review"].cast(pl.String).fill_null("").str.count_matches("late|broken").to_numpy() + 0.3 * X["x"].to_numpy()
    return (y > 0.5).astype(int) if kind is CommitteeClassifier else y


def read_reviews(kind: Any, X: pl.DataFrame | None = None, **settings: Any) -> Any:
    X = reviews() if X is None else X
    return kind(**FAST, **settings).fit(X, returns(kind, X))


@BOTH
def test_they_read_texts(kind, tmp_path):
    model, X = read_reviews(kind), reviews(200, 1)
    without = read_reviews(kind, derived_columns="dates", keep_identifiers=True)
    assert model.score(X, returns(kind, X)) > without.score(X, returns(kind, X)) + 0.1
    assert model.table_.texts == ("review",)
    assert model.table_.source.categories == ((), None)
    assert model.table_.explained == ("review", "x")
    shares = model.contributions(X)
    assert shares.shape[:2] == (200, 3)
    assert_allclose(shares.sum(axis=1), answers(model, X), atol=1e-9)
    assert model.feature_importances_[0] > 0.5
    model.save(tmp_path / "model.safetensors")
    read: Any = load(tmp_path / "model.safetensors")
    assert read.table_ == model.table_
    assert_array_equal(answers(read, X), answers(model, X))


def test_repeated_texts_are_categories_too():
    X = pl.concat([reviews(40)] * 4)
    assert len(X["review"].unique()) == 40
    X = X.with_columns(x=pl.Series(np.random.default_rng(1).normal(size=160)))
    table = read_reviews(CommitteeRegressor, X).table_
    assert len(table.source.categories[0]) == 40
    assert table.texts == ("review",)


KEPT = {"keep_identifiers": True}


@pytest.mark.parametrize(
    ("X", "settings"),
    [
        (reviews(), {"categorical_features": ["review"]}),
        (reviews().with_columns(pl.col("review").cast(pl.Categorical)), {}),
        (reviews().with_columns(pl.col("review").str.slice(0, 3)), {}),
        (reviews(), {"derived_columns": None, **KEPT}),
        (reviews().with_columns(review=pl.Series(f"{k * 7919 % 240:08x}" for k in range(240))), KEPT),
        (reviews().with_columns(review=pl.Series(f"{k:03} {k * 31 % 999:03}" for k in range(240))), KEPT),
    ],
)
def test_categories_are_no_texts(X, settings):
    model = read_reviews(CommitteeRegressor, X, **settings)
    assert model.table_.source is model.table_
    assert model.table_.texts == ()


def test_weights_are_repeated_texts():
    X = reviews(60)
    weights = np.tile([0.0, 1.0, 2.0], 20)
    once = CommitteeRegressor(**FAST)._learned_table(X, weights)
    repeated = CommitteeRegressor(**FAST)._learned_table(
        X[np.repeat(np.arange(60), weights.astype(int)).tolist()], None
    )
    assert once.derived == repeated.derived
    assert once.names == repeated.names


def test_missing_texts_and_other_columns():
    X = reviews().with_columns(pl.when(pl.col("x") > 1.0).then(None).otherwise(pl.col("review")).alias("review"))
    model = read_reviews(CommitteeRegressor, X)
    assert np.isfinite(model.predict(X)).all()
    assert np.isfinite(model.predict(X.with_columns(review=pl.lit(None)))).all()
    with pytest.raises(ValueError, match="'review' must hold text, but X is an array"):
        model.committee_.predict(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="'review' must hold text, but holds numbers"):
        model.predict(X.with_columns(review=pl.lit(1.0)))


def test_a_row_is_explained_by_its_text():
    model, X = read_reviews(CommitteeRegressor), reviews(9, 1)
    row = RowExplanation.of(model, X, 3)
    assert row.labels[0].startswith(f"review = '{X['review'][3][:9]}")
    assert row.contributions.sum() == pytest.approx(model.predict(X[3:4])[0])
    assert {bar.name for bar in MeanContributionDisplay.of(model, X).bars()} == {"review", "x"}
    assert {effect.column for effect in Explanation.of(model, X).effects} <= {"review", "x"}


def test_the_command_line_reads_texts(tmp_path):
    X = reviews()
    y = returns(CommitteeRegressor, X)
    X.with_columns(y=y, note=pl.col("review").str.slice(0, 1)).write_csv(tmp_path / "t.csv")
    model, fit = tmp_path / "m.safetensors", ("fit", tmp_path / "t.csv", "-t", "y", "--effort", "fast", "-p", "cv=2")
    assert "column 'review' is text, read as numbers" in succeed(*fit, "-o", model).stderr
    succeed("predict", model, tmp_path / "t.csv", "-o", tmp_path / "p.csv")
    read: Any = load(model)
    assert read.table_.texts == ("review",)
    rows = pl.read_csv(tmp_path / "t.csv").drop("y")
    assert_allclose(pl.read_csv(tmp_path / "p.csv")["prediction"].to_numpy(), read.predict(rows), rtol=1e-6)
    succeed("evaluate", model, tmp_path / "t.csv")


def test_onnx_refuses_derived_columns():
    with pytest.raises(TypeError, match='inputs="encoded", and rows as'):
        to_onnx(fitted(CommitteeRegressor))


def test_the_command_line_learns_the_parts_of_dates_in_files(tmp_path):
    X = sales()
    y = target(CommitteeRegressor, X)
    X.with_columns(pl.col("sold").dt.strftime("%d.%m.%Y %H:%M"), y=y).write_csv(tmp_path / "t.csv")
    model = tmp_path / "m.safetensors"
    succeed("fit", tmp_path / "t.csv", "-t", "y", "--effort", "fast", "-o", model, "-p", "cv=2")
    read: Any = load(model)
    assert read.table_.explained[3:] == ("sold (month)", "sold (weekday)", "sold (hour)")
    assert read.table_.source.forms == {"sold": "%d.%m.%Y %H:%M"}
    succeed("predict", model, tmp_path / "t.csv", "-o", tmp_path / "p.csv")
    predicted = pl.read_csv(tmp_path / "p.csv")["prediction"].to_numpy()
    assert_allclose(predicted, read.predict(X), rtol=1e-6)


def test_texts_are_in_a_file_once_and_long_ones_are_refused(tmp_path):
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list("abcdefgh"), 300)) for _ in range(20)]
    frame = pl.DataFrame({"text": texts * 4, "day": [dt.date(2024, 1, 1) + dt.timedelta(3 * i) for i in range(80)]})
    y = np.arange(80) // 4 % 2
    model = CommitteeClassifier("fast", cv=2, random_state=0).fit(frame, y)
    model.save(tmp_path / "model")
    content = (tmp_path / "model").read_bytes()
    assert all(content.count(text.encode()) == 1 for text in texts)
    assert_array_equal(load(tmp_path / "model").predict_proba(frame), model.predict_proba(frame))
    long = pl.DataFrame({"text": [text * 250 for text in texts] * 4})
    with pytest.raises(ValueError, match=r"'text' holds 20 different texts of up to 75,000 characters, 1.5 MB in all"):
        RandomForestClassifier(2).fit(long, y)
    names = pl.DataFrame({"name": [f"{i:0150d}" for i in range(8000)]})  # 1.2 million characters of short texts
    assert RandomForestClassifier(2, random_state=0).fit(names, np.arange(8000) % 2).n_features_in_ == 1
