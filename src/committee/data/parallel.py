"""Numbers of threads of a kernel, and of jobs of a fit."""

import warnings
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from multiprocessing import current_process
from typing import Any

import numpy as np
from joblib import Parallel, cpu_count, effective_n_jobs

MAX_THREADS = 256
"""More than any machine this is for has processors; a wild ``n_jobs`` asks for no more."""


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
    """Results of joblib's delayed calls on `n_threads` threads, in order; leaving the context ends those left."""
    results = Parallel(n_jobs=n_threads(n_jobs), prefer="threads", return_as="generator")(jobs)
    try:
        yield results
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # joblib warns of jobs that nobody waited for
            results.close()
