"""Numbers of threads of a kernel, jobs of a fit, and where its independent members are trained."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from ctypes import c_ulong, py_object, pythonapi
from multiprocessing import current_process
from threading import Condition, Thread, get_ident
from time import monotonic
from typing import Any, Protocol, TypeVar

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
    return max(1, min(int(effective_n_jobs(n_jobs)), MAX_THREADS))


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


class MemberExecutor(Protocol):
    """Trains members in other processes, or on other machines.

    What several of its calls hold is the same object there, too; so nothing that a call returns may depend on changes
    that another one makes.
    """

    def results(self, jobs: Iterable[Any], *, ordered: bool = True) -> AbstractContextManager[Iterator[Any]]:
        """Results of joblib's delayed calls, in their order or as they come; leaving the context ends those left."""


_in_force: ContextVar[MemberExecutor | None] = ContextVar("members_by", default=None)


@contextmanager
def members_by(executor: MemberExecutor | None) -> Iterator[None]:
    """Train the members of all fits in the block by an executor; None: on threads here."""
    token = _in_force.set(executor)
    try:
        yield
    finally:
        _in_force.reset(token)


def member_executor() -> MemberExecutor | None:
    """Return the executor in force; None if members are trained here."""
    return _in_force.get()


def trained_members(jobs: Iterable[Any], n_jobs: int | None) -> AbstractContextManager[Iterator[Any]]:
    """Results of joblib's delayed calls in order, by the executor in force or on `n_jobs` threads.

    Leaving the context ends those left.

    Examples
    --------
    >>> from joblib import delayed
    >>> with trained_members((delayed(abs)(x) for x in (-1, 2)), None) as results:
    ...     list(results)
    [1, 2]
    """
    executor = member_executor()
    return in_parallel(jobs, n_jobs) if executor is None else executor.results(jobs)


def cells_of_grid(jobs: Sequence[Any], n_jobs: int) -> AbstractContextManager[Iterator[Any]]:
    """Results of joblib's delayed calls as they come, by the executor in force or in `n_jobs` processes at most.

    Examples
    --------
    >>> from joblib import delayed
    >>> with cells_of_grid([delayed(abs)(x) for x in (-1, 2)], 1) as results:
    ...     sorted(results)
    [1, 2]
    """
    executor = member_executor()
    if executor is not None:
        return executor.results(jobs, ordered=False)
    pool = Parallel(n_jobs=n_processes(n_jobs, len(jobs)), return_as="generator_unordered", pre_dispatch="2*n_jobs")
    return nullcontext(pool(jobs))


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
