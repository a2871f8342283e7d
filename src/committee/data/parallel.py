"""Numbers of threads of a kernel, and of jobs of a fit."""

import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager, contextmanager
from ctypes import c_ulong, py_object, pythonapi
from multiprocessing import current_process
from threading import Condition, Thread, get_ident
from time import monotonic
from typing import Any, TypeVar

import numpy as np
from joblib import Parallel, cpu_count, effective_n_jobs

T = TypeVar("T")

MAX_THREADS = 256
"""More than any machine this is for has processors; a wild ``n_jobs`` asks for no more."""

LOOKING_SECONDS = 0.1
"""Between two looks for an interrupt while another thread works."""

STOPPING_SECONDS = 0.3
"""Kernels look for an interrupt every 0.05 s; a voter of the user's may do so later, and is not waited for."""


def n_threads(n_jobs: int | None) -> int:
    """Ceiling on native threads that a scikit-learn style ``n_jobs`` asks for.

    None means one, unless a joblib backend in force says otherwise; -1 means all processors. Inside a
    worker of another parallel run the answer is one, so that processors are never shared twice.

    Raises
    ------
    ValueError
        If `n_jobs` is 0.
    """
    if n_jobs and current_process().daemon:
        return 1  # as joblib would have it, but without its warning of processes, which threads are not
    return int(np.clip(effective_n_jobs(n_jobs), 1, MAX_THREADS))


def n_processes(jobs: int, tasks: int) -> int:
    """Processes for so many tasks, each with a processor of its own: `jobs`, or fewer if there are fewer of either."""
    processors: int = cpu_count()
    return max(1, min(jobs, tasks, processors))


def one_blas_thread() -> AbstractContextManager[Any]:
    """Keep BLAS, which does not know of `n_jobs`, to one thread: it solves many small systems faster that way."""
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[Any] = threadpool_limits(1, "blas")
    return limits


@contextmanager
def in_parallel(jobs: Iterable[Any], n_jobs: int | None) -> Iterator[Iterator[Any]]:
    """Results of joblib's delayed calls on `n_jobs` threads, in order; leaving the context ends those left."""
    running = _RunningJobs()
    pool = Parallel(n_jobs=n_threads(n_jobs), prefer="threads", return_as="generator")
    results = pool((running.run, job, {}) for job in jobs)
    try:
        yield results
    finally:
        running.stop()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # joblib warns of jobs that nobody waited for
            results.close()


def in_own_thread(function: Callable[[], T], stop: Callable[[], None]) -> T:
    """Call a function that looks for no interrupt in a thread of its own, so that one ends the waiting for it.

    `stop` is called then, and asks the function to end; it has `STOPPING_SECONDS` for it before it is left behind.
    """
    future: Future[T] = Future()

    def work() -> None:
        try:
            future.set_result(function())
        except BaseException as error:
            future.set_exception(error)

    Thread(target=work).start()  # no daemon: an exit of Python waits for it
    try:
        while not wait([future], LOOKING_SECONDS).done:
            pass  # a signal that another thread is given wakes nobody
        return future.result()
    except BaseException:
        stop()
        wait([future], STOPPING_SECONDS)
        raise


class _JobStoppedError(Exception):
    """Raised in a job whose result nobody waits for."""


class _RunningJobs:
    """Jobs under way in threads of a pool, which joblib itself would let run on: an exit of Python then aborts."""

    def __init__(self) -> None:
        self.changed = Condition()
        self.threads: set[int] = set()
        self.stopped = False

    def run(self, function: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Call the function, unless nobody waits for it any more."""
        with self.changed:
            if self.stopped:
                raise _JobStoppedError
            self.threads.add(get_ident())
        try:
            return function(*arguments, **named)
        finally:
            with self.changed:
                self.threads.discard(get_ident())
                self.changed.notify_all()

    def stop(self) -> None:
        """Raise `_JobStoppedError` in all jobs, and give them time to end."""
        with self.changed:
            self.stopped = True
            given_up = monotonic() + STOPPING_SECONDS
            while (running := self.threads - {get_ident()}) and monotonic() < given_up:
                for thread in running:  # again and again: one raised while Python ends a weak reference is lost
                    pythonapi.PyThreadState_SetAsyncExc(c_ulong(thread), py_object(_JobStoppedError))
                self.changed.wait(STOPPING_SECONDS / 6)
