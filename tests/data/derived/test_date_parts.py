"""Months, weekdays and hours of dates, and the transformer of dates."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

import committee
from committee import scan
from committee.data.dates import SECONDS_PER_DAY
from committee.data.derived.date_parts import PERIODS, DateEncoder, date_part, part_columns, part_text, varying_parts
from tests.examples import examples

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


KINDS: dict[str, Any] = {
    "polars": SALES,
    "pandas": SALES.to_pandas(),
    "Arrow": SALES.to_arrow(),
    "objects": pd.DataFrame({"sold": pd.Series(SALES["sold"].to_list(), dtype=object)}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_frame_has_the_same_parts(kind):
    expected = DateEncoder().fit_transform(SALES)
    assert_array_equal(DateEncoder().fit(KINDS[kind]).transform(KINDS[kind]), expected)


def test_names_of_the_columns():
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


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (np.zeros((2, 1)), TypeError, "ndarray, which has no columns of dates"),
        (scan([SALES]), TypeError, "X is read in pieces, and a DateEncoder takes frames; fit it to a frame of some"),
        (pl.DataFrame({"n": [1, 2]}), ValueError, "'n' holds numbers, and a DateEncoder takes dates"),
        (pl.DataFrame({"t": [dt.time(1), None]}), ValueError, "'t' holds times of the day"),
    ],
)
def test_what_holds_no_dates_is_refused(X, error, message):
    with pytest.raises(error, match=message):
        DateEncoder().fit(X)


def test_rows_must_have_the_columns_of_training():
    encoder = DateEncoder().fit(SALES.to_pandas())
    with pytest.raises(ValueError, match="feature names"):
        encoder.transform(SALES.to_pandas().rename(columns={"sold": "bought"}))
    with pytest.raises(ValueError, match="cyclic"):
        DateEncoder(cyclic=2).fit(SALES)


def test_it_is_a_public_name():
    assert committee.DateEncoder is DateEncoder


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
