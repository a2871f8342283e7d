"""Tables of committees of ensembles: parts of dates, texts, identifiers and sparse rows."""

from __future__ import annotations

import datetime as dt
import pickle
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal

from committee import CommitteeClassifier, CommitteeRegressor, RandomForestClassifier, load, scan, to_onnx
from committee.data import matrices
from committee.learners.blend.portfolio import candidates
from committee.report.column_effects import stored_effects
from committee.report.displays.contributions import MeanContributionDisplay
from committee.report.explanation import Explanation, RowExplanation
from committee.report.inspection import inspection
from tests.cli.calls import succeed
from tests.small_portfolio import BOTH, FAST, answers, use_members_of_sparse_rows
from tests.subjects import assert_same_bits, numbers

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
    assert row.labels[3:] == ("sold (month) = Dec", "sold (weekday) = Sat", "sold (hour) = 10")
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


def test_the_command_line_reads_texts_and_the_parts_of_dates(tmp_path):
    X = sales().with_columns(reviews()["review"])
    y = target(CommitteeRegressor, X) + returns(CommitteeRegressor, reviews())
    X.with_columns(pl.col("sold").dt.strftime("%d.%m.%Y %H:%M"), y=y).write_csv(tmp_path / "t.csv")
    model, fit = tmp_path / "m.safetensors", ("fit", tmp_path / "t.csv", "-t", "y", "--effort", "fast", "-p", "cv=2")
    assert "column 'review' is text, read as numbers" in succeed(*fit, "-o", model).stderr
    read: Any = load(model)
    assert read.table_.texts == ("review",)
    assert read.table_.explained[4:] == ("sold (month)", "sold (weekday)", "sold (hour)")
    assert read.table_.source.forms == {"sold": "%d.%m.%Y %H:%M"}
    succeed("predict", model, tmp_path / "t.csv", "-o", tmp_path / "p.csv")
    predicted = pl.read_csv(tmp_path / "p.csv")["prediction"].to_numpy()
    assert_allclose(predicted, read.predict(X), rtol=1e-6)
    succeed("evaluate", model, tmp_path / "t.csv")


def test_onnx_refuses_derived_columns():
    with pytest.raises(TypeError, match='inputs="encoded" for rows of'):
        to_onnx(fitted(CommitteeRegressor))


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


# --- identifiers ------------------------------------------------------------------------------------------------------


def with_identifiers(n: int = 60) -> tuple[pl.DataFrame, Any]:
    X, y = numbers(2, n)
    table = pl.DataFrame({"row": range(n), "name": [f"{k:x}" * 2 for k in range(n)], "x": X[:, 0], "z": X[:, 1]})
    return table, y


@BOTH
def test_identifiers_are_left_out_with_a_warning(kind, tmp_path):
    table, y = with_identifiers()
    with pytest.warns(UserWarning) as warned:
        model = kind(**FAST).fit(table, y)
    assert [str(each.message).split(";")[0] for each in warned] == [
        "column 'row' is left out: it counts the rows",
        "column 'name' is left out: it is text with 60 different values in 60 rows",
    ]
    assert {each.filename for each in warned} == {__file__}
    assert model.feature_names_in_.tolist() == table.columns and model.table_.names == ("x", "z")
    assert model.table_.source.categories == (None, (), None, None)
    other = table.with_columns(row=pl.col("row") * 7, name=pl.lit("new"))
    model.save(tmp_path / "m.safetensors")
    for one in (model, load(tmp_path / "m.safetensors")):
        assert_array_equal(answers(one, other.to_pandas()), answers(model, table))
    assert (model.feature_importances_[:2] == 0.0).all() and not model.contributions(table)[:, :2].any()
    alone = kind(**FAST).fit(table.drop("row", "name"), y)
    assert_array_equal(answers(alone, table.drop("row", "name")), answers(model, table))


def test_identifiers_that_are_kept():
    table, y = with_identifiers()
    for settings in (
        {"keep_identifiers": True},
        {"keep_identifiers": ["row", "name"]},
        {"categorical_features": ["row", "name"]},
    ):
        assert CommitteeClassifier(**FAST, **settings)._learned_table(table, None).n_features == 4
    declared = table.with_columns(pl.col("row").cast(float), pl.col("name").cast(pl.Categorical))
    for kept in (declared, table.select("row"), table[:19]):
        assert CommitteeClassifier(**FAST)._learned_table(kept, None).names == tuple(kept.columns)
    unnamed = table.to_pandas().set_axis(range(4), axis=1)
    assert CommitteeClassifier(**FAST, keep_identifiers=["x0", "x1"])._learned_table(unnamed, None).n_features == 4
    with pytest.raises(ValueError, match="keep_identifiers names 'rows', which is not there; did you mean 'row'"):
        CommitteeClassifier(**FAST, keep_identifiers=["rows"]).fit(table, y)
    with pytest.raises(ValueError, match="'keep_identifiers' parameter of CommitteeClassifier must be"):
        CommitteeClassifier(**FAST, keep_identifiers=3).fit(table, y)  # type: ignore[arg-type]


@pytest.mark.parametrize("form", ["polars", "pandas", "Int64", "Arrow"])
def test_identifiers_may_have_a_few_missing_cells(form):
    table, _ = with_identifiers()
    holed = table.with_columns(pl.when(~pl.col("row").is_in([3, 40])).then("row"))
    frames: dict[str, Any] = {"polars": holed, "pandas": holed.to_pandas(), "Arrow": holed.to_arrow()}
    frame = frames["pandas"].astype({"row": "Int64"}) if form == "Int64" else frames[form]
    with pytest.warns(UserWarning, match="left out") as warned:
        assert CommitteeClassifier(**FAST)._learned_table(frame, None).names == ("x", "z")
    assert "column 'row' is left out: it counts the rows;" in str(warned[0].message)
    many = table.with_columns(pl.when(pl.col("row") > 6).then("row")).drop("name")
    assert CommitteeClassifier(**FAST)._learned_table(many, None).n_features == 3


def test_rows_without_weight_have_no_identifiers_and_repeated_rows_none():
    table, _ = with_identifiers()
    model = CommitteeClassifier(**FAST)
    more = pl.concat([table, table[:30]])
    with pytest.warns(UserWarning, match="left out"):
        assert model._learned_table(more, np.repeat([1.0, 0.0], [60, 30])).names == ("x", "z")
    assert model._learned_table(more, None).n_features == 4
    assert model._learned_table(table, np.repeat([2.0, 1.0], 30)).n_features == 4


# --- sparse rows ------------------------------------------------------------------------------------------------------


def sparse_rows(kind, n=150, seed=0):
    """A table of ten columns, a third of whose cells are stored, some of them missing, and what is to be predicted."""
    rng = np.random.default_rng(seed)
    X = scipy.sparse.random_array((n, 10), density=0.3, format="csr", rng=rng)
    target = X @ rng.normal(size=10) + 0.1 * rng.normal(size=n)
    X.data[rng.random(len(X.data)) < 0.05] = np.nan
    return X, (target if kind is CommitteeRegressor else np.digitize(target, [-0.3, 0.3]))


@pytest.mark.one_in(2)
@BOTH
@pytest.mark.parametrize("effort", ["fast", "default", "best"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_dense_table_gives_the_same_bits_once_candidates_are_alike(kind, effort, weighted, monkeypatch):
    X, y = sparse_rows(kind)
    w = np.random.default_rng(1).exponential(size=len(y)) if weighted else None
    model = kind(effort, cv=3, min_gain=0.0, random_state=0).fit(X, y, w)
    use_members_of_sparse_rows(monkeypatch)
    dense = kind(effort, cv=3, min_gain=0.0, random_state=0).fit(X.toarray(), y, w)
    assert_same_bits(model, dense, X.toarray())
    assert model.member_names_ == dense.member_names_ and len(model.member_names_) > 1
    assert_array_equal(model.member_weights_, dense.member_weights_)
    assert model.oof_loss_ == dense.oof_loss_ and model.oof_score_ == dense.oof_score_
    assert_array_equal(model.feature_importances_, dense.feature_importances_)
    for rows in (X, X.tocsc(), X[:1]):
        assert_array_equal(model.predict(rows), dense.predict(rows.toarray()))


@BOTH
def test_candidates_for_dense_rows_are_left_out_with_the_reason(kind):
    X, y = sparse_rows(kind)
    model = kind("best", cv=2, min_gain=0.0, random_state=0).fit(X, y)
    if kind is CommitteeClassifier:
        reasons = {"sbpmt": "takes no sparse rows", "lines": "takes no sparse rows"}
    else:
        reasons = {"boosted_lines": "has no lines in its leaves on sparse rows"}
    assert {name: reason for name, reason in model.left_out_.items() if reason != "no weight"} == reasons
    wanted = {one.name for one in candidates(kind is CommitteeRegressor, "best")}
    assert {*model.member_names_, *model.left_out_} == wanted


def test_boosting_has_constants_where_lines_were_wanted():
    X, y = sparse_rows(CommitteeRegressor)
    model = CommitteeRegressor(**FAST | {"min_gain": 0.0}).fit(X, y)
    assert {*model.member_names_, *model.left_out_} == {"forest", "boosting", "boosted_lines", "small_trees"}


@BOTH
@pytest.mark.parametrize("cells", [2**21, 30])
def test_a_model_of_dense_rows_takes_sparse_ones(kind, cells, monkeypatch):
    """Members that take none are given some rows at a time, made dense."""
    monkeypatch.setattr(matrices, "_BLOCK", cells)
    X, y = sparse_rows(kind)
    model = kind(**FAST | {"min_gain": 0.0, "effort": "default"}).fit(X.toarray(), y)
    assert {"sbpmt", "lines", "boosted_lines"} & {*model.member_names_}
    assert_array_equal(model.predict(X), model.predict(X.toarray()))
    assert_array_equal(model.committee_.votes(X.tocsc()), model.committee_.votes(X.toarray()))
    if kind is CommitteeClassifier:
        assert_array_equal(model.predict_proba(X), model.predict_proba(X.toarray()))
        for ours, theirs in zip(model.staged_predict(X), model.staged_predict(X.toarray()), strict=True):
            assert_array_equal(ours, theirs)


@BOTH
def test_a_file_and_a_checkpoint_of_sparse_rows(kind, tmp_path):
    X, y = sparse_rows(kind)
    model = kind(**FAST).fit(X, y, checkpoint=tmp_path / "fit")
    assert_same_bits(kind(**FAST).fit(X, y, checkpoint=tmp_path / "fit"), model, X.toarray())
    model.save(tmp_path / "model.safetensors")
    loaded = load(tmp_path / "model.safetensors")
    assert_array_equal(loaded.predict(X), model.predict(X.toarray()))
    assert loaded.left_out_ == model.left_out_


@pytest.mark.filterwarnings("ignore:n_samples")
def test_few_sparse_rows_give_a_forest():
    X, _ = sparse_rows(CommitteeClassifier, n=3)
    model = CommitteeClassifier(random_state=0).fit(X, np.arange(3))
    assert model.member_names_ == ["forest"]
    assert_array_equal(model.predict(X), model.predict(X.toarray()))
