"""Threads, processes, and the executor that trains the independent members of a fit."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from ctypes import c_ulong, py_object, pythonapi
from functools import lru_cache
from multiprocessing import current_process, parent_process
from threading import Lock, RLock, Thread, get_ident
from time import monotonic, sleep
from typing import Any, Protocol, TypeVar

from joblib import Parallel, cpu_count, effective_n_jobs

T = TypeVar("T")

MAX_THREADS = 256  # bound on what a very large n_jobs starts

POLL_SECONDS = 0.1  # between two checks for an interrupt while another thread works

STOPPING_SECONDS = 0.3


def n_threads(n_jobs: int | None) -> int:
    if n_jobs and current_process().daemon:
        return 1  # as in joblib, but without its warning, which is about processes
    return max(1, min(int(effective_n_jobs(n_jobs)), MAX_THREADS))


def n_processes(jobs: int, tasks: int) -> int:
    return max(1, min(jobs, tasks, int(cpu_count())))


class _BlasLimit:
    """BLAS limit of the process: set when the first fit begins, lifted when the last one ends."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        self.lock = Lock()
        self.n_users: int = 0
        self.limiter: Any = None


_blas_limit = _BlasLimit()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_blas_limit.begin)  # the parent's other threads are not there


@contextmanager
def one_blas_thread() -> Iterator[None]:
    limit = _blas_limit
    with limit.lock:
        if not limit.n_users:
            limit.limiter = _libraries(len(sys.modules)).limit(limits=1, user_api="blas")
        limit.n_users += 1
    try:
        yield
    finally:
        with limit.lock:
            limit.n_users -= 1
            if not limit.n_users:
                limit.limiter.restore_original_limits()


@lru_cache(maxsize=1)
def _libraries(n_modules: int) -> Any:
    # found anew after imports, which may load others: a search takes 3 ms, as long as a fit on few rows
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def in_parallel(jobs: Iterable[Any], n_jobs: int | None) -> Iterator[Iterator[Any]]:
    """Yield the results of joblib's delayed calls in order; leaving the context stops the rest."""
    running = _RunningJobs()
    pool = Parallel(n_jobs=n_threads(n_jobs), require="sharedmem", return_as="generator")
    results = pool((running.run, job, {}) for job in jobs)
    try:
        yield results
    finally:
        running.stop()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # joblib warns of unfinished jobs
            results.close()


class MemberExecutor(Protocol):
    """Executor of calls, which must not change arguments that they share."""

    def results(self, jobs: Iterable[Any], *, ordered: bool = True) -> AbstractContextManager[Iterator[Any]]:
        """Run joblib's delayed calls; leaving the context stops the rest."""


_executor: ContextVar[MemberExecutor | None] = ContextVar("members_from_executor", default=None)


@contextmanager
def members_from_executor(executor: MemberExecutor | None) -> Iterator[None]:
    token = _executor.set(executor)
    try:
        yield
    finally:
        _executor.reset(token)


def member_executor() -> MemberExecutor | None:
    return _executor.get()


def trained_members(jobs: Iterable[Any], n_jobs: int | None) -> AbstractContextManager[Iterator[Any]]:
    executor = member_executor()
    return in_parallel(jobs, n_jobs) if executor is None else executor.results(jobs)


def completed_results(jobs: Sequence[Any], n_jobs: int) -> AbstractContextManager[Iterator[Any]]:
    executor = member_executor()
    if executor is not None:
        return executor.results(jobs, ordered=False)
    workers = 1 if parent_process() else n_processes(n_jobs, len(jobs))
    # not every backend can return results as they finish
    pool = Parallel(workers, backend="loky", return_as="generator_unordered", pre_dispatch="2*n_jobs")
    return nullcontext(pool(jobs))


def in_own_thread(function: Callable[[], T], stop: Callable[[], None]) -> T:
    """Call a function that signals do not interrupt; an interrupt calls `stop`."""
    future: Future[T] = Future()

    def work() -> None:
        try:
            future.set_result(function())
        except BaseException as error:
            future.set_exception(error)

    Thread(target=work).start()  # no daemon: Python waits for it at exit
    try:
        while not wait([future], POLL_SECONDS).done:
            pass  # a signal that another thread receives does not end a wait
        return future.result()
    except BaseException:
        stop()
        wait([future], STOPPING_SECONDS)
        raise


class _JobStoppedError(Exception): ...


class _RunningJobs:
    # joblib would let jobs of a closed pool run on, and Python then aborts at exit
    def __init__(self) -> None:
        self.lock = RLock()
        self.threads: set[int] = set()
        self.stopped = False

    def run(self, function: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        thread = get_ident()
        with self.lock:
            if self.stopped:
                raise _JobStoppedError
            self.threads.add(thread)
        try:
            return function(*arguments, **named)
        finally:
            # the exception of `stop` may come as soon as the lock is held; the lock must still be released
            try:
                self.lock.acquire()
            finally:
                self.threads.discard(thread)
                with suppress(RuntimeError):  # a signal ended the wait for the lock
                    self.lock.release()

    def stop(self) -> None:
        with self.lock:
            self.stopped = True
        begun, times = monotonic(), 0
        while self._others() and (elapsed := monotonic() - begun) < STOPPING_SECONDS:
            if elapsed >= times * STOPPING_SECONDS / 6:  # repeated: an exception in a weakref's callback is lost
                times += 1
                with self.lock:  # no thread leaves its job meanwhile
                    for thread in self._others():
                        pythonapi.PyThreadState_SetAsyncExc(c_ulong(thread), py_object(_JobStoppedError))
            sleep(0.005)

    def _others(self) -> set[int]:
        return self.threads - {get_ident()}
