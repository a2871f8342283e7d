"""HiGHS: interrupts and threads."""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType
from typing import Any

import numpy as np
import pytest

from committee.data import parallel
from committee.data.parallel import in_own_thread
from committee.objectives.programs import linear_programs as programs
from committee.objectives.programs.linear_programs import add_rows, run, simplex_solver
from tests.patience import PATIENCE


class AlarmError(Exception):
    """The signal has come."""


def packing(n: int, p: int) -> Any:
    rng = np.random.default_rng(0)
    highs = simplex_solver(np.zeros(p), np.ones(p), -rng.random(p))
    add_rows(highs, np.full(n, -np.inf), np.ones(n), rng.normal(size=(n, p)))
    return highs


@pytest.mark.parametrize("large", [programs.LARGE, 10**4])
def test_a_signal_ends_the_simplex_method(monkeypatch, large):
    def ring(number: int, frame: FrameType | None) -> None:
        raise AlarmError

    monkeypatch.setattr(programs, "LARGE", large)
    highs = packing(500, 700)
    before, threads = signal.signal(signal.SIGPROF, ring), threading.active_count()
    used = time.process_time()
    try:
        with pytest.raises(AlarmError):
            signal.setitimer(signal.ITIMER_PROF, 0.1)  # of processor time, as is all that is measured here
            run(highs)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)
    assert time.process_time() - used < 0.6
    begun = time.perf_counter()
    while threading.active_count() > threads and time.perf_counter() - begun < PATIENCE:
        time.sleep(0.01)  # its thread is at the end of a step
    assert threading.active_count() == threads


def test_a_program_in_a_thread_has_the_same_solution(monkeypatch):
    solutions = []
    for large in (programs.LARGE, 0):
        monkeypatch.setattr(programs, "LARGE", large)
        highs = packing(30, 40)
        assert run(highs)[1] == "Optimal"
        solutions.append(list(highs.getSolution().col_value))
    assert solutions[0] == solutions[1]


def test_a_thread_is_left_behind_by_an_interrupt_that_it_does_not_see(monkeypatch):
    stopped, ended = threading.Event(), threading.Event()
    monkeypatch.setattr(parallel, "wait", interrupted_once(parallel.wait))
    with pytest.raises(AlarmError):
        in_own_thread(lambda: ended.wait(5.0), stopped.set)
    assert stopped.is_set()
    ended.set()


def interrupted_once(wait: Any) -> Any:
    calls = []

    def waiting(*arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 1:
            raise AlarmError
        return wait(*arguments)

    return waiting
