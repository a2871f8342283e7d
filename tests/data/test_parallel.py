"""Threads and processes are as many as asked for, up to what a machine may have."""

import threading
import time
from collections.abc import Callable
from contextlib import contextmanager, suppress
from threading import Thread
from types import SimpleNamespace
from typing import Any

from joblib import cpu_count, delayed
from threadpoolctl import threadpool_info, threadpool_limits

from committee.data import parallel
from committee.data.parallel import (
    MAX_THREADS,
    _JobStoppedError,
    _RunningJobs,
    completed_results,
    in_parallel,
    member_executor,
    members_from_executor,
    n_processes,
    n_threads,
    one_blas_thread,
    trained_members,
)
from tests.limits import PATIENCE


def test_a_wild_number_of_jobs_starts_no_more_threads_than_there_may_be():
    assert n_threads(4000) == MAX_THREADS
    with in_parallel((delayed(threading.active_count)() for _ in range(600)), 4000) as counts:
        assert max(counts) <= MAX_THREADS + threading.active_count()


def test_a_worker_of_another_pool_starts_no_threads_of_its_own(monkeypatch):
    monkeypatch.setattr("committee.data.parallel.current_process", lambda: SimpleNamespace(daemon=True))
    assert n_threads(4) == n_threads(-1) == n_threads(None) == 1


def test_processes_are_no_more_than_processors_and_tasks():
    assert n_processes(4000, 5000) == cpu_count()
    assert n_processes(4000, 1) == n_processes(1, 10) == n_processes(3, 0) == 1


class NotedExecutor:
    """Calls functions in this thread, and notes in which order results were asked for."""

    def __init__(self):
        self.orders = []

    @contextmanager
    def results(self, jobs, *, ordered=True):
        self.orders.append(ordered)
        yield (function(*given, **named) for function, given, named in jobs)


def test_members_and_cells_go_to_the_executor_in_force():
    executor = NotedExecutor()
    jobs = [delayed(threading.get_ident)(), delayed(threading.get_ident)()]
    with members_from_executor(executor):
        assert member_executor() is executor
        with trained_members(jobs, 2) as members, completed_results(jobs, 2) as cells:
            assert {*members, *cells} == {threading.get_ident()}
        with members_from_executor(None), trained_members(jobs, 2) as members:
            assert threading.get_ident() not in set(members)
    assert executor.orders == [True, False]
    assert member_executor() is None


def test_other_threads_have_no_executor():
    found = []
    with members_from_executor(NotedExecutor()):
        thread = threading.Thread(target=lambda: found.append(member_executor()))
        thread.start()
        thread.join()
    assert found == [None]


def test_a_job_that_ends_while_it_is_stopped_keeps_no_lock(monkeypatch):
    """The exception that stops it comes while it waits for the lock by which it leaves."""
    monkeypatch.setattr(parallel, "STOPPING_SECONDS", 0.03)
    running, may_end = _RunningJobs(), threading.Event()

    def started(function: Callable[[], Any]) -> Thread:
        def work() -> None:
            with suppress(_JobStoppedError):
                running.run(function, (), {})

        thread = Thread(target=work, daemon=True)
        thread.start()
        return thread

    jobs = [started(may_end.wait) for _ in range(3)]
    while len(running.threads) < 3:
        time.sleep(0.001)
    with running.lock:
        may_end.set()
        time.sleep(0.05)
        running.stop()
    for thread in [*jobs, started(may_end.wait)]:
        thread.join(PATIENCE)
        assert not thread.is_alive()


def blas_threads():
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


def test_blas_has_one_thread_within_the_limit_alone():
    with threadpool_limits(2, "blas"):
        for _ in range(2):  # first the libraries are found
            with one_blas_thread():
                assert blas_threads() == {1}
            assert blas_threads() == {2}


def test_blas_threads_return_with_the_last_of_fits_that_overlap():
    with threadpool_limits(2, "blas"):
        first, second = one_blas_thread(), one_blas_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert blas_threads() == {1}
        second.__exit__(None, None, None)
        assert blas_threads() == {2}
