"""HiGHS as the linear programs use it."""

import signal
import time
from types import FrameType

import numpy as np
import pytest

from committee.objectives.programs.highs import add_rows, simplex_solver


class AlarmError(Exception):
    """The signal has come."""


def test_a_signal_ends_the_simplex_method():
    def ring(number: int, frame: FrameType | None) -> None:
        raise AlarmError

    rng = np.random.default_rng(0)
    highs = simplex_solver(np.zeros(700), np.ones(700), -rng.random(700))
    add_rows(highs, np.full(500, -np.inf), np.ones(500), rng.normal(size=(500, 700)))
    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    begun = time.perf_counter()
    try:
        with pytest.raises(AlarmError):
            highs.run()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert time.perf_counter() - begun < 0.6
