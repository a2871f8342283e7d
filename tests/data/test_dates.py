"""Seconds in words are the dates and times that they were read from."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from committee.data.dates import TIME_FORMATS, format_seconds, is_whole_days, parse_seconds
from committee.data.table_schema import TableSchema
from committee.report.drawing.scale import TimeScale
from committee.vote.explain.rules import Condition

MOMENTS = st.datetimes(datetime(1000, 1, 1), datetime(2999, 12, 30), timezones=st.just(UTC))


@given(MOMENTS, st.sampled_from(TIME_FORMATS), st.integers(0, 3))
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
    told = datetime.fromisoformat(whole).replace(tzinfo=UTC)
    expected = moment if "%S" in form else moment.replace(second=0, microsecond=0)
    assert abs(told - expected) < timedelta(microseconds=20)  # of seconds as float64


@pytest.mark.parametrize("seconds", [float("inf"), -1e300, 1e15, float("nan")])
def test_what_is_no_date_is_left_as_it_is(seconds):
    assert format_seconds(seconds, "%Y-%m-%d") == f"{seconds:.6g} s"


@given(
    st.floats(-1e10, 2e11),
    st.floats(1e-3, 1e11),
    st.sampled_from([*TIME_FORMATS, "duration"]),
    st.integers(2, 6),
)
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
