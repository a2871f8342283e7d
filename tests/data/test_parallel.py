"""Threads and processes are as many as asked for, up to what a machine may have."""

import threading
from types import SimpleNamespace

from joblib import cpu_count, delayed

from committee.data.parallel import MAX_THREADS, in_parallel, n_processes, n_threads


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
