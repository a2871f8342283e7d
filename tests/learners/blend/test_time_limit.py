"""Parts of a fit begin while there is time for them."""

import pytest

from committee.learners.blend import time_limit
from committee.learners.blend.time_limit import OutOfTimeError, TimeLimit


@pytest.fixture
def clock(monkeypatch):
    """The time, a list of one number."""
    now = [100.0]
    monkeypatch.setattr(time_limit.time, "perf_counter", lambda: now[0])
    return now


def test_a_part_that_would_end_too_late_does_not_begin(clock):
    limit = TimeLimit(10.0, 100.0)
    limit.binding = True
    limit.check()
    for now in (104.0, 106.0):  # parts of 4 and 2 seconds; one of 4 ends at 110
        clock[0] = now
        limit.check()
    clock[0] = 106.5
    with pytest.raises(OutOfTimeError):
        limit.check()


def test_time_before_the_first_part_counts(clock):
    clock[0] = 106.0  # rows were encoded for 6 seconds, so that a part may take as long
    limit = TimeLimit(10.0, 100.0)
    limit.binding = True
    with pytest.raises(OutOfTimeError):
        limit.check()


def test_parts_begin_however_late_until_something_is_ready(clock):
    limit = TimeLimit(1e-9, 100.0)
    for now in (200.0, 300.0):
        clock[0] = now
        limit.check()
    limit.binding = True
    with pytest.raises(OutOfTimeError):
        limit.check()


def test_without_a_limit_parts_begin_at_any_time(clock):
    limit = TimeLimit(None, 100.0)
    limit.binding = True
    clock[0] = 1e9
    limit.check()
