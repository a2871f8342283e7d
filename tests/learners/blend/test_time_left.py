"""Time that is left of a fit: candidates as long as those before, the one under way as its own fits say."""

import pytest

from committee.learners.blend import time_left
from committee.learners.blend.member_lines import words_of
from committee.learners.blend.time_left import TimeLeft


@pytest.fixture
def clock(monkeypatch):
    """The time, a list of one number."""
    now = [100.0]
    monkeypatch.setattr(time_left.time, "perf_counter", lambda: now[0])
    return now


def test_candidates_last_as_long_as_those_before(clock):
    left = TimeLeft(4, None)
    assert left.seconds() is None and left.share == 0.0
    for seconds, guess in ((2.0, 6.0), (4.0, 6.0)):
        left.begin(1)
        clock[0] += seconds
        left.end()
        assert left.seconds() == pytest.approx(guess)
    assert (left.n_ended, left.share, left.passed) == (2, 0.5, 6.0)
    left.begin(1)
    clock[0] += 1.0
    assert left.seconds() == pytest.approx(2.0 + 3.0)  # of 3 each
    clock[0] += 9.0
    assert left.seconds() == pytest.approx(3.0)


def test_the_one_under_way_by_its_own_fits(clock):
    left = TimeLeft(3, None)
    left.begin(4)
    assert left.seconds() is None
    clock[0] += 2.0
    left.fit_ended()
    assert left.seconds() == pytest.approx(6.0 + 2 * 8.0) and left.share == pytest.approx(1 / 12)
    clock[0] += 6.0
    for _ in range(3):
        left.fit_ended()
    left.end()
    assert left.seconds() == pytest.approx(16.0)
    left.begin(4)
    clock[0] += 1.0
    left.fit_ended()
    assert left.seconds() == pytest.approx(3.0 + (8.0 + 4.0) / 2)


def test_no_more_than_the_limit_leaves(clock):
    left = TimeLeft(2, 10.0)
    assert words_of(left) == "at most 10 s"
    left.begin(1)
    clock[0] += 4.0
    left.end()
    assert words_of(left) == "about 4 s"
    clock[0] += 3.0
    assert words_of(left) == "at most 3 s"
    clock[0] += 30.0
    assert left.by_limit == 0.0 and words_of(left) == "under 1 s"
