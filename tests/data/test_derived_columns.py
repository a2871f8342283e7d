"""Derived columns: parts of dates, components of texts, their transformers, and schemas that have such columns."""

from __future__ import annotations

import base64
import datetime as dt
import json
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline

from committee import DateEncoder, TextEncoder, scan
from committee.data.dates import SECONDS_PER_DAY
from committee.data.derived_columns import PERIODS, TextTerms, date_part, part_columns, part_text, varying_parts
from committee.data.derived_table import DerivedTable, learn_table, read_schema
from committee.data.table_schema import TableSchema
from tests.limits import examples

MOMENTS = pd.to_datetime(
    ["2024-01-16 12:00", "1969-12-31 23:59:59.5", "2024-02-29", "1900-03-01 06:30"], format="ISO8601"
)
SECONDS = np.array([moment.timestamp() for moment in MOMENTS])
SALES = pl.DataFrame({"sold": [dt.datetime(2024, 1, 1, 6) + dt.timedelta(hours=31 * k) for k in range(60)]})


def test_parts_are_those_of_pandas():
    assert_array_equal(np.floor(date_part(SECONDS, "month")), MOMENTS.month)
    assert_array_equal(date_part(SECONDS, "weekday"), MOMENTS.day_of_week + 1)
    clock = MOMENTS.hour + MOMENTS.minute / 60 + MOMENTS.second / 3600 + MOMENTS.microsecond / 3.6e9
    assert_allclose(date_part(SECONDS, "hour"), clock, rtol=1e-12)


def test_months_have_the_elapsed_share_of_the_month():
    assert date_part(SECONDS[:1], "month")[0] == pytest.approx(1.5)
    new_year = dt.datetime(2025, 1, 1, tzinfo=dt.UTC).timestamp()
    assert_allclose(date_part(np.array([new_year - 1.0, new_year]), "month"), [13.0, 1.0], atol=1e-6)


@pytest.mark.parametrize("part", PERIODS)
def test_missing_and_unreachable_moments_have_no_parts(part):
    assert np.isnan(date_part(np.array([np.nan, 1e300, -1e300, 1e15]), part)).all()


@settings(max_examples=examples(20, 200))
@given(st.datetimes(dt.datetime(1, 1, 2), dt.datetime(9999, 12, 30)))
def test_any_moment(moment):
    seconds = np.array([(moment - dt.datetime(1970, 1, 1)).total_seconds()])
    assert int(date_part(seconds, "month")[0]) == moment.month
    assert date_part(seconds, "weekday")[0] == moment.isoweekday()
    assert 0.0 <= date_part(seconds, "hour")[0] < 24.0


def test_sines_join_the_ends_of_a_cycle():
    night = np.array([-1.0, 1.0]) + 19_000 * SECONDS_PER_DAY  # one second before and after midnight
    before, after = part_columns(night, ["hour"], cyclic=True)
    assert abs(before[0] - after[0]) > 23.0
    assert_allclose(before[1:], after[1:], atol=1e-3)


@pytest.mark.parametrize(
    ("dates", "parts"),
    [
        (pd.date_range("2024-01-01", periods=40, freq="D"), ("month", "weekday")),
        (pd.date_range("2024-01-01", periods=40, freq="h"), ("month", "weekday", "hour")),
        (pd.date_range("2024-01-01", periods=40, freq="MS"), ("month",)),
        (pd.date_range("2004-01-01", periods=20, freq="YS"), ()),
        (pd.DatetimeIndex(["2024-05-01"] * 4), ()),
    ],
)
def test_parts_that_do_not_vary_are_left_out(dates, parts):
    seconds = np.array([moment.timestamp() for moment in dates])
    assert varying_parts(np.append(seconds, np.nan)) == parts


def test_names_of_parts():
    encoder = DateEncoder(cyclic=True, seconds=False).fit(SALES)
    names = encoder.get_feature_names_out().tolist()
    assert names[:3] == ["sold (month)", "sold (month, sine)", "sold (month, cosine)"]
    assert encoder.transform(SALES).shape == (60, len(names))
    framed = DateEncoder().set_output(transform="pandas").fit_transform(SALES.to_pandas())
    assert framed.columns.tolist() == ["sold", "sold (month)", "sold (weekday)", "sold (hour)"]


def test_a_line_follows_the_time_of_the_day():
    hour = SALES["sold"].dt.hour().to_numpy()
    y = np.sin(2 * np.pi * hour / 24)
    line = make_pipeline(
        make_column_transformer((DateEncoder(cyclic=True, seconds=False), ["sold"])), LinearRegression()
    )
    assert clone(line).fit(SALES.to_pandas(), y).score(SALES.to_pandas(), y) > 0.999


def test_a_column_without_any_date_has_no_parts():
    empty = pl.DataFrame({"sold": pl.Series([None, None], dtype=pl.Datetime)})
    assert_array_equal(DateEncoder().fit_transform(empty), [[np.nan], [np.nan]])


def test_rows_must_have_the_columns_of_training():
    encoder = DateEncoder().fit(SALES.to_pandas())
    with pytest.raises(ValueError, match="feature names"):
        encoder.transform(SALES.to_pandas().rename(columns={"sold": "bought"}))


@pytest.mark.parametrize(
    ("value", "part", "text"),
    [
        (1.0, "month", "Jan"),
        (2.5, "month", "Feb 16"),
        (12.99, "month", "Dec 31"),
        (13.0, "month", None),
        (5.0, "weekday", "Fri"),
        (5.5, "weekday", "Fri"),
        (0.5, "weekday", None),
        (7.0, "hour", None),
    ],
)
def test_months_and_weekdays_in_words(value: float, part: str, text: str | None) -> None:
    assert part_text(value, part) == text


WORDS = ("late", "broken", "lovely", "parcel", "box", "blue", "colour", "sturdy")


def notes(n: int = 60, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, 5)) for _ in range(n)]


@pytest.fixture(scope="module")
def terms():
    return TextTerms.learn(notes(), 5)


def test_components_are_those_of_scikit_learn(terms):
    distinct = sorted(set(notes()))
    counts = [
        TfidfVectorizer(sublinear_tf=True, **kind).fit(distinct)
        for kind in ({"token_pattern": r"(?u)\b\w+\b"}, {"analyzer": "char_wb", "ngram_range": (3, 4)})
    ]
    assert [len(each) for each in terms.terms] == [len(each.vocabulary_) for each in counts]
    expected = []
    for each, components in zip(counts, terms.components, strict=True):
        matrix = each.transform(distinct)
        svd = TruncatedSVD(len(components), random_state=0).fit(matrix)
        assert_allclose(components, svd.components_, atol=1e-6)
        expected.append(matrix @ components.T)
    assert [len(each) for each in terms.components] == [3, 5]
    assert_allclose(terms.matrix(distinct), np.hstack(expected), atol=1e-12)


def test_order_and_repetitions_of_texts_change_nothing(terms):
    assert TextTerms.learn([*reversed(notes()), *notes()], 5) == terms


def test_every_row_is_encoded_by_itself(terms):
    texts = [None, "", "parcel late", "???", "parcel late", *notes()]
    found = terms.matrix(texts)
    assert np.isnan(found[0]).all()
    assert not found[[1, 3]].any()
    assert_array_equal(found, np.concatenate([terms.matrix([text]) for text in texts]))
    assert terms.matrix([]).shape == (0, 8)


@pytest.mark.parametrize("texts", [[], [""], ["", " "], ["a"]])
def test_too_few_terms_have_no_components(texts):
    assert TextTerms.learn(texts) is None


def test_texts_of_the_same_words_are_alike():
    one, other = TextTerms.learn(["late parcel", "parcel late"], 1).matrix(["late parcel", "parcel late"])
    assert_allclose(one, other, atol=1e-12)


def test_texts_without_words_have_runs_of_letters():
    assert TextTerms.learn([f"!{mark}!?" for mark in "#$%&*"], 2).matrix(["!$!?"]).any()


def test_json_holds_terms(terms):
    read = TextTerms.from_json(json.loads(json.dumps(terms.to_json())))
    assert read == terms
    assert hash(read) == hash(terms)
    assert read.matrix(notes(9, 1)).tobytes() == terms.matrix(notes(9, 1)).tobytes()
    assert read != TextTerms.learn(notes(50, 2), 5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"more": 1}, "'terms', 'idf' and 'svd'"),
        ({"terms": [[]]}, "'terms' of a text column must be a list of 2"),
        ({"idf": 3}, "'idf' of a text column must be a list of 2"),
        ({"svd": ["", 1]}, "'svd' of a text column must be a list of 2"),
        ({"terms": [["a", "a"], []]}, "different texts"),
        ({"terms": [["\ud800"], []]}, "different texts"),
        ({"idf": [[], []]}, "numbers above 0"),
        ({"terms": [[], []], "idf": [[], []]}, "must not be empty"),
        ({"svd": ["?", ""]}, "no base64 text"),
        ({"svd": ["AAA=", ""]}, "no base64 text"),
        ({"svd": ["", ""]}, "has 0 numbers"),
        ({"svd": ["AADAfw==", ""]}, "has 1 numbers"),
        ({"svd": [base64.b64encode(np.full(8, np.nan, "<f4")).decode(), ""]}, "not finite"),
    ],
)
def test_damaged_documents_of_terms_are_refused(terms, change, message):
    with pytest.raises(ValueError, match=message):
        TextTerms.from_json(terms.to_json() | change)


def test_names_have_the_largest_words(terms):
    names = terms.names("note")
    assert names[3:] == [f"note (letters {k})" for k in range(1, 6)]
    assert names[0].startswith("note (text 1: ")
    assert set(names[0].removeprefix("note (text 1: ").removesuffix(")").split(", ")) < set(WORDS)


def test_a_linear_model_reads_the_notes():
    texts = notes(200)
    X, y = pl.DataFrame({"note": texts}), [("late" in text) for text in texts]
    assert make_pipeline(TextEncoder(), LogisticRegression()).fit(X, y).score(X, y) > 0.9
    encoder = TextEncoder(2).set_output(transform="polars").fit(X)
    assert encoder.transform(X).columns == encoder.get_feature_names_out().tolist()


def test_columns_without_terms_have_no_numbers():
    X = pl.DataFrame({"none": pl.Series([None] * 3, dtype=pl.String), "note": notes(3)})
    assert TextEncoder(2).fit_transform(X).shape == (3, 3)


ENCODERS = {"sold": (DateEncoder(), SALES["sold"].to_list()), "note": (TextEncoder(4), [*notes(30), None])}
KINDS: dict[str, Any] = {
    "pandas": lambda cells: pd.Series(cells),
    "objects": lambda cells: pd.Series(cells, dtype=object),
    "categories": lambda cells: pd.Categorical(cells),
    "Arrow": lambda cells: pl.Series(cells).to_arrow(),
}


@pytest.mark.parametrize(
    ("column", "kind"),
    [("note", "categories"), *((name, kind) for name in ENCODERS for kind in ("pandas", "objects", "Arrow"))],
)
def test_every_kind_of_frame_has_the_same_numbers(column, kind):
    encoder, cells = ENCODERS[column]
    expected = encoder.fit_transform(pl.DataFrame({column: cells}))
    assert expected.shape == {"sold": (60, 4), "note": (31, 6)}[column]
    table = (pa.table if kind == "Arrow" else pd.DataFrame)({column: KINDS[kind](cells)})
    assert_array_equal(clone(encoder).fit(table).transform(table), expected)


@pytest.mark.parametrize(
    ("encoder", "X", "error", "message"),
    [
        (DateEncoder(), np.zeros((2, 1)), TypeError, "ndarray, which has no columns of dates"),
        (DateEncoder(), scan([SALES]), TypeError, "X is read in pieces, and a DateEncoder takes frames; fit it to a"),
        (DateEncoder(), pl.DataFrame({"n": [1, 2]}), ValueError, "'n' holds numbers, and a DateEncoder takes dates"),
        (DateEncoder(), pl.DataFrame({"t": [dt.time(1), None]}), ValueError, "'t' holds times of the day"),
        (DateEncoder(cyclic=2), SALES, ValueError, "cyclic"),
        (TextEncoder(), np.zeros((2, 1)), TypeError, "ndarray, which has no columns of text"),
        (TextEncoder(), pl.DataFrame({"n": [1, 2]}), ValueError, "'n' must hold text, but holds numbers"),
        (TextEncoder(0), pl.DataFrame({"note": notes(3)}), ValueError, "n_components"),
    ],
)
def test_other_columns_and_parameters_are_refused(encoder, X, error, message):
    with pytest.raises(error, match=message):
        encoder.fit(X)


DAYS = [dt.date(2024, 1, 1) + dt.timedelta(days=5 * k) for k in range(30)]
TABLE = pl.DataFrame({"city": ["a", "b", None] * 10, "day": [None, *DAYS[1:]], "x": np.arange(30.0)})


@pytest.fixture(scope="module")
def schema():
    return learn_table(TABLE, "from_dtype", "auto")


def test_the_matrix_has_the_parts_behind_the_columns(schema):
    plain = TableSchema.learn(TABLE)
    encoded = schema.encode(TABLE)
    assert schema.names[3:5] == ("day (month)", "day (month, sine)")
    assert_array_equal(encoded[:, :3], plain.encode(TABLE))
    assert_array_equal(encoded[:, 3:], part_columns(encoded[:, 1], ("month", "weekday"), cyclic=True))
    assert schema.n_features == encoded.shape[1] == 9
    assert schema.source == plain
    assert schema.source.n_features == 3


@pytest.mark.parametrize("derived", [None, "auto"])
def test_tables_without_dates_have_no_derived_columns(derived):
    assert type(learn_table(TABLE.drop("day"), "from_dtype", derived)) is TableSchema
    assert type(learn_table(np.zeros((3, 2)), "from_dtype", derived)) is TableSchema
    assert type(learn_table(TABLE.with_columns(day=DAYS[0]), "from_dtype", derived)) is TableSchema


def test_none_derives_nothing():
    assert learn_table(TABLE, "from_dtype", None) == TableSchema.learn(TABLE)


def test_rows_without_weight_vary_nothing():
    keep = np.zeros(30, dtype=bool)
    keep[:2] = True  # one missing day, and one day
    assert type(learn_table(TABLE, "from_dtype", "auto", keep)) is TableSchema


def test_a_column_of_the_same_name_stays_alone():
    table = TABLE.with_columns(pl.lit(1.0).alias("day (month)"))
    assert type(learn_table(table, "from_dtype", "auto")) is TableSchema


def test_numbers_of_the_matrix_add_up_by_column_and_by_part(schema):
    shares = np.arange(20.0).reshape(2, 10)  # nine columns, and the expectation
    by_column = schema.by_source(shares, axis=1)
    assert_array_equal(by_column[:, [0, 2, 3]], shares[:, [0, 2, 9]])
    assert_array_equal(by_column[:, 1], shares[:, 1] + shares[:, 3:9].sum(axis=1))
    assert schema.explained == ("city", "day", "x", "day (month)", "day (weekday)")
    by_part = schema.by_part(shares, axis=1)
    assert_array_equal(by_part[:, [0, 1, 2, 5]], shares[:, [0, 1, 2, 9]])
    assert_array_equal(by_part[:, 3], shares[:, 3:6].sum(axis=1))
    assert_array_equal(by_part[:, 4], shares[:, 6:9].sum(axis=1))
    assert schema.matrix_columns(1) == [1, 3, 6]
    assert schema.matrix_columns(2) == [2]


def test_json_holds_a_schema(schema):
    for one in (schema, schema.with_forms({"day": "%d.%m.%Y"}, ["?"])):
        read = read_schema(json.loads(json.dumps(one.to_json())))
        assert read == one
        assert read.encode(TABLE).tobytes() == one.encode(TABLE).tobytes()
    assert read.source.missing == ("?",)
    assert read.source.forms == {"day": "%d.%m.%Y"}


def test_columns_that_are_left_out(schema):
    less = DerivedTable.of(schema.given, schema.derived, [0])
    matrix = schema.encode(TABLE)
    assert_array_equal(less.encode(TABLE), matrix[:, 1:])
    assert less.names == schema.names[1:] and less.n_derived == 6 and less.explained == schema.explained
    assert less.matrix_columns(0) == [] and less.matrix_columns(1) == [0, 2, 5]
    shares = np.arange(18.0).reshape(2, 9)
    padded = np.insert(shares, 0, 0.0, axis=1)
    assert_array_equal(less.by_source(shares, 1), schema.by_source(padded, 1))
    assert_array_equal(less.by_part(shares, 1), schema.by_part(padded, 1))
    stored = json.loads(json.dumps(less.to_json()))
    assert read_schema(stored) == less and read_schema(stored).encode(TABLE).tobytes() == less.encode(TABLE).tobytes()
    for wrong in ([1, 0], [3], [0, 1, 2], ["0"], 1):
        with pytest.raises(ValueError, match="'left_out' of derived columns is"):
            read_schema({**stored, "derived": {**stored["derived"], "left_out": wrong}})


def test_a_schema_of_the_matrix_becomes_one_of_the_table(schema):
    inner = TableSchema.learn(schema.encode(TABLE), [0])
    outer = inner.decode_categories(schema)
    assert isinstance(outer, DerivedTable)
    assert outer.categories == schema.categories
    assert_array_equal(outer.encode(TABLE), schema.encode(TABLE))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dates": [{"column": 0, "parts": ["month"]}]}, "column 0, which holds no dates"),
        ({"dates": [{"column": True, "parts": ["month"]}]}, "column True"),
        ({"dates": [{"column": 1, "parts": ["hour", "month"]}]}, "in order, they must be some of month, weekday, hour"),
        ({"dates": [{"column": 1, "parts": []}]}, r"have parts \[\]; in order, they must be some of"),
        ({"dates": [{"column": 1}]}, "'column' and 'parts'"),
        ({"dates": [{"column": 1, "parts": ["month"]}]}, "names of a table schema"),
        ({"dates": 3}, "must be lists"),
        ({"more": 3}, "'table', 'dates', 'texts' and at most 'left_out'"),
        ({"texts": [{"column": 1, "terms": [], "idf": [], "svd": ""}]}, "column 1, which holds no text"),
        ({"texts": [{"column": -1}]}, "column -1"),
        ({"texts": [3]}, "number of a 'column'"),
        ({"table": None}, "a table schema must be an object"),
    ],
)
def test_damaged_documents_of_schemas_are_refused(schema, change, message):
    document = json.loads(json.dumps(schema.to_json()))
    document["derived"] |= change
    with pytest.raises(ValueError, match=message):
        read_schema(document)
