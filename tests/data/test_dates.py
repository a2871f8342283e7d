"""Dates, times and durations as seconds: of text and data frames, in models, and back as words."""

from __future__ import annotations

import datetime as dt
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.base import clone

import committee
from committee import ConformalRegressor, GradientBoostingRegressor, TreeVoter, scan
from committee.data.dates import (
    DATE_FORMAT,
    DATETIME_FORMAT,
    DURATION_FORMAT,
    TIME_FORMAT,
    TIME_FORMATS,
    ZONED_FORMAT,
    format_seconds,
    is_whole_days,
    parse_seconds,
)
from committee.data.table_schema import TableSchema
from committee.report import TreeDisplay
from committee.report.drawing.scale import TimeScale
from committee.report.explanation import RowExplanation
from committee.vote.explain.rules import Condition, leaf_rules
from tests.cli.calls import succeed

ANY_MOMENT = st.datetimes(dt.datetime(1000, 1, 1), dt.datetime(2999, 12, 30), timezones=st.just(dt.UTC))


@given(ANY_MOMENT, st.sampled_from(TIME_FORMATS), st.integers(0, 3))
def test_words_say_the_moment_that_was_written(moment, form, precision):
    """In ISO 8601, whatever the form of the file is; nothing is lost that the form has."""
    moment = moment.replace(microsecond=moment.microsecond if precision == 3 else 0)
    moment = moment.replace(second=moment.second if precision >= 2 else 0)
    text = moment.strftime(form.replace("%S%.f", "%S.%f").replace("%#z", "+00:00"))
    (read,) = parse_seconds(pl.Series([text]), form).to_list()
    words = format_seconds(read, form).removesuffix(" UTC")
    if is_whole_days(form):
        assert words == moment.date().isoformat()
        assert format_seconds(read + 43_200.0, form) == words  # as at a threshold between two days
        return
    whole = f"{moment.date().isoformat()} {words}" if "%Y" not in form else words
    told = dt.datetime.fromisoformat(whole).replace(tzinfo=dt.UTC)
    expected = moment if "%S" in form else moment.replace(second=0, microsecond=0)
    assert abs(told - expected) < dt.timedelta(microseconds=20)  # of seconds as float64


@pytest.mark.parametrize("seconds", [float("inf"), -1e300, 1e15, float("nan")])
def test_what_is_no_date_is_left_as_it_is(seconds):
    assert format_seconds(seconds, "%Y-%m-%d") == f"{seconds:.6g} s"


@given(st.floats(-1e10, 2e11), st.floats(1e-3, 1e11), st.sampled_from([*TIME_FORMATS, "duration"]), st.integers(2, 6))
def test_ticks_lie_on_the_scale_and_rise(low, span, form, most):
    scale = TimeScale(low, low + span, form=form)
    ticks = scale.ticks(most)
    assert len(ticks) <= most and ticks == sorted(set(ticks))
    assert all(low - 1e-9 * span <= tick <= low + span * (1.0 + 1e-9) for tick in ticks)
    assert all(scale.text(tick) for tick in ticks)


def test_thresholds_of_columns_that_are_dates():
    table = TableSchema(("day", "x"), (None, None)).with_forms({"day": "%d.%m.%Y"})
    day = 86_400.0
    assert Condition(0, low=0.5 * day, high=31.5 * day, missing=False).words(table) == "1970-01-01 < day <= 1970-02-01"
    assert Condition(1, low=0.5 * day, missing=False).words(table) == "x > 43200"


TOKYO = dt.timezone(dt.timedelta(hours=9))
NOON = dt.datetime(2020, 1, 2, 12)
SECONDS = 1_577_966_400.0  # of noon on 2020-01-02 in UTC
BEFORE = dt.datetime(1969, 12, 31, 23, 59, 58, 500_000)


def frame(column: Any) -> Any:
    if isinstance(column, pl.Series):
        return pl.DataFrame({"c": column})
    return pa.table({"c": column}) if isinstance(column, pa.Array) else pd.DataFrame({"c": column})


def objects(*cells: Any) -> pd.Series:
    return pd.Series(list(cells), dtype=object)


def arrow(kind: pa.DataType, *cells: Any) -> pd.Series:
    return pd.Series(list(cells), dtype=pd.ArrowDtype(kind))


MOMENTS: dict[str, tuple[Any, list[float], str]] = {
    "pandas": (pd.Series([NOON, None, BEFORE]), [SECONDS, np.nan, -1.5], DATETIME_FORMAT),
    "pandas, whole days": (pd.Series(pd.to_datetime(["2020-01-02", None])), [1_577_923_200.0, np.nan], DATE_FORMAT),
    "pandas, in seconds": (pd.Series(np.array(["9999-12-31"], "M8[s]")), [253_402_214_400.0], DATE_FORMAT),
    "pandas, nanoseconds": (pd.Series(np.array([-1, 1], "M8[ns]")), [-1e-9, 1e-9], DATETIME_FORMAT),
    "pandas, zone": (pd.Series([NOON, None]).dt.tz_localize("Asia/Tokyo"), [SECONDS - 32_400.0, np.nan], ZONED_FORMAT),
    "pandas, two offsets": (
        objects(NOON.replace(tzinfo=TOKYO), pd.NaT, pd.Timestamp(NOON, tz="UTC")),
        [SECONDS - 32_400.0, np.nan, SECONDS],
        ZONED_FORMAT,
    ),
    "pandas, objects": (
        objects(pd.Timestamp(NOON), pd.NaT, None, BEFORE, np.datetime64("1970-01-01"), dt.date(1970, 1, 2)),
        [SECONDS, np.nan, np.nan, -1.5, 0.0, 86_400.0],
        DATETIME_FORMAT,
    ),
    "pandas, dates": (objects(dt.date(1969, 12, 31), None), [-86_400.0, np.nan], DATE_FORMAT),
    "pandas, far dates": (objects(dt.date.min, dt.date.max), [-62_135_596_800.0, 253_402_214_400.0], DATE_FORMAT),
    "pandas, periods": (pd.Series(pd.PeriodIndex(["1970-02", None], freq="M")), [31 * 86_400.0, np.nan], DATE_FORMAT),
    "pandas, periods as objects": (
        objects(pd.Period("1970-02", "M"), pd.Period("1971", "Y"), None),
        [31 * 86_400.0, 365 * 86_400.0, np.nan],
        DATE_FORMAT,
    ),
    "pandas of Arrow": (arrow(pa.timestamp("ms"), NOON, None), [SECONDS, np.nan], DATETIME_FORMAT),
    "pandas of Arrow, dates": (arrow(pa.date32(), dt.date(1969, 12, 31), None), [-86_400.0, np.nan], DATE_FORMAT),
    "polars dates": (pl.Series([dt.date(1969, 12, 31), None]), [-86_400.0, np.nan], DATE_FORMAT),
    "polars": (pl.Series([NOON, None, BEFORE]), [SECONDS, np.nan, -1.5], DATETIME_FORMAT),
    "polars, nanoseconds": (pl.Series([-1, 1]).cast(pl.Datetime("ns")), [-1e-9, 1e-9], DATETIME_FORMAT),
    "polars, zone": (pl.Series([NOON]).dt.replace_time_zone("Asia/Tokyo"), [SECONDS - 32_400.0], ZONED_FORMAT),
    "Arrow dates": (pa.array([dt.date(1969, 12, 31), None]), [-86_400.0, np.nan], DATE_FORMAT),
    "Arrow dates of 64 bits": (pa.array([dt.date(1969, 12, 31), None], pa.date64()), [-86_400.0, np.nan], DATE_FORMAT),
    "Arrow": (pa.array([NOON, None, BEFORE], pa.timestamp("ns")), [SECONDS, np.nan, -1.5], DATETIME_FORMAT),
    "Arrow, zone": (
        pa.array([NOON.replace(tzinfo=TOKYO), None], pa.timestamp("us", "Asia/Tokyo")),
        [SECONDS - 32_400.0, np.nan],
        ZONED_FORMAT,
    ),
}
SHORT = dt.timedelta(seconds=-1.5)
DURATIONS = {
    "pandas": pd.Series([SHORT, None]),
    "pandas, objects": objects(pd.Timedelta(SHORT), pd.NaT),
    "pandas, objects of Python": objects(SHORT, None),
    "pandas of Arrow": arrow(pa.duration("ns"), SHORT, None),
    "polars": pl.Series([SHORT, None]),
    "Arrow": pa.array([SHORT, None]),
}
CLOCK = dt.time(1, 0, 0, 250_000)
TIMES = {
    "pandas": objects(CLOCK, None),
    "pandas of Arrow": arrow(pa.time64("us"), CLOCK, None),
    "polars": pl.Series([CLOCK, None]),
    "Arrow": pa.array([CLOCK, None]),
    "Arrow of 32 bits": pa.array([CLOCK, None], pa.time32("ms")),
}
CASES = {
    **{f"moments, {name}": case for name, case in MOMENTS.items()},
    **{f"durations, {name}": (column, [-1.5, np.nan], DURATION_FORMAT) for name, column in DURATIONS.items()},
    **{f"times, {name}": (column, [3600.25, np.nan], TIME_FORMAT) for name, column in TIMES.items()},
}


@pytest.mark.parametrize("case", CASES)
def test_seconds(case: str) -> None:
    column, seconds, form = CASES[case]
    table = frame(column)
    schema = TableSchema.learn(table)
    assert schema.categories == (None,)
    assert schema.written == (form,) and schema.typed
    assert_array_equal(schema.encode(table).ravel(), np.array(seconds))
    assert_array_equal(TableSchema.from_json(json.loads(json.dumps(schema.to_json()))).encode(table).ravel(), seconds)


def test_microseconds_are_those_of_the_command_line() -> None:
    moments = pd.Series(pd.to_datetime(np.random.default_rng(0).integers(-(10**15), 4 * 10**15, 1000), unit="us"))
    expected = moments.to_numpy().astype("M8[us]").view(np.int64) / 1e6
    for unit in ("us", "ns"):
        table = pd.DataFrame({"c": moments.astype(f"M8[{unit}]")})
        assert_array_equal(TableSchema.learn(table).encode(table).ravel(), expected)


DATES = pd.DataFrame({"day": pd.date_range("2020-01-01", periods=40), "x": np.arange(40.0)})
MODEL_ROWS = {
    "numbers": (DATES.assign(day=1.5), r"must hold dates, as in training, but holds numbers \(1.5\).*to_datetime"),
    "booleans": (DATES.assign(day=True), r"must hold dates, as in training, but holds booleans \(True\)"),
    "text": (DATES.assign(day="2020"), r"must hold dates, as in training, but holds text \('2020'\).*to_datetime"),
    "durations": (DATES.assign(day=pd.Timedelta(1)), "'day' must hold dates, as in training, but holds durations"),
    "dates for numbers": (
        DATES.assign(x=pd.Timestamp("2020")),
        "'x' must hold numbers, as in training, but holds dates",
    ),
}


@pytest.fixture(scope="module")
def model() -> GradientBoostingRegressor:
    return GradientBoostingRegressor(n_estimators=5, min_samples_leaf=2).fit(DATES, np.arange(40.0) // 20)


@pytest.mark.parametrize("case", MODEL_ROWS)
def test_other_columns_are_refused(model: Any, case: str) -> None:
    rows, message = MODEL_ROWS[case]
    with pytest.raises(ValueError, match=message):
        model.predict(rows)


def test_dates_of_any_frame_are_predicted_alike(model: Any, tmp_path: Path) -> None:
    expected = model.predict(DATES)
    assert len(set(expected)) > 1
    model.save(tmp_path / "model")
    loaded = committee.load(tmp_path / "model")
    for rows in (
        pl.DataFrame(DATES).with_columns(pl.col("day").cast(pl.Date)),
        pa.table(pl.DataFrame(DATES).to_arrow()),
        DATES.assign(day=DATES["day"].dt.tz_localize("UTC")),
        DATES.assign(day=DATES["day"].astype(object)),
    ):
        assert_array_equal(model.predict(rows), expected)
        assert_array_equal(loaded.predict(rows), expected)
    assert_array_equal(model.predict(DATES.assign(day=None)), model.predict(DATES.assign(day=pd.NaT)))


def test_dates_among_categorical_features() -> None:
    with pytest.raises(ValueError, match="categorical_features names 'day', which holds dates; leave it out there"):
        TableSchema.learn(DATES, ["day"])


def test_dates_of_other_categories() -> None:
    schema = TableSchema.learn(pd.DataFrame({"c": [True, False]}))
    for categories in (schema, TableSchema.learn(pd.DataFrame({"c": ["a", "b"]}))):
        with pytest.raises(ValueError, match=r"column 'c' must hold .*, as in training, but holds dates"):
            categories.encode(pd.DataFrame({"c": [NOON]}))


def test_mixed_cells() -> None:
    with pytest.raises(ValueError, match=r"column 'c' mixes dates with 'a' of type str \(row 1\)"):
        TableSchema.learn(frame(objects(NOON, "a")))


def test_pieces_are_as_the_whole_table() -> None:
    y = np.arange(40.0) // 20
    later = DATES.assign(day=DATES["day"] + pd.Timedelta(hours=1))
    whole = pd.concat([DATES, later])
    model = GradientBoostingRegressor(n_estimators=3, random_state=0).fit(whole, np.r_[y, y])
    pieced = GradientBoostingRegressor(n_estimators=3, random_state=0).fit(scan([(DATES, y), (later, y)]))
    assert pieced.table_ == model.table_
    assert pieced.table_.written == model.table_.written == (DATETIME_FORMAT, None)
    assert pieced.table_.typed
    assert_array_equal(pieced.predict(scan([DATES, later])), model.predict(whole))
    with pytest.raises(ValueError, match="column 'day' holds durations here and dates in pieces before"):
        GradientBoostingRegressor().fit(scan([(DATES, y), (DATES.assign(day=pd.Timedelta(1)), y)]))


@pytest.mark.parametrize(
    "column",
    [
        pd.cut(pd.Series([1, 5, 9, 5, 9]), [0, 5, 100]),
        pd.Series(pd.arrays.IntervalArray.from_tuples([(0, 5), (0, 5), (5, 100), (0, 5), (5, 100)])),
    ],
)
def test_intervals_are_text_in_their_order(column: pd.Series) -> None:
    table = frame(column)
    schema = TableSchema.learn(table)
    assert schema.categories == (("(0, 5]", "(5, 100]"),)
    for rows in (table, table.astype(str), table.astype(object)):
        assert_array_equal(schema.encode(rows).ravel(), [0, 0, 1, 0, 1])
    assert np.isnan(schema.encode(frame(pd.cut(pd.Series([-1, 7.0, None]), [-5, 0, 10])))).all()


def test_dates_are_shown_as_dates(model: Any) -> None:
    assert "day = 2020-01-03" in RowExplanation.of(model, DATES, 2).labels
    tree = TreeVoter().fit(DATES[["day"]], np.arange(40) // 20)
    rules = leaf_rules(tree.committee_.voters, 0, tree.table_, had_missing=np.zeros(1, dtype=bool))
    assert list(rules.values()) == ["day <= 2020-01-20", "day > 2020-01-20"]
    assert TreeDisplay.from_estimator(tree).words[0] == "day <= 2020-01-20"


@pytest.mark.parametrize("wrapped", [False, True], ids=["boosting", "conformal"])
def test_command_line_reads_text_for_a_model_of_dates(model: Any, wrapped: bool, tmp_path: Path) -> None:
    if wrapped:
        model = ConformalRegressor(clone(model), cv=3).fit(DATES, np.arange(40.0) // 20)
    model.save(tmp_path / "model.safetensors")
    DATES.to_csv(tmp_path / "rows.csv", index=False)
    out = tmp_path / "out.csv"
    rows = tmp_path / "rows.csv"
    for files in ([rows], [rows, shutil.copy(rows, tmp_path / "more.csv")]):  # the second read in chunks
        succeed("predict", tmp_path / "model.safetensors", *files, "--output", out)
        assert_array_equal(pl.read_csv(out)["prediction"].to_numpy()[:40], model.predict(DATES))
    pl.DataFrame(DATES).write_parquet(tmp_path / "rows.parquet")
    explained = succeed("explain", tmp_path / "model.safetensors", tmp_path / "rows.parquet", "--row", 2)
    assert "day = 2020-01-03" in explained.output
